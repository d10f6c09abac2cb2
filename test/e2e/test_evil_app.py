# SPDX-License-Identifier: Apache-2.0
"""An app whose processes break the rules costs itself only: other sites are served meanwhile, and `stop` works."""
import pytest

from support import wait
from support.server import GODWIT, IS_ROOT

USERS = ("daemon", "nobody")


def find(name: str):
    found = [p for p in GODWIT.parent.rglob(name) if p.is_file()]
    assert found, f"{name} was not built"
    return found[0]


@pytest.fixture
def two_apps(godwit):
    def start(how: str):
        evil, good = (f"user {name};" if IS_ROOT else "" for name in USERS)
        godwit.config("""
            listen 127.0.0.1:%(port)d;
            threads 1;
            body_max 100m;
            site evil.example { root %(www)s; app lsapi bad {
                %(evil_user)s workers 0..1; request_time 3s; start_time 3s; stop_time 1s; command %(evil)s %(how)s; } }
            site good.example { root %(www)s; app lsapi good {
                %(good_user)s workers 0..1; requests 1; command %(good)s; } }
        """, evil=find("lsapi-evil"), good=find("lsapi-hello"), how=how, evil_user=evil, good_user=good)
        return godwit.start()
    return start


# With what the log says of it; the request of the evil app ends like this.
CASES = {
    "output": None, "blocking": None,
    "pipe": "has sent a descriptor that it may not send", "linger": "has sent a descriptor that it may not send",
    "many": "has sent a descriptor that it may not send", "unread": "sent a malformed message",
    "file": "no Unix stream socket", "attach": None, "junk": "a message that it may not send",
}


@pytest.mark.parametrize("how", CASES)
def test_others_are_served_meanwhile(two_apps, how):
    """Each good request needs a new worker: keeper and server both must be awake for it."""
    site = two_apps(how)
    with site.connect(60) as victim:
        body = b"x" * (8 << 20) if how == "blocking" else b""
        victim.send(b"POST / HTTP/1.1\r\nHost: evil.example\r\nContent-Length: %d\r\n\r\n" % len(body))
        if how != "blocking":
            good = [site.get("/", host="good.example").text for _ in range(5)]
        else:
            victim.send(body)
            good = [site.get("/", host="good.example").text for _ in range(20)]
        assert good == ["Hello, world\n"] * len(good)
        if CASES[how]:
            site.stderr.wait(r"app\.protocol.*" + CASES[how])
        assert victim.read("POST").status in (502, 503, 504)
    assert site.get("/", host="good.example").text == "Hello, world\n"
    assert site.stop() == 0


def test_the_log_is_told_once_for_each_spawner(two_apps):
    site = two_apps("junk")
    assert site.get("/", host="evil.example").status in (502, 503, 504)
    wait.until(lambda: not site.processes("spawner"), 5, "the spawner is killed")
    assert site.stop() == 0
    log = site.stderr.text()
    assert 1 <= log.count("app.protocol") == log.count("app.loaded"), log[-3000:]
