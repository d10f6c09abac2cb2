# SPDX-License-Identifier: Apache-2.0
"""Processes as /proc shows them. The test process is a subreaper: what a killed keeper leaves behind is seen here."""
from __future__ import annotations

import ctypes
import os
import re
from dataclasses import dataclass

PR_SET_CHILD_SUBREAPER = 36


@dataclass(frozen=True)
class Process:
    pid: int
    ppid: int
    state: str
    started: int  # clock ticks since boot: with the pid, names a process for good
    uid: int
    command: str

    @property
    def role(self) -> str:
        """keeper, loader, server, spawner or worker, by the title; "" for other programs."""
        found = re.match(r"godwit: (keeper|loader|server)\b|.*\((spawner)\)|(?P<worker>godwit-php\b|godwit: app\b)", self.command)
        if not found:
            return ""
        return "worker" if found.group("worker") else found.group(1) or found.group(2)

    @property
    def is_zombie(self) -> bool:
        return self.state in "ZX"


def be_subreaper() -> None:
    assert ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0


def look(pid: int):
    """The process, or None when it has gone."""
    try:
        with open(f"/proc/{pid}/stat", encoding="latin-1") as file:
            fields = file.read().rsplit(")", 1)[1].split()
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            command = file.read().replace(b"\0", b" ").decode("latin-1").strip()
        uid = os.stat(f"/proc/{pid}").st_uid
    except (FileNotFoundError, ProcessLookupError):
        return None
    return Process(pid, int(fields[1]), fields[0], int(fields[19]), uid, command)


def everyone() -> dict:
    found = (look(int(name)) for name in os.listdir("/proc") if name.isdigit())
    return {p.pid: p for p in found if p}


def below(pid: int) -> list:
    """All descendants of `pid`."""
    everybody = everyone()
    children = {}
    for p in everybody.values():
        children.setdefault(p.ppid, []).append(p)
    found, queue = [], [pid]
    while queue:
        for child in children.get(queue.pop(), []):
            found.append(child)
            queue.append(child.pid)
    return found


def is_alive(p: Process) -> bool:
    """Whether that very process still exists and is no zombie."""
    now = look(p.pid)
    return now is not None and now.started == p.started and not now.is_zombie


def reap_orphans(ours) -> None:
    """Collects dead children of this process that nobody waits for, as an init would. `ours`: pids of Popen."""
    for p in below(os.getpid()):
        if p.ppid == os.getpid() and p.is_zombie and p.pid not in ours:
            try:
                os.waitpid(p.pid, os.WNOHANG)
            except ChildProcessError:
                pass


def descriptor_count(pid: int) -> int:
    return len(os.listdir(f"/proc/{pid}/fd"))
