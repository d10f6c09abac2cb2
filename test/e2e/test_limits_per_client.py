# SPDX-License-Identifier: Apache-2.0
"""limit_requests, limit_connections and limit_bandwidth: what one client may take."""
import time
from contextlib import ExitStack

import pytest

from support import wait
from support.http import format_request
from support.wrong import refused


def test_requests(godwit):
    godwit.file("index.html", "home")
    godwit.simple("path /login/ { root %(www)s; limit_requests 2/h burst 4; }")
    with godwit.connect() as c:
        answers = [c.get("/login/") for _ in range(8)]
        assert [a.status for a in answers] == [200] * 5 + [429] * 3
        assert 1700 <= int(answers[-1].header("Retry-After")) <= 1800
        assert all(c.get("/").status == 200 for _ in range(20))
    assert godwit.get("/login/").status == 429
    assert godwit.status()["metrics"]["limited_requests"] == 4
    godwit.reload()
    assert godwit.get("/login/").status == 429  # a reload forgives nothing


def test_a_rate_lets_through_again(godwit):
    godwit.file("index.html", "home")
    godwit.simple("limit_requests 20/s;")
    assert godwit.get("/").status == 200
    wait.until(lambda: godwit.get("/").status == 200, 5, "the next request is let through")


def test_guessing_passwords_is_limited(godwit):
    users = godwit.file(godwit.base / "users", "ann:{SHA}5en6G6MezRroT3XKqkdPOmY/BfQ=\n")
    godwit.simple(f"auth_basic A; auth_file {users}; limit_requests 1/h burst 2; error_page 429 /slow.html;")
    godwit.file("slow.html", "not so fast")
    statuses = [godwit.get("/", {"Authorization": "Basic YW5uOnh4"}) for _ in range(4)]
    assert [a.status for a in statuses] == [401, 401, 401, 429]
    assert statuses[-1].text == "not so fast"
    assert statuses[-1].header("Retry-After")


def test_connections(godwit):
    godwit.file("wait.php", "<?php while (!file_exists('%s/go')) usleep(10000); echo 'done';" % godwit.data)
    godwit.file("index.html", "home")
    godwit.php(site="limit_connections 2;")
    held = [godwit.connect(30) for _ in range(2)]
    for c in held:
        c.send("GET /wait.php HTTP/1.1\r\nHost: x\r\n\r\n")
    wait.until(lambda: sum(w["state"] == "running" for w in godwit.app()["workers"]) == 2, 10, "both are served")
    assert godwit.get("/").status == 429
    idle = [godwit.connect() for _ in range(5)]  # these have no request
    (godwit.data / "go").write_text("")
    assert [c.read().text for c in held] == ["done", "done"]
    wait.until(lambda: godwit.get("/").status == 200, 5, "what is over does not count")
    assert godwit.status()["metrics"]["limited_connections"] >= 1
    for c in held + idle:
        c.close()


def test_bandwidth(godwit):
    godwit.file("big.bin", b"x" * 600000)
    godwit.file("big.php", "<?php echo str_repeat('y', 600000);")
    godwit.file("small.txt", "small")
    godwit.php(site="limit_bandwidth 500k;")
    for target in ("/big.bin", "/big.php"):
        began = time.monotonic()
        answer = godwit.get(target)
        took = time.monotonic() - began
        assert len(answer.body) == 600000
        assert took >= (600000 - 64000) / 512000 - 0.1, target
    began = time.monotonic()
    assert godwit.get("/small.txt").text == "small"
    assert godwit.request("HEAD", "/big.bin").header("Content-Length") == "600000"
    assert godwit.get("/big.bin", {"Range": "bytes=0-9"}).body == b"x" * 10
    assert time.monotonic() - began < 1 * wait.SCALE
    with godwit.connect() as c:  # leaves in the middle
        c.send("GET /big.bin HTTP/1.1\r\nHost: x\r\n\r\n")
        c.head()
        c.leave()


def test_bandwidth_is_the_clients(godwit):
    """Connections of one client share it, one after another or at once; another client and another site have their own."""
    godwit.file("big.bin", b"x" * 200000)
    godwit.file("small.bin", b"x" * 40000)
    godwit.file("huge.bin", b"x" * 4000000)
    godwit.config("""
        listen 127.0.0.1:%(port)d;
        trusted_proxies 127.0.0.1;
        site _ { root %(www)s; limit_bandwidth 400k; }
        site free.test { root %(www)s; }
    """)
    godwit.start()

    def seconds(targets, client="198.51.100.1", at_once=False, host="localhost"):
        began = time.monotonic()
        with ExitStack() as stack:
            connections = [stack.enter_context(godwit.connect()) for _ in targets]
            for c, target in zip(connections, targets):
                c.send(format_request("GET", target, {"X-Forwarded-For": client}, host=host))
                assert at_once or c.read().status == 200
            assert not at_once or {c.read().status for c in connections} == {200}
        return time.monotonic() - began

    # Two pieces of an eighth of a second each may be ahead of the clock: the first, and the last that is not waited for.
    assert seconds(["/big.bin"] * 3, at_once=True) >= 600000 / 409600 - 0.25
    assert seconds(["/small.bin"] * 10, "198.51.100.2") >= 400000 / 409600 - 0.25
    busy = [godwit.connect() for _ in range(4)]
    for c in busy:  # 40 s together: whoever had to wait for them would be late for his own connection's patience
        c.send(format_request("GET", "/huge.bin", {"X-Forwarded-For": "198.51.100.3"}))
        assert c.head().status == 200
    seconds(["/small.bin"], "198.51.100.4")
    seconds(["/big.bin"], "198.51.100.3", host="free.test")
    for c in busy:
        c.leave()
    seconds(["/small.bin"], "198.51.100.3")  # what they had reserved is given back


@pytest.mark.parametrize("directive,words", [
    ("limit_requests 10;", "10/s"), ("limit_requests 0/s;", "0/s"), ("limit_requests 10/d;", "10/d"),
    ("limit_requests 10/s burst;", "burst and a number"), ("limit_requests 10/s burst x;", "burst"), ("limit_requests 10/s 5;", "burst"),
    ("limit_connections 0;", "1 to"), ("limit_connections many;", "many"), ("limit_bandwidth 10;", "1k"), ("limit_bandwidth fast;", "fast"),
])
def test_wrong_directives_are_refused(godwit, directive, words):
    refused(godwit, directive, words)
