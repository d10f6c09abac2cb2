# SPDX-License-Identifier: Apache-2.0
"""New workers for an app without a reload: `godwit restart` and tmp/restart.txt. New ones prove that they start."""
import os
import subprocess
from pathlib import Path

import pytest

from support import wait
from support.load import Load


@pytest.fixture
def app(godwit):
    godwit.file("hello.php", "<?php echo getmypid();")
    return godwit


@pytest.fixture
def breakable(app):
    """An app that can be kept from starting: by the file `broken`."""
    app.file("start.sh", f"""#!/bin/sh
        [ -e {app.data}/broken ] && echo 'no such class' >&2 && exit 3
        exec {Path(app.command()[0]).parent}/runtime/php/godwit-php
        """, 0o755)
    return app.php(f"workers 2..2; command {app.www}/start.sh;")


def pids(app) -> set:
    return {w["pid"] for w in app.app()["workers"] if w["state"] != "retiring"}


def test_restart_changes_workers_and_spawner(app):
    app.php("workers 2..2;")
    wait.until(lambda: len(pids(app)) == 2, 5, "two workers")
    before, spawner = pids(app), app.one("spawner").pid
    done = app.control("restart", "_")
    assert "new workers" in done.stdout
    wait.until(lambda: len(pids(app)) == 2 and not pids(app) & before, 10, "two new ones")
    assert app.one("spawner").pid != spawner
    app.stderr.wait(r"app\.restarted \[app _\]")


def test_restart_fails_no_request(app):
    app.php("workers 2..4;")
    with Load(app.address, "/hello.php", clients=6) as load:
        load.wait_done(50)
        for _ in range(10):
            app.control("restart", "_")
            load.wait_done(30)
    assert load.failures == []


def test_new_workers_that_cannot_start_leave_the_old_ones(breakable):
    wait.until(lambda: len(pids(breakable)) == 2, 5, "two workers")
    before = pids(breakable)
    (breakable.data / "broken").touch()
    done = breakable.control("restart", "_", check=False)
    assert done.returncode == 1 and "no such class" in done.stderr
    breakable.stderr.wait(r"app\.restart_failed \[app _\] .*the old ones stay, and it is tried again within 10 s: .*no such class")
    assert {int(breakable.get("/hello.php").text) for _ in range(20)} <= before
    found = breakable.app()
    assert "no such class" in found["last_failure"]["text"]
    assert not any(w["outdated"] for w in found["workers"])
    # The old code is still loaded: those that are lost are replaced.
    for pid in before:
        os.kill(pid, 9)
    wait.until(lambda: len(pids(breakable)) == 2 and not pids(breakable) & before, 5, "others of the old code")
    assert int(breakable.get("/hello.php").text) in pids(breakable)
    before = pids(breakable)
    (breakable.data / "broken").unlink()
    wait.until(lambda: len(pids(breakable)) == 2 and not pids(breakable) & before, 30, "it is tried again by itself")
    assert len(breakable.processes("spawner")) == 1


def test_unknown_app(app):
    app.php()
    done = app.control("restart", "shop", check=False)
    assert done.returncode == 1 and "no such app; `godwit apps`" in done.stderr
    assert app.run("restart", check=False).returncode == 2


def test_app_without_workers(app):
    """One is started as the proof, and told about when it does not start."""
    loads = app.file(str(app.base / "preload.php"), "<?php class Preloaded {}")
    app.php(f"workers 0..2; ini opcache.preload {loads};")
    assert pids(app) == set()
    assert "has new workers" in app.control("restart", "_").stdout
    assert len(pids(app)) == 1
    app.file(str(app.base / "preload.php"), "<?php throw new Exception('of the new code');")
    for worker in app.app()["workers"]:
        os.kill(worker["pid"], 9)
    wait.until(lambda: app.app()["workers"] == [], 5, "no worker")
    done = app.control("restart", "_", check=False)
    assert done.returncode == 1 and "of the new code" in done.stderr
    assert "has new workers" not in done.stdout
    app.stderr.wait(r"app\.restart_failed \[app _\] .*there are no old ones, requests start them as before, and it is tried again")
    found = app.app()
    assert found["restarting"] and 0 < found["last_failure"]["next_try_ms"] <= 10000
    assert app.stderr.text().count("app.restarted") == 1
    assert app.get("/hello.php").status == 200  # the old code is still loaded


def test_app_that_a_reload_removes_meanwhile(app):
    """Who waits for the outcome is told why there is none."""
    app.file("start.sh", f"""#!/bin/sh
        while [ -e {app.data}/wait ]; do sleep 0.05; done
        exec {Path(app.command()[0]).parent}/runtime/php/godwit-php
        """, 0o755)
    app.php(f"workers 0..1; command {app.www}/start.sh;")
    (app.data / "wait").touch()
    restart = subprocess.Popen(app.command("restart", "-n", app.name, "_"), cwd=app.base, env=app.env, text=True,
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    wait.until(lambda: app.app()["restarting"], 5, "a restart on its way")
    app.config("listen 127.0.0.1:%(port)d; site _ { root %(www)s; }")
    app.reload()
    out, err = restart.communicate(timeout=20 * wait.SCALE)
    assert restart.returncode == 1 and out == ""
    assert "the app was removed from the configuration before a new worker was ready" in err
    app.stderr.wait(r"app\.restart_failed \[app _\] the app was removed")
    (app.data / "wait").unlink()


@pytest.mark.parametrize("place,directive", [("tmp", ""), ("app/tmp", "directory %(base)s/app;")])
def test_restart_file(app, place, directive):
    file = app.base / place / "restart.txt"
    file.parent.mkdir(parents=True)
    app.php(f"workers 1..1; {directive}")
    first = app.get("/hello.php").text
    with Load(app.address, "/hello.php", clients=2, pause=0.02) as load:
        wait.stays(lambda: app.get("/hello.php").text == first, 1.5, "no file, no restart")
        file.touch()
        wait.until(lambda: app.get("/hello.php").text != first, 5, "another worker")
        second = app.get("/hello.php").text
        wait.stays(lambda: app.get("/hello.php").text == second, 1.5, "once for each touch")
        os.utime(file, (1, 1))
        wait.until(lambda: app.get("/hello.php").text != second, 5, "another time is another touch")
    assert load.failures == []
