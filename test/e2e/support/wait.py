# SPDX-License-Identifier: Apache-2.0
"""Waiting for facts. A test never sleeps for a guessed time: it waits for what it needs, with a deadline."""
from __future__ import annotations

import select
import time

SCALE = 1.0  # set from GODWIT_TEST_SCALE: sanitizer builds are slower


def deadline(seconds: float) -> float:
    return time.monotonic() + seconds * SCALE


def left(end: float) -> float:
    return max(0.0, end - time.monotonic())


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
    end = deadline(seconds)
    while left(end):
        assert fact(), f"did not stay so for {seconds:g} s: {what}"
        select.select([], [], [], 0.01)
