# SPDX-License-Identifier: Apache-2.0
"""lsphp_standin -- behaves as the stock lsphp does when a server starts it with a listening socket on descriptor 0,
as far as Godwit has to do with it. PHP itself is that of godwit-php, which each child becomes (connected mode).

    lsphp_standin.py VERSION GODWIT-PHP [-v]

What was seen of the stock one: nothing is forked in advance; a connection gets a child in a session of its own, which
says its number (pid notice) before anything else; at PHP_LSAPI_CHILDREN and LSAPI_EXTRA_CHILDREN connections wait in
silence; idle children above LSAPI_MAX_IDLE_CHILDREN leave without a word after two seconds; the manager's end leaves
the children alone, who leave by themselves unless LSAPI_PPID_NO_CHECK is there; LSAPI_* are gone from what scripts
see; the settings of the directories in PHP_INI_SCAN_DIR hold. What a script starts inherits the connection: here
only with STANDIN_INHERITS."""
import os
import select
import signal
import socket
import struct
import sys
import time
from pathlib import Path

TICK_SECONDS = 1
THIN_AFTER_SECONDS = 2
PID_NOTICE = struct.pack("=2sBBi4s", b"LS", 6, 0, 16, b"\0PID")


def settings() -> list:
    """What the ini files say, as options of godwit-php."""
    options = []
    for directory in filter(None, os.environ.pop("PHP_INI_SCAN_DIR", "").split(":")):
        for file in sorted(Path(directory).glob("*.ini")):
            for line in file.read_text().splitlines():
                options += ["-d", line]
    return options


def serve(connection: socket.socket, godwit_php: str, options: list) -> None:
    """The child: it never returns."""
    os.setsid()
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    connection.sendall(PID_NOTICE + struct.pack("=i", os.getpid()))
    os.dup2(connection.fileno(), 0)
    if os.environ.pop("STANDIN_INHERITS", ""):
        os.set_inheritable(connection.fileno(), True)
    os.execv(godwit_php, ["lsphp", *options])


class Manager:
    def __init__(self, godwit_php: str):
        children = int(os.environ.get("PHP_LSAPI_CHILDREN") or os.environ.get("LSAPI_CHILDREN") or 0)
        self.most = children + int(os.environ.get("LSAPI_EXTRA_CHILDREN", children // 3))
        self.idle_most = int(os.environ.get("LSAPI_MAX_IDLE_CHILDREN", max(children // 3, 1)))
        self.check_parent = "LSAPI_PPID_NO_CHECK" not in os.environ
        self.godwit_php = godwit_php
        self.options = settings()
        self.parent = os.getppid()
        self.children = {}  # pid: since when
        self.stopping = False

    def stop(self, *_) -> None:
        self.stopping = True

    def reap(self) -> None:
        for pid in list(self.children):
            if os.waitpid(pid, os.WNOHANG)[0]:
                del self.children[pid]

    def thin(self) -> None:
        """A busy one would finish its request first: SIGTERM means that to godwit-php."""
        old = sorted((since, pid) for pid, since in self.children.items()
                     if time.monotonic() - since > THIN_AFTER_SECONDS)
        for _, pid in old[:max(len(self.children) - self.idle_most, 0)]:
            os.kill(pid, signal.SIGTERM)

    def run(self) -> None:
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGUSR1):
            signal.signal(number, self.stop)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        listener = socket.socket(fileno=os.dup(0))
        listener.setblocking(False)
        while not self.stopping and not (self.check_parent and os.getppid() != self.parent):
            self.reap()
            self.thin()
            room = len(self.children) < self.most
            if not select.select([listener] if room else [], [], [], TICK_SECONDS)[0]:
                continue
            try:
                connection, _ = listener.accept()
            except BlockingIOError:
                continue
            connection.setblocking(True)
            pid = os.fork()
            if pid == 0:
                serve(connection, self.godwit_php, self.options)
            self.children[pid] = time.monotonic()
            connection.close()


def main() -> None:
    version, godwit_php, *options = sys.argv[1:]
    if "-v" in options:
        print(f"PHP {version}.99 (litespeed) (built: today)")
        return
    Manager(godwit_php).run()


main()
