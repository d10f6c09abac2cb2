# SPDX-License-Identifier: Apache-2.0
"""Requests with something wrong in them, by chance but the same each time: whatever comes, each connection ends, no
request stays behind, and the server lives."""
import random

import pytest

from support import wait
from support.http import Connection, format_request

pytestmark = [pytest.mark.deep, pytest.mark.seconds(300)]

FORM = {"Transfer-Encoding": "chunked"}
SEEDS = [
    format_request("GET", "/a.txt"),
    format_request("POST", "/echo.php", body=b"hello"),
    format_request("POST", "/echo.php", FORM) + b"5;x=\"y\"\r\nhello\r\n0\r\nT: v\r\n\r\n",
    format_request("POST", "/a.txt", FORM) + b"5\r\nhello\r\n0\r\n\r\n",
    format_request("GET", "/echo.php/a?b", {"Cookie": "a=b", "Expect": "100-continue"}, body=b"x"),
    format_request("GET", "/a.txt", {"Range": "bytes=-3,1-2", "If-Range": "\"a\"", "If-None-Match": "W/\"x\", *"}),
    format_request("GET", "/list/?sort=size&order=desc", {"Accept-Encoding": "gzip;q=0.3,*", "Origin": "https://x.example"}),
    format_request("HEAD", "/secret/a", {"Authorization": "Basic YTpi", "X-Forwarded-For": "192.0.2.1, unknown"}),
    b"GET /a.txt HTTP/1.0\r\nConnection: keep-alive\r\nIf-Modified-Since: Mon, 30 Nov 2026 22:09:14 GMT\r\n\r\n",
    b"GET http://a:80/list HTTP/1.1\r\nHost: b\r\n\r\n",
    b"OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n",
]
PIECES = [b"\r\n", b"\n", b"\r", b"\0", b" ", b"\t", b":", b"chunked", b"Content-Length: 3\r\n", b"Transfer-Encoding: chunked\r\n",
          b"%2f", b"%00", b"../", b"HTTP/1.1", b"Host: a\r\n", b"Connection: close\r\n", b"0\r\n\r\n", b"\xff", b"?", b"#",
          b"Expect: 100-continue\r\n", b"x" * 3000]
CONF = """listen 127.0.0.1:%(port)d; body_max 64k; trusted_proxies 127.0.0.1;
site _ {
    root %(www)s; app php { workers 0..2; } encoded_slash decode; precompressed gzip; cors https://x.example;
    try {path} {path}/ /echo.php; error_page 400 403 404 405 413 /echo.php;
    path /list/ { listing on; try off; expires 30d; }
    path /secret/ { auth_basic "s"; auth_file %(base)s/users; }
}
site drop { return 444; }"""


def mutate(chance: random.Random, sent: bytes) -> bytes:
    for _ in range(chance.choice((0, 1, 1, 2, 4))):
        kind, at = chance.random(), chance.randrange(len(sent) + 1)
        if kind < 0.4:
            sent = sent[:at] + chance.choice(PIECES) + sent[at:]
        elif kind < 0.6:
            sent = sent[:at] + bytes([chance.randrange(256)]) + sent[at + 1:]
        elif kind < 0.8:
            sent = sent[:at] + sent[at + chance.randrange(1, 6):]
        else:
            sent = sent[:at] + chance.choice(SEEDS)[:chance.randrange(40)] + sent[at:]
    return sent


@pytest.mark.parametrize("seed", range(4))
def test_noise(godwit, seed):
    godwit.file("a.txt", "hello world")
    godwit.file("a.txt.gz", "no gzip")
    godwit.file("list/b.txt", "b")
    godwit.file("echo.php", "<?php $in = file_get_contents('php://input'); echo strlen($in), ':', $in;")
    (godwit.base / "users").write_text("a:{SHA}6dVnHt9O0KYLBT3G1rPWmnLrq0s=\n")
    godwit.config(CONF)
    godwit.start()
    server, chance = godwit.one("server").pid, random.Random(seed)
    for _ in range(1000):
        sent = b"".join(mutate(chance, chance.choice(SEEDS)) for _ in range(chance.randrange(1, 5)))
        with Connection(godwit.address, 20) as c:
            try:
                for at in range(0, len(sent), step := chance.choice((1 << 20, 700, 90))):
                    c.send(sent[at:at + step])
                c.sock.shutdown(1)
                if chance.random() < 0.9:
                    while c.sock.recv(1 << 16):
                        pass
            except TimeoutError:
                pytest.fail(f"the server owes an end after {sent!r}")
            except OSError:
                pass  # closed while we sent
    assert godwit.one("server").pid == server
    assert godwit.get("/a.txt").text == "hello world"
    wait.until(lambda: godwit.status()["metrics"]["requests_active"] == 1, 20, "nothing but this is in progress")
