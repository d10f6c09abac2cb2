# SPDX-License-Identifier: Apache-2.0
"""Reload drops nothing: 100 reloads under constant load, and configurations that fail in each phase."""
import os
import re
import signal
import socket

import pytest

from support import wait
from support.http import Closed, Connection, format_request
from support.load import Load
from support.server import free_port

ROUNDS = 100


def ok(answer) -> str:
    return "" if answer.status == 200 and answer.body else f"status {answer.status}, {len(answer.body)} bytes"


def pids_of(godwit, app: str) -> set:
    return {w["pid"] for w in godwit.app(app)["workers"]}


@pytest.mark.seconds(240)
def test_hundred_reloads_under_load(godwit):
    """Listeners, sites and an app's settings change while keep-alive, short-lived and slow connections go on."""
    godwit.file("index.html", "home")
    godwit.file("hello.php", "<?php usleep(2000); echo getmypid();")
    godwit.file("other/hello.php", "<?php echo getmypid();")
    ports = [free_port() for _ in range(2)]

    def configure(n: int) -> None:
        godwit.config("""
            listen 127.0.0.1:%(port)d;
            listen 127.0.0.1:%(extra)d;
            site _ { root %(www)s; app php { workers 3..3; } path /p%(n)d/ { root %(www)s; } }
            site other.example { root %(www)s/other; app php { workers 1..2; env ROUND %(round)d; } }
        """ + ("site more.example { root %(www)s; }\n" if n % 3 else ""), extra=ports[n % 2], n=n % 5, round=n // 10)

    configure(0)
    godwit.start()
    wait.until(lambda: len(pids_of(godwit, "_")) == 3, 10, "all workers")
    first_pids = pids_of(godwit, "_")
    slow = godwit.connect(120)
    slow.send("POST /hello.php HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n" % ROUNDS)
    loads = [
        Load(godwit.address, "/hello.php", clients=3, check=ok),
        Load(godwit.address, "/hello.php", clients=1, check=ok, host="other.example"),
        Load(godwit.address, "/", clients=2, keep_alive=False, check=ok),
    ]
    for load in loads:
        load.__enter__()
    for n in range(1, ROUNDS + 1):
        configure(n)
        godwit.reload()
        slow.send(b"x")  # a body that takes as long as all reloads together
        with Connection(("127.0.0.1", ports[n % 2])) as c:
            assert c.get("/").text == "home", "the listener that this configuration added"
    answer = slow.read()
    slow.close()
    for load in loads:
        load.stop()
    assert [load.failures for load in loads] == [[], [], []]
    assert all(load.done > ROUNDS for load in loads)
    assert answer.status == 200
    assert pids_of(godwit, "_") == first_pids, "an unchanged app keeps its workers"
    wait.until(lambda: godwit.status()["snapshots"] == 1, 10, "old configurations are let go")
    with pytest.raises(ConnectionRefusedError):
        Connection(("127.0.0.1", ports[(ROUNDS + 1) % 2]))


def test_only_the_changed_app_restarts_and_rolling(godwit):
    for name in ("a", "b"):
        godwit.file(f"{name}/hello.php", "<?php usleep(1000); echo getmypid(), ' ', getenv('VERSION');")

    def configure(version: int) -> None:
        godwit.config("""
            listen 127.0.0.1:%(port)d;
            site a.example { root %(www)s/a; app php { workers 2..2; env VERSION 1; } }
            site b.example { root %(www)s/b; app php { workers 2..2; env VERSION %(version)d; } }
        """, version=version)

    configure(1)
    godwit.start()
    with Load(godwit.address, "/hello.php", clients=2, host="a.example", check=ok) as a, \
            Load(godwit.address, "/hello.php", clients=2, host="b.example", check=ok) as b:
        a.wait_done(50)
        b.wait_done(50)
        before, old = pids_of(godwit, "a.example"), pids_of(godwit, "b.example")
        configure(2)
        godwit.reload()
        wait.until(lambda: godwit.get("/hello.php", host="b.example").text.endswith(" 2"), 10, "the new setting")
        wait.until(lambda: not old & pids_of(godwit, "b.example"), 10, "all old workers left")
        a.wait_done(50)
        b.wait_done(50)
    assert a.failures == [] and b.failures == []
    assert pids_of(godwit, "a.example") == before


def test_running_request_is_finished_by_its_old_worker(godwit):
    godwit.file("wait.php", f"<?php touch('{godwit.data}/begun'); while (!file_exists('{godwit.data}/open')) {{ usleep(5000); clearstatcache(); }}"
                            " echo getenv('VERSION');")
    godwit.file("v.php", "<?php echo getenv('VERSION');")
    godwit.php("workers 0..2; env VERSION 1;")
    with godwit.connect(30) as c:
        c.send(format_request("GET", "/wait.php"))
        wait.until((godwit.data / "begun").exists, 10, "the script runs")
        godwit.config("listen 127.0.0.1:%(port)d;\nsite _ { root %(www)s; app php { workers 0..2; env VERSION 2; } }\n")
        godwit.reload()
        wait.until(lambda: godwit.get("/v.php").text == "2", 10, "new requests meet the new setting")
        (godwit.data / "open").touch()
        assert c.read().text == "1"


FAILURES = [
    ("syntax", "listen 127.0.0.1:%(port)d;\nsite _ { root %(www)s;\n", r"\}"),
    ("unknown directive", "listen 127.0.0.1:%(port)d;\nsite _ { rot %(www)s; }\n", "root"),
    ("unknown user", "listen 127.0.0.1:%(port)d;\nsite _ { root %(www)s; app php { user nobody-of-that-name; } }\n", "nobody-of-that-name|by root"),
    ("address in use", "listen 127.0.0.1:%(port)d;\nlisten 127.0.0.1:%(taken)d;\nsite _ { root %(www)s; }\n", "in use"),
    ("log that cannot be opened", "listen 127.0.0.1:%(port)d;\nsite _ { root %(www)s; access_log /no/such/dir/access.log; }\n", "/no/such/dir"),
    ("missing root", "listen 127.0.0.1:%(port)d;\nsite _ { root %(www)s/nowhere; }\n", "nowhere"),
]


@pytest.mark.parametrize("phase,text,words", FAILURES, ids=[f[0] for f in FAILURES])
def test_failing_configuration_changes_nothing(godwit, phase, text, words):
    godwit.file("index.html", "home")
    godwit.file("hello.php", "<?php echo getmypid();")
    godwit.php("workers 1..1;")
    pid = godwit.get("/hello.php").text
    with socket.socket() as taken, godwit.connect() as held:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        assert held.get("/").text == "home"
        before = godwit.status()
        godwit.config(text, taken=taken.getsockname()[1])
        done = godwit.reload(check=False)
        assert done.returncode == 1
        assert re.search(words, done.stdout + done.stderr), done.stdout + done.stderr
        assert held.get("/hello.php").text == pid
        after = godwit.status()
        assert (after["generation"], after["listeners"]) == (before["generation"], before["listeners"])
        # and a good one still gets in
        godwit.config("listen 127.0.0.1:%(port)d;\nsite _ { root %(www)s; app php { workers 1..1; } }\n")
        godwit.reload()
        assert held.get("/hello.php").text == pid
    godwit.stderr.wait(r"config\.(invalid|refused)")


def test_loader_that_dies_changes_nothing(godwit):
    """A loader is a process like any other: whatever happens to it, the instance serves on."""
    godwit.file("index.html", "home")
    godwit.simple()
    fifo = godwit.base / "never.conf"
    os.mkfifo(fifo)
    os.chmod(fifo, 0o644)
    godwit.config("listen 127.0.0.1:%(port)d;\ninclude never.conf;\nsite _ { root %(www)s; }\n")
    godwit.process.send_signal(signal.SIGHUP)
    writer = wait.until(lambda: open_writer(fifo), 10, "the loader reads")  # it hangs in the include now
    loader = godwit.one("loader")
    os.kill(loader.pid, 9)
    os.close(writer)
    godwit.stderr.wait(r"config\.invalid")
    assert godwit.get("/").text == "home"
    godwit.config("listen 127.0.0.1:%(port)d;\nsite _ { root %(www)s; }\n")
    godwit.reload()


def open_writer(fifo):
    try:
        return os.open(fifo, os.O_WRONLY | os.O_NONBLOCK)
    except OSError:
        return None


def test_listener_that_goes_finishes_its_connections(godwit):
    godwit.file("index.html", "home")
    extra = free_port()
    godwit.simple(top="listen 127.0.0.1:%(extra)d;", extra=extra)
    with Connection(("127.0.0.1", extra)) as c:
        assert c.get("/").text == "home"
        godwit.config("listen 127.0.0.1:%(port)d;\nsite _ { root %(www)s; }\n")
        godwit.reload()
        assert c.get("/").text == "home"
    with pytest.raises((ConnectionRefusedError, Closed)):
        with Connection(("127.0.0.1", extra)) as c:
            c.get("/")


def test_what_only_a_restart_changes(godwit):
    """A reload says that it leaves such directives as they are; a crash does not bring them in by the back door."""
    godwit.file("index.html", "home")
    godwit.simple(top="threads 1;")
    for found in (godwit.reload(), godwit.control("status")):
        assert "warning" not in found.stderr
    good = godwit.conf.read_text()
    godwit.conf.write_text(good.replace("threads 1;", "threads 3;"))
    done = godwit.reload()
    assert "warning: threads: a change takes effect at a restart only" in done.stderr
    godwit.stderr.wait("warn config.needs_restart threads")
    os.kill(godwit.one("server").pid, signal.SIGKILL)
    godwit.stderr.wait("server.started")
    assert godwit.get("/").text == "home"
    assert godwit.status()["threads"] == 1
