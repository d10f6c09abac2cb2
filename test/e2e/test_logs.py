# SPDX-License-Identifier: Apache-2.0
"""Logs: access lines in both forms, the error log, what apps write, rotation."""
import json
import os
import pwd
import re
import signal

import pytest

from support import wait
from support.server import Log


def make_logs(godwit) -> None:
    (godwit.base / "logs").mkdir()


@pytest.fixture
def as_root(godwit):
    """Tests that use it are chosen only when root runs them (conftest.py)."""
    return godwit


def test_root_is_not_led_away_by_links_of_users(as_root):
    """Who may write to the directory of a log chooses what its name means, at each opening."""
    secret = as_root.base / "secret"
    secret.write_text("secret\n")
    logs = as_root.base / "logs"
    logs.mkdir()
    user = pwd.getpwnam("nobody")
    os.chown(logs, user.pw_uid, user.pw_gid)
    as_root.file("a.txt", "x")
    as_root.simple("access_log %(base)s/logs/access.log combined;")
    as_root.get("/a.txt?one")
    log = logs / "access.log"
    Log(log).wait("one")
    assert log.stat().st_uid == user.pw_uid  # made with his rights
    log.unlink()
    log.symlink_to(secret)
    as_root.process.send_signal(signal.SIGUSR1)
    as_root.stderr.wait("log.failed cannot open the log .*symbolic link")
    done = as_root.run("check", "-c", as_root.conf, check=False)
    assert done.returncode == 1 and f"{as_root.conf}:" in done.stderr and "symbolic link" in done.stderr, done.stderr
    as_root.get("/a.txt?two")
    assert secret.read_text() == "secret\n"
    log.unlink()
    logs.chmod(0o777)
    done = as_root.run("check", "-c", as_root.conf, check=False)
    assert done.returncode == 1 and "everybody may write" in done.stderr, done.stderr


def test_combined(godwit):
    make_logs(godwit)
    godwit.file("a.txt", "12345")
    godwit.simple("access_log %(base)s/logs/access.log combined;")
    godwit.get("/a.txt?q=1", {"Referer": "http://from.example/", "User-Agent": 'agent "x" or y'})
    line = Log(godwit.base / "logs" / "access.log").wait(r'^127\.0\.0\.1 .*$').group(0)
    assert re.match(r'127\.0\.0\.1 - - \[\d\d/[A-Z][a-z]{2}/\d{4}:\d\d:\d\d:\d\d [+-]\d{4}\] "GET /a\.txt\?q=1 HTTP/1\.1" 200 5 '
                    r'"http://from\.example/" "agent (\\"|\\x22)x(\\"|\\x22) or y"', line), line


def test_json(godwit):
    make_logs(godwit)
    godwit.file("hello.php", "<?php echo getmypid();")
    godwit.php(site="access_log %(base)s/logs/access.json json;")
    pid = int(godwit.get("/hello.php?x=%22", {"User-Agent": 'quote " and é'}).text)
    line = json.loads(Log(godwit.base / "logs" / "access.json").wait(r"^\{.*\}$").group(0))
    assert re.fullmatch(r"[0-9a-f]{16}", line["request_id"])
    assert (line["method"], line["status"], line["worker_pid"]) == ("GET", 200, pid)
    assert line["target"] == "/hello.php?x=%22"
    assert line["site"] == "_" and line["app"]
    assert line["client"] == "127.0.0.1" and line["user_agent"] == 'quote " and é'
    assert line["body_bytes"] == len(str(pid))
    for name in ("queue_us", "backend_us", "duration_us"):
        assert 0 <= line[name] < 10_000_000, name
    assert line["duration_us"] >= line["queue_us"] + line["backend_us"]


def test_forged_lines_stay_in_one_line(godwit):
    make_logs(godwit)
    godwit.file("a.txt", "x")
    godwit.simple("access_log %(base)s/logs/access.log combined;")
    with godwit.connect() as c:
        c.send(b"GET /a.txt?\x7f\xff HTTP/1.1\r\nHost: a\r\nUser-Agent: \xff\t\"end\r\n\r\n")
        c.read()
    godwit.get("/a.txt?second")
    log = Log(godwit.base / "logs" / "access.log")
    log.wait("second")
    assert all(re.match(r"127\.0\.0\.1 ", line) for line in log.text().splitlines())
    assert not re.search(r"[^\x20-\x7e\n\t]", log.text())


def test_reopen(godwit):
    make_logs(godwit)
    godwit.file("a.txt", "x")
    godwit.simple("access_log %(base)s/logs/access.log combined;", top="error_log %(base)s/logs/error.log;")
    access, rotated = godwit.base / "logs" / "access.log", godwit.base / "logs" / "access.log.1"
    godwit.get("/a.txt?before")
    Log(access).wait("before")
    access.rename(rotated)
    godwit.get("/a.txt?between")
    Log(rotated).wait("between")
    godwit.process.send_signal(signal.SIGUSR1)
    wait.until(access.exists, 5, "a new file")
    wait.until(lambda: (godwit.get("/a.txt?after"), "after" in Log(access).text())[1], 5, "lines in the new file")
    assert "before" not in Log(access).text()


def test_the_keeper_writes_to_the_error_log(godwit):
    make_logs(godwit)
    godwit.file("a.txt", "x")
    path = godwit.base / "logs" / "error.log"
    godwit.simple("access_log off;", top="error_log %(base)s/logs/error.log;")
    log = Log(path)
    os.kill(godwit.one("server").pid, signal.SIGKILL)
    log.wait("error server.died the server process killed by SIGKILL")
    log.wait("info server.started ")
    path.rename(path.with_suffix(".1"))
    godwit.process.send_signal(signal.SIGUSR1)
    wait.until(path.exists, 5, "a new file")
    good = godwit.conf.read_text()
    godwit.conf.write_text(good + "nonsense;\n")
    assert godwit.reload(check=False).returncode == 1
    log = Log(path)
    log.wait("error config.invalid .*nonsense")
    godwit.conf.write_text(good.replace("error_log", "log_level error; log_format journald; error_log"))
    godwit.reload()
    log.skip()
    godwit.process.send_signal(signal.SIGHUP)  # succeeds: nothing to tell an operator of
    os.kill(godwit.one("server").pid, signal.SIGKILL)
    log.wait("^<3>server.died ")
    assert godwit.stop() == 0
    assert "keeper.started" not in log.text() + godwit.stderr.text()
    assert "keeper.stopped" not in log.text()  # less than an error


def test_lines_that_find_no_space(godwit):
    """They are counted and told of, and so is the end of it."""
    make_logs(godwit)
    access = godwit.base / "logs" / "access.log"
    access.symlink_to("/dev/full")
    godwit.simple("access_log %(base)s/logs/access.log combined;")
    for _ in range(3):
        godwit.get("/")
    wait.until(lambda: godwit.status()["metrics"]["log_lines_dropped"] == 3, 5, "three lines in the counter")
    godwit.stderr.wait(r'error log\.dropped 3 lines of the log "[^"]*/access\.log" were lost: No space left on device$')
    access.unlink()
    godwit.process.send_signal(signal.SIGUSR1)
    wait.until(access.exists, 5, "a new file")
    wait.until(lambda: (godwit.get("/?after"), "after" in Log(access).text())[1], 5, "lines in the new file")
    godwit.stderr.wait(r'info log\.restored the log "[^"]*/access\.log" is written again; \d+ more lines were lost$')


def test_app_output_line_by_line(godwit):
    godwit.file("e.php", r"""<?php error_log('first line'); fwrite(fopen('php://stderr', 'w'), "second\nthird \x1b[31m\n"); echo getmypid();""")
    godwit.php()
    pid = godwit.get("/e.php").text
    for text in ("first line", "second", "third "):
        godwit.stderr.at = 0  # PHP's log and its standard error come by different ways, in any order
        line = godwit.stderr.wait(rf"^.*app\.output.*{text}.*$").group(0)
        assert pid in line, line
    assert "\x1b" not in godwit.stderr.text()


def test_error_of_ours_explains_itself(godwit):
    godwit.file("die.php", "<?php posix_kill(getmypid(), 9);")
    godwit.php()
    answer = godwit.get("/die.php")
    assert answer.status == 502
    request_id = re.search(r"[0-9a-f]{16}", answer.text).group(0)
    line = godwit.stderr.wait(rf"^.*{request_id}.*$").group(0)
    assert "SIGKILL" in line or "worker" in line
    assert "die.php" not in answer.text


def test_error_log_line_form(godwit):
    godwit.simple()
    for line in godwit.stderr.text().splitlines():
        assert re.match(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z (error|warn|info|debug) [a-z_]+\.[a-z_]+ |http://|Serving|\s)", line), line


def test_journald_form(godwit):
    """The server as its directive says; the keeper, which reads no configuration, when the journal is what it writes to."""
    godwit.file("d/page.html", "page")
    godwit.file("d/.htaccess", "Require all denied\n")
    godwit.stderr.path.touch()
    where = os.stat(godwit.stderr.path)
    godwit.env["JOURNAL_STREAM"] = f"{where.st_dev}:{where.st_ino}"
    godwit.simple(top="log_format journald;")
    assert godwit.get("/d/page.html").status == 403
    godwit.stderr.wait(r"^<6>keeper\.started ")
    godwit.stderr.wait(r"^<4>htaccess\.refused ")


def test_access_log_to_stdout(godwit):
    godwit.file("a.txt", "x")
    godwit.simple("access_log stdout combined;")
    godwit.get("/a.txt?to-stdout")
    godwit.stderr.wait("to-stdout")  # the harness sends both to one file


def test_access_log_off(godwit):
    godwit.file("a.txt", "x")
    godwit.simple("access_log off;")
    godwit.get("/a.txt?unseen")
    godwit.stop()
    assert "unseen" not in godwit.stderr.text()


def test_log_level(godwit):
    godwit.file("die.php", "<?php posix_kill(getmypid(), 9);")
    godwit.php(top="log_level error;")
    assert godwit.get("/die.php").status == 502
    godwit.stop()
    assert not [line for line in godwit.stderr.text().splitlines() if " info " in line and "keeper." not in line]


def test_development_shows_the_cause_in_the_page(godwit):
    godwit.file("die.php", "<?php posix_kill(getmypid(), 9);")
    godwit.php(top="development on;")
    answer = godwit.get("/die.php")
    assert answer.status == 502 and "ended in the middle of the request" in answer.text
