# SPDX-License-Identifier: Apache-2.0
"""A worker that misbehaves on command behind each byte of its answer: what the client gets, and that the pool goes on."""
import os
import queue
import threading

import pytest

from support import wait
from support.http import Closed, Connection, format_request
from support.server import GODWIT

ANSWER = "Hello, world\n"
HEAD_BYTES = 8 + 8 + 2 + 12  # of its first packet
ANSWER_BYTES = HEAD_BYTES + (8 + 7) + (8 + 6) + 8
AT_ONCE = 6


@pytest.fixture
def site(godwit):
    found = [p for p in GODWIT.parent.rglob("lsapi-fake") if p.is_file() and os.access(p, os.X_OK)]
    assert found, "lsapi-fake was not built"
    godwit.simple(" app lsapi { command %(program)s; workers 0..6; request_time 300ms; stop_time 1s; detached_time 500ms; }",
                  program=found[0], top="access_log off;")
    return godwit


def outcome(address, target: str) -> str:
    """"whole", "cut", or the status of an error."""
    with Connection(address, 20) as c:
        c.send(format_request("GET", target))
        answer = c.head()
        if answer.status != 200:
            return str(answer.status)
        try:
            c.body(answer)
        except Closed:
            return "cut"
    assert answer.text == ANSWER and answer.header("X-Fake") == "yes", answer
    return "whole"


def outcomes(address, targets: list) -> dict:
    """Asks for all of them, some at once."""
    left, found = queue.SimpleQueue(), {}
    for target in targets:
        left.put(target)

    def run():
        while True:
            try:
                target = left.get_nowait()
            except queue.Empty:
                return
            try:
                found[target] = outcome(address, target)
            except Exception as error:
                found[target] = f"{type(error).__name__}: {error}"

    threads = [threading.Thread(target=run, daemon=True) for _ in range(AT_ONCE)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(100 * wait.SCALE)
        assert not thread.is_alive()
    return found


def allowed(how: str, at: int) -> set:
    """What may become of the client's answer: never one that looks complete and is not."""
    if how in ("pass", "slow") or (how == "again" and at == 0):
        return {"whole"}
    # An answer that begins in the middle of a head may announce more than ever comes.
    errors = {"504"} if how == "stop" else {"502", "504"} if how == "again" else {"502"}
    if at < HEAD_BYTES:
        return errors
    if at < ANSWER_BYTES:
        return errors | {"cut"}  # a head that is there may have gone out already
    # What is no part of any answer makes this one doubtful, if it comes together with it.
    return {"whole", "502"} if how in ("garbage", "zeros", "again") else {"whole"}


@pytest.mark.parametrize("how", ["pass", "slow", "close", "die", "leave", "garbage", "zeros", "again", "stop"])
def test_each_byte(site, how):
    asked = {f"/?{at}-{how}": at for at in range(ANSWER_BYTES)}
    found = outcomes(site.address, list(asked))
    wrong = [(t, found.get(t)) for t, at in asked.items() if found.get(t) not in allowed(how, at)]
    assert not wrong, wrong
    # By itself: what follows an answer may be taken for the next one.
    assert outcome(site.address, f"/?{ANSWER_BYTES}-{how}") in allowed(how, ANSWER_BYTES)
    # Nothing of it stays: every worker is at rest and serves.
    wait.until(lambda: {w["state"] for w in site.app()["workers"]} <= {"idle"} and not site.app()["starting"], 10,
               lambda: f"rest: {site.app()}")
    assert site.app()["queue"]["waiting"] == 0
    known = {w["pid"] for w in site.app()["workers"]}
    wait.until(lambda: {p.pid for p in site.processes("worker")} <= known, 10, "no process that the pool does not know")
    after = sorted(outcomes(site.address, [f"/?more={n}" for n in range(20)]).values())
    # The worker that stands still behind its whole answer costs the next request.
    assert after == ["whole"] * 20 or how == "stop" and after == ["504"] + ["whole"] * 19, after
