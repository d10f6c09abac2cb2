# SPDX-License-Identifier: Apache-2.0
"""maintenance: a file that closes a site, with its page."""
from support.wrong import refused


def test_closed_while_the_file_is_there(godwit):
    godwit.file("index.html", "home")
    godwit.file("sorry.html", "back soon")
    godwit.file("a.php", "<?php echo 'php';")
    flag = godwit.base / "maintenance"
    godwit.php(site="maintenance %(base)s/maintenance; maintenance_retry 10m; error_page 503 /sorry.html;\n"
               "path /health/ { maintenance off; return 200 well; }", top="file_check 0;")
    assert godwit.get("/").text == "home"
    flag.write_text("")
    for target in ("/", "/a.php", "/missing", "/sorry.html"):
        answer = godwit.get(target)
        assert (answer.status, answer.text, answer.header("Retry-After")) == (503, "back soon", "600"), target
    assert godwit.request("POST", "/a.php", body=b"x" * 1000).status == 503
    assert godwit.get("/health/").text == "well"
    flag.unlink()
    assert godwit.get("/").text == "home"
    assert godwit.get("/a.php").text == "php"


def test_a_flag_that_may_not_be_looked_for_closes(user_godwit):
    godwit = user_godwit
    godwit.file("index.html", "home")
    hidden = godwit.base / "hidden"
    hidden.mkdir(mode=0o000)
    godwit.simple("maintenance %(base)s/hidden/flag;")
    assert godwit.get("/").status == 503
    hidden.chmod(0o755)


def test_wrong_directives_are_refused(godwit):
    refused(godwit, "maintenance;", "0 arguments")
    refused(godwit, "maintenance_retry 0;", "1s")
