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


@pytest.mark.parametrize("directive,words", [
    ("error_page 404;", "1 argument"), ("error_page 200 /x;", "200.*400"), ("error_page 404 x.html;", "x\\.html"),
    ("error_page 404 https://x.example/;", "path of the site"), ("error_page /a /b;", "/a"),
    ("return 301 /x;", "redirect"), ("return 99;", "99"), ("return 204 text;", "no text"), ("return 444 text;", "no text"), ("return ok;", "ok"),
])
def test_wrong_directives_are_refused(godwit, directive, words):
    refused(godwit, directive, words)
