# SPDX-License-Identifier: Apache-2.0
"""Thousands of clients from one thread: each has a connection and one request under way."""
from __future__ import annotations

import select
import socket
import time

from . import wait


class Crowd:
    """`count` keep-alive connections. Answers must have Content-Length; every failure is kept with its reason."""

    def __init__(self, address, count: int):
        self.failures, self.times = [], []
        self.sockets = {}
        for number in range(count):
            s = socket.socket()
            s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            s.connect(address)
            s.setblocking(False)
            self.sockets[s.fileno()] = (number, s)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for _, s in self.sockets.values():
            s.close()

    def ask(self, target: str, rounds: int, seconds: float) -> None:
        """Each client asks `rounds` times, the next time as soon as it has its answer. Fills times (seconds of each
        request) and failures."""
        request = f"GET {target} HTTP/1.1\r\nHost: crowd\r\n\r\n".encode()
        poll = select.epoll()
        began, left, held = {}, {}, {}
        for fd, (_, s) in self.sockets.items():
            poll.register(fd, select.EPOLLIN)
            began[fd], left[fd], held[fd] = time.monotonic(), rounds, b""
            s.send(request)
        end = wait.deadline(seconds)
        while left and wait.left(end):
            for fd, _ in poll.poll(1):
                s = self.sockets[fd][1]
                whole = self._read(fd, s, held)
                if whole is None:
                    continue
                if whole:
                    self.times.append(time.monotonic() - began[fd])
                    left[fd] -= 1
                if whole and left[fd]:
                    began[fd] = time.monotonic()
                    s.send(request)
                else:
                    del left[fd]
                    poll.unregister(fd)
        self.failures += [f"client {self.sockets[fd][0]} has no answer" for fd in left]
        poll.close()

    def _read(self, fd: int, s, held):
        """True: a whole good answer; False: a failure; None: not complete."""
        try:
            data = s.recv(65536)
        except BlockingIOError:
            return None
        except OSError as error:
            self.failures.append(str(error))
            return False
        held[fd] += data
        head, found, body = held[fd].partition(b"\r\n\r\n")
        if not data:
            self.failures.append(f"closed after {held[fd][:200]}")
            return False
        if not found:
            return None
        length = int(head.lower().split(b"content-length:")[1].split(b"\r\n")[0])
        if len(body) < length:
            return None
        held[fd] = b""
        if head.split(b" ")[1] != b"200":
            self.failures.append(head.split(b"\r\n")[0].decode())
            return False
        return True

    def percentile(self, share: float) -> float:
        return sorted(self.times)[int(len(self.times) * share)]
