# SPDX-License-Identifier: Apache-2.0
""".htaccess files: what protects is never ignored silently."""
import os

import pytest

from support import wait


@pytest.mark.parametrize("text", [
    "Require all denied\n", "deny from all\n", "Order deny,allow\nDeny from all\n", "AuthType Basic\nRequire valid-user\n",
    "<Files \"*.php\">\nRequire all denied\n</Files>\n", "RewriteEngine On\nRewriteRule ^private - [F]\n",
    "php_flag engine off\n", "SetHandler none\n", "RemoveHandler .php\n", "SomethingUnheardOf yes\n",
    "  \trequire \\\n  all denied\n",
])
def test_protection_refuses(godwit, text):
    godwit.file("private/page.html", "private")
    godwit.file("private/deep/er/page.html", "private")
    godwit.file("private/script.php", "<?php echo 'private';")
    godwit.file("index.html", "home")
    godwit.file("private/.htaccess", text)
    godwit.php()
    for target in ("/private/page.html", "/private/deep/er/page.html", "/private/script.php", "/private/", "/private/x/../page.html",
                   "/private/missing"):
        answer = godwit.get(target)
        assert answer.status == 403, target
        assert b"private" != answer.body
    assert godwit.get("/").text == "home"
    godwit.stderr.wait(r"htaccess.*private/\.htaccess")
    assert godwit.status()["metrics"]["htaccess_refused"] >= 6


@pytest.mark.parametrize("text", ["", "# Require all denied\n", "AddType image/svg+xml .svg\n", "ExpiresActive On\nExpiresDefault \"access plus 1 day\"\n",
                                  "<IfModule mod_expires.c>\nExpiresActive On\n</IfModule>\n", "AddDefaultCharset utf-8\n"])
def test_what_protects_nothing_is_passed_over(godwit, text):
    godwit.file("open/page.html", "open")
    godwit.file("open/.htaccess", text)
    godwit.simple()
    assert godwit.get("/open/page.html").text == "open"


def test_htaccess_ignore(godwit):
    godwit.file("private/page.html", "page")
    godwit.file("private/.htaccess", "Require all denied\n")
    godwit.simple("htaccess ignore;")
    assert godwit.get("/private/page.html").text == "page"
    assert godwit.get("/private/.htaccess").status in (403, 404)


def test_htaccess_ignore_for_a_path(godwit):
    for name in ("one", "two"):
        godwit.file(f"{name}/page.html", name)
        godwit.file(f"{name}/.htaccess", "Require all denied\n")
    godwit.simple("path /one/ { htaccess ignore; }")
    assert godwit.get("/one/page.html").text == "one"
    assert godwit.get("/two/page.html").status == 403


def test_new_protection_is_seen(godwit):
    godwit.file("d/page.html", "page")
    godwit.simple()
    assert godwit.get("/d/page.html").text == "page"
    godwit.file("d/.htaccess", "Require all denied\n")
    wait.until(lambda: godwit.get("/d/page.html").status == 403, 5, "the new file protects")


def test_unreadable_htaccess_refuses(godwit):
    godwit.file("d/page.html", "page")
    godwit.file("d/.htaccess", "AddType image/svg+xml .svg\n", 0o000)
    godwit.simple()
    assert godwit.get("/d/page.html").status == 403


def test_a_pipe_in_place_of_the_file_stops_nobody(godwit):
    """Whoever may write into a directory of a site can make one; its open would wait for ever."""
    godwit.file("index.html", "home")
    godwit.file("up/x.txt", "x")
    godwit.simple("file_check 0;", top="threads 1;")
    assert godwit.get("/up/x.txt").text == "x"
    os.mkfifo(godwit.www / "up" / ".htaccess")
    assert godwit.get("/up/x.txt").status == 403
    godwit.stderr.wait(r"htaccess\.refused .*up/\.htaccess.*no regular file")
    assert godwit.get("/").text == "home"
    done = godwit.run("check", "-c", godwit.conf, check=False)
    assert "up/.htaccess" in done.stdout + done.stderr
