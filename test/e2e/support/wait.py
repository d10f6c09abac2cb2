# SPDX-License-Identifier: Apache-2.0
"""Waiting for facts. A test never sleeps for a guessed time: it waits for what it needs, with a deadline.

Deadlines are of a clock that goes slower while the machine has more to do than it can: what is promised within a second
cannot come within a second when whoever could do it stands in line for a processor. On an idle machine it is the usual
clock; at the worst it takes ten times as long.
"""
from __future__ import annotations

import select
import time

SCALE = 1.0  # set from GODWIT_TEST_SCALE: sanitizer builds are slower


def now() -> float:
    """Seconds of that clock."""
    try:
        with open("/proc/pressure/cpu", "rb") as file:
            waited_us = int(file.readline().rsplit(b"total=", 1)[1])
    except OSError:  # not every kernel keeps count
        waited_us = 0
    return time.monotonic() - 0.9e-6 * waited_us


def deadline(seconds: float) -> float:
    return now() + seconds * SCALE


def left(end: float) -> float:
    return max(0.0, end - now())


def until(fact, seconds: float, what: str):
    """Asks `fact()` until it is true and returns its value; fails after `seconds`."""
    end = deadline(seconds)
    while True:
        value = fact()
        if value:
            return value
        if left(end) == 0:
            detail = what() if callable(what) else what
            raise AssertionError(f"not within {seconds * SCALE:g} s: {detail}")
        select.select([], [], [], 0.01)


def stays(fact, seconds: float, what: str) -> None:
    """Fails as soon as `fact()` is false within `seconds`."""
    end = time.monotonic() + seconds * SCALE
    while time.monotonic() < end:
        assert fact(), f"did not stay so for {seconds:g} s: {what}"
        select.select([], [], [], 0.01)
