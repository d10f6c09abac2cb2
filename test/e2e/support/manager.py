# SPDX-License-Identifier: Apache-2.0
"""A stand-in for a service manager: holds the listening socket, starts the keeper with it, starts another when it ends."""
from __future__ import annotations

import socket
import threading

from . import wait
from .notify import Notify
from .server import POPENS


class Manager:
    def __init__(self, godwit):
        self.godwit = godwit
        self.socket = socket.socket()
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind(godwit.address)
        self.socket.listen(512)
        self.notify = Notify(str(godwit.base / "notify"))
        self.starts = 0
        self._end = threading.Event()
        self._started = threading.Condition()
        self._thread = threading.Thread(target=self._keep, daemon=True)

    def __enter__(self):
        self._thread.start()
        self.notify.wait_for("READY", "1", 15)
        return self

    def __exit__(self, *_):
        self._end.set()
        process = self.godwit.process
        process.terminate()
        self._thread.join(30 * wait.SCALE)
        assert not self._thread.is_alive(), "the instance does not end"
        self.notify.close()
        self.socket.close()

    def _keep(self) -> None:
        while not self._end.is_set():
            with self._started:
                env = dict(self.godwit.env, NOTIFY_SOCKET=self.notify.path)
                self.godwit.process = self.godwit.spawn("serve", "-c", self.godwit.conf, "-n", self.godwit.name,
                                                        sockets=[self.socket], env=env)
                self.starts += 1
                self._started.notify_all()
            self.godwit.process.wait()
            POPENS.discard(self.godwit.process.pid)

    def wait_ready(self) -> None:
        """Waits for the next READY=1."""
        self.notify.wait_for("READY", "1", 15)
