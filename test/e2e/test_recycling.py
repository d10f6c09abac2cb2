# SPDX-License-Identifier: Apache-2.0
"""Workers are replaced when they are worn, and shared between apps: without a request that notices."""
import collections
import os
from pathlib import Path

import pytest

from support import proc, wait
from support.load import Load


@pytest.fixture
def app(godwit):
    godwit.file("hello.php", "<?php echo getmypid();")
    return godwit


def two_apps(app, top: str, workers: str = "workers 0..4;", more: str = ""):
    """Two sites, each with its app: a and b."""
    app.config(f"listen 127.0.0.1:%(port)d;\n{top}\n"
               f"site a {{ root %(www)s; app php {{ {workers} {more} }} }}\n"
               f"site b {{ root %(www)s; app php {{ {workers} {more} }} }}\n")
    return app.start()


def workers(app, name: str = None) -> list:
    return app.app(name)["workers"]


def test_memory_replaces_workers(app):
    """PHP keeps some of what scripts have used. No request is cut, and the log says why the worker was replaced."""
    app.file("grow.php", """<?php ini_set('memory_limit', '-1');
        for ($i = 0; $i < 40000; $i++) $GLOBALS['_'][] = $i . str_repeat('y', 50);
        echo getmypid();""")
    app.php("workers 1..1; memory 1m;")
    first = app.get("/grow.php").text
    with Load(app.address, "/grow.php", clients=2) as load:
        wait.until(lambda: app.get("/hello.php").text != first, 20, "another worker")
    assert load.failures == []
    line = app.stderr.wait(r"worker\.recycled \[app _\] worker \d+ is replaced: it has \d+ KiB .*memory \(1024 KiB\)")
    assert line
    assert app.status()["metrics"]["workers_recycled"] >= 1
    assert app.app()["limits"]["memory"] == 1 << 20


def test_replacement_comes_first(app):
    """With one worker there is never none: nobody waits for a start."""
    app.php("workers 1..1; requests 20;")
    with Load(app.address, "/hello.php", clients=3) as load:
        wait.until(lambda: app.status()["metrics"]["workers_recycled"] >= 10, 60, "ten have been replaced")
        alive = [len(workers(app)) for _ in range(30)]
    assert load.failures == [] and min(alive) >= 1 and max(alive) <= 3, alive


@pytest.mark.parametrize("requests,most,more", [(1, 1, ""), (7, 7, ""), (20, 24, ""), (1, 1, "workers_max 3;")])
def test_the_limit_holds_under_load(app, requests, most, more):
    """However fast they wear out: workers do not have more requests than they may have, unless processes take a second to
    end, and no request fails."""
    counts = collections.Counter()

    def count(answer) -> str:
        counts[answer.text] += 1
        return "" if answer.status == 200 else f"status {answer.status}"

    app.php(f"workers 0..4; requests {requests};", top=more)
    with Load(app.address, "/hello.php", clients=12, check=count, timeout=30) as load:
        load.wait_done(400, 60)
    assert load.failures == []
    over = sum(max(0, n - most) for n in counts.values())
    assert over <= load.done / 20, (load.done, counts.most_common(3))


def test_worn_worker_serves_while_no_other_can_be_started(app):
    """A replacement that does not come: the worn worker goes on."""
    app.file("once.sh", f"""#!/bin/sh
        [ -e {app.data}/broken ] && exit 3
        exec {Path(app.command()[0]).parent}/runtime/php/godwit-php
        """, 0o755)
    app.php(f"workers 1..1; requests 5; command {app.www}/once.sh;")
    pid = app.get("/hello.php").text
    (app.data / "broken").touch()
    os.kill(app.one("spawner").pid, 9)
    for _ in range(20):
        assert app.get("/hello.php").text == pid
    app.stderr.wait(r"app\.failed")
    found = workers(app)
    assert [w["worn"] for w in found] == [True]
    (app.data / "broken").unlink()
    wait.until(lambda: app.get("/hello.php").text != pid, 15, "it is replaced when that works again")


def test_workers_max_moves_idle_workers(app):
    two_apps(app, "workers_max 2;", "workers 0..2;")
    pid = app.get("/hello.php", host="a").text
    assert app.get("/hello.php", host="b").text != pid
    assert len(workers(app, "a")) + len(workers(app, "b")) == 2
    app.file("both.php", f"""<?php touch('{app.data}/' . getmypid());
        while (count(glob('{app.data}/*')) < 2) {{ usleep(2000); clearstatcache(); }}""")
    with Load(app.address, "/both.php", clients=2, host="b", timeout=20) as load:
        load.wait_done(2)
    assert load.failures == []
    assert proc.look(int(pid)) is None, "the other app's idle worker has made room"
    assert app.status()["metrics"]["workers_evicted"] >= 1


def test_workers_max_under_load_starves_no_app(app):
    two_apps(app, "workers_max 3;", "workers 0..3;")
    app.file("work.php", "<?php usleep(5000); echo 'ok';")
    with Load(app.address, "/work.php", clients=12, host="a", timeout=30) as busy:
        busy.wait_done(100)
        with Load(app.address, "/work.php", clients=2, host="b", timeout=10) as other:
            other.wait_done(50)
            assert len(workers(app, "a")) + len(workers(app, "b")) <= 3
    assert busy.failures == other.failures == []


def test_memory_max(app):
    two_apps(app, "memory_max 1k;", "workers 0..2;")
    app.file("a.php", "<?php usleep(20000); echo str_repeat('x', 100);")
    assert app.get("/hello.php", host="a").status == 200  # measured
    # So many that a request waits for longer than the start of a worker may take before one is wanted, a second.
    with Load(app.address, "/a.php", clients=60, host="a") as load:
        load.wait_done(30)
        assert app.get("/hello.php", host="b").status == 200
        wait.until(lambda: app.app("a")["held_by"] == "memory_max", 5, "it is said why there is only one")
        assert len([w for w in workers(app, "a") if w["state"] != "retiring"]) == 1
    assert load.failures == []


def test_keeper_keeps_nothing_of_past_workers(app):
    app.php("workers 1..1; requests 2;")
    assert app.get("/hello.php").status == 200
    before = len(os.listdir(f"/proc/{app.pid}/fd"))

    def are_worn() -> bool:
        assert app.get("/hello.php").status == 200
        return app.status()["metrics"]["workers_recycled"] >= 20

    wait.until(are_worn, 60, "twenty have been replaced")
    wait.until(lambda: len(os.listdir(f"/proc/{app.pid}/fd")) <= before + 3, 5, "their descriptors are closed")
