# SPDX-License-Identifier: Apache-2.0
"""The queue in front of an app: what is refused is refused before its body comes, and addresses take turns."""
import json
import resource
import socket
import statistics
import threading
import time

import pytest

from support import wait
from support.http import Closed, Connection, format_request
from support.load import Load

WAIT = "<?php while (!file_exists('%s/open')) { usleep(5000); clearstatcache(); } echo 'ok';"
HEAD = "POST /%s HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\nExpect: 100-continue\r\n\r\n"


@pytest.fixture
def app(godwit):
    godwit.file("hello.php", "<?php echo strlen(file_get_contents('php://input'));")
    godwit.file("wait.php", WAIT % godwit.data)
    return godwit


def test_body_max_is_decided_at_the_head(app):
    app.php(site="body_max 1k;")
    with app.connect() as c:
        c.send(HEAD % ("hello.php", 5000))
        assert c.head().status == 413  # and no 100 Continue before it
    with app.connect() as c:
        c.send(HEAD % ("hello.php", 500))
        assert c.head().status == 100
        c.send("x" * 500)
        assert c.read().text == "500"
    assert app.status()["metrics"]["bodies_refused"] == 1


def test_full_queue_is_told_at_the_head(app):
    app.php("workers 0..1; queue 1;")
    with app.connect(30) as busy, app.connect(30) as waiting:
        busy.send(format_request("GET", "/wait.php"))
        wait.until(lambda: "running" in str(app.app()["workers"]), 10, "the worker is busy")
        waiting.send(format_request("GET", "/wait.php"))
        wait.until(lambda: app.app()["queue"]["waiting"] == 1, 5, "one waits")
        with app.connect() as c:
            c.send(HEAD % ("hello.php", 1000000))
            answer = c.head()
            assert answer.status == 503 and answer.header("Retry-After")
        app.stderr.wait(r"backend\.queue_full .*queue 1\b")
        (app.data / "open").touch()
        assert busy.read().text == waiting.read().text == "ok"


def test_no_worker_is_told_at_the_head(app):
    app.php("workers 0..1; command /bin/false;")
    assert app.get("/hello.php").status == 503
    with app.connect() as c:
        c.send(HEAD % ("hello.php", 1000000))
        assert c.head().status == 503


def test_full_queue_makes_room_for_another_address(app):
    app.php("workers 0..1; queue 3;")
    held = [app.connect(30) for _ in range(4)]
    for n, c in enumerate(held):
        c.send(format_request("GET", "/wait.php"))
        wait.until(lambda: app.app()["queue"]["waiting"] == n, 10, f"{n} wait")
    with Connection(app.address, 30, source="127.0.0.2") as other:
        other.send(format_request("GET", "/wait.php"))
        assert held[3].read().status == 503  # the newest of who has the most
        (app.data / "open").touch()
        assert other.read().text == "ok"
    assert [c.read().text for c in held[:3]] == ["ok"] * 3


@pytest.mark.parametrize("directive", ["abort stop;", "abort finish;"])
def test_waiting_client_that_closes_its_direction_has_left(app, directive):
    """All that is seen of a browser that gives up; `finish` is for what a worker has."""
    app.file("count.php", f"<?php file_put_contents('{app.data}/count', 'x', FILE_APPEND); echo 'counted';")
    app.php(f"workers 0..1; {directive}")
    with app.connect(30) as busy, app.connect(30) as impatient:
        busy.send(format_request("GET", "/wait.php"))
        wait.until(lambda: "running" in str(app.app()["workers"]), 10, "the worker is busy")
        impatient.send(format_request("GET", "/count.php"))
        wait.until(lambda: app.app()["queue"]["oldest_ms"] > 1050, 10, "it has waited for more than a second")
        impatient.sock.shutdown(socket.SHUT_WR)
        wait.until(lambda: app.app()["queue"]["waiting"] == 0, 5, "it is dropped")
        with pytest.raises(Closed):
            impatient.read()
        (app.data / "open").touch()
        assert busy.read().text == "ok"
    assert app.get("/hello.php").status == 200
    assert not (app.data / "count").exists()


@pytest.mark.parametrize("leaves", [False, True])
def test_client_that_closes_its_direction_at_once_is_served(app, leaves):
    """One says that this was all and waits for its answer; another (as WordPress for its cron) does not wait at all."""
    app.file("count.php", f"<?php file_put_contents('{app.data}/count', 'x', FILE_APPEND); echo 'counted';")
    app.php("workers 0..1;")
    with app.connect(30) as busy, app.connect(30) as c:
        busy.send(format_request("GET", "/wait.php"))
        wait.until(lambda: "running" in str(app.app()["workers"]), 10, "the worker is busy")
        c.send(format_request("GET", "/count.php"))
        if leaves:
            c.close()
        else:
            c.sock.shutdown(socket.SHUT_WR)
        wait.until(lambda: app.app()["queue"]["waiting"] == 1, 10, "it waits")
        (app.data / "open").touch()
        assert busy.read().text == "ok"
        assert leaves or c.read().text == "counted"
    wait.until((app.data / "count").exists, 10, "the script has run")


@pytest.mark.parametrize("directive,end", [("abort stop;", "aborted"), ("abort finish;", "finished")])
def test_running_request_whose_client_closes_its_direction(app, directive, end):
    app.file("slow.php", f"""<?php
        register_shutdown_function(fn() => file_put_contents('{app.data}/end', connection_aborted() ? 'aborted' : 'finished'));
        while (!file_exists('{app.data}/open')) {{ usleep(5000); clearstatcache(); }}
        for ($i = 0; $i < 100; $i++) {{ echo str_repeat('x', 1000); flush(); }}""")
    app.php(f"workers 0..1; {directive}")
    with app.connect(30) as c:
        c.send(format_request("GET", "/slow.php"))
        wait.until(lambda: [w for w in app.app()["workers"] if w["state"] == "running" and w["since_ms"] > 1050], 10,
                   "it has run for more than a second")
        c.close()
    if end == "aborted":
        wait.until(lambda: not [w for w in app.app()["workers"] if w["state"] == "running"], 5, "it is told to end")
    (app.data / "open").touch()
    wait.until((app.data / "end").exists, 10, "the script has ended")
    wait.until(lambda: (app.data / "end").read_text() == end, 5, f"it was {end}")
    assert app.get("/hello.php").status == 200


def test_no_more_are_busy_than_named(app):
    app.php("workers 4..4; busy_max 2;")
    wait.until(lambda: len(app.app()["workers"]) == 4, 10, "the workers")
    held = [app.connect(30) for _ in range(6)]
    for c in held:
        c.send(format_request("GET", "/wait.php"))
    wait.until(lambda: app.app()["queue"]["waiting"] == 4, 10, "two are busy, the others wait")
    assert sorted(w["state"] for w in app.app()["workers"]) == ["idle", "idle", "running", "running"]
    assert app.app()["busy_max"] == app.app()["limits"]["busy_max"] == 2
    (app.data / "open").touch()
    assert [c.read().text for c in held] == ["ok"] * 6


def test_pages_that_wait_keep_all_workers(app):
    """As for a database; see the unit tests for pages that compute."""
    app.file("sleep.php", "<?php usleep(20000); echo 'ok';")
    app.php("workers 8..8;")
    with Load(app.address, "/sleep.php", clients=16) as load:
        for _ in range(10):
            load.wait_done(50)
            assert app.app()["busy_max"] is None and app.app()["limits"]["busy_max"] == "auto"
        wait.until(lambda: [w["state"] for w in app.app()["workers"]] == ["running"] * 8, 10, "all are busy")
    assert not load.failures


def crowd(app, count: int, target: str):
    """That many connections from 127.0.0.1 that each ask again and again. Returns what ends them."""
    end = threading.Event()

    def run(connections):
        for c in connections:
            c.send(format_request("GET", target))
        while not end.is_set():
            for c in connections:
                assert c.read().status == 200
                c.send(format_request("GET", target))

    threads = [threading.Thread(target=run, args=([app.connect(60) for _ in range(count // 4)],), daemon=True)
               for _ in range(4)]
    for thread in threads:
        thread.start()
    return end, threads


def test_one_address_with_many_connections_does_not_crowd_out_others(app):
    """A single request waits for about one request of the crowd, not for all of them."""
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    log = app.base / "access.json"
    app.file("work.php", "<?php usleep(20000); echo 'ok';")
    app.php("workers 4..4;", top="access_log %(base)s/access.json json;")

    def ask(count) -> float:
        """Median of the times of several requests, one after another."""
        took = []
        with Connection(app.address, 30, source="127.0.0.2") as c:
            for _ in range(count):
                began = time.monotonic()
                assert c.get("/work.php").status == 200
                took.append(time.monotonic() - began)
        return statistics.median(took) * 1000

    alone = ask(20)
    end, threads = crowd(app, 1000, "/work.php")
    wait.until(lambda: app.app()["queue"]["waiting"] > 900, 20, "the crowd waits")
    crowded = ask(40)
    assert app.app()["queue"]["waiting"] > 400
    end.set()
    for thread in threads:
        thread.join(30)
    print(f"with the crowd {crowded:.1f} ms, alone {alone:.1f} ms")

    def lines() -> list:
        found = [json.loads(line) for line in log.read_text().splitlines() if '"client":"127.0.0.2"' in line]
        return [line for line in found if line["target"] == "/work.php"]

    wait.until(lambda: len(lines()) == 60, 10, "all lines of the log")
    waited = statistics.median(line["queue_us"] for line in lines()[20:])
    worked = statistics.median(line["backend_us"] for line in lines()[20:])
    print(f"it waited {waited / 1000:.1f} ms for {worked / 1000:.1f} ms of work")
    # Until one of four workers was free, at the longest. A queue without turns would make it wait for five seconds.
    assert waited < 1.25 * worked
