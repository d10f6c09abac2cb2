# SPDX-License-Identifier: Apache-2.0
"""auth_basic and auth_file: who gets in, and that nobody does when the file is missing."""
import base64
import select
import subprocess

import pytest

from support import wait
from support.http import format_request
from support.wrong import refused


def basic(user, password) -> dict:
    return {"Authorization": "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()}


def hash_of(password, kind="-6") -> str:
    return subprocess.run(["openssl", "passwd", kind, password], capture_output=True, text=True, check=True).stdout.strip()


@pytest.fixture
def members(godwit):
    """A site with an inner part; ann's password is secret."""
    godwit.file("index.html", "home")
    godwit.file("in/index.html", "inside")
    godwit.file("in/who.php", "<?php echo $_SERVER['REMOTE_USER'], ' ', $_SERVER['AUTH_TYPE'], ' ', $_SERVER['PHP_AUTH_USER'] ?? '';")
    godwit.users = godwit.file(godwit.base / "users", f"ann:{hash_of('secret')}\nbob:{hash_of('hunter2', '-apr1')}\n")
    godwit.php(site=f"path /in/ {{ auth_basic \"Members\"; auth_file {godwit.users}; }}",
               top="file_check 0;\naccess_log %(base)s/access.log;")
    return godwit


def test_who_gets_in(members):
    assert members.get("/").text == "home"
    answer = members.get("/in/")
    assert (answer.status, answer.header("WWW-Authenticate")) == (401, 'Basic realm="Members", charset="UTF-8"')
    for headers, status in [(basic("ann", "secret"), 200), (basic("bob", "hunter2"), 200), (basic("ann", "hunter2"), 401),
                            (basic("ann", ""), 401), (basic("eve", "secret"), 401), ({"Authorization": "Basic x"}, 401),
                            ({"Authorization": "Bearer x"}, 401)]:
        with members.connect() as c:
            for target in ("/in/", "/in/index.html", "/in/missing.html"):
                answer = c.get(target, headers)
                expected = 404 if status == 200 and "missing" in target else status
                assert answer.status == expected, (headers, target)
                assert status == 200 or b"inside" not in answer.body
    assert members.status()["metrics"]["auth_refused"] >= 15


def test_the_app_and_the_log_know_the_user(members):
    answer = members.get("/in/who.php", basic("ann", "secret"))
    assert answer.text.startswith("ann Basic")
    wait.until(lambda: " - ann [" in (members.base / "access.log").read_text(), 5, "the user in the log")


def test_a_changed_file_counts(members):
    assert members.get("/in/", basic("ann", "secret")).status == 200
    members.file(members.users, f"ann:{hash_of('other', '-apr1')}\n")
    assert members.get("/in/", basic("ann", "secret")).status == 401
    assert members.get("/in/", basic("ann", "other")).status == 200


def test_a_missing_file_refuses_all(members):
    assert members.get("/in/", basic("ann", "secret")).status == 200
    members.users.unlink()
    for headers in (basic("ann", "secret"), None):
        answer = members.get("/in/", headers)
        assert answer.status == 500 and b"inside" not in answer.body
    members.stderr.wait(r"auth\.file_failed.*auth_file")
    assert members.get("/").status == 200
    members.file(members.users, f"ann:{hash_of('secret')}\n")
    assert members.get("/in/", basic("ann", "secret")).status == 200


def test_lines_that_let_nobody_in_are_told(members):
    members.file(members.users, f"ann:secret\nbob:{hash_of('hunter2')}\n")
    assert members.get("/in/", basic("ann", "secret")).status == 401
    members.stderr.wait(r"auth\.bad_line .*users:1:")
    assert members.get("/in/", basic("bob", "hunter2")).status == 200


def test_hashes_that_would_take_hours_let_nobody_in(members):
    """Who may write such a file must not take the threads that check for all sites."""
    members.file(members.users, "".join(f"u{i}:{h}\n" for i, h in enumerate([
        "$2y$31$abcdefghijklmnopqrstuuxJ0LMPEBMaeJD3o6rMJ9cMBoHJGo1hS", f"$6$rounds=999999999$saltsalt${'x' * 86}", "$y$jFT$salt$" + "x" * 43]))
        + f"bob:{hash_of('hunter2')}\n")
    for name in ("u0", "u1", "u2", "eve"):
        for _ in range(4):
            assert members.get("/in/", basic(name, "secret")).status == 401
    members.stderr.wait(r"auth\.bad_line .*users:1: .*seconds at most, and 2 further lines")
    assert members.get("/in/", basic("bob", "hunter2")).status == 200


def test_many_at_once(members):
    with members.connect() as one, members.connect() as two:
        for _ in range(20):
            one.send("GET /in/ HTTP/1.1\r\nHost: x\r\nAuthorization: %s\r\n\r\n" % basic("ann", "secret")["Authorization"])
            two.send("GET /in/ HTTP/1.1\r\nHost: x\r\nAuthorization: %s\r\n\r\n" % basic("ann", "wrong")["Authorization"])
            assert (one.read().status, two.read().status) == (200, 401)


def test_clients_that_leave_while_a_password_is_checked(members):
    members.file(members.users, f"ann:$6$rounds=200000$saltsalt${'x' * 86}\nbob:{hash_of('hunter2')}\n")
    for _ in range(10):
        c = members.connect()
        c.send("GET /in/ HTTP/1.1\r\nHost: x\r\nAuthorization: %s\r\n\r\n" % basic("ann", "secret")["Authorization"])
        c.leave()
    assert members.get("/in/", basic("bob", "hunter2")).status == 200


def test_others_do_not_wait_for_a_slow_hash(members):
    """Passwords are checked beside the loop: with one thread, the next client is answered first."""
    members.config(members.conf.read_text().replace("file_check 0;", "file_check 0; threads 1;").replace("%", "%%"), with_user=False)
    members.stop()
    members.start()
    members.file(members.users, f"ann:$6$rounds=1500000$saltsalt${'x' * 86}\n")
    with members.connect(60) as slow:
        slow.send(format_request("GET", "/in/", basic("ann", "secret")))
        assert members.get("/").text == "home"
        assert not select.select([slow.sock], [], [], 0)[0]
        assert slow.read().status == 401


def test_off_in_a_path(godwit):
    users = godwit.file(godwit.base / "users", f"ann:{hash_of('secret')}\n")
    godwit.file("index.html", "home")
    godwit.file("open/index.html", "open")
    godwit.simple(f"auth_basic Site; auth_file {users}; path /open/ {{ auth_basic off; }}")
    assert godwit.get("/").status == 401
    assert godwit.get("/open/").text == "open"


@pytest.mark.parametrize("directive,words", [
    ("auth_basic Members;", "auth_file was expected"), ("auth_basic \"\";", "realm"),
    ("auth_basic a; auth_file /no/such/file;", "/no/such/file.*file that exists"), ("auth_basic a; auth_file /tmp;", "no file"),
    ("auth_basic \"a\\nb\";", "realm"),
])
def test_wrong_directives_are_refused(godwit, directive, words):
    text = f"# one\n# two\nsite _ {{ {directive} root {godwit.www}; }}\n"
    if "auth_file was" in words:
        godwit.config(text, with_user=False)
        done = godwit.run("check", "-c", godwit.conf, check=False)
        assert done.returncode == 1 and "auth_file was expected" in done.stdout + done.stderr
    else:
        refused(godwit, directive, words)
