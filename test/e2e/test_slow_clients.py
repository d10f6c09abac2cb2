# SPDX-License-Identifier: Apache-2.0
"""Clients that take all the time in the world: each has its bound."""
import select
import time

import pytest

from support import server, wait
from support.http import format_request


@pytest.fixture(scope="module")
def shared():
    instance = server.Godwit(server.make_base())
    instance.file("index.html", "home")
    instance.simple(top="header_time 1s;")
    yield instance
    instance.finish()
    server.remove_base(instance)


def trickle(connections, seconds: float) -> list:
    """Sends a byte on each now and then until the server has answered or ended it; tells after how many seconds, None for
    those that are still open."""
    began, done = time.monotonic(), {}
    while len(done) < len(connections) and time.monotonic() - began < seconds:
        for c in connections:
            if c in done:
                continue
            try:
                c.sock.send(b"x")
                ended = bool(select.select([c.sock], [], [], 0.03)[0])
            except OSError:
                ended = True
            if ended:
                done[c] = time.monotonic() - began
    return [done.get(c) for c in connections]


def test_a_head_has_one_time_for_all_of_it(shared):
    """Bytes that come earn no more time, in the first head or a later one."""
    first, later = shared.connect(), shared.connect()
    assert later.get("/").text == "home"
    for c in (first, later):
        c.send("GET / HTTP/1.1\r\nHost: a\r\nX: ")
    times = trickle([first, later], 20 * wait.SCALE)
    assert all(t is not None and t > 0.8 for t in times), times
    for c in (first, later):
        assert c.read().status == 408
        assert c.at_end()
        c.close()


def test_what_is_dropped_has_a_time_too(shared):
    """The rest of a refused upload is read so that the client finds the answer, but not for as long as it pleases."""
    begins = [{"Content-Length": "100000"}, {"Content-Length": "100000000"}, {"Transfer-Encoding": "chunked"}]
    connections = [shared.connect(30) for _ in begins]
    for c, framing in zip(connections, begins):
        c.send(format_request("POST", "/index.html", framing) + (b"5000\r\n" if "Transfer-Encoding" in framing else b""))
        assert c.read().status == 405
    times = trickle(connections, 30 * wait.SCALE)
    assert None not in times, times
    for c in connections:
        c.close()
