# SPDX-License-Identifier: Apache-2.0
"""listing: directories as pages."""
import re

import pytest

from support import wait
from support.wrong import refused


def links(text: str) -> list:
    return re.findall(r'<tr><td><a href="([^"]*)"', text)


def test_links_that_are_not_followed_show_nothing(godwit):
    secret = godwit.file(godwit.base / "secret", "x" * 4711)
    godwit.file("files/plain.txt", "1")
    (godwit.www / "files/link").symlink_to(secret)
    godwit.simple("listing on; path /shut/ { root %(www)s/files; symlinks off; }")
    assert "4711" in godwit.get("/files/").text
    shut = godwit.get("/shut/").text
    assert links(shut) == ["../", "./plain.txt"] and "4711" not in shut
    assert godwit.get("/shut/link").status == 403


def test_a_directory(godwit):
    godwit.file("files/b.txt", "bb")
    godwit.file("files/a&<x>.txt", "a")
    godwit.file("files/deep/x", "x")
    godwit.file("files/.hidden", "x")
    godwit.file("with/index.html", "an index")
    godwit.simple("listing on; path /closed/ { listing off; root %(www)s/files; }")
    answer = godwit.get("/files/")
    assert (answer.status, answer.header("Content-Type")) == (200, "text/html; charset=utf-8")
    assert links(answer.text) == ["../", "./deep/", "./a&amp;%3Cx%3E.txt", "./b.txt"]
    assert "a&amp;&lt;x&gt;.txt" in answer.text and "<x>" not in answer.text
    assert links(godwit.get("/files/?sort=size&order=desc").text) == ["../", "./deep/", "./b.txt", "./a&amp;%3Cx%3E.txt"]
    assert godwit.get("/files").header("Location") == "/files/"
    assert godwit.get("/with/").text == "an index"
    assert "../" not in links(godwit.get("/").text)
    assert godwit.get("/closed/").status == 403
    assert godwit.get("/missing/").status == 404
    head = godwit.request("HEAD", "/files/")
    assert (head.status, head.body) == (200, b"")
    assert godwit.request("POST", "/files/", body=b"x").status == 405


def test_the_query_changes_nothing_else(godwit):
    godwit.file("files/a", "a")
    godwit.simple("listing on;")
    answer = godwit.get("/files/?sort=%3Cscript%3E&order=%22")
    assert answer.status == 200 and "script" not in answer.text


@pytest.mark.seconds(180)
def test_a_huge_directory_is_streamed(godwit):
    big = godwit.www / "big"
    big.mkdir()
    for i in range(100000):
        (big / f"file-{i:06d}").touch()
    godwit.file("small.txt", "small")
    godwit.simple("listing on;", top="threads 1;")
    with godwit.connect(60) as c:
        c.send("GET /big/ HTTP/1.1\r\nHost: x\r\n\r\n")
        assert godwit.get("/small.txt").text == "small"  # others are served meanwhile
        answer = c.read()
        assert answer.chunked
        names = links(answer.text)
        assert (len(names), names[1], names[-1]) == (100001, "./file-000000", "./file-099999")
        assert c.get("/small.txt").text == "small"
    # Clients that do not take their page do not fill the memory.
    held = [godwit.connect(60) for _ in range(20)]
    statuses = []
    for c in held:
        c.send("GET /big/ HTTP/1.1\r\nHost: x\r\n\r\n")
        statuses.append(c.head().status)
    assert set(statuses) == {200, 503} and statuses[0] == 200
    answer = godwit.get("/big/")
    assert answer.status == 503 and answer.header("Retry-After")
    for c in held:
        c.leave()
    wait.until(lambda: godwit.get("/big/").status == 200, 20, "they have left, there is room")


def test_a_client_that_leaves(godwit):
    for i in range(2000):
        godwit.file(f"big/{i}", "")
    godwit.simple("listing on;")
    for _ in range(20):
        c = godwit.connect()
        c.send("GET /big/ HTTP/1.1\r\nHost: x\r\n\r\n")
        c.leave()
    # While those directories are still being read, it may be one too many (503); none is held for ever.
    wait.until(lambda: len(links(godwit.get("/big/").text)) == 2001, 20, "the reads for those who left are over")


def test_a_directory_that_may_not_be_read(user_godwit):
    godwit = user_godwit
    godwit.file("locked/x", "x")
    (godwit.www / "locked").chmod(0o311)
    godwit.simple("listing on; htaccess ignore;")
    assert godwit.get("/locked/").status == 403
    (godwit.www / "locked").chmod(0o755)


def test_wrong_directives_are_refused(godwit):
    refused(godwit, "listing yes;", "on or off")
