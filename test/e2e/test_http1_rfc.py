# SPDX-License-Identifier: Apache-2.0
"""HTTP/1.1 rule by rule, on a raw socket: one row each, with the section of RFC 9110 (semantics) or RFC 9112 (HTTP/1.1)
that asks for it. What the rows expect is what must come, byte for byte where it matters."""
import os
import re
import select
import time

import pytest

from support import server
from support.http import Closed, chunked, format_request

H = "Host: a\r\n"
POST = f"POST /echo.php HTTP/1.1\r\n{H}"
CHUNKED = f"{POST}Transfer-Encoding: chunked\r\n\r\n"


@pytest.fixture(scope="module")
def shared():
    instance = server.Godwit(server.make_base())
    instance.file("index.html", "home")
    instance.file("a%2Fb/index.html", "kept")
    instance.file("a/b/index.html", "decoded")
    instance.file("echo.php", "<?php $in = file_get_contents('php://input'); echo strlen($in), ':', $in;")
    instance.file("host.php", "<?php echo $_SERVER['HTTP_HOST'], ' ', $_SERVER['REQUEST_URI'];")
    instance.file("empty.php", "<?php http_response_code(204);")
    instance.file("not.php", "<?php http_response_code(304); header('ETag: \"x\"');")
    instance.file("reset.php", "<?php http_response_code(205); echo 'x'; if (isset($_GET['flush'])) { ob_end_flush(); flush(); } echo 'y';")
    instance.config("listen 127.0.0.1:%(port)d; body_max 1m; "
                    "site a { root %(www)s; app php { workers 0..2; } } "
                    "site keep { root %(www)s; encoded_slash keep; } "
                    "site decode { root %(www)s; encoded_slash decode; }")
    instance.start()
    yield instance
    instance.finish()
    server.remove_base(instance)


# (rule, what is sent, statuses of the answers in order, whether the connection closes behind them)
RULES = [
    ("9112 2.2: CR LF before a request line is skipped", f"\r\n\r\nGET / HTTP/1.1\r\n{H}\r\n", [200], False),
    ("9112 2.2: a bare CR ends no line", "GET / HTTP/1.1\rHost: a\r\n\r\n", [400], True),
    ("9112 2.2: white space before the first field", f"GET / HTTP/1.1\r\n {H}\r\n", [400], True),
    ("9112 2.3: the version is case-sensitive", f"GET / HTTp/1.1\r\n{H}\r\n", [400], True),
    ("9110 2.5: a higher minor version is served", f"GET / HTTP/1.9\r\n{H}\r\n", [200], False),
    ("9112 2.3: another major version", f"GET / HTTP/2.0\r\n{H}\r\n", [505], True),
    ("9113 3.4: the preface of HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0", [505], True),
    ("9112 2.3: a line without version", "GET /\r\n\r\n", [400], True),
    ("8446 4: TLS where HTTP was expected", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", [400], True),
    ("9112 3: white space around the request line", f" GET / HTTP/1.1\r\n{H}\r\n", [400], True),
    ("9112 3.1: the method is case-sensitive", f"get / HTTP/1.1\r\n{H}\r\n", [405], False),
    ("9112 3.2: Host is missing", "GET / HTTP/1.1\r\n\r\n", [400], True),
    ("9112 3.2: Host twice, equal", f"GET / HTTP/1.1\r\n{H}{H}\r\n", [400], True),
    ("9112 3.2: Host invalid", "GET / HTTP/1.1\r\nHost: a,b\r\n\r\n", [400], True),
    ("9112 3.2: Host with user information", "GET / HTTP/1.1\r\nHost: u@a\r\n\r\n", [400], True),
    ("9112 3.2: HTTP/1.0 needs no Host", "GET / HTTP/1.0\r\n\r\n", [200], True),
    ("9112 3.2.1: an empty path is no origin form", f"GET ?a HTTP/1.1\r\n{H}\r\n", [400], True),
    ("9112 3.2.2: absolute form", "GET http://a/ HTTP/1.1\r\nHost: elsewhere\r\n\r\n", [200], False),
    ("9112 3.2.2: absolute form needs Host too", "GET http://a/ HTTP/1.1\r\n\r\n", [400], True),
    ("9110 4.2.4: user information in a target", f"GET http://u:p@a/ HTTP/1.1\r\n{H}\r\n", [400], True),
    ("9110 4.2: another scheme", f"GET gopher://a/ HTTP/1.1\r\n{H}\r\n", [400], True),
    ("9112 3.2.3: CONNECT is not served", "CONNECT a:80 HTTP/1.1\r\nHost: a:80\r\n\r\n", [405], False),
    ("9112 3.2.3: authority form is for CONNECT", f"GET a:80 HTTP/1.1\r\n{H}\r\n", [400], True),
    ("9112 3.2.4: OPTIONS *", f"OPTIONS * HTTP/1.1\r\n{H}\r\n", [204], False),
    ("9112 3.2.4: * is for OPTIONS", f"GET * HTTP/1.1\r\n{H}\r\n", [400], True),
    ("9110 4.2.5: a fragment", f"GET /#a HTTP/1.1\r\n{H}\r\n", [400], True),
    ("3986 2.1: a bad escape", f"GET /%4 HTTP/1.1\r\n{H}\r\n", [400], True),
    ("3986 5.2.4: dot segments", f"GET /x/../%2e/ HTTP/1.1\r\n{H}\r\n", [200], False),
    ("3986 5.2.4: above the root", f"GET /../ HTTP/1.1\r\n{H}\r\n", [400], True),
    ("3986 2.4: decoded once", f"GET /%252e%252e/ HTTP/1.1\r\n{H}\r\n", [404], False),
    ("3986 7.3: NUL in a path", f"GET /index.html%00.png HTTP/1.1\r\n{H}\r\n", [400], True),
    ("3986 2.2: %2f, encoded_slash reject", f"GET /a%2Fb/ HTTP/1.1\r\n{H}\r\n", [400], True),
    ("9112 5: a field without colon", f"GET / HTTP/1.1\r\n{H}x\r\n\r\n", [400], True),
    ("9112 5.1: white space before the colon", f"GET / HTTP/1.1\r\n{H}X : y\r\n\r\n", [400], True),
    ("9112 5.1: white space around a value", "GET / HTTP/1.1\r\nHost: \t a \t\r\n\r\n", [200], False),
    ("9112 5.2: a folded field", f"GET / HTTP/1.1\r\n{H}X: y\r\n\tz\r\n\r\n", [400], True),
    ("9110 5.5: NUL in a value", f"GET / HTTP/1.1\r\n{H}X: y\0\r\n\r\n", [400], True),
    ("9110 5.5: obs-text in a value", f"GET / HTTP/1.1\r\n{H}X: \xfc\r\n\r\n", [200], False),
    ("9110 5.6.2: a name that is no token", f"GET / HTTP/1.1\r\n{H}X(y): z\r\n\r\n", [400], True),
    ("9112 6.1: chunked twice", f"{POST}Transfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n", [400], True),
    ("9112 6.1: chunked is not the last", f"{POST}Transfer-Encoding: chunked, identity\r\n\r\n", [400, 501], True),
    ("9112 6.1: chunked and a length", f"{POST}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", [400], True),
    ("9112 6.1: chunked in HTTP/1.0", "POST /echo.php HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", [400], True),
    ("9112 7: codings are not case-sensitive", f"{POST}Transfer-Encoding: Chunked\r\n\r\n0\r\n\r\n", [200], False),
    ("9112 6.3: two different lengths", f"{POST}Content-Length: 1\r\nContent-Length: 2\r\n\r\nab", [400], True),
    ("9110 8.6: a length that is no number", f"{POST}Content-Length: 1x\r\n\r\na", [400], True),
    ("9110 8.6: a length beyond all numbers", f"{POST}Content-Length: 18446744073709551617\r\n\r\na", [400], True),
    ("9112 6.3: no framing is no body", f"{POST}\r\nGET / HTTP/1.1\r\n{H}\r\n", [200, 200], False),
    ("9112 6.3: a body of GET is read", f"GET / HTTP/1.1\r\n{H}Content-Length: 3\r\n\r\nabcGET / HTTP/1.1\r\n{H}\r\n", [200, 200], False),
    ("9112 7.1: sizes are hexadecimal, any case", f"{CHUNKED}A\r\n0123456789\r\n0a\r\n0123456789\r\n0\r\n\r\n", [200], False),
    ("9112 7.1: no sign, no prefix", f"{CHUNKED}0x1\r\na\r\n0\r\n\r\n", [400], True),
    ("9112 7.1: an empty size", f"{CHUNKED}\r\na\r\n0\r\n\r\n", [400], True),
    ("9112 7.1: CR LF behind the bytes", f"{CHUNKED}1\r\na0\r\n\r\n", [400], True),
    ("9112 7.1: bare LF behind a size", f"{CHUNKED}1\na\r\n0\r\n\r\n", [400], True),
    ("9112 7.1: a size beyond all numbers", f"{CHUNKED}10000000000000000\r\n", [400], True),
    ("9112 7.1.1: extensions are left out", f"{CHUNKED}1;a=\"b;c\";d\r\na\r\n0;e\r\n\r\nGET / HTTP/1.1\r\n{H}\r\n", [200, 200], False),
    ("9112 7.1.1: extensions have a limit", f"{CHUNKED}1;{'a' * 1000}\r\na\r\n0\r\n\r\n", [400], True),
    ("9112 7.1.2: trailers are read", f"{CHUNKED}1\r\na\r\n0\r\nX: y\r\nZ: 1\r\n\r\nGET / HTTP/1.1\r\n{H}\r\n", [200, 200], False),
    ("9110 6.5.1: trailers change no framing", f"{CHUNKED}0\r\nContent-Length: 9\r\n\r\nGET / HTTP/1.1\r\n{H}\r\n", [400], True),
    ("9112 7.1.2: trailers are fields", f"{CHUNKED}0\r\nno field\r\n\r\nGET / HTTP/1.1\r\n{H}\r\n", [400], True),
    ("9112 7.1.2: trailers have a limit", f"{CHUNKED}0\r\nX: {'a' * 9000}\r\n\r\n", [400], True),
    ("9112 7.1.2: a trailer ends with CR LF", f"{CHUNKED}0\r\nX: y\n\r\n", [400], True),
    ("9110 9.3.8: TRACE is not served", f"TRACE / HTTP/1.1\r\n{H}\r\n", [405], False),
    ("9110 9.1: an unknown method", f"BREW / HTTP/1.1\r\n{H}\r\n", [405], False),
    ("9110 10.1.1: 100-continue", f"{POST}Content-Length: 1\r\nExpect: 100-Continue\r\n\r\n", [100], False),
    ("9110 10.1.1: no 100 when the body is there", f"{POST}Content-Length: 1\r\nExpect: 100-continue\r\n\r\na", [200], False),
    ("9110 10.1.1: no 100 without a body", f"GET / HTTP/1.1\r\n{H}Expect: 100-continue\r\n\r\n", [200], False),
    ("9110 10.1.1: another expectation", f"{POST}Content-Length: 1\r\nExpect: x\r\n\r\na", [417], True),
    ("9110 10.1.1: not in HTTP/1.0", "POST /echo.php HTTP/1.0\r\nContent-Length: 1\r\nExpect: 100-continue\r\n\r\na", [200], True),
    ("9112 9.3: HTTP/1.1 stays", f"GET / HTTP/1.1\r\n{H}\r\nGET / HTTP/1.1\r\n{H}\r\n", [200, 200], False),
    ("9112 9.3: HTTP/1.0 closes", f"GET / HTTP/1.0\r\n{H}\r\nGET / HTTP/1.0\r\n{H}\r\n", [200], True),
    ("9112 9.3: HTTP/1.0 may stay", f"GET / HTTP/1.0\r\n{H}Connection: Keep-Alive\r\n\r\n", [200], False),
    ("9112 9.6: close, nothing more is answered", f"GET / HTTP/1.1\r\n{H}Connection: x, Close\r\n\r\nGET / HTTP/1.1\r\n{H}\r\n", [200], True),
    ("9112 9.3.2: pipelined answers keep their order", f"GET / HTTP/1.1\r\n{H}\r\nGET /no HTTP/1.1\r\n{H}\r\nOPTIONS * HTTP/1.1\r\n{H}\r\n", [200, 404, 204], False),
    ("9110 7.8: an Upgrade that is not known is not taken", f"GET / HTTP/1.1\r\n{H}Connection: upgrade\r\nUpgrade: x/1\r\n\r\n", [200], False),
    ("9110 15.5.15: a target too long", f"GET /{'a' * 20000} HTTP/1.1\r\n{H}\r\n", [414], True),
    ("6585 5: a field too large", f"GET / HTTP/1.1\r\n{H}X: {'a' * 70000}\r\n\r\n", [431], True),
    ("6585 5: too many fields", f"GET / HTTP/1.1\r\n{H}" + "X: y\r\n" * 200 + "\r\n", [431], True),
]


@pytest.mark.parametrize("rule,sent,statuses,closes", RULES, ids=[r[0] for r in RULES])
def test_rule(shared, rule, sent, statuses, closes):
    with shared.connect() as c:
        c.send(sent.encode("latin-1"))
        if statuses == [400, 501]:
            assert c.read().status in statuses
        else:
            for status in statuses:
                assert (c.head() if status == 100 else c.read()).status == status
        if closes:
            assert c.at_end(), "the connection must close"
        elif statuses != [100]:
            c.send(f"GET / HTTP/1.1\r\n{H}\r\n")
            assert c.read().text == "home", "the connection must stay, and in step"


# RFC 9110 6.4.1, RFC 9112 6.3: what has no body must send none, or the next answer is misread.
@pytest.mark.parametrize("method,target,headers,status,has_length", [
    ("HEAD", "/", {}, 200, True),
    ("HEAD", "/missing", {}, 404, True),
    ("HEAD", "/echo.php", {}, 200, None),
    ("GET", "/empty.php", {}, 204, False),
    ("GET", "/not.php", {}, 304, None),
    ("GET", "/reset.php", {}, 205, True),
    ("GET", "/reset.php?flush", {}, 205, True),
    ("OPTIONS", "*", {}, 204, False),
])
def test_answers_without_body(shared, method, target, headers, status, has_length):
    with shared.connect() as c:
        for _ in range(2):
            c.send(format_request(method, target, headers, host="a") + format_request("GET", "/", host="a"))
            answer = c.head()
            assert answer.status == status
            assert answer.header("Transfer-Encoding") is None
            if has_length is not None:
                assert (answer.header("Content-Length") is not None) == has_length
            assert c.read().text == "home"


def test_not_modified_has_no_body(shared):
    tag = shared.get("/", host="a").header("ETag")
    with shared.connect() as c:
        c.send(format_request("GET", "/", {"If-None-Match": tag}, host="a") + format_request("GET", "/", host="a"))
        assert c.head().status == 304
        assert c.read().text == "home"


def test_the_target_names_the_host(shared):
    """RFC 9112 3.2.2: the Host field is replaced by what the absolute form says."""
    with shared.connect() as c:
        c.send("GET http://A:81/host.php?x HTTP/1.1\r\nHost: keep\r\n\r\n")
        assert c.read().text.startswith("A:81 ")


def test_encoded_slash(shared):
    """RFC 3986 2.2: an encoded delimiter is data; what that means for a path is the site's choice."""
    assert shared.get("/a%2Fb/", host="a").status == 400
    assert shared.get("/a%2Fb/", host="keep").text == "kept"
    assert shared.get("/a%2fb%2F", host="decode").text == "decoded"
    assert shared.get("/a/x%2F..%2Fb/", host="decode").text == "decoded"
    assert shared.get("/..%2f..%2fetc%2fpasswd", host="decode").status == 400
    assert shared.get("/..%2f..%2fetc%2fpasswd", host="keep").status == 400
    assert shared.get("/a%2fb/", host="keep").text == "kept"


@pytest.mark.parametrize("framing", ["length", "chunked"])
@pytest.mark.parametrize("megabytes", [0.1, 8])
def test_an_early_refusal_is_readable(shared, framing, megabytes):
    """RFC 9112 9.6: a client that sends all of its upload before it reads must find the answer, not a reset."""
    body = os.urandom(1 << 16) * int(megabytes * 16)
    target = "/index.html"  # 405, whatever comes
    with shared.connect(30) as c:
        headers = {"Transfer-Encoding": "chunked"} if framing == "chunked" else {}
        sent = chunked(body) if framing == "chunked" else body
        if framing == "length":
            headers["Content-Length"] = str(len(body))
        c.send(format_request("POST", target, headers, host="a") + sent)
        assert c.read().status == 405
        if megabytes < 0.2:
            assert c.get("/", host="a").text == "home", "little enough to be read for the next request"
        else:
            assert c.at_end()


def test_an_upload_without_end_is_cut(shared):
    """The drain behind an early answer is bounded: a client that never stops is closed."""
    with shared.connect(30) as c:
        c.send(format_request("POST", "/index.html", {"Content-Length": str(1 << 40)}, host="a"))
        block = b"x" * (1 << 16)
        with pytest.raises(OSError):
            for _ in range(1 << 12):
                c.send(block)
            pytest.fail("256 MiB were taken behind a refusal")


def test_requests_per_connection(godwit):
    godwit.file("index.html", "home")
    godwit.simple(top="requests_per_connection 3;")
    with godwit.connect() as c:
        assert [c.get("/").header("Connection") for _ in range(3)] == [None, None, "close"]
        assert c.at_end()


def drip(c, seconds: float) -> tuple:
    """Sends a byte now and then; tells whether the server has answered meanwhile, and how many bytes were sent."""
    end, sent = time.monotonic() + seconds, 0
    while time.monotonic() < end:
        c.send(b"x")
        sent += 1
        if select.select([c.sock], [], [], 0.05)[0]:
            return True, sent
    return False, sent


def test_body_rate(godwit):
    """RFC 9110 15.5.9. Never a total: who keeps to the rate may take as long as the body needs."""
    godwit.file("echo.php", "<?php echo strlen(file_get_contents('php://input'));")
    godwit.php(top="body_idle_time 1s; body_rate_min 1m;")
    with godwit.connect() as c:
        c.send("POST /echo.php HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\n")
        assert drip(c, 20)[0], "a byte now and then is too slow"
        assert c.read().status == 408
        assert c.at_end()
    godwit.config(re.sub("body_rate_min 1m", "body_rate_min 1", godwit.conf.read_text()), with_user=False)
    godwit.reload()
    with godwit.connect() as c:
        c.send("POST /echo.php HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\n")
        answered, sent = drip(c, 3)
        assert not answered, "slow, but fast enough"
        c.send(b"x" * (100000 - sent))
        assert c.read().text == "100000"
