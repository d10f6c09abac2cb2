# SPDX-License-Identifier: Apache-2.0
"""kill -9 and SIGSEGV of each role, in each order, idle and under load.

At most the requests of the killed process are lost, the next request is served within a second, nothing is left behind
within 5 s, and there are no zombies. A stand-in service manager holds the listening socket and restarts the keeper.
"""
import itertools
import os
import signal

import pytest

from support import proc, wait
from support.http import Closed, format_request
from support.load import Load
from support.manager import Manager
from support.server import leftovers

ROLES = ["keeper", "loader", "server", "spawner", "worker"]
CLIENTS = 4


@pytest.fixture
def managed(godwit):
    godwit.file("index.html", "home")
    godwit.file("hello.php", "<?php usleep(1000); echo 'hello';")
    godwit.config("""
        listen 127.0.0.1:%(port)d;
        include more/*.conf;
        site _ { root %(www)s; app php { workers 1..3; } }
    """)
    (godwit.base / "more").mkdir()
    godwit.expect_failure = True  # it is killed over and over
    with Manager(godwit) as manager:
        served_within(godwit, 5)
        yield godwit, manager


def served_within(godwit, seconds: float, after="") -> None:
    """A request that comes now is answered within the time; one that died with its process may be repeated."""
    def served():
        try:
            with godwit.connect(seconds) as c:
                return c.get("/hello.php").text == "hello"
        except (Closed, OSError, AssertionError):
            return False
    wait.until(served, seconds, f"the next request is served {after}")


def want_spawner(godwit) -> int:
    """Makes sure that there is a spawner: one that has died is started again only when a worker is wanted, so workers are
    killed until one is. Returns how many."""
    killed = 0
    while not godwit.processes("spawner"):
        for worker in godwit.processes("worker")[:1]:
            killed += end(worker, signal.SIGKILL)
        served_within(godwit, 5)
    return killed


def end(victim: proc.Process, sig: int) -> bool:
    """Sends the signal and waits for the end; False when the process has ended before."""
    try:
        os.kill(victim.pid, sig)
    except ProcessLookupError:
        return False
    wait.until(lambda: not proc.is_alive(victim), 5, f"{victim.command} ends of the signal")
    return True


def hang_loader(godwit) -> proc.Process:
    """Starts a reload whose loader waits in an include that never ends."""
    fifo = godwit.base / "more" / "hang.conf"
    if not fifo.exists():
        os.mkfifo(fifo)
        fifo.chmod(0o644)
    godwit.process.send_signal(signal.SIGHUP)
    return godwit.one("loader")


def kill(godwit, manager, role: str, sig: int) -> int:
    """Kills a process of the role; returns how many requests that may cost: those that it holds.

    With the keeper go server and workers, but not before they have answered what has come.
    """
    cost = {"keeper": 0, "server": CLIENTS, "worker": 1, "spawner": 0, "loader": 0}[role]
    if role == "spawner":
        cost += want_spawner(godwit)
    while not end(hang_loader(godwit) if role == "loader" else godwit.one(role), sig):
        pass
    fifo = godwit.base / "more" / "hang.conf"
    if fifo.exists():
        fifo.unlink()
    if role == "keeper":
        manager.wait_ready()
    return cost


def no_zombies(godwit) -> bool:
    return not [p for p in proc.below(godwit.pid) if p.is_zombie]


def look_after(godwit) -> None:
    wait.until(lambda: not leftovers(), 5, lambda: f"left behind: {[p.command for p in leftovers()]}")
    wait.until(lambda: no_zombies(godwit), 5, "no zombies")


ORDERS = list(itertools.permutations(ROLES, 2))


@pytest.mark.seconds(300)
@pytest.mark.parametrize("sig", [signal.SIGKILL, signal.SIGSEGV], ids=["kill", "segv"])
def test_idle(managed, sig):
    godwit, manager = managed
    for order in ORDERS:
        for role in order:
            kill(godwit, manager, role, sig)
        served_within(godwit, 1, f"after {order}")
        look_after(godwit)


@pytest.mark.seconds(300)
@pytest.mark.parametrize("sig", [signal.SIGKILL, signal.SIGSEGV], ids=["kill", "segv"])
def test_under_load(managed, sig):
    godwit, manager = managed
    with Load(godwit.address, "/hello.php", clients=CLIENTS) as load:
        load.wait_done(20)
        for order in ORDERS:
            before, cost = len(load.failures), 0
            for role in order:
                cost += kill(godwit, manager, role, sig)
                served_within(godwit, 1, f"after {role} of {order}")
            load.wait_each(5)
            lost = load.failures[before:]
            assert len(lost) <= cost, (order, lost)
            look_after(godwit)


def test_all_at_once(managed):
    """Everything but the keeper dies in the same moment. (After a third death within a second the keeper would pause.)"""
    godwit, _ = managed
    for _ in range(2):
        for p in godwit.processes():
            if p.role in ("server", "spawner", "worker") and proc.is_alive(p):
                os.kill(p.pid, signal.SIGKILL)
        served_within(godwit, 1)
        look_after(godwit)


def test_keeper_takes_all_with_it(godwit):
    """Without a service manager: when the keeper is killed, no process of the instance stays."""
    godwit.file("hello.php", "<?php echo 'hello';")
    godwit.expect_failure = True
    godwit.php("workers 2..2;")
    assert godwit.get("/hello.php").text == "hello"
    everyone = godwit.processes()
    assert {p.role for p in everyone} >= {"keeper", "server", "spawner", "worker"}
    os.kill(godwit.pid, signal.SIGKILL)
    godwit.process.wait(5)
    wait.until(lambda: not [p for p in everyone if proc.is_alive(p)], 5,
               lambda: f"left behind: {[p.command for p in everyone if proc.is_alive(p)]}")


def test_dead_keeper_costs_no_request(godwit):
    """What has come before is answered by the server and the workers that it has: what runs, what waits in line, and the
    next request of a kept connection."""
    godwit.file("wait.php", f"<?php touch('{godwit.data}/begun'); while (!file_exists('{godwit.data}/open')) {{ usleep(5000); clearstatcache(); }}"
                            " echo 'waited';")
    godwit.file("hello.php", "<?php echo 'hello';")
    godwit.expect_failure = True
    godwit.php("workers 1..1;")
    with godwit.connect() as runs, godwit.connect() as queued, godwit.connect() as kept:
        assert kept.get("/hello.php").text == "hello"
        runs.send(format_request("GET", "/wait.php"))
        wait.until((godwit.data / "begun").exists, 10, "the script runs")
        queued.send(format_request("GET", "/hello.php"))
        wait.until(lambda: godwit.app()["queue"]["waiting"] == 1, 10, "the other request waits")
        os.kill(godwit.pid, signal.SIGKILL)
        godwit.stderr.wait("server.orphaned")
        kept.send(format_request("GET", "/hello.php"))
        (godwit.data / "open").touch()
        assert runs.read().text == "waited"
        assert queued.read().text == "hello"
        assert kept.read().text == "hello"
        assert runs.at_end() and queued.at_end() and kept.at_end()


def test_stopped_server_is_not_mistaken_for_dead(godwit):
    """SIGSTOP and SIGCONT lose nothing."""
    godwit.file("hello.php", "<?php echo 'hello';")
    godwit.php("workers 1..2;")
    server = godwit.one("server")
    with godwit.connect() as c:
        assert c.get("/hello.php").text == "hello"
        os.kill(server.pid, signal.SIGSTOP)
        c.send("GET /hello.php HTTP/1.1\r\nHost: a\r\n\r\n")
        os.kill(server.pid, signal.SIGCONT)
        assert c.read().text == "hello"
    assert godwit.one("server").pid == server.pid


def test_keeper_takes_those_with_it_that_do_not_want(godwit):
    """A script that ignores SIGTERM and runs on holds out against all that asks it to end."""
    godwit.file("deaf.php", "<?php pcntl_signal(SIGTERM, SIG_IGN); pcntl_async_signals(true); "
                            "touch($_GET['mark']); for (;;) usleep(1000);")
    godwit.php("workers 0..2;")
    mark = godwit.data / "mark"
    c = godwit.connect()
    c.send(f"GET /deaf.php?mark={mark} HTTP/1.1\r\nHost: localhost\r\n\r\n")
    wait.until(mark.exists, 10, "the script")
    everyone = godwit.processes()
    godwit.expect_failure = True
    os.kill(godwit.pid, signal.SIGKILL)
    godwit.process.wait(5)
    wait.until(lambda: not [p for p in everyone if proc.is_alive(p)], 5,
               lambda: f"left behind: {[p.command for p in everyone if proc.is_alive(p)]}")
    c.close()
