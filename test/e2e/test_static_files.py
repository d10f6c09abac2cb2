# SPDX-License-Identifier: Apache-2.0
"""Static files beyond the ordinary: parts, compressed ones beside them, types, links, files that change under way, odd
names, huge directories."""
import gzip
import os
import re
import shutil
import time

import pytest

from support import wait
from support.http import Closed, Connection
from support.server import IS_ROOT

LARGE = 24 * 1024 * 1024  # more than both sockets hold


def parts_of(answer) -> list:
    """[(Content-Type, Content-Range, bytes)] of a multipart/byteranges answer, read strictly."""
    edge = re.fullmatch(r"multipart/byteranges; boundary=([\w-]+)", answer.header("Content-Type")).group(1).encode()
    body = answer.body
    assert body.startswith(b"--" + edge + b"\r\n") and body.endswith(b"\r\n--" + edge + b"--\r\n")
    found = []
    for piece in body[len(edge) + 4:-len(edge) - 8].split(b"\r\n--" + edge + b"\r\n"):
        head, data = piece.split(b"\r\n\r\n", 1)
        fields = dict(line.split(": ", 1) for line in head.decode().split("\r\n"))
        found.append((fields["Content-Type"], fields["Content-Range"], data))
    return found


@pytest.mark.parametrize("size", [1000, 200000])
def test_several_ranges(godwit, size):
    data = os.urandom(size)
    godwit.file("a.bin", data)
    godwit.simple()
    with godwit.connect() as c:
        answer = c.get("/a.bin", {"Range": "bytes=0-9, 500-599, -10"})
        assert answer.status == 206 and answer.header("Content-Range") is None
        assert answer.header("Content-Length") == str(len(answer.body))
        assert parts_of(answer) == [
            ("application/octet-stream", f"bytes 0-9/{size}", data[:10]),
            ("application/octet-stream", f"bytes 500-599/{size}", data[500:600]),
            ("application/octet-stream", f"bytes {size - 10}-{size - 1}/{size}", data[-10:]),
        ]
        head = c.request("HEAD", "/a.bin", {"Range": "bytes=0-9, 500-599"})
        assert head.status == 200 and head.header("Content-Length") == str(size)  # RFC 9110 14.2: GET only
        tag = answer.header("ETag")
        assert c.get("/a.bin", {"Range": "bytes=0-1,5-6", "If-Range": tag}).status == 206
        assert c.get("/a.bin", {"Range": "bytes=0-1,5-6", "If-Range": '"other"'}).body == data
        assert c.get("/a.bin", {"Range": "bytes=" + ",".join(["0-"] * 10)}).body == data, "no work for who asks for too much"
        assert c.get("/a.bin", {"Range": "bytes=" + ",".join(f"{i}-{i}" for i in range(100))}).body == data
        assert c.get("/a.bin", {"Range": f"bytes={size}-,{size + 5}-"}).status == 416


def test_precompressed(godwit):
    text = b"body { color: black }\n" * 100
    godwit.file("a.css", text)
    godwit.file("a.css.gz", gzip.compress(text))
    godwit.file("a.css.br", b"not really brotli")
    godwit.file("b.css", text)
    os.mkfifo(godwit.www / "b.css.gz")
    godwit.simple("precompressed br zstd gzip; path /plain/ { precompressed off; }")
    godwit.file("plain/a.css", text)
    godwit.file("plain/a.css.gz", gzip.compress(text))

    def ask(accept, target="/a.css", **more):
        return godwit.get(target, {"Accept-Encoding": accept, **more} if accept else more)

    plain, zipped, br = ask(None), ask("gzip, deflate"), ask("gzip, br, zstd")
    assert (plain.body, plain.header("Content-Encoding")) == (text, None)
    assert zipped.header("Content-Encoding") == "gzip" and gzip.decompress(zipped.body) == text
    assert br.header("Content-Encoding") == "br" and br.body == b"not really brotli"
    assert len({a.header("ETag") for a in (plain, zipped, br)}) == 3
    assert {a.header("Content-Type") for a in (plain, zipped, br)} == {"text/css; charset=utf-8"}
    assert {a.header("Vary") for a in (plain, zipped, br)} == {"Accept-Encoding"}
    assert ask("gzip;q=0").body == text
    assert ask("gzip", **{"If-None-Match": zipped.header("ETag")}).status == 304
    assert ask("gzip", **{"If-None-Match": plain.header("ETag")}).status == 200
    part = ask("gzip", Range="bytes=2-5", **{"If-Range": zipped.header("ETag")})
    assert (part.status, part.body, part.header("Content-Encoding")) == (206, zipped.body[2:6], "gzip")
    assert part.header("Content-Range") == f"bytes 2-5/{len(zipped.body)}"
    assert ask("gzip", Range="bytes=2-5", **{"If-Range": plain.header("ETag")}).body == zipped.body, "parts of two never mix"
    assert ask("gzip", target="/b.css").body == text, "what is beside it is no file"
    assert ask("gzip", target="/plain/a.css").body == text


def test_mime_and_charset(godwit):
    for name in ("a.md", "a.own", "a.html", "a.png"):
        godwit.file(name, "x")
        godwit.file("old/" + name, "x")
    godwit.simple("mime md text/markdown; mime .own application/x-own; path /old/ { charset iso-8859-1; mime own text/plain; }")
    kinds = {t: godwit.get(t).header("Content-Type") for t in
             ("/a.md", "/a.own", "/a.html", "/a.png", "/old/a.html", "/old/a.own", "/old/a.png")}
    assert kinds == {
        "/a.md": "text/markdown; charset=utf-8", "/a.own": "application/x-own", "/a.html": "text/html; charset=utf-8",
        "/a.png": "image/png", "/old/a.html": "text/html; charset=iso-8859-1",
        "/old/a.own": "text/plain; charset=iso-8859-1", "/old/a.png": "image/png"}


def test_one_file_of_several_types(godwit):
    """A file that is kept in memory has the type that the path asked for, and the configuration in force, give it."""
    past = time.time() - 60  # what has just changed is not kept
    for name in ("a.html", "a.html.gz"):
        os.utime(godwit.file(name, "x"), (past, past))
    site = "precompressed gzip; path /old/ { root %(www)s; charset iso-8859-1; }"
    top = "threads 1; file_check 1h;"
    godwit.simple(site, top)

    def ask(target, accept=""):
        return godwit.get(target, {"Accept-Encoding": accept}).header("Content-Type")

    for _ in range(3):
        assert ask("/a.html") == "text/html; charset=utf-8"
        assert ask("/old/a.html") == "text/html; charset=iso-8859-1"
        assert ask("/a.html", "gzip") == "text/html; charset=utf-8"
        assert ask("/a.html.gz") == "application/gzip"
    godwit.config(f"listen 127.0.0.1:%(port)d;\n{top} mime html text/x-own;\nsite _ {{ root %(www)s; {site} }}\n")
    godwit.reload()
    for _ in range(2):
        assert ask("/a.html") == "text/x-own; charset=utf-8"
        assert ask("/old/a.html") == "text/x-own; charset=iso-8859-1"
        assert ask("/a.html.gz") == "application/gzip"


@pytest.mark.parametrize("line,said", [
    ("precompressed br lzma;", "lzma"), ("precompressed off gzip;", "off alone"), ("mime md markdown;", "text/plain was expected"),
    ("mime md;", "mime"), ("charset \"utf 8\";", "utf-8"), ("symlinks maybe;", "follow"), ("encoded_slash yes;", "reject"),
    ("file_cache_open -1;", "file_cache_open"),
])
def test_wrong_directives(godwit, line, said):
    top = line if line.startswith("file_cache_open") else ""
    site = "" if top else line
    godwit.config(f"listen 127.0.0.1:%(port)d; {top} site _ {{ root %(www)s; {site} }}")
    done = godwit.run("check", "-c", godwit.conf, check=False)
    assert done.returncode != 0 and said in done.stderr


@pytest.mark.parametrize("policy,own,foreign", [("follow", 200, 200), ("owner", 200, 403), ("off", 403, 403)])
def test_symlinks(godwit, policy, own, foreign):
    godwit.file("a.txt", "here")
    godwit.file("dir/b.txt", "below")
    (godwit.www / "own.txt").symlink_to("a.txt")
    (godwit.www / "own-dir").symlink_to("dir")
    (godwit.www / "foreign.txt").symlink_to("a.txt")
    if IS_ROOT:
        os.chown(godwit.www / "foreign.txt", 65534, 65534, follow_symlinks=False)
    through = godwit.base / "through"  # the root itself may be a link
    through.symlink_to(godwit.www)
    godwit.config(f"listen 127.0.0.1:%(port)d; site _ {{ root %(through)s; symlinks {policy}; file_check 0; }}", through=through)
    godwit.start()
    assert godwit.get("/a.txt").text == "here"
    assert godwit.get("/dir/b.txt").text == "below"
    assert godwit.get("/own.txt").status == own
    assert godwit.get("/own-dir/b.txt").status == own
    if IS_ROOT:
        assert godwit.get("/foreign.txt").status == foreign
    (godwit.www / "a.txt").unlink()  # what was a file becomes a link: the next look sees it
    (godwit.www / "a.txt").symlink_to("dir/b.txt")
    assert godwit.get("/a.txt").status == own


def begin(godwit, target: str) -> tuple:
    """A download that has begun: (connection, length told, bytes read)."""
    c = Connection(godwit.address, 20)
    c.send(f"GET {target} HTTP/1.1\r\nHost: a\r\n\r\n")
    length = int(c.head().header("Content-Length"))
    return c, length, c._take(1000)


def test_links_into_the_server_itself(godwit):
    """What the server has open, such as bodies of requests to other sites, is not for who can make a link."""
    godwit.file("index.html", "home")
    (godwit.www / "fd").symlink_to("/proc/self/fd")
    (godwit.www / "log.txt").symlink_to("/proc/self/fd/2")
    godwit.simple("file_check 0;")
    for target in ["/log.txt"] + [f"/fd/{i}" for i in range(40)]:
        assert godwit.get(target).status in (403, 404), target
    assert godwit.get("/fd/2").status == 403
    assert godwit.get("/").text == "home"


def test_a_file_that_grows(godwit):
    data = os.urandom(LARGE)
    path = godwit.file("a.bin", data)
    godwit.simple("file_check 0;")
    c, length, first = begin(godwit, "/a.bin")
    with open(path, "ab") as f:
        f.write(b"more")
    with c:
        assert length == LARGE and first + c._take(length - 1000) == data
        assert c.get("/a.bin").body == data + b"more", "the connection is in step, and the file is seen as it is now"


def test_a_file_that_shrinks(godwit):
    path = godwit.file("a.bin", os.urandom(LARGE))
    godwit.simple("file_check 0;")
    c, length, _ = begin(godwit, "/a.bin")
    os.truncate(path, 5000)
    with c:
        try:
            rest = c.rest()
        except Closed:
            rest = b""
        assert 1000 + len(rest) < length, "it must not look complete"
    told = godwit.stderr.wait(r"front\.cut .*the answer broke off after (\d+) bytes")
    assert 1000 + len(rest) <= int(told.group(1)) < length
    assert godwit.status()["metrics"]["responses_cut"] == 1
    assert len(godwit.get("/a.bin").body) == 5000


def test_a_file_that_vanishes_or_is_replaced(godwit):
    data = os.urandom(LARGE)
    path = godwit.file("a.bin", data)
    godwit.simple("file_check 0;")
    c, length, first = begin(godwit, "/a.bin")
    path.unlink()
    with c:
        assert first + c._take(length - 1000) == data, "who has begun gets the whole"
        assert c.get("/a.bin").status == 404
    godwit.file("a.bin", data)
    c, length, first = begin(godwit, "/a.bin")
    godwit.file("new.bin", b"n" * LARGE)
    os.replace(godwit.www / "new.bin", path)
    with c:
        assert first + c._take(length - 1000) == data
        assert c.get("/a.bin").body == b"n" * LARGE


def test_open_files(godwit):
    """A hot file needs no open; one that was removed and is not asked for gives its place back."""
    path = godwit.file("a.bin", os.urandom(100000))
    godwit.simple("file_check 1h;", top="threads 1; file_cache_open 4;")
    assert godwit.get("/a.bin").status == 200
    path.unlink()
    assert len(godwit.get("/a.bin").body) == 100000
    server = godwit.one("server").pid

    def is_held() -> bool:
        return any("a.bin (deleted)" in os.readlink(f"/proc/{server}/fd/{n}") for n in os.listdir(f"/proc/{server}/fd"))

    if os.access(f"/proc/{server}/fd", os.R_OK):
        wait.until(lambda: not is_held(), 40, "the removed file is let go")


@pytest.mark.parametrize("name", [
    "ä.txt", "日本語.html", "a\u0301.txt", "emoji-😀.txt", "quote'\"<>&.txt", "percent%41.txt", "question?.txt", "hash#.txt",
    "semi;colon=1.txt", "plus+.txt", "back\\slash.txt", "new\nline.txt", "bell\a.txt", " space ", "~tilde", "n" * 255, "ü" * 127,
])
def test_odd_names(godwit, name):
    godwit.file(name, "odd")
    godwit.simple()
    encoded = "".join(f"%{b:02X}" for b in name.encode())
    assert godwit.get("/" + encoded).text == "odd"


def test_names_that_are_no_text(godwit):
    path = os.fsencode(godwit.www) + b"/\xff\xfe.bin"
    with open(path, "wb") as f:
        f.write(b"bytes")
    godwit.simple()
    assert godwit.get("/%ff%fe.bin").text == "bytes"
    with godwit.connect() as c:
        c.send(b"GET /\xff\xfe.bin HTTP/1.1\r\nHost: a\r\n\r\n")
        assert c.read().text == "bytes"


def test_names_that_are_too_long(godwit):
    deep = "/".join(["d" * 200] * 15)
    godwit.file(deep + "/a.txt", "deep")
    godwit.simple()
    assert godwit.get(f"/{deep}/a.txt").text == "deep"
    assert godwit.get("/" + "n" * 256).status == 404
    assert godwit.get("/" + "/".join(["n" * 200] * 30)).status == 404
    assert godwit.get("/" + "a/" * 7000).status == 404


def test_special_files(godwit):
    import socket
    os.mkfifo(godwit.www / "pipe.txt")
    with socket.socket(socket.AF_UNIX) as s:
        s.bind(str(godwit.www / "socket.txt"))
        (godwit.www / "null.txt").symlink_to("/dev/null")
        godwit.simple()
        for name in ("pipe.txt", "socket.txt", "null.txt"):
            assert godwit.get("/" + name).status == 403


def test_a_hundred_thousand_files(godwit):
    many = godwit.www / "many"
    many.mkdir()
    for i in range(100000):
        os.close(os.open(many / f"f{i}.txt", os.O_CREAT | os.O_WRONLY, 0o644))
    (many / "f77777.txt").write_text("found")
    godwit.simple()
    with godwit.connect() as c:
        assert c.get("/many/f77777.txt").text == "found"
        for i in range(0, 100000, 997):
            assert c.get(f"/many/f{i}.txt").status == 200
            assert c.get(f"/many/g{i}.txt").status == 404
        assert c.get("/many/").status == 403
    shutil.rmtree(many)
