# SPDX-License-Identifier: Apache-2.0
"""The service manager's end of sd_notify: a datagram socket that collects what the server says of itself."""
from __future__ import annotations

import os
import socket

from . import wait


class Notify:
    def __init__(self, path: str):
        self.path = path
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.sock.bind(path)
        os.chmod(path, 0o777)
        self.messages = []  # each a dict of one datagram

    def close(self) -> None:
        self.sock.close()
        if os.path.exists(self.path):
            os.unlink(self.path)

    def collect(self, seconds: float = 0) -> None:
        """Takes in what has come; waits up to `seconds` for the first datagram."""
        self.sock.settimeout(seconds or None)
        self.sock.setblocking(bool(seconds))
        if seconds:
            self.sock.settimeout(seconds)
        try:
            while True:
                data = self.sock.recv(4096).decode()
                self.messages.append(dict(line.split("=", 1) for line in data.splitlines() if "=" in line))
                self.sock.setblocking(False)
        except (BlockingIOError, TimeoutError):
            pass

    def wait_for(self, key: str, value: str = None, seconds: float = 10, alive=None) -> dict:
        """Waits for a message that has `key` (equal to `value`); forgets those before it. `alive` tells early death."""
        end = wait.deadline(seconds)
        while True:
            while self.messages:
                message = self.messages.pop(0)
                if key in message and value in (None, message[key]):
                    return message
            if wait.left(end) == 0:
                raise AssertionError(f"no notification {key}={value or '...'} within {seconds:g} s")
            if alive and not alive():
                raise AssertionError(f"the server ended before it notified {key}")
            self.collect(min(0.1, wait.left(end) or 0.001))
