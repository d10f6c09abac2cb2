# SPDX-License-Identifier: Apache-2.0
"""header('HTTP/1.1 404 Custom Reason'): the reason phrase that a script gives reaches the client as under Apache's PHP
module, which is asked again where it is installed."""
from support import apache
from support.http import Connection

# What the script does, and the status line.
CASES = {
    "custom": ("header('HTTP/1.1 404 Custom Reason');", "404 Custom Reason"),
    "none": ("header('HTTP/1.1 404');", "404 Not Found"),
    "unknown": ("header('HTTP/1.1 299 Strange');", "299 Strange"),
    "fine": ("header('HTTP/1.1 200 Fine');", "200 Fine"),
    "blank": ("header('HTTP/1.1 500 ');", "500 Internal Server Error"),
    "two": ("header('HTTP/2 404 Two');", "404 Not Found"),
    "letters": (r'header("HTTP/1.1 404 Caf\xc3\xa9");', "404 Caf\xc3\xa9"),
    "teapot": ("header('HTTP/1.1 418 Teapot');", "418 Teapot"),
    "no body": ("header('HTTP/1.1 204 No Stuff');", "204 No Stuff"),
    "same": ("header('HTTP/1.1 304 Same Same');", "304 Same Same"),
    "code after": ("header('HTTP/1.1 404 Custom'); http_response_code(403);", "403 Forbidden"),
    "code again": ("header('HTTP/1.1 404 Custom'); http_response_code(404);", "404 Custom"),
    "location": ("header('HTTP/1.1 404 Custom'); header('Location: /x');", "302 Found"),
    "usual": ("http_response_code(404);", "404 Not Found"),
}


def files(www) -> None:
    for number, (code, _) in enumerate(CASES.values()):
        (www / f"{number}.php").write_text(f"<?php {code} echo 'x';")


def status_lines(address) -> dict:
    found = {}
    for number, name in enumerate(CASES):
        with Connection(address) as c:
            c.send(f"GET /{number}.php HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
            found[name] = c.rest().split(b"\r\n")[0].decode("latin-1").removeprefix("HTTP/1.1 ")
    return found


EXPECTED = {name: line for name, (_, line) in CASES.items()}


def test_reasons(godwit):
    files(godwit.www)
    godwit.php()
    assert status_lines(godwit.address) == EXPECTED


if apache.php_module():
    def test_apache_says_the_same(godwit):
        files(godwit.www)
        peer = apache.Apache(godwit.base, godwit.www, godwit.www)
        try:
            assert status_lines(("127.0.0.1", peer.port)) == EXPECTED
        finally:
            peer.stop()
