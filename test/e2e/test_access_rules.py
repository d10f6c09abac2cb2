# SPDX-License-Identifier: Apache-2.0
"""allow and deny: clients by their address."""
import pytest

from support.http import Connection
from support.wrong import refused


def test_allow_and_deny(godwit):
    for name in ("index.html", "a/index.html", "b/index.html", "c/index.html"):
        godwit.file(name, name)
    godwit.simple("""
        path /a/ { deny all; }
        path /b/ { allow 127.0.0.0/8; deny all; }
        path /c/ { allow 192.0.2.0/24 2001:db8::/32; }
    """)
    for target, status in (("/", 200), ("/a/", 403), ("/a/index.html", 403), ("/a/missing", 403), ("/b/", 200), ("/c/", 403),
                           ("/x/../a/", 403), ("//a/", 403), ("/%61/", 403)):
        answer = godwit.get(target)
        assert answer.status == status, target
        assert status == 200 or b"index" not in answer.body
    assert godwit.status()["metrics"]["access_refused"] == 7


def test_a_path_opens_what_its_site_closes(godwit):
    godwit.file("index.html", "home")
    godwit.file("open/index.html", "open")
    godwit.simple("deny all; path /open/ { allow 127.0.0.1; }")
    assert godwit.get("/").status == 403
    assert godwit.get("/open/").text == "open"


def test_scripts_and_their_tails_are_behind_the_rules(godwit):
    godwit.file("admin/a.php", "<?php echo 'inside';")
    godwit.php(site="path /admin/ { allow 192.0.2.1; }")
    for target in ("/admin/a.php", "/admin/a.php/tail", "/admin/./a.php", "/admin%2fa.php"):
        assert godwit.get(target).status in (400, 403)


def test_unix_sockets_and_ipv6(godwit):
    godwit.file("index.html", "home")
    sock = godwit.base / "http.sock"
    godwit.simple("allow unix: ::1; deny all;", top=f"listen unix:{sock}; listen [::1]:{godwit.port};")
    assert godwit.get("/").status == 403
    with Connection(str(sock)) as c:
        assert c.get("/").text == "home"
    with Connection(("::1", godwit.port)) as c:
        assert c.get("/").text == "home"


@pytest.mark.parametrize("directive,words", [
    ("allow 192.0.2.0/33;", "192.0.2.0/33.*all was expected"), ("deny example.org;", "example.org"), ("allow;", "0 arguments"),
    ("deny 10.0.0.1/8;", "10\\.0\\.0\\.0/8 was expected"), ("allow 192.0.2.1 192.0.2;", "\"192\\.0\\.2\""),
    ("deny 192.0.2.0/255.255.255.0;", "255"), ("allow none;", "none"), ("deny all { }", "no block"),
])
@pytest.mark.parametrize("scope", ["top", "site", "path"])
def test_what_is_not_understood_is_refused(godwit, directive, words, scope):
    refused(godwit, directive, words, scope)
