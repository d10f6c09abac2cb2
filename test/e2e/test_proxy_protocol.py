# SPDX-License-Identifier: Apache-2.0
"""The PROXY protocol on a listener: the client is whom the balancer names, before the first request and for all that
knows of addresses; who may not say so is not heard."""
import socket
import struct

import pytest

from support import wait
from support.http import Connection

WHO = "<?php echo $_SERVER['REMOTE_ADDR'], ' ', $_SERVER['REMOTE_PORT'], ' ', $_SERVER['SERVER_ADDR'], ' ', $_SERVER['HTTPS'] ?? 'off';"
GET = "GET /who.php HTTP/1.1\r\nHost: a\r\n\r\n"
SIGNATURE = b"\r\n\r\n\0\r\nQUIT\n"


def version2(source: str, port: int, command=0x21, extras=b"") -> bytes:
    family = socket.AF_INET6 if ":" in source else socket.AF_INET
    to = "2001:db8::9" if ":" in source else "198.51.100.9"
    body = socket.inet_pton(family, source) + socket.inet_pton(family, to) + struct.pack(">HH", port, 443) + extras
    return SIGNATURE + struct.pack(">BBH", command, 0x21 if ":" in source else 0x11, len(body)) + body


@pytest.fixture
def site(godwit):
    godwit.file("who.php", WHO)
    godwit.file("index.html", "home")
    godwit.config("listen 127.0.0.1:%(port)d proxy_protocol; header_time 2s; "
                  "site _ { root %(www)s; app php { workers 0..2; } path /in/ { root %(www)s; allow 192.0.2.0/24; deny all; } }")
    return godwit.start()


@pytest.mark.parametrize("header,who", [
    (b"PROXY TCP4 192.0.2.1 198.51.100.2 56324 443\r\n", "192.0.2.1 56324 198.51.100.2 off"),
    (b"PROXY TCP6 2001:db8::1 2001:db8::2 4000 80\r\n", "2001:db8::1 4000 2001:db8::2 off"),
    (version2("192.0.2.7", 5), "192.0.2.7 5 198.51.100.9 off"),
    (version2("2001:db8::7", 5), "2001:db8::7 5 2001:db8::9 off"),
    (version2("192.0.2.7", 5, extras=b"\x20\0\5\1\0\0\0\0"), "192.0.2.7 5 198.51.100.9 on"),
    (version2("192.0.2.7", 5, command=0x20), "127.0.0.1"),
    (b"PROXY UNKNOWN\r\n", "127.0.0.1"),
])
def test_the_client_is_who_the_header_says(site, header, who):
    with site.connect() as c:
        c.send(header + GET.encode())
        assert c.read().text.startswith(who)
        c.send(GET)  # for the whole connection
        assert c.read().text.startswith(who)
    with site.connect() as c:  # cut anywhere
        for byte in header:
            c.send(bytes([byte]))
        c.send(GET)
        assert c.read().text.startswith(who)


@pytest.mark.parametrize("sent", [
    GET.encode(), b"PROXY TCP4 x y 1 2\r\n" + GET.encode(), b"PROXY TCP4 1.1.1.1 1.1.1.1 1 1\n" + GET.encode(),
    SIGNATURE + b"\x31\x11\0\x0c", SIGNATURE + b"\x21\x11\xff\xff", b"\x16\x03\x01\x02\0", b"PROXY " + b"x" * 200,
])
def test_what_is_no_header_is_not_answered(site, sent):
    with site.connect() as c:
        c.send(sent)
        assert c.at_end()


def test_an_unfinished_header_runs_out_of_time(site):
    with site.connect() as c:
        c.send(b"PROXY TCP4 192.0.2.1")
        assert c.at_end()
    wait.until(lambda: site.status()["metrics"]["timeouts_header"] >= 1, 5, "the counter")


def test_rules_of_access_see_the_client(site):
    for source, status in (("192.0.2.1", 404), ("203.0.113.1", 403)):
        with site.connect() as c:
            c.send(version2(source, 1) + b"GET /in/missing HTTP/1.1\r\nHost: a\r\n\r\n")
            assert c.read().status == status


def test_only_who_is_named_is_believed(godwit):
    godwit.file("index.html", "home")
    godwit.file("who.php", WHO)
    path = godwit.base / "run" / "web.sock"
    godwit.config("listen 127.0.0.1:%(port)d proxy_protocol; listen unix:%(path)s proxy_protocol; "
                  "proxy_protocol_from 10.0.0.0/8 unix:; site _ { root %(www)s; app php { workers 0..1; } }", path=path)
    godwit.start()
    header = b"PROXY TCP4 192.0.2.1 198.51.100.2 1 2\r\n"
    with godwit.connect() as c:
        try:
            c.send(header + GET.encode())
            assert c.at_end()
        except OSError:
            pass
    with Connection(str(path)) as c:
        c.send(header + GET.encode())
        assert c.read().text.startswith("192.0.2.1 1 ")
    godwit.config("listen 127.0.0.1:%(port)d; site _ { root %(www)s; app php { workers 0..1; } }")
    godwit.reload()
    with godwit.connect() as c:  # the same socket, but now without
        c.send(GET)
        assert c.read().text.startswith("127.0.0.1 ")


def test_wrong_words(godwit):
    for line, said in (("proxy_protocol_from nobody;", "nobody"), ("proxy_protocol_from 10.0.0.1/8;", "10.0.0.1/8"),
                       ("listen 127.0.0.1:1 proxy;", "proxy")):
        godwit.config(f"listen 127.0.0.1:%(port)d; {line} site _ {{ root %(www)s; }}")
        done = godwit.run("check", "-c", godwit.conf, check=False)
        assert done.returncode != 0 and said in done.stderr
