# SPDX-License-Identifier: Apache-2.0
"""header and expires: what a site adds to answers, whoever makes them."""
import re
from email.utils import parsedate_to_datetime

import pytest

from support.wrong import refused


def test_header_set_add_remove(godwit):
    godwit.file("index.html", "home")
    godwit.file("a.php", "<?php header('X-Powered-By: me'); header('X-Frame-Options: NONE'); header('X-One: 1'); echo 'php';")
    godwit.file("fail.php", "<?php http_response_code(500); header('X-Powered-By: me'); echo 'bad';")
    godwit.php(site="""
        header set X-Frame-Options SAMEORIGIN;
        header set Content-Security-Policy "default-src 'self'; img-src *" always;
        header add X-One 2;
        header remove x-powered-by always;
        path /quiet/ { header remove X-One; root %(www)s; }
    """)
    for target in ("/", "/a.php"):
        answer = godwit.get(target)
        assert answer.status == 200
        assert answer.all("X-Frame-Options") == ["SAMEORIGIN"]
        assert answer.header("Content-Security-Policy") == "default-src 'self'; img-src *"
        assert answer.header("X-Powered-By") is None
    assert godwit.get("/a.php").all("X-One") == ["1", "2"]
    for target in ("/missing", "/fail.php"):
        answer = godwit.get(target)
        assert answer.status in (404, 500)
        assert answer.header("X-Frame-Options") is None
        assert answer.header("X-Powered-By") is None
        assert answer.header("Content-Security-Policy") == "default-src 'self'; img-src *"
    quiet = godwit.get("/quiet/")
    assert quiet.header("X-One") is None and quiet.header("X-Frame-Options") == "SAMEORIGIN"


def test_rules_of_all_scopes_hold(godwit):
    godwit.file("index.html", "home")
    godwit.simple("header set B site; path /p/ { root %(www)s; header set C path; header set B path; }", top="header set A top;")
    home, inner = godwit.get("/"), godwit.get("/p/")
    assert [home.header(n) for n in "ABC"] == ["top", "site", None]
    assert [inner.header(n) for n in "ABC"] == ["top", "path", "path"]
    assert inner.all("B") == ["path"]


def test_expires(godwit):
    godwit.file("style.css", "a{}")
    godwit.file("own.php", "<?php header('Cache-Control: private'); echo 1;")
    godwit.file("plain.php", "<?php echo 1;")
    godwit.php(site="expires 30d; path /never/ { root %(www)s; expires off; } path /ask/ { root %(www)s; expires 0; }")
    answer = godwit.get("/style.css")
    assert answer.header("Cache-Control") == "max-age=2592000"
    apart = parsedate_to_datetime(answer.header("Expires")) - parsedate_to_datetime(answer.header("Date"))
    assert abs(apart.total_seconds() - 2592000) <= 2
    etag = answer.header("ETag")
    again = godwit.get("/style.css", {"If-None-Match": etag})
    assert (again.status, again.header("Cache-Control")) == (304, "max-age=2592000")
    assert godwit.get("/own.php").all("Cache-Control") == ["private"]
    assert godwit.get("/own.php").header("Expires") is None
    assert godwit.get("/plain.php").header("Cache-Control") == "max-age=2592000"
    assert godwit.request("POST", "/plain.php", body=b"x").header("Cache-Control") is None
    assert godwit.get("/missing.css").header("Cache-Control") is None
    assert godwit.get("/never/style.css").header("Cache-Control") is None
    assert godwit.get("/ask/style.css").header("Cache-Control") == "max-age=0"


@pytest.mark.parametrize("directive,words", [
    ("header put A b;", "\"put\".*set, add or remove"), ("header set A;", "NAME VALUE"), ("header remove A b;", "NAME"),
    ("header set \"A b\" c;", "no name"), ("header set A \"b\\nc\";", "control byte"), ("header set Content-Length 1;", "itself"),
    ("header remove transfer-encoding;", "itself"), ("header set A b sometimes;", "always"), ("header set A b always x;", "5 arg"),
    ("expires soon;", "soon"), ("expires 11000d;", "3650d"),
])
def test_wrong_rules_are_refused(godwit, directive, words):
    refused(godwit, directive, words)


def test_values_are_told_by_help(godwit):
    assert re.search(r"expires TIME\|off", godwit.run("help", "expires").stdout)
    assert "set|add|remove NAME" in godwit.run("help", "header").stdout
