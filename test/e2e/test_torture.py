# SPDX-License-Identifier: Apache-2.0
"""What the pool must stand: crowds, and everything that dies or stops at once, with the books kept all the time.

GODWIT_TORTURE_SECONDS makes the last test longer (tools/torture).
"""
import bisect
import collections
import json
import os
import random
import re
import resource
import signal
import subprocess
import time
from datetime import datetime
from pathlib import Path

import pytest

from support import wait
from support.crowd import Crowd
from support.http import Closed, Connection, format_request
from support.load import Load
from support.server import GODWIT, IS_ROOT

SECONDS = float(os.environ.get("GODWIT_TORTURE_SECONDS", "10"))
WORKERS = 4
WORK_S = 0.005
CLIENTS = 8  # of the last test
FILES = 200  # that each of its processes may open


@pytest.fixture
def app(godwit):
    godwit.file("hello.php", "<?php echo getmypid();")
    godwit.file("work.php", "<?php usleep(5000); echo 'ok';")
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    return godwit


def settle(app, workers: int = None) -> None:
    """When the load has stopped nobody waits, and every worker is idle."""
    def at_rest():
        found = app.app()
        return not found["queue"]["waiting"] and app.status()["metrics"]["requests_active"] == 1 \
            and all(w["state"] == "idle" for w in found["workers"])
    wait.until(at_rest, 15, lambda: f"rest: {app.app()}")
    assert workers is None or len(app.app()["workers"]) == workers


def crowd_of(app, clients: int, rounds: int) -> tuple:
    """Has a crowd served, with no failure and calm again at once: the crowd, and its lines of the log."""
    log = app.base / "access.json"
    app.php(f"workers {WORKERS}..{WORKERS};", top="access_log %(base)s/access.json json;")
    wait.until(lambda: len(app.app()["workers"]) == WORKERS, 5, "the workers")
    with Crowd(app.address, clients) as crowd:
        crowd.ask("/work.php", rounds, 100)
        assert crowd.failures == []
        wait.until(lambda: log.read_text().count("work.php") >= clients * rounds, 5, "all lines of the log")
        settle(app, WORKERS)
        assert app.get("/work.php").status == 200
    lines = [json.loads(line) for line in log.read_text().splitlines() if "work.php" in line]
    return crowd, lines[:clients * rounds]


def moments(line) -> tuple:
    """When a request was read and when it was given to a worker, in seconds."""
    came = datetime.fromisoformat(line["time"].replace("Z", "+00:00")).timestamp()
    return came, came + line["queue_us"] / 1e6


@pytest.mark.parametrize("clients,rounds", [(1000, 2), (5000, 1)])
def test_crowd(app, clients, rounds):
    """No failure with the default limits, and while a request waits the others are given a worker once each."""
    _, lines = crowd_of(app, clients, rounds)
    given = sorted(moments(line)[1] for line in lines)
    for line in lines:
        came, mine = moments(line)
        before = bisect.bisect_left(given, mine) - bisect.bisect_left(given, came)
        assert before <= 1.05 * clients, f"{before} of {clients} clients were served before: {line}"


@pytest.mark.deep
@pytest.mark.parametrize("clients,rounds", [(1000, 2), (5000, 1)])
def test_crowd_is_served_in_time(app, clients, rounds):
    """In the time that the work takes, which is what the workers were busy: other programs may make it slower."""
    crowd, lines = crowd_of(app, clients, rounds)
    ideal = sum(line["backend_us"] for line in lines) / 1e6 / WORKERS / rounds
    p99 = crowd.percentile(0.99)
    print(f"{clients} clients: p99 {p99:.3f} s, ideal {ideal:.3f} s, by the clock {clients * WORK_S / WORKERS:.3f} s")
    assert p99 <= 1.1 * ideal, f"p99 {p99:.2f} s, ideal {ideal:.2f} s"


def test_order_is_kept(app):
    """With one thread that reads, requests are given to workers in the order in which they were read."""
    log = app.base / "access.json"
    app.php(f"workers {WORKERS}..{WORKERS};", top="threads 1; access_log %(base)s/access.json json;")
    with Crowd(app.address, 600) as crowd:
        crowd.ask("/work.php", 1, 60)
        assert crowd.failures == []
    wait.until(lambda: log.read_text().count('"target":"/work.php"') == 600, 5, "all lines of the log")
    lines = [json.loads(line) for line in log.read_text().splitlines() if "work.php" in line]
    lines.sort(key=lambda line: line["request_id"])  # they count up

    def given(place: int) -> float:
        return moments(lines[place])[1]

    # Times are told in milliseconds, and one worker after another becomes free within one.
    late = max(abs(n - place) for place, n in enumerate(sorted(range(600), key=given)))
    assert late < 10, f"a request was given to a worker {late} places from where it stood"


def test_no_descriptors(app):
    """A server that can open nothing more gets out of it: nobody is forgotten, nothing waits for ever."""
    app.command = lambda *args: ["prlimit", "--nofile=90:90", "--", str(GODWIT), *map(str, args)]
    app.php("workers 2..4; queue_time 5s;", top="access_log off;")
    assert app.get("/hello.php").status == 200
    server = app.one("server").pid
    crowd = [app.connect(5) for _ in range(120)]
    for c in crowd[:60]:
        c.send("GET /hello.php HTTP/1.1\r\n")
    for _ in range(3):
        for p in app.processes("worker"):
            os.kill(p.pid, signal.SIGKILL)
        with Connection(app.address, 1) as c:
            try:
                c.get("/hello.php")
            except (OSError, Closed):
                pass
    for c in crowd:
        c.close()
    wait.until(lambda: app.get("/hello.php").status == 200, 10, "it serves again")
    settle(app)
    Books(app).check()
    assert app.one("server").pid == server
    app.stderr.wait(r"server\.few_files")


class Books:
    """What must hold at any time, as seen from outside."""

    def __init__(self, app):
        self.app, self.checks = app, 0

    def check(self) -> None:
        found = self.app.app()
        metrics = self.app.status()["metrics"]
        limit = found["limits"]["workers_max"]
        known = {w["pid"] for w in found["workers"]}
        assert len(found["workers"]) + found["starting"] <= limit + 3, found
        assert found["queue"]["waiting"] <= found["limits"]["queue"]
        assert found["queue"]["oldest_ms"] <= found["limits"]["queue_time_ms"] + 2000
        assert metrics["requests_active"] >= 0 and metrics["connections_open"] >= 0
        assert not [w for w in found["workers"] if w["state"] == "running"
                    and w["since_ms"] > found["limits"]["request_time_ms"] + 5000], found
        # A process that is no worker for the server is on its way: to it, or out.
        strange = {p.pid for p in self.app.processes("worker")} - known
        if strange:
            wait.until(lambda: not {p.pid for p in self.app.processes("worker")} & strange
                       - {w["pid"] for w in self.app.app()["workers"]}, 15, f"nobody knows the workers {strange}")
        self.checks += 1


class Evil:
    """Things that happen to a server. Each may cost the requests that it hits, no others."""

    def __init__(self, app, group, seed: int):
        self.app, self.group, self.random, self.cost, self.held = app, group, random.Random(seed), 0, []
        self.few_until = None  # when a crowd leaves that takes all of the server's files
        self.crowd = []
        self.count = collections.Counter()

    def worker(self):
        found = [w["pid"] for w in self.app.app()["workers"] if w["state"] in ("idle", "running", "reading")]
        return self.random.choice(found) if found else None

    def signal(self, pid, number) -> None:
        if pid:
            try:
                os.kill(pid, number)
                self.cost += 1
            except ProcessLookupError:
                pass

    def kill(self) -> None:
        self.signal(self.worker(), signal.SIGKILL)

    def crash(self) -> None:
        self.signal(self.worker(), signal.SIGSEGV)

    def stop(self) -> None:
        self.signal(self.worker(), signal.SIGSTOP)

    def kill_spawner(self) -> None:
        for p in self.app.processes("spawner")[:1]:
            self.signal(p.pid, signal.SIGKILL)

    def ask(self, target, body=b"", length=None):
        c = self.app.connect(30)
        c.send(format_request("POST", target, {"Content-Length": str(length or len(body))}, body))
        return c

    def leave(self) -> None:
        self.ask("/work.php").leave()

    def die(self) -> None:
        self.held.append(self.ask("/die.php"))

    def hang(self) -> None:
        self.held.append(self.ask("/hang.php"))

    def download(self) -> None:
        self.held.append(self.ask("/big.php"))

    def upload(self) -> None:
        self.held.append(self.ask("/hello.php", b"x", 500_000))

    def full_upload(self) -> None:
        self.held.append(self.ask("/hello.php", b"x" * 200_000))

    def bomb(self) -> None:
        """A script that forks until it is refused, and goes on trying. It is ended with all that it has started."""
        self.held.append(self.ask("/bomb.php"))

    def eat(self) -> None:
        """A script that takes more memory than all workers have together: the kernel kills it."""
        for w in self.app.app()["workers"]:
            self.group.add(w["pid"])
        self.held.append(self.ask("/eat.php"))

    def few_files(self) -> None:
        """The server can open nothing more for a moment: those that come or wait may be turned away."""
        if self.few_until is not None:
            return
        self.few_until = time.monotonic() + 0.5
        self.cost += CLIENTS  # a worker's connection may be one too many, when it has begun to answer
        for _ in range(FILES):
            c = self.app.connect(5)
            self.crowd.append(c)
            c.send("GET /hello.php HTTP/1.1\r\n")

    def many_files(self) -> None:
        if self.few_until is not None and time.monotonic() >= self.few_until:
            while self.crowd:
                self.crowd.pop().leave()
            wait.until(lambda: self.app.get("/hello.php").status == 200, 10, "it lets in again")
            self.few_until = None

    def let_go(self) -> None:
        while len(self.held) > 6:
            self.held.pop(self.random.randrange(len(self.held))).leave()

    def detach(self) -> None:
        self.held.append(self.ask("/after.php"))

    def restart(self) -> None:
        self.app.control("restart", "_", check=False)

    def reload(self) -> None:
        self.app.reload()

    def act(self) -> None:
        actions = [self.kill, self.crash, self.stop, self.kill_spawner, self.leave, self.leave, self.die, self.hang,
                   self.download, self.download, self.upload, self.full_upload, self.detach, self.restart, self.reload,
                   self.let_go, self.let_go, self.eat, self.bomb]
        if self.random.random() < 0.02:  # costs much
            actions = [self.few_files]
        action = self.random.choice(actions)
        self.count[action.__name__] += 1
        try:
            action()
        except (Closed, OSError):
            assert self.few_until is not None, action.__name__  # nobody is let in
        self.many_files()


@pytest.fixture
def small_disk(app):
    """1 MiB for temporary files, where root runs the tests."""
    place = app.base / "disk"
    place.mkdir(mode=0o777)
    place.chmod(0o777)
    if IS_ROOT:
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m,mode=1777", "none", place], check=True)
    yield place
    app.finish()
    if IS_ROOT:
        subprocess.run(["umount", "-l", place], check=True)


class MemoryGroup:
    """Processes that the kernel kills when together they have more than 100 MiB. Without control groups of our own: each
    alone, which ends it in its own way."""

    BYTES = 100 << 20

    def __init__(self, name: str):
        self.place = None
        for root, limit in (("/sys/fs/cgroup", "memory.max"), ("/sys/fs/cgroup/memory", "memory.limit_in_bytes")):
            place = Path(root) / name
            if not (Path(root) / "cgroup.procs").exists():
                continue
            try:
                place.mkdir()
                (place / limit).write_text(str(self.BYTES))
            except OSError:
                place.is_dir() and place.rmdir()
                continue
            self.place = place
            break

    def add(self, pid: int) -> None:
        try:
            if self.place:
                (self.place / "cgroup.procs").write_text(str(pid))
            else:
                resource.prlimit(pid, resource.RLIMIT_DATA, (self.BYTES, self.BYTES))
        except (ProcessLookupError, PermissionError):
            pass

    def killed(self) -> int:
        """How many the kernel has killed."""
        for name in ("memory.events", "memory.oom_control"):
            if self.place and (self.place / name).exists():
                return sum(int(n) for n in re.findall(r"^oom_kill (\d+)", (self.place / name).read_text(), re.M))
        return 0

    def remove(self) -> None:
        if self.place:
            wait.until(lambda: not (self.place / "cgroup.procs").read_text(), 10, "an empty group")
            self.place.rmdir()


@pytest.fixture
def memory_group(app):
    group = MemoryGroup(f"godwit-{app.name}")
    yield group
    app.finish()
    group.remove()


@pytest.mark.seconds(int(SECONDS) + 80)
def test_everything_at_once(app, small_disk, memory_group):
    app.command = lambda *args: ["prlimit", f"--nofile={FILES}:{FILES}", "--", str(GODWIT), *map(str, args)]
    app.file("eat.php", "<?php ini_set('memory_limit', -1); $s = str_repeat('x', 130 << 20); echo strlen($s);")
    app.file("bomb.php", "<?php exec(\"prlimit --nproc=80 sh -c 'b() { b | b & b; }; b' 2>/dev/null\"); while (true) usleep(1000);")
    app.file("die.php", "<?php posix_kill(getmypid(), 9);")
    app.file("hang.php", "<?php while (true) usleep(1000);")
    app.file("big.php", "<?php for ($i = 0; $i < 60; $i++) echo str_repeat('x', 100000);")
    app.file("after.php", "<?php echo 'ok'; litespeed_finish_request(); usleep(300000);")
    app.php("workers 2..6; requests 50; memory 64m; request_time 1s; detached_time 2s; stop_time 1s; idle 2s;",
            top=f"access_log off; send_time 2s; spool_dir {small_disk};")
    seed = int(os.environ.get("GODWIT_TORTURE_SEED", random.randrange(1 << 30)))
    print(f"GODWIT_TORTURE_SEED={seed}")
    evil, books = Evil(app, memory_group, seed), Books(app)
    end = time.monotonic() + SECONDS
    next_check = 0.0
    with Load(app.address, "/work.php", clients=CLIENTS, timeout=30) as load:
        while time.monotonic() < end or evil.few_until is not None:
            evil.act()
            evil.random.random() < 0.5 and load.wait_done(20, 40)
            evil.many_files()
            if evil.few_until is None and time.monotonic() >= next_check:
                books.check()
                next_check = time.monotonic() + 1
        while evil.held:
            evil.held.pop().leave()
        load.wait_done(100, 40)
    settle(app)
    books.check()
    lost = [f for f in load.failures if f.startswith(("status 502", "status 504"))]
    # While the server can open nothing, whoever comes again and again is turned away again and again.
    turned_away = ("status 503", "Closed", "ConnectionResetError") if evil.count["few_files"] else ()
    strange = [f for f in load.failures if f not in lost and not f.startswith(turned_away)]
    print(f"{dict(evil.count)}, {memory_group.killed()} killed for memory; "
          f"{load.done} answers, {len(load.failures)} failures, {len(lost)} lost by {evil.cost} blows, slowest {load.slowest:.2f} s")
    assert not strange, strange[:5]
    assert len(lost) <= evil.cost, lost
    assert books.checks >= 2 and load.slowest < 10 * wait.SCALE
