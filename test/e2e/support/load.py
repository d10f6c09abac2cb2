# SPDX-License-Identifier: Apache-2.0
"""Constant load from a few threads, each with its own connection, bounded in time; every failure is kept with its reason."""
from __future__ import annotations

import operator
import threading
import time

from . import wait
from .http import Closed, Connection


class Load:
    """Clients that repeat one request. check(response) returns what is wrong, or ''.

    keep_alive: one connection for all requests of a client; its loss counts as a failure. Otherwise a new
    connection per request.
    """

    def __init__(self, address, target: str, clients: int = 4, keep_alive: bool = True, check=None,
                 headers=None, timeout: float = 10, pause: float = 0.0, host="localhost"):
        self.address, self.target, self.keep_alive = address, target, keep_alive
        self.check = check or (lambda r: "" if r.status == 200 else f"status {r.status}")
        self.headers, self.timeout, self.pause, self.host = headers, timeout, pause, host
        self.failures, self.done = [], 0
        self.slowest = 0.0
        self._tried = [0] * clients  # exchanges that have ended, well or not, of each client
        self._lock = threading.Lock()  # guards: failures, done, slowest, _tried
        self._end = threading.Event()
        self._threads = [threading.Thread(target=self._run, args=(i,), daemon=True) for i in range(clients)]

    def __enter__(self):
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self.stop()

    def stop(self) -> None:
        self._end.set()
        for thread in self._threads:
            thread.join(self.timeout * wait.SCALE + 5)
            assert not thread.is_alive(), "a load client hangs"

    def wait_done(self, count: int, seconds: float = 20) -> None:
        """Waits until `count` more requests have been answered."""
        target = self.done + count
        wait.until(lambda: self.done >= target, seconds, lambda: f"{count} more answers ({self.failures[:3]})")

    def wait_each(self, count: int, seconds: float = 20) -> None:
        """Waits until every client has ended `count` more exchanges: with two, all that was lost before is in `failures`,
        however long the machine has kept one of them from noting it."""
        targets = [tried + count for tried in self._tried]
        wait.until(lambda: all(map(operator.ge, self._tried, targets)), seconds,
                   lambda: f"{count} more exchanges of each client ({self._tried}, {self.failures[:3]})")

    def _note(self, client: int, reason: str, began: float) -> None:
        took = time.monotonic() - began
        with self._lock:
            self._tried[client] += 1
            self.slowest = max(self.slowest, took)
            if reason:
                self.failures.append(reason)
            else:
                self.done += 1

    def _run(self, client: int) -> None:
        connection = None
        while not self._end.is_set():
            began = time.monotonic()
            try:
                connection = connection or Connection(self.address, self.timeout)
                answer = connection.get(self.target, self.headers, host=self.host)
                reason = self.check(answer)
            except (Closed, OSError, AssertionError, ValueError) as error:
                reason = f"{type(error).__name__}: {error}"
                if connection:
                    connection.close()
                connection = None
            self._note(client, reason, began)
            # A server that says that it closes is believed, as browsers do.
            if connection and (not self.keep_alive or (answer.header("Connection") or "").lower() == "close"):
                connection.close()
                connection = None
            if self.pause or reason:
                self._end.wait(self.pause or 0.02)
        if connection:
            connection.close()
