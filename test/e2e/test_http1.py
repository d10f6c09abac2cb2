# SPDX-License-Identifier: Apache-2.0
"""HTTP/1.1 on the wire: connections, framing, limits and times by name."""
import hashlib
import os
import time

import pytest

from support import wait
from support.http import Closed, Connection, chunked, format_request

ECHO = "<?php $in = file_get_contents('php://input'); echo $_SERVER['REQUEST_METHOD'], ' ', strlen($in), ' ', sha1($in);"


def echo_of(method: str, body: bytes) -> str:
    return f"{method} {len(body)} {hashlib.sha1(body).hexdigest()}"


@pytest.fixture
def site(godwit):
    godwit.file("index.html", "home")
    godwit.file("echo.php", ECHO)
    return godwit.php()


def test_keep_alive(site):
    with site.connect() as c:
        for _ in range(50):
            assert c.get("/").text == "home"
            assert c.get("/echo.php").status == 200
    with site.connect() as c:
        answer = c.get("/", {"Connection": "close"})
        assert answer.text == "home" and answer.header("Connection") == "close"
        assert c.at_end()


def test_http10(site):
    with site.connect() as c:
        c.send("GET / HTTP/1.0\r\n\r\n")
        answer = c.read()
        assert answer.status == 200 and answer.text == "home" and c.at_end()
    with site.connect() as c:
        for _ in range(2):
            c.send("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
            assert c.read().text == "home"
    with site.connect() as c:  # no chunks to a client that cannot read them
        c.send("GET /echo.php HTTP/1.0\r\n\r\n")
        answer = c.read()
        assert not answer.chunked and answer.text == echo_of("GET", b"")


def test_pipelined_answers_keep_their_order(site):
    site.file("a.txt", "a")
    with site.connect() as c:
        c.send(b"".join(format_request("GET", t) for t in ("/echo.php", "/a.txt", "/missing", "/echo.php", "/")))
        assert [c.read().status for _ in range(5)] == [200, 200, 404, 200, 200]


def test_a_long_pipeline_is_answered_whole(godwit):
    """More than the server holds at a time, sent as fast as it goes."""
    godwit.file("index.html", "home")
    godwit.simple()
    with godwit.connect() as c:
        got = c.talk(format_request("GET", "/") * 50000 + format_request("GET", "/missing", {"Connection": "close"}))
    assert got.count(b"HTTP/1.1 200 OK\r\n") == 50000 and got.count(b"HTTP/1.1 404 ") == 1


def test_a_flood_of_empty_lines_is_refused(godwit):
    godwit.file("index.html", "home")
    godwit.simple()
    with godwit.connect() as flood, godwit.connect() as other:
        flood.send(b"\r\n" * 1000000)
        assert flood.read().status == 400 and flood.at_end()
        assert other.get("/").text == "home"
    assert godwit.status()["metrics"]["requests_malformed"] == 1


def test_pipelined_behind_a_body(site):
    with site.connect() as c:
        c.send(format_request("POST", "/echo.php", body=b"one") + format_request("POST", "/echo.php", body=b"two!")
               + format_request("GET", "/"))
        assert c.read().text == echo_of("POST", b"one")
        assert c.read().text == echo_of("POST", b"two!")
        assert c.read().text == "home"


@pytest.mark.parametrize("pieces", [[b"hello"], [b"a", b"b" * 10000, b"c"], [os.urandom(300000)], []])
def test_chunked_upload(site, pieces):
    with site.connect() as c:
        c.send(format_request("POST", "/echo.php", {"Transfer-Encoding": "chunked"}))
        c.send(chunked(*pieces))
        assert c.read().text == echo_of("POST", b"".join(pieces))
        assert c.get("/").text == "home"


def test_trailers_are_no_headers(site):
    """RFC 9110 6.5.1: what comes behind a body must not pass for what was there when rules were applied."""
    site.file("headers.php", "<?php file_get_contents('php://input'); echo json_encode($_SERVER);")
    with site.connect() as c:
        c.send(format_request("POST", "/headers.php", {"Transfer-Encoding": "chunked", "Trailer": "X-Late"})
               + b"1\r\na\r\n0\r\nX-Late: late\r\n\r\n")
        answer = c.read()
        assert answer.status == 200 and "late" not in answer.text
        assert c.get("/").text == "home"


def test_byte_by_byte(site):
    with site.connect() as c:
        for byte in format_request("POST", "/echo.php", {"Transfer-Encoding": "chunked"}) + chunked(b"slow", b"ly"):
            c.send(bytes([byte]))
        assert c.read().text == echo_of("POST", b"slowly")


def test_expect_continue(site):
    with site.connect() as c:
        c.send("POST /echo.php HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n")
        assert c.head().status == 100
        c.send("hello")
        assert c.read().text == echo_of("POST", b"hello")


def test_expect_something_else(site):
    with site.connect() as c:
        c.send("POST /echo.php HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nExpect: miracles\r\n\r\n")
        assert c.read().status == 417


def test_body_too_large_is_refused_before_it_is_sent(godwit):
    godwit.file("echo.php", ECHO)
    godwit.php(top="body_max 1k;")
    with godwit.connect() as c:
        c.send("POST /echo.php HTTP/1.1\r\nHost: a\r\nContent-Length: 5000\r\nExpect: 100-continue\r\n\r\n")
        assert c.read().status == 413
    assert godwit.request("POST", "/echo.php", body=b"x" * 1024).text == echo_of("POST", b"x" * 1024)
    with godwit.connect() as c:
        c.send(format_request("POST", "/echo.php", {"Transfer-Encoding": "chunked"}) + chunked(b"x" * 1025))
        assert c.read().status == 413


def test_large_bodies_go_to_a_file_without_a_name(godwit):
    godwit.file("echo.php", ECHO)
    godwit.php(top="body_memory 16k; spool_dir %(data)s;")
    body = os.urandom(3 * 1024 * 1024)
    assert godwit.request("POST", "/echo.php", body=b"small").text == echo_of("POST", b"small")
    assert godwit.status()["metrics"]["spool_bytes"] == 0
    assert godwit.request("POST", "/echo.php", body=body).text == echo_of("POST", body)
    assert godwit.status()["metrics"]["spool_bytes"] > len(body) - 64 * 1024
    assert os.listdir(godwit.data) == []


def test_body_that_cannot_be_spooled(godwit):
    (godwit.base / "gone").mkdir()
    (godwit.base / "gone").chmod(0o777)
    godwit.file("echo.php", ECHO)
    godwit.php(top="body_memory 16k; spool_dir %(base)s/gone;")
    (godwit.base / "gone").rmdir()
    assert godwit.request("POST", "/echo.php", body=b"small").status == 200
    with godwit.connect() as c:
        try:
            c.send(format_request("POST", "/echo.php", body=os.urandom(1024 * 1024)))
        except OSError:
            pass  # closed while we sent
        assert c.read().status == 500
    godwit.stderr.wait("spool.failed")


H = "Host: a\r\n"

MALFORMED = [
    ("bare LF", "GET / HTTP/1.1\nHost: a\n\n", 400),
    ("bare CR in a field", "GET / HTTP/1.1\r\nHost: a\r\nX: a\rb\r\n\r\n", 400),
    ("NUL in a field", "GET / HTTP/1.1\r\nHost: a\r\nX: a\0b\r\n\r\n", 400),
    ("space before colon", "GET / HTTP/1.1\r\nHost : a\r\n\r\n", 400),
    ("folded field", "GET / HTTP/1.1\r\nHost: a\r\nX: a\r\n b\r\n\r\n", 400),
    ("empty field name", "GET / HTTP/1.1\r\nHost: a\r\n: x\r\n\r\n", 400),
    ("no colon", "GET / HTTP/1.1\r\nHost: a\r\nnonsense\r\n\r\n", 400),
    ("no Host", "GET / HTTP/1.1\r\n\r\n", 400),
    ("two Hosts", f"GET / HTTP/1.1\r\n{H}Host: b\r\n\r\n", 400),
    ("bad Host", "GET / HTTP/1.1\r\nHost: a b\r\n\r\n", 400),
    ("Host with a path", "GET / HTTP/1.1\r\nHost: a/b\r\n\r\n", 400),
    ("no version", f"GET /\r\n{H}\r\n", 400),
    ("two spaces", f"GET  / HTTP/1.1\r\n{H}\r\n", 400),
    ("tab as space", f"GET\t/ HTTP/1.1\r\n{H}\r\n", 400),
    ("trailing space", f"GET / HTTP/1.1 \r\n{H}\r\n", 400),
    ("method with a control byte", f"G\x01T / HTTP/1.1\r\n{H}\r\n", 400),
    ("raw space in the target", f"GET /a b HTTP/1.1\r\n{H}\r\n", 400),
    ("target without a slash", f"GET index.html HTTP/1.1\r\n{H}\r\n", 400),
    ("lower-case version", f"GET / http/1.1\r\n{H}\r\n", 400),
    ("HTTP/2.0 in the line", f"GET / HTTP/2.0\r\n{H}\r\n", 505),
    ("length and chunks", f"POST /echo.php HTTP/1.1\r\n{H}Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400),
    ("two lengths", f"POST /echo.php HTTP/1.1\r\n{H}Content-Length: 3\r\nContent-Length: 4\r\n\r\nabc", 400),
    ("length list", f"POST /echo.php HTTP/1.1\r\n{H}Content-Length: 3, 4\r\n\r\nabc", 400),
    ("signed length", f"POST /echo.php HTTP/1.1\r\n{H}Content-Length: +3\r\n\r\nabc", 400),
    ("negative length", f"POST /echo.php HTTP/1.1\r\n{H}Content-Length: -3\r\n\r\nabc", 400),
    ("hex length", f"POST /echo.php HTTP/1.1\r\n{H}Content-Length: 0x3\r\n\r\nabc", 400),
    ("huge length", f"POST /echo.php HTTP/1.1\r\n{H}Content-Length: 99999999999999999999\r\n\r\n", 400),
    ("chunked not last", f"POST /echo.php HTTP/1.1\r\n{H}Transfer-Encoding: chunked, gzip\r\n\r\n", (400, 501)),
    ("unknown coding", f"POST /echo.php HTTP/1.1\r\n{H}Transfer-Encoding: cow\r\n\r\n", (400, 501)),
    ("chunked with a vertical tab", f"POST /echo.php HTTP/1.1\r\n{H}Transfer-Encoding: \x0bchunked\r\n\r\n0\r\n\r\n", (400, 501)),
    ("chunks in HTTP/1.0", "POST /echo.php HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400),
    ("bad chunk size", f"POST /echo.php HTTP/1.1\r\n{H}Transfer-Encoding: chunked\r\n\r\nzz\r\n", 400),
    ("signed chunk size", f"POST /echo.php HTTP/1.1\r\n{H}Transfer-Encoding: chunked\r\n\r\n+1\r\na\r\n0\r\n\r\n", 400),
    ("huge chunk size", f"POST /echo.php HTTP/1.1\r\n{H}Transfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n", (400, 413)),
    ("chunk longer than said", f"POST /echo.php HTTP/1.1\r\n{H}Transfer-Encoding: chunked\r\n\r\n1\r\nab\r\n0\r\n\r\n", 400),
    ("chunk size ends in LF", f"POST /echo.php HTTP/1.1\r\n{H}Transfer-Encoding: chunked\r\n\r\n1\na\r\n0\r\n\r\n", 400),
]


@pytest.fixture(scope="module")
def shared():
    """One instance for the whole table: each row has its own connection, and none may hurt the next."""
    from support import server
    instance = server.Godwit(server.make_base())
    instance.file("index.html", "home")
    instance.file("echo.php", ECHO)
    instance.php()
    yield instance
    instance.finish()
    server.remove_base(instance)


@pytest.mark.parametrize("name,bytes_,status", MALFORMED, ids=[m[0] for m in MALFORMED])
def test_malformed_is_refused_and_closed(shared, name, bytes_, status):
    with shared.connect() as c:
        c.send(bytes_.encode("latin-1"))
        answer = c.read()
        assert answer.status in (status if isinstance(status, tuple) else (status,))
        assert c.at_end(), "the connection must close"
    assert shared.get("/").text == "home"


@pytest.mark.parametrize("request_,status", [
    (f"GET http://a/ HTTP/1.1\r\n{H}\r\n", 200),           # absolute form
    (f"\r\nGET / HTTP/1.1\r\n{H}\r\n", 200),               # an empty line before is forgiven
    ("\r\n" * 8 + f"GET / HTTP/1.1\r\n{H}\r\n", 200),       # eight are
    ("\r\n" * 9 + f"GET / HTTP/1.1\r\n{H}\r\n", 400),
    (f"GET / HTTP/1.1\r\n{H}X-Empty:\r\n\r\n", 200),
    (f"GET / HTTP/1.1\r\nHost:a\r\n\r\n", 200),
    (f"GET / HTTP/1.1\r\nhOsT: a:8080\r\n\r\n", 200),
    (f"GET / HTTP/1.1\r\nHost: [::1]:80\r\n\r\n", 200),
    (f"GET /?q=%zz HTTP/1.1\r\n{H}\r\n", 200),             # a query is the application's
    (f"GET / HTTP/1.1\r\n{H}Content-Length: 0\r\n\r\n", 200),
    (f"GET /a%2fb HTTP/1.1\r\n{H}\r\n", (400, 404)),        # an encoded slash is never a separator
    (f"BREW / HTTP/1.1\r\n{H}\r\n", (405, 501)),
])
def test_unusual_but_valid(shared, request_, status):
    with shared.connect() as c:
        c.send(request_)
        assert c.read().status in (status if isinstance(status, tuple) else (status,))


def test_post_to_a_static_file_leaves_the_framing_intact(shared):
    with shared.connect() as c:
        c.send(format_request("POST", "/index.html", body=b"GET /echo.php HTTP/1.1\r\nHost: a\r\n\r\n"))
        assert c.read().status == 405
        try:
            assert c.get("/").text == "home"
        except (Closed, BrokenPipeError):
            pass  # closing instead is fine; answering the body as a request is not


def test_head_limits(godwit):
    godwit.file("index.html", "home")
    godwit.simple(top="header_bytes_max 8k; headers_max 50; target_bytes_max 2k;")
    assert godwit.get("/?" + "a" * 1900).status == 200
    assert godwit.get("/?" + "a" * 2100).status == 414
    assert godwit.get("/", [(f"X-{i}", "y") for i in range(40)]).status == 200
    assert godwit.get("/", [(f"X-{i}", "y") for i in range(60)]).status == 431
    assert godwit.get("/", {"X": "y" * 7000}).status == 200
    assert godwit.get("/", {"X": "y" * 9000}).status == 431


def test_header_time(godwit):
    godwit.file("index.html", "home")
    godwit.simple(top="header_time 1s;")
    with godwit.connect() as c:
        began = time.monotonic()
        c.send("GET / HTTP/1.1\r\nHost:")
        assert c.read().status == 408
        assert c.at_end() and 0.9 < time.monotonic() - began < 6
    wait.until(lambda: godwit.status()["metrics"]["timeouts_header"] >= 1, 5, "the counter")


def test_idle_time(godwit):
    godwit.file("index.html", "home")
    godwit.simple(top="keepalive_time 1s;")
    with godwit.connect() as c:
        assert c.get("/").text == "home"
        began = time.monotonic()
        assert c.at_end() and 0.9 < time.monotonic() - began < 6


def test_body_time(godwit):
    godwit.file("echo.php", ECHO)
    godwit.php(top="body_idle_time 1s;")
    with godwit.connect() as c:
        c.send("POST /echo.php HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\nabc")
        assert c.read().status in (400, 408)
        assert c.at_end()
    wait.until(lambda: godwit.status()["metrics"]["timeouts_body"] >= 1, 5, "the counter")


def test_send_time(godwit):
    godwit.file("large.bin", os.urandom(16 * 1024 * 1024))
    godwit.simple(top="send_time 1s;")
    with godwit.connect() as c:
        c.send("GET /large.bin HTTP/1.1\r\nHost: a\r\n\r\n")
        wait.until(lambda: godwit.status()["metrics"]["timeouts_send"] >= 1, 15, "the counter")
        try:
            assert len(c.rest()) < 16 * 1024 * 1024
        except Closed:
            pass


def test_connections_max(godwit):
    """Beyond the limit idle connections go first, whichever thread has them; who is being served stays."""
    godwit.file("wait.php", f"<?php while (!file_exists('{godwit.data}/open')) {{ usleep(5000); clearstatcache(); }} echo 'ok';")
    godwit.file("index.html", "home")
    godwit.php(top="connections_max 4; threads 4;")
    busy = [godwit.connect(20) for _ in range(3)]
    for c in busy:
        c.send(format_request("GET", "/wait.php"))
    wait.until(lambda: godwit.status()["metrics"]["requests_active"] >= 4, 10, "three are served, and this")
    idle = godwit.connect()
    assert idle.get("/").text == "home"
    for _ in range(10):
        new = godwit.connect()
        assert new.get("/").text == "home"
        assert idle.at_end(), "the idle one made room"
        idle.close()
        idle = new
    idle.close()
    (godwit.data / "open").touch()
    assert [c.read().text for c in busy] == ["ok"] * 3
    for c in busy:
        c.close()


def test_hop_by_hop_fields_stay_here(site):
    site.file("h.php", "<?php header('Connection: x-own'); header('Keep-Alive: 5'); header('Transfer-Encoding: chunked'); echo 'ok';")
    with site.connect() as c:
        answer = c.get("/h.php")
        assert answer.text == "ok"
        assert answer.header("Keep-Alive") is None
        assert len(answer.all("Transfer-Encoding")) <= 1
        assert c.get("/").text == "home"
