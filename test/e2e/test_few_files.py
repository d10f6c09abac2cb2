# SPDX-License-Identifier: Apache-2.0
"""Few descriptors (ulimit -n): fewer clients are served, all else goes on."""
import resource

import pytest

from support import wait
from support.http import Closed, Connection
from support.server import GODWIT

CLIENTS = 1300


@pytest.fixture(autouse=True)
def many_files_here():
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


@pytest.mark.parametrize("limit", [128, 1024])
def test_more_clients_than_descriptors(godwit, limit):
    godwit.command = lambda *args: ["prlimit", f"--nofile={limit}:{limit}", "--", str(GODWIT), *map(str, args)]
    godwit.file("hello.php", "<?php echo 'hello';")
    godwit.file("a.txt", "static")
    godwit.php("workers 0..4;", top="threads 2; access_log off;")
    godwit.stderr.wait(rf"warn server\.few_files connections_max is 10000, but there are at most \d+: .* is {limit}$")
    server = godwit.one("server").pid
    crowd = [godwit.connect(10) for _ in range(CLIENTS)]
    answered = 0
    for c in crowd:
        try:
            c.send("GET /a.txt HTTP/1.1\r\nHost: localhost\r\n\r\n")
            answered += c.read().text == "static"
        except (OSError, Closed):
            pass  # it was closed for a later one
    assert answered >= limit // 4
    held = [Connection(godwit.address, 10) for _ in range(4)]
    for c in held:  # a worker can be had, and its connection taken
        assert c.get("/hello.php").text == "hello"
    for c in crowd + held:
        c.close()
    assert godwit.get("/hello.php").text == "hello"
    assert godwit.reload(check=False).returncode == 0
    assert godwit.get("/a.txt").text == "static"
    assert godwit.one("server").pid == server
    assert wait.until(lambda: godwit.status()["metrics"]["connections_open"] <= 2, 5, "no connections")
    assert not godwit.stderr.find(r"server\.(died|orphaned)")
