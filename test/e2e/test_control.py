# SPDX-License-Identifier: Apache-2.0
"""The commands that speak with a running instance, and those that need none."""
import json
import os
import re
import signal
import stat

import pytest

from support import wait
from support.http import Connection, format_request
from support.server import GODWIT


@pytest.fixture
def site(godwit):
    godwit.file("index.html", "home")
    godwit.file("hello.php", "<?php echo 'hello';")
    return godwit.php()


def test_version(godwit):
    assert re.search(r"\bgodwit 0\.1\.0", godwit.run("version").stdout)


def test_help(godwit):
    out = godwit.run("help").stdout
    for command in ("serve", "check", "reload", "stop", "status", "apps", "help", "version"):
        assert re.search(rf"\b{command}\b", out), command
    one = godwit.run("help", "workers").stdout
    assert "workers" in one and re.search(r"[Dd]efault", one)
    unknown = godwit.run("help", "wrkers", check=False)
    assert unknown.returncode == 1 and "workers" in unknown.stdout + unknown.stderr


def test_unknown_command(godwit):
    done = godwit.run("sevre", check=False)
    assert done.returncode != 0 and "serve" in done.stdout + done.stderr


def test_commands_without_an_instance_say_so(godwit):
    for command in ("status", "apps", "reload", "stop"):
        done = godwit.control(command, check=False)
        assert done.returncode == 1 and done.stderr.strip(), command


def test_status(site):
    with site.connect() as c:
        c.get("/")
        c.get("/hello.php")
        c.get("/missing")
        status = site.status()
    assert status["instance"] == site.name
    assert status["version"] == "0.1.0"
    assert status["pid"] == site.pid
    assert any(f"127.0.0.1:{site.port}" in str(l) for l in status["listeners"])
    metrics = status["metrics"]
    assert metrics["requests"] >= 3 and metrics["responses_2xx"] >= 2 and metrics["responses_4xx"] >= 1
    assert metrics["connections_open"] >= 1
    text = site.control("status").stdout
    assert site.name in text and f"127.0.0.1:{site.port}" in text


def test_apps(site):
    site.file("wait.php", f"<?php touch('{site.data}/begun'); while (!file_exists('{site.data}/open')) {{ usleep(5000); clearstatcache(); }}")
    assert site.get("/hello.php").text == "hello"
    with site.connect() as c:
        c.send(format_request("GET", "/wait.php?secret=1"))
        wait.until((site.data / "begun").exists, 10, "the script runs")
        app = site.app()
        busy = [w for w in app["workers"] if w["state"] == "running"]
        assert len(busy) == 1
        assert busy[0]["url"].startswith("GET /wait.php")
        assert busy[0]["pid"] in [p.pid for p in site.processes()]
        assert busy[0]["memory_kib"] > 0 and busy[0]["requests"] >= 1
        assert "/wait.php" in site.control("apps").stdout
        (site.data / "open").touch()
        assert c.read().status == 200
    assert app["queue"]["waiting"] == 0
    assert app["limits"]["workers_max"] == 4
    assert any("/cgi/" in path for path in app["ini"]), "the ini files of the runtime are shown"
    site.file("version.php", "<?php echo PHP_VERSION;")
    program = str(GODWIT.parent / "runtime" / "php" / "godwit-php")
    assert (app["runtime"], app["program"], app["version"]) == ("godwit-php", program, site.get("/version.php").text)
    assert re.search(rf"^ *program +{re.escape(program)}$", site.control("apps").stdout, re.M)
    wait.until(lambda: all(w["state"] == "idle" for w in site.app()["workers"]), 5, "all idle again")


def test_control_socket_is_private(site):
    socket_path = site.status()["socket"]
    mode = os.stat(socket_path).st_mode
    assert stat.S_ISSOCK(mode) and not mode & 0o007
    with Connection(socket_path) as c:
        answer = c.get("/api/status")
        assert answer.status == 200 and json.loads(answer.body)["instance"] == site.name
        assert answer.header("Content-Type").startswith("application/json")
        assert c.get("/api/nothing-here").status == 404


def test_control_api(site):
    """What doc/control-api.md says, by any HTTP client on the socket."""
    def ask(method, target):
        with Connection(socket_path) as c:
            return c.request(method, target, body=b"" if method == "POST" else None)

    socket_path = site.status()["socket"]
    metrics = ask("GET", "/api/metrics")
    assert metrics.header("Content-Type").startswith("text/plain")
    assert re.search(r"^godwit_connections_accepted [1-9]\d*$", metrics.text, re.M)
    assert ask("GET", "/api/nothing").status == 404
    wrong = ask("DELETE", "/api/status")
    assert wrong.status == 405 and wrong.header("Allow") == "GET"
    assert json.loads(ask("POST", "/api/reopen-logs").body) == {"done": True}
    before = site.status()["generation"]
    assert json.loads(ask("POST", "/api/reload").body) == {"done": True}
    assert site.status()["generation"] > before
    site.config("nonsense;")
    failed = ask("POST", "/api/reload")
    assert failed.status == 422 and "nonsense" in json.loads(failed.body)["errors"][0]
    assert ask("POST", "/api/stop?now=1").status == 202
    assert site.process.wait(10) == 0


def test_control_is_not_reachable_from_the_network(site):
    assert site.get("/api/status").status == 404


def test_stop(site):
    site.control("stop")
    assert site.process.wait(20) == 0


def test_reload_by_command(site):
    site.file("new/index.html", "new home")
    site.config("listen 127.0.0.1:%(port)d;\nsite _ { root %(www)s/new; }\n")
    with site.connect() as c:
        assert c.get("/").text == "home"
        site.reload()
        assert c.get("/").text == "new home", "the connection lives on and sees the new configuration"


def test_failed_reload_is_told_and_changes_nothing(site):
    site.config("listen 127.0.0.1:%(port)d;\nsite _ { rot /; }\n")
    done = site.reload(check=False)
    assert done.returncode == 1
    assert re.search(r'godwit\.conf:\d+:10: .*"root"', done.stderr + done.stdout)
    assert site.get("/").text == "home"
    assert site.get("/hello.php").text == "hello"


def test_two_instances_of_one_name_are_refused(site, make_godwit):
    other = make_godwit()
    other.file("index.html", "x")
    other.config("listen 127.0.0.1:%(port)d;\nsite _ { root %(www)s; }\n")
    other.env["XDG_RUNTIME_DIR"] = site.env["XDG_RUNTIME_DIR"]
    done = other.run("serve", "-c", other.conf, "-n", site.name, check=False)
    assert done.returncode == 1 and site.name in done.stderr
    assert site.get("/").text == "home"


def test_stale_runtime_files_do_not_stop_a_start(site):
    site.expect_failure = True
    site.process.send_signal(signal.SIGKILL)
    site.process.wait(5)
    wait.until(lambda: not site.processes(), 5, "all have gone")
    site.start()
    assert site.get("/").text == "home"
