# SPDX-License-Identifier: Apache-2.0
"""error_page and return: a site's own words when a request is refused."""
import pytest

from support.http import format_request
from support.wrong import refused


def test_pages_for_refusals(godwit):
    godwit.file("errors/missing.html", "our 404")
    godwit.file("errors/closed.html", "our 403")
    godwit.file(".secret", "s")
    godwit.simple("error_page 404 410 /errors/missing.html; error_page 403 /errors/closed.html;\n"
                  "path /gone/ { return 410; }")
    with godwit.connect() as c:
        for target, status, body in [("/nothing", 404, "our 404"), ("/gone/x", 410, "our 404"), ("/.secret", 403, "our 403"),
                                     ("/errors/missing.html", 200, "our 404")]:
            answer = c.get(target)
            assert (answer.status, answer.text) == (status, body), target
            assert answer.header("Content-Type") == "text/html; charset=utf-8"
        head = c.request("HEAD", "/nothing")
        assert (head.status, head.header("Content-Length"), head.body) == (404, "7", b"")
        post = c.request("POST", "/nothing", body=b"a" * 100000)
        assert (post.status, post.text) == (404, "our 404")


def test_conditions_and_ranges_are_not_for_the_page(godwit):
    godwit.file("missing.html", "our 404")
    godwit.simple("error_page 404 /missing.html;")
    etag = godwit.get("/missing.html").header("ETag")
    for headers in ({"If-None-Match": etag}, {"Range": "bytes=0-2"}, {"If-Match": '"x"'}):
        answer = godwit.get("/nothing", headers)
        assert (answer.status, answer.text, answer.header("Content-Range")) == (404, "our 404", None)


def test_a_page_that_is_not_there_leaves_the_status(godwit):
    godwit.simple("error_page 403 404 503 /nowhere.html; path /busy/ { return 503; }")
    for target, status in (("/x", 404), ("/busy/", 503), ("/.x", 403)):
        answer = godwit.get(target)
        assert answer.status == status
        assert str(status) in answer.text
    assert godwit.get("/busy/").header("Retry-After") == "5"


def test_a_script_makes_the_page(godwit):
    godwit.file("error.php", "<?php http_response_code(200); echo $_SERVER['REQUEST_URI'], ' ', $_SERVER['REQUEST_METHOD'], ' ',"
                "$_SERVER['SCRIPT_NAME'], ' ', file_get_contents('php://input');")
    godwit.file("own.php", "<?php http_response_code(404); echo 'the app speaks';")
    godwit.php(site="error_page 404 /error.php;")
    answer = godwit.get("/nothing?a=b")
    assert (answer.status, answer.text) == (404, "/nothing?a=b GET /error.php ")
    answer = godwit.request("POST", "/nothing", body=b"secret")
    assert (answer.status, answer.text) == (404, "/nothing GET /error.php ")
    assert godwit.get("/own.php").text == "the app speaks"


def test_a_failing_app_gets_the_page(godwit):
    godwit.file("502.html", "sorry")
    godwit.file("die.php", "<?php posix_kill(getmypid(), 9);")
    godwit.php(site="error_page 502 /502.html;")
    answer = godwit.get("/die.php")
    assert (answer.status, answer.text) == (502, "sorry")
    godwit.stderr.wait("worker_died")


def test_inner_pages_replace_outer_ones(godwit):
    godwit.file("outer.html", "outer")
    godwit.file("inner.html", "inner")
    godwit.simple("error_page 404 /outer.html; path /in/ { error_page 404 /inner.html; }")
    assert godwit.get("/x").text == "outer"
    assert godwit.get("/in/x").text == "inner"


def test_return(godwit):
    godwit.file("sorry.html", "sorry")
    godwit.simple("""
        error_page 503 /sorry.html;
        path /text/ { return 200 "fine <b>"; }
        path /none/ { return 204; }
        path /empty/ { return 200; }
        path /gone/ { return 410 "gone for good"; }
        path /busy/ { return 503; }
        path /teapot/ { return 418; }
    """)
    answer = godwit.get("/text/any")
    assert (answer.status, answer.text, answer.header("Content-Type")) == (200, "fine <b>", "text/plain; charset=utf-8")
    assert godwit.get("/none/").status == 204
    assert godwit.get("/empty/").body == b""
    assert (godwit.get("/gone/").status, godwit.get("/gone/").text) == (410, "gone for good")
    assert (godwit.get("/busy/").status, godwit.get("/busy/").text) == (503, "sorry")
    assert godwit.get("/teapot/").status == 418


def test_unknown_hosts(godwit):
    """Three policies for names that nobody has configured: an error, a page of its own, no answer at all."""
    godwit.file("index.html", "shop")
    godwit.file("421.html", "wrong house")
    for policy, status, text in (("return 421;", 421, "Request ID"), ("root %(www)s; error_page 421 /421.html; return 421;", 421, "wrong house"),
                                 ("return 444; error_page 444 /421.html;", None, None)):
        godwit.config("listen 127.0.0.1:%(port)d; site shop.example { root %(www)s; } site _ { " + policy + " }")
        godwit.reload() if godwit.process else godwit.start()
        assert godwit.get("/", host="shop.example").text == "shop"
        for host in ("other.example", "127.0.0.1", "shop.example.evil"):
            with godwit.connect() as c:
                c.send(format_request("GET", "/index.html", host=host) + format_request("GET", "/", host="shop.example"))
                if status:
                    answer = c.read()
                    assert (answer.status, text in answer.text) == (status, True)
                    assert c.read().text == "shop"
                else:
                    assert c.at_end(), "nothing is said"
    godwit.stderr.wait(r'"GET /index.html HTTP/1.1" 444 ')


def test_a_whole_site_returns_with_its_page(godwit):
    godwit.file("m.html", "back soon")
    godwit.simple("return 503; error_page 503 /m.html;")
    answer = godwit.get("/any")
    assert (answer.status, answer.text, answer.header("Retry-After")) == (503, "back soon", "5")


# What is no request: bytes, status, and the site whose page it gets. "a.example" only if its head could be read.
NO_REQUESTS = [
    (b"GET /\r\n\r\n", 400, "other"), (b"GET / HTTP/1.1\r\n\r\n", 400, "other"),
    (b"GET / HTTP/1.1\r\nHost: a.example\r\nHost: a.example\r\n\r\n", 400, "other"),
    (b"GET / HTTP/1.1\r\nHost: a.example\r\nBad name: x\r\n\r\n", 400, "other"),
    (b"POST / HTTP/1.1\r\nHost: a.example\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400, "other"),
    (b"GET /%zz HTTP/1.1\r\nHost: a.example\r\n\r\n", 400, "a"), (b"GET /%00 HTTP/1.1\r\nHost: A.example:80\r\n\r\n", 400, "a"),
    (b"GET /a%2fb HTTP/1.1\r\nHost: a.example\r\n\r\n", 400, "a"), (b"GET /../x HTTP/1.1\r\nHost: b.example\r\n\r\n", 400, "other"),
    (b"GET http://a.example/%2f HTTP/1.1\r\nHost: b.example\r\n\r\n", 400, "a"),
    (b"GET /" + b"x" * 3000 + b" HTTP/1.1\r\nHost: a.example\r\n\r\n", 414, "other"),
    (b"GET / HTTP/1.1\r\nHost: a.example\r\nExpect: wonders\r\n\r\n", 417, "other"),
    (b"GET / HTTP/1.1\r\nHost: a.example\r\nX: " + b"x" * 5000 + b"\r\n\r\n", 431, "other"),
    (b"POST / HTTP/1.1\r\nHost: a.example\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", 501, "other"),
    (b"GET / HTTP/2.0\r\nHost: a.example\r\n\r\n", 505, "other"),
    (b"GET / HTTP/1.1\r\nHost: a", 408, "other"),
]


def test_what_is_no_request_gets_a_page_of_its_site(godwit):
    """Its connection ends behind the page, and nothing that follows is answered or breaks the answer."""
    for name in ("a", "other"):
        godwit.file(f"{name}.html", f"page of {name}")
    pages = " ".join(str(s) for s in sorted({s for _, s, _ in NO_REQUESTS} | {413}))
    conf = ("listen 127.0.0.1:%(port)d; header_bytes_max 4k; target_bytes_max 2k; body_max 1k;"
            " site a.example { root %(www)s; error_page " + pages + " /a.html; }"
            " site b.example _ { root %(www)s; error_page " + pages + " /other.html; }")
    godwit.config(conf)
    godwit.start()
    more = format_request("GET", "/a.html", host="a.example")
    for sent, status, name in NO_REQUESTS:
        if status == 408:
            godwit.config(conf + " header_time 1s;")
            godwit.reload()
        with godwit.connect() as c:
            c.send(sent if status == 408 else sent + more * 3)
            answer = c.read()
            assert (answer.status, answer.text) == (status, f"page of {name}"), sent[:60]
            assert answer.header("Connection") == "close"
            assert c.at_end()
    godwit.config(conf)
    godwit.reload()
    with godwit.connect() as c:  # a body of some size does not destroy the answer
        c.send(b"POST /%zz HTTP/1.1\r\nHost: a.example\r\nContent-Length: 3000000\r\n\r\n" + b"x" * 3000000)
        answer = c.read()
        assert (answer.status, answer.text) == (400, "page of a") and c.at_end()
    with godwit.connect() as c:
        c.send(b"HEAD /%zz HTTP/1.1\r\nHost: a.example\r\n\r\n")
        answer = c.read("HEAD")
        assert (answer.status, answer.header("Content-Length")) == (400, "9") and c.at_end()
    godwit.stderr.wait(r'"GET /%zz HTTP/1.1" 400 ')
    assert godwit.get("/a.html").text == "page of a"


def test_what_is_no_request_without_its_page(godwit):
    """The server's own page says what is wrong, not why there is no other."""
    godwit.file("die.php", "<?php posix_kill(getmypid(), 9);")
    godwit.php(site="error_page 400 /nowhere.html; error_page 505 /die.php;")
    for line, status, said in ((b"GET /%zz HTTP/1.1", 400, "%"), (b"GET / HTTP/3.0", 505, "the version is not HTTP/1")):
        with godwit.connect() as c:
            c.send(line + b"\r\nHost: a\r\n\r\n")
            answer = c.read()
            assert (answer.status, said in answer.text, "Nothing answers" in answer.text) == (status, True, False)
            assert c.at_end()


def test_a_script_explains_what_is_no_request(godwit):
    godwit.file("e.php", "<?php echo json_encode([$_SERVER['REQUEST_URI'], $_SERVER['REQUEST_METHOD'], $_SERVER['REDIRECT_STATUS'],"
                "file_get_contents('php://input'), $_GET]);")
    godwit.php(site="error_page 400 414 /e.php;", top="target_bytes_max 2k;")
    for sent, status in ((b"POST /admin%2f..%2fx?a=b HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\na=1", 400),
                         (b"no request\r\n\r\n", 400), (b"GET /" + b"x" * 3000 + b" HTTP/1.1\r\n\r\n", 414)):
        with godwit.connect() as c:
            c.send(sent)
            answer = c.read()
            assert (answer.status, answer.text) == (status, f'["\\/e.php","GET","{status}","",[]]')
            assert c.at_end()
    for sent in (b"no request\r\n\r\n",) * 20:  # who leaves before the page is there harms nobody
        with godwit.connect() as c:
            c.send(sent)
            c.leave()
    assert godwit.get("/e.php").status == 200


@pytest.mark.parametrize("directive,words", [
    ("error_page 404;", "1 argument"), ("error_page 200 /x;", "200.*400"), ("error_page 404 x.html;", "x\\.html"),
    ("error_page 404 https://x.example/;", "path of the site"), ("error_page /a /b;", "/a"),
    ("error_page 404 /a%20b.html;", "escapes, \"/a b.html\" was expected"), ("error_page 404 /../x.html;", "\"\\.\\.\""),
    ("return 301 /x;", "redirect"), ("return 99;", "99"), ("return 204 text;", "no text"), ("return 444 text;", "no text"), ("return ok;", "ok"),
])
def test_wrong_directives_are_refused(godwit, directive, words):
    refused(godwit, directive, words)
