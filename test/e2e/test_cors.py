# SPDX-License-Identifier: Apache-2.0
"""cors: scripts of other origins, and the questions of their browsers."""
import pytest

from support.wrong import refused

ORIGIN = {"Origin": "https://app.example"}
QUESTION = {**ORIGIN, "Access-Control-Request-Method": "PUT", "Access-Control-Request-Headers": "content-type,x-token"}


def test_answers_may_be_read(godwit):
    godwit.file("data.json", "{}")
    godwit.file("data.php", "<?php header('Access-Control-Allow-Origin: *'); header('Vary: Accept'); echo 1;")
    godwit.php(site="cors https://app.example https://*.partner.example; cors_credentials on;")
    for target in ("/data.json", "/data.php", "/missing"):
        answer = godwit.get(target, ORIGIN)
        assert answer.all("Access-Control-Allow-Origin") == ["https://app.example"], target
        assert answer.header("Access-Control-Allow-Credentials") == "true"
        assert "Origin" in ", ".join(answer.all("Vary"))
        answer = godwit.get(target, {"Origin": "https://evil.example"})
        assert "https://evil.example" not in (answer.header("Access-Control-Allow-Origin") or "")
        assert "Origin" in ", ".join(answer.all("Vary"))
    answer = godwit.get("/data.json", {"Origin": "https://a.partner.example"})
    assert answer.header("Access-Control-Allow-Origin") == "https://a.partner.example"


def test_questions_come_before_passwords(godwit):
    users = godwit.file(godwit.base / "users", "")
    godwit.simple(f"cors https://app.example; auth_basic A; auth_file {users};")
    answer = godwit.request("OPTIONS", "/data", QUESTION)
    assert answer.status == 204
    assert answer.header("Access-Control-Allow-Origin") == "https://app.example"
    assert "PUT" in answer.header("Access-Control-Allow-Methods")
    assert answer.header("Access-Control-Allow-Headers") == "content-type,x-token"
    assert answer.header("Access-Control-Max-Age") == "600"
    assert godwit.request("PUT", "/data", ORIGIN, body=b"x").status == 401
    assert godwit.request("OPTIONS", "/data", {**QUESTION, "Origin": "https://evil.example"}).status == 401


def test_any_origin(godwit):
    godwit.file("data.json", "{}")
    godwit.simple("cors *; path /own/ { cors off; root %(www)s; }")
    answer = godwit.get("/data.json", {"Origin": "null"})
    assert (answer.header("Access-Control-Allow-Origin"), answer.header("Vary")) == ("*", None)
    assert godwit.get("/own/data.json", ORIGIN).header("Access-Control-Allow-Origin") is None


@pytest.mark.parametrize("directive,words", [
    ("cors app.example;", "app.example"), ("cors https://app.example/;", "origin"), ("cors https://App.example;", "origin"),
    ("cors * https://a.example;", "\\* alone"), ("cors https://a.*.example;", "origin"), ("cors null;", "origin"),
    ("cors https://a.example:443;", "as browsers write it"), ("cors http://*.example:80;", "as browsers write it"), ("cors;", "0 arguments"),
])
def test_wrong_directives_are_refused(godwit, directive, words):
    refused(godwit, directive, words)


def test_credentials_for_all_are_refused(godwit):
    godwit.config("site _ { cors *; cors_credentials on; }\n", with_user=False)
    done = godwit.run("check", "-c", godwit.conf, check=False)
    assert done.returncode == 1 and "cors_credentials" in done.stdout + done.stderr
