# SPDX-License-Identifier: Apache-2.0
"""trusted_proxies: the client is the one behind the proxy, for apps, rules, limits and logs."""
import json

import pytest

from support import wait
from support.http import Connection
from support.wrong import refused

FACTS = "<?php $s = $_SERVER; echo json_encode([$s['REMOTE_ADDR'], $s['HTTPS'] ?? '', $s['SERVER_PORT'], $s['REQUEST_SCHEME']]);"


def forwarded(addresses, proto=None, **more) -> dict:
    headers = {"X-Forwarded-For": addresses, **more}
    if proto:
        headers["X-Forwarded-Proto"] = proto
    return headers


def test_apps_rules_and_logs_see_the_client(godwit):
    godwit.file("a.php", FACTS)
    godwit.file("in/x.txt", "inside")
    godwit.php(site="path /in/ { deny 203.0.113.0/24; root %(www)s/in; } path /tls/ { redirect_https on; return 200 tls; }\n"
               "path /slow/ { limit_requests 1/h; return 200 ok; }",
               top="trusted_proxies 127.0.0.1 10.0.0.0/8;\naccess_log %(base)s/access.log;")
    assert json.loads(godwit.get("/a.php").text) == ["127.0.0.1", "", str(godwit.port), "http"]
    answer = godwit.get("/a.php", forwarded("1.2.3.4, 203.0.113.9, 10.1.1.1", "https"))
    assert json.loads(answer.text) == ["203.0.113.9", "on", "443", "https"]
    answer = godwit.get("/a.php", forwarded("2001:db8::7", "http"), host="shop.example:8000")
    assert json.loads(answer.text) == ["2001:db8::7", "", "8000", "http"]
    assert godwit.get("/in/x.txt").text == "inside"
    assert godwit.get("/in/x.txt", forwarded("203.0.113.9")).status == 403
    assert godwit.get("/in/x.txt", forwarded("203.0.113.9, 198.51.100.1")).status == 200
    assert godwit.get("/tls/", forwarded("203.0.113.9", "https")).text == "tls"
    assert godwit.get("/tls/", forwarded("203.0.113.9", "http")).header("Location") == "https://localhost/tls/"
    assert [godwit.get("/slow/", forwarded(ip)).status for ip in ("203.0.113.1", "203.0.113.2", "203.0.113.1")] == [200, 200, 429]
    wait.until(lambda: "203.0.113.9 - - [" in (godwit.base / "access.log").read_text(), 5, "the client in the log")


def test_others_are_not_believed(godwit):
    godwit.file("a.php", FACTS)
    godwit.php(top="trusted_proxies 192.0.2.1;")
    answer = godwit.get("/a.php", forwarded("203.0.113.9", "https", Forwarded="for=203.0.113.9;proto=https"))
    assert json.loads(answer.text) == ["127.0.0.1", "", str(godwit.port), "http"]


def test_the_header_of_the_rfc(godwit):
    godwit.file("a.php", FACTS)
    godwit.php(site="trusted_proxies 127.0.0.0/8; trusted_proxies_header forwarded;")
    answer = godwit.get("/a.php", {"Forwarded": 'for=1.1.1.1, for="[2001:db8::7]:99";proto=https', "X-Forwarded-For": "9.9.9.9"})
    assert json.loads(answer.text) == ["2001:db8::7", "on", "443", "https"]


@pytest.mark.parametrize("kind,name", [("x-forwarded", "X-Forwarded-For"), ("forwarded", "Forwarded")])
def test_a_client_cannot_pass_for_its_proxy(godwit, kind, name):
    """What it sends stands before what the proxy adds, in the same field or in one of its own, and cannot spoil that."""
    godwit.simple(f"trusted_proxies 127.0.0.0/8; trusted_proxies_header {kind}; path /admin/ {{ allow 127.0.0.1; deny all; return 200 in; }}")
    added = "203.0.113.9" if kind == "x-forwarded" else "for=203.0.113.9;proto=https"
    assert godwit.get("/admin/").text == "in"
    for sent in ("", ",", '"', 'for="', 'for="127.0.0.1', "\\", 'for="\\', "for=127.0.0.1", "127.0.0.1", "for=127.0.0.1;for=127.0.0.1",
                 "unknown", "nonsense, nonsense", "=", ";", 'a="b, c'):
        assert godwit.get("/admin/", {name: f"{sent}, {added}"}).status == 403, sent
        with godwit.connect() as c:
            c.send(f"GET /admin/ HTTP/1.1\r\nHost: a\r\n{name}: {sent}\r\n{name}: {added}\r\n\r\n")
            assert c.read().status == 403, sent


def test_proxies_on_a_unix_socket(godwit):
    godwit.file("a.php", FACTS)
    sock = godwit.base / "http.sock"
    godwit.php(top=f"listen unix:{sock}; trusted_proxies unix:;")
    with Connection(str(sock)) as c:
        assert json.loads(c.get("/a.php", forwarded("203.0.113.9", "https")).text) == ["203.0.113.9", "on", "443", "https"]
        assert json.loads(c.get("/a.php", forwarded("203.0.113.8")).text)[0] == "203.0.113.8"
    assert json.loads(godwit.get("/a.php", forwarded("203.0.113.9")).text)[0] == "127.0.0.1"


@pytest.mark.parametrize("directive,words", [
    ("trusted_proxies all;", "all"), ("trusted_proxies proxy.example;", "proxy.example"), ("trusted_proxies 10.0.0.1/8;", "10\\.0\\.0\\.0/8"),
    ("trusted_proxies;", "0 arguments"), ("trusted_proxies_header x-real-ip;", "x-forwarded or forwarded"),
])
def test_wrong_directives_are_refused(godwit, directive, words):
    refused(godwit, directive, words)
