# SPDX-License-Identifier: Apache-2.0
"""try: front controllers of PHP apps, and what must not slip past the rules of access with it."""
import json

import pytest

from support.wrong import refused

FRONT = """<?php
$out = [];
foreach (['REQUEST_URI', 'SCRIPT_NAME', 'PHP_SELF', 'QUERY_STRING', 'PATH_INFO', 'REQUEST_METHOD', 'SCRIPT_FILENAME'] as $name)
    $out[$name] = $_SERVER[$name] ?? null;
$out['body'] = file_get_contents('php://input');
echo json_encode($out);
"""


@pytest.fixture
def front(godwit):
    godwit.file("index.php", FRONT)
    godwit.file("asset.css", "a{}")
    godwit.file("sub/index.html", "sub")
    godwit.file("plain/x.txt", "x")
    return godwit


def test_front_controller(front):
    front.php(site="try {path} {path}/ /index.php; index index.php index.html;")
    assert front.get("/asset.css").text == "a{}"
    assert front.get("/sub/").text == "sub"
    assert front.get("/sub").header("Location") == "/sub/"
    for target in ("/blog/2026/post", "/blog/2026/post?a=1&b=2", "/asset.css/x", "/caf%C3%A9?x", "/.well-known/missing"):
        facts = json.loads(front.get(target).text)
        assert facts["REQUEST_URI"] == target
        assert facts["SCRIPT_NAME"] == facts["PHP_SELF"] == "/index.php"
        assert facts["QUERY_STRING"] == (target.split("?") + [""])[1]
        assert facts["PATH_INFO"] is None
    facts = json.loads(front.get("/").text)
    assert (facts["REQUEST_URI"], facts["SCRIPT_NAME"]) == ("/", "/index.php")
    facts = json.loads(front.get("/index.php/tail?q").text)
    assert (facts["PATH_INFO"], facts["SCRIPT_NAME"], facts["QUERY_STRING"]) == ("/tail", "/index.php", "q")
    facts = json.loads(front.request("POST", "/api/items", body=b"x=1").text)
    assert (facts["REQUEST_METHOD"], facts["REQUEST_URI"], facts["body"]) == ("POST", "/api/items", "x=1")
    assert front.get("/.env").status == 403
    assert front.get("/missing.php").status == 200  # the front controller answers for it too


def test_the_query_of_the_fallback(front):
    front.php(site="try {path} /index.php?q={path};")
    facts = json.loads(front.get("/a/b%26c=1?d=2").text)
    assert facts["QUERY_STRING"] == "q=/a/b%26c%3D1&d=2"


def test_an_app_below_a_prefix(front):
    front.file(front.base / "app/front.php", FRONT)
    front.file(front.base / "app/style.css", "style")
    front.php(site="path /shop/ { root %(base)s/app; try {path} /shop/front.php; }")
    assert front.get("/shop/style.css").text == "style"
    facts = json.loads(front.get("/shop/cart/1").text)
    assert (facts["SCRIPT_NAME"], facts["REQUEST_URI"]) == ("/shop/front.php", "/shop/cart/1")
    assert facts["SCRIPT_FILENAME"] == str(front.base / "app/front.php")
    assert front.get("/other").status == 404


def test_a_status_as_fallback(front):
    front.simple("try {path} /plain{path} 410;")
    assert front.get("/asset.css").text == "a{}"
    assert front.get("/x.txt").text == "x"
    assert front.get("/nothing").status == 410


def test_rules_of_the_path_that_was_asked_for_hold(front):
    front.php(site="try {path} /index.php; path /admin/ { deny all; } path /api/ { auth_basic A; auth_file %(base)s/users; }",
              users=front.file(front.base / "users", ""))
    assert front.get("/admin/users").status == 403
    assert front.get("/api/users").status == 401
    assert front.get("/other").status == 200


def test_rules_of_the_fallback_hold(front):
    front.php(site="try {path} /index.php; path /index.php { deny all; }")
    assert front.get("/other").status == 403


def test_a_fallback_that_is_not_there(front):
    front.simple("try {path} /nowhere.html;")
    assert front.get("/x").status == 404


@pytest.mark.parametrize("directive,words", [
    ("try /index.php;", "1 argument"), ("try {path} index.php;", "ends with \"index.php\""), ("try {path} 200;", "200"),
    ("try {path} /a%20b.php;", "escapes, \"/a b.php\" was expected"), ("try /c%41{path}.html 404;", "escapes"),
    ("try {uri} /index.php;", "\\{uri\\}"), ("try {path}/../x /index.php;", "\\.\\."), ("try {path}?x /index.php;", "\\?x"),
    ("try {path} {path};", "ends with"), ("try {path} {path} {path} {path} {path} {path} {path} {path} {path} {path} {path} "
                                           "{path} {path} {path} {path} {path} /x;", "17 arguments"),
])
def test_wrong_directives_are_refused(godwit, directive, words):
    refused(godwit, directive, words)
