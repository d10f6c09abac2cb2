# SPDX-License-Identifier: Apache-2.0
"""Signals, the service manager's notifications, and sockets that it hands over."""
import os
import signal
import socket
import time

import pytest

from support import wait
from support.http import Closed, Connection, format_request


@pytest.fixture
def site(godwit):
    godwit.file("index.html", "home")
    godwit.file("wait.php", f"<?php touch('{godwit.data}/begun'); while (!file_exists('{godwit.data}/open')) {{ usleep(5000); clearstatcache(); }}"
                            " echo 'finished';")
    godwit.file("hello.php", "<?php echo 'hello';")
    return godwit


def busy(site):
    """A connection whose request is being served."""
    c = site.connect(30)
    c.send(format_request("GET", "/wait.php"))
    wait.until((site.data / "begun").exists, 10, "the script runs")
    return c


def test_term_finishes_first(site):
    site.php()
    with busy(site) as c, site.connect() as idle:
        assert idle.get("/").text == "home"
        site.process.send_signal(signal.SIGTERM)
        assert idle.at_end(), "an idle connection is closed"
        wait.until(lambda: refused(site), 5, "no new connections are taken")
        assert site.process.poll() is None
        (site.data / "open").touch()
        answer = c.read()
        assert answer.text == "finished" and c.at_end()
    assert site.process.wait(10) == 0


def refused(site) -> bool:
    try:
        with site.connect(1) as c:
            c.get("/")
        return False
    except (OSError, Closed):
        return True


def test_second_term_ends_now(site):
    site.php()
    with busy(site) as c:
        site.process.send_signal(signal.SIGTERM)
        site.notify.wait_for("STOPPING", "1")
        site.process.send_signal(signal.SIGTERM)
        assert site.process.wait(5) == 0
        with pytest.raises(Closed):
            c.read()


def test_drain_time_bounds_the_wait(site):
    site.php(top="drain_time 1s;")
    with busy(site) as c:
        began = time.monotonic()
        site.process.send_signal(signal.SIGTERM)
        assert site.process.wait(10) == 0
        assert 0.9 < time.monotonic() - began < 8
        with pytest.raises(Closed):
            c.read()


def test_interrupt_stops_cleanly(site):
    site.php()
    assert site.get("/hello.php").text == "hello"
    assert site.stop(signal.SIGINT) == 0


def test_hup_reloads(site):
    site.php()
    site.file("new/index.html", "new")
    site.config("listen 127.0.0.1:%(port)d;\nsite _ { root %(www)s/new; }\n")
    site.notify.collect()
    site.notify.messages.clear()
    site.process.send_signal(signal.SIGHUP)
    assert "MONOTONIC_USEC" in site.notify.wait_for("RELOADING", "1")
    site.notify.wait_for("READY", "1")
    assert site.get("/").text == "new"


def test_failed_hup_is_ready_again(site):
    site.php()
    site.config("nonsense;\n")
    site.notify.collect()
    site.notify.messages.clear()
    site.process.send_signal(signal.SIGHUP)
    site.notify.wait_for("RELOADING", "1")
    site.notify.wait_for("READY", "1")
    assert site.get("/").text == "home"


def test_pipe_and_child_signals_are_harmless(site):
    site.php()
    for sig in (signal.SIGPIPE, signal.SIGCHLD, signal.SIGWINCH, signal.SIGURG):
        site.process.send_signal(sig)
    assert site.get("/hello.php").text == "hello"


def test_status_line_for_the_manager(site):
    site.php()
    assert "READY" in site.ready


def test_socket_activation(site):
    with socket.socket() as held:
        held.bind(site.address)
        held.listen(64)
        early = socket.create_connection(site.address)  # before the server runs
        early.sendall(format_request("GET", "/"))
        site.config("listen 127.0.0.1:%(port)d;\nsite _ { root %(www)s; }\n")
        site.start(sockets=[held])
        early.settimeout(10)
        assert early.recv(100).startswith(b"HTTP/1.1 200")
        early.close()
        site.reload()
        assert site.get("/").text == "home"
        site.stop()
        # the manager's socket is still open: a client waits for the next start
        late = socket.create_connection(site.address)
        late.sendall(format_request("GET", "/"))
        site.start(sockets=[held])
        late.settimeout(10)
        assert late.recv(100).startswith(b"HTTP/1.1 200")
        late.close()


def test_unix_socket_activation(site):
    path = str(site.base / "run" / "given.sock")
    with socket.socket(socket.AF_UNIX) as held:
        held.bind(path)
        held.listen(64)
        os.chmod(path, 0o777)
        site.config("listen unix:%(path)s;\nsite _ { root %(www)s; }\n", path=path)
        site.start(sockets=[held])
        with Connection(path) as c:
            assert c.get("/").text == "home"
