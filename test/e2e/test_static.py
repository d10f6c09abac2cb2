# SPDX-License-Identifier: Apache-2.0
"""Static files: what is served, with which fields, and what is refused."""
import hashlib
import os
import time
from email.utils import formatdate

import pytest

from support import wait

PAGE = b"<h1>godwit</h1>\n"


@pytest.fixture
def site(godwit):
    godwit.file("index.html", PAGE)
    godwit.file("style.css", "b {}")
    godwit.file("docs/index.html", "docs")
    godwit.file("digits.txt", "0123456789")
    godwit.file("empty.txt", "")
    godwit.file(".secret", "secret")
    godwit.file(".git/config", "secret")
    godwit.file(".well-known/security.txt", "contact")
    godwit.file("with space.txt", "space")
    return godwit.simple()


def test_index(site):
    answer = site.get("/")
    assert (answer.status, answer.body) == (200, PAGE)
    assert answer.header("Content-Type").startswith("text/html")
    assert answer.header("Content-Length") == str(len(PAGE))
    assert answer.header("Date")
    assert not answer.chunked


@pytest.mark.parametrize("name,kind", [
    ("a.html", "text/html"), ("a.css", "text/css"), ("a.js", "text/javascript"), ("a.json", "application/json"),
    ("a.png", "image/png"), ("a.svg", "image/svg+xml"), ("a.woff2", "font/woff2"), ("a.txt", "text/plain"),
    ("a.pdf", "application/pdf"), ("a.wasm", "application/wasm"), ("a.webp", "image/webp"),
    ("a.unknown-ending", "application/octet-stream"), ("noending", "application/octet-stream"),
])
def test_mime(godwit, name, kind):
    godwit.file(name, "x")
    godwit.simple()
    assert godwit.get("/" + name).header("Content-Type").split(";")[0] == kind


@pytest.mark.parametrize("target,status", [
    ("/style.css", 200), ("/with%20space.txt", 200), ("/style.css?v=3", 200), ("/docs/", 200), ("/./docs/../style.css", 200),
    ("/missing", 404), ("/style.css/", 404), ("/style.css/more", 404), ("/docs/missing/", 404),
    ("/.secret", 403), ("/.git/config", 403), ("/docs/%2e%2e/.secret", 403), ("/.well-known/security.txt", 200),
    ("/../../etc/passwd", 400), ("/%2e%2e/%2e%2e/etc/passwd", 400), ("/a%00b", 400), ("/%zz", 400),
])
def test_targets(site, target, status):
    answer = site.get(target)
    # What is hidden may also be denied to exist; what climbs out of the root may also be cut off at it.
    allowed = {403: (403, 404), 400: (400, 403, 404)}.get(status, (status,))
    assert answer.status in allowed
    assert b"secret" not in answer.body and b"root:" not in answer.body


def test_special_files_are_refused(godwit):
    os.mkfifo(godwit.www / "pipe")
    os.chmod(godwit.www / "pipe", 0o644)
    godwit.simple()
    assert godwit.get("/pipe").status in (403, 404)


def test_unreadable_file(godwit):
    godwit.file("closed.txt", "closed", 0o000)
    godwit.simple()
    assert godwit.get("/closed.txt").status == 403


def test_directory_redirect_keeps_query(site):
    answer = site.get("/docs?a=1&b=%20")
    assert answer.status == 301
    assert answer.header("Location").endswith("/docs/?a=1&b=%20")


def test_directory_without_index(godwit):
    godwit.file("bare/file.txt", "x")
    godwit.simple()
    assert godwit.get("/bare/").status in (403, 404)


def test_head_equals_get_without_body(site):
    with site.connect() as c:
        get = c.request("GET", "/digits.txt")
        head = c.request("HEAD", "/digits.txt")
        assert head.status == 200 and head.body == b""
        drop = {"date"}
        assert [h for h in head.headers if h[0].lower() not in drop] == [h for h in get.headers if h[0].lower() not in drop]
        assert c.get("/digits.txt").body == b"0123456789"  # the framing still holds


def test_empty_file(site):
    answer = site.get("/empty.txt")
    assert (answer.status, answer.header("Content-Length"), answer.body) == (200, "0", b"")
    assert site.get("/empty.txt", {"Range": "bytes=0-"}).status == 200, "some clients ask so for everything"


def test_other_methods(site):
    for method in ("POST", "PUT", "DELETE", "PATCH"):
        answer = site.request(method, "/digits.txt", body=b"x")
        assert answer.status == 405
        assert "GET" in answer.header("Allow")
    assert site.request("TRACE", "/digits.txt").status in (405, 501)


def test_not_modified(site):
    first = site.get("/digits.txt")
    tag, changed = first.header("ETag"), first.header("Last-Modified")
    assert tag.startswith('"') and changed.endswith("GMT")
    past = formatdate(0, usegmt=True)
    cases = [
        ({"If-None-Match": tag}, 304),
        ({"If-None-Match": f'"other", {tag}'}, 304),
        ({"If-None-Match": f"W/{tag}"}, 304),
        ({"If-None-Match": "*"}, 304),
        ({"If-None-Match": '"other"'}, 200),
        ({"If-Modified-Since": changed}, 304),
        ({"If-Modified-Since": past}, 200),
        ({"If-None-Match": '"other"', "If-Modified-Since": changed}, 200),  # RFC 9110 13.1.3
        ({"If-Match": tag}, 200),
        ({"If-Match": '"other"'}, 412),
        ({"If-Unmodified-Since": past}, 412),
        ({"If-Modified-Since": "not a date"}, 200),
    ]
    for headers, status in cases:
        answer = site.get("/digits.txt", headers)
        assert answer.status == status, headers
        if status == 304:
            assert answer.body == b"" and answer.header("ETag") == tag


def test_changed_file_is_seen(site):
    before = site.get("/digits.txt").header("ETag")
    site.file("digits.txt", "changed")
    wait.until(lambda: site.get("/digits.txt", {"If-None-Match": before}).body == b"changed", 5, "the new content (file_check)")


def test_file_check_0_looks_each_time(godwit):
    path = godwit.file("a.txt", "one")
    godwit.simple("file_check 0;")
    for text in ("one", "two!", "three", "four.."):
        path.write_text(text)
        assert godwit.get("/a.txt").text == text
    path.unlink()
    assert godwit.get("/a.txt").status == 404


@pytest.mark.parametrize("size,status", [("1m", 200), ("0", 404)])
def test_file_cache_keeps_small_files(godwit, size, status):
    """What is in memory needs no file until that is looked at again."""
    path = godwit.file("old.txt", "kept")
    os.utime(path, (1e9, 1e9))
    godwit.simple("file_check 1h;", top=f"threads 1; file_cache {size};")
    assert godwit.get("/old.txt").text == "kept"
    path.unlink()
    assert godwit.get("/old.txt").status == status


@pytest.mark.parametrize("value,status,body,content_range", [
    ("bytes=0-3", 206, b"0123", "bytes 0-3/10"),
    ("bytes=4-", 206, b"456789", "bytes 4-9/10"),
    ("bytes=-2", 206, b"89", "bytes 8-9/10"),
    ("bytes=8-99", 206, b"89", "bytes 8-9/10"),
    ("bytes=-99", 206, b"0123456789", "bytes 0-9/10"),
    ("bytes=10-", 416, None, "bytes */10"),
    ("bytes=-0", 416, None, "bytes */10"),
    ("bytes=5-2", 200, b"0123456789", None),
    ("lines=1-2", 200, b"0123456789", None),
])
def test_range(site, value, status, body, content_range):
    answer = site.get("/digits.txt", {"Range": value})
    assert (answer.status, answer.header("Content-Range")) == (status, content_range)
    if body is not None:
        assert answer.body == body


def test_if_range(site):
    tag = site.get("/digits.txt").header("ETag")
    assert site.get("/digits.txt", {"Range": "bytes=0-1", "If-Range": tag}).status == 206
    assert site.get("/digits.txt", {"Range": "bytes=0-1", "If-Range": '"old"'}).status == 200
    assert site.get("/digits.txt", {"Range": "bytes=0-1", "If-Range": f"W/{tag}"}).status == 200
    assert site.get("/digits.txt", {"Range": "bytes=0-1", "If-Range": f'{tag}, "x"'}).status == 200
    assert site.get("/digits.txt", {"Range": "bytes=99-", "If-Range": '"old"'}).status == 200, "416 only if the range counts"


def test_if_range_with_a_date(godwit):
    """RFC 9110 13.1.5: exactly the date of the file, in any of its forms, and not when that may still be the same for two."""
    os.utime(godwit.file("digits.txt", "0123456789"), (1000000000, 1000000000))
    now = godwit.file("now.txt", "0123456789")
    os.utime(now, (time.time() + 60, time.time() + 60))  # its second is not over
    godwit.simple("file_check 0;")
    for date, status in [("Sun, 09 Sep 2001 01:46:40 GMT", 206), ("Sunday, 09-Sep-01 01:46:40 GMT", 206), ("Sun Sep  9 01:46:40 2001", 206),
                         ("Sun, 09 Sep 2001 01:46:39 GMT", 200), ("Sun, 09 Sep 2001 01:46:41 GMT", 200), ("2001-09-09", 200), ("", 200)]:
        answer = godwit.get("/digits.txt", {"Range": "bytes=0-1", "If-Range": date})
        assert (answer.status, answer.body) == (status, b"01" if status == 206 else b"0123456789"), date
    young = godwit.get("/now.txt").header("Last-Modified")
    assert godwit.get("/now.txt", {"Range": "bytes=0-1", "If-Range": young}).status == 200


def test_large_file_is_intact(godwit):
    data = os.urandom(10 * 1024 * 1024)
    godwit.file("large.bin", data)
    godwit.simple()
    with godwit.connect() as c:
        for _ in range(2):
            answer = c.get("/large.bin")
            assert hashlib.sha256(answer.body).digest() == hashlib.sha256(data).digest()
        part = c.get("/large.bin", {"Range": "bytes=1000000-5999999"})
        assert part.status == 206 and part.body == data[1000000:6000000]


def test_slow_reader_gets_all(godwit):
    data = os.urandom(8 * 1024 * 1024)
    godwit.file("large.bin", data)
    godwit.simple()
    with godwit.connect() as slow:
        slow.send("GET /large.bin HTTP/1.1\r\nHost: a\r\n\r\n")
        head = slow.head()
        first = slow._take(1000)
        for _ in range(20):  # others are served while this one does not read
            assert godwit.get("/large.bin", {"Range": "bytes=0-9"}).status == 206
        slow.timeout = 20
        assert first + slow._take(int(head.header("Content-Length")) - 1000) == data


def test_root_in_path_replaces_the_prefix(godwit):
    other = godwit.base / "other"
    other.mkdir()
    (other / "a.txt").write_text("from other")
    godwit.file("a.txt", "from www")
    godwit.simple(" path /o/ { root %(other)s; }", other=other)
    assert godwit.get("/o/a.txt").body == b"from other"
    assert godwit.get("/a.txt").body == b"from www"
    assert godwit.get("/o/../a.txt").body == b"from www"


def test_sites_by_name(godwit):
    for name in ("one", "two", "wild"):
        godwit.file(f"{name}/name.txt", name)
    godwit.config("""
        listen 127.0.0.1:%(port)d;
        site one.example www.one.example { root %(www)s/one; }
        site two.example { root %(www)s/two; }
        site *.wild.example { root %(www)s/wild; }
    """)
    godwit.start()
    cases = {"one.example": "one", "WWW.One.Example": "one", "two.example": "two", "two.example:80": "two",
             "a.wild.example": "wild", "a.b.wild.example": "wild", "unknown.example": "one"}
    for host, name in cases.items():
        assert godwit.get("/name.txt", host=host).text == name, host


def test_listeners_of_all_families(godwit, make_godwit):
    from support.http import Connection
    from support.server import free_port
    port6, path = free_port("::1"), godwit.base / "run" / "web.sock"
    godwit.file("a.txt", "here")
    godwit.simple(top="listen [::1]:%(port6)d;\nlisten unix:%(path)s;", port6=port6, path=path)
    for address in (godwit.address, ("::1", port6), str(path)):
        with Connection(address) as c:
            assert c.get("/a.txt").text == "here"
    godwit.stop()
    assert not path.exists()
