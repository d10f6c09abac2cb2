# SPDX-License-Identifier: Apache-2.0
"""Memory: little at rest, and after a peak it comes back."""
import collections
import resource
from pathlib import Path

import pytest

from support import wait
from support.crowd import Crowd

pytestmark = pytest.mark.memory

SERVER_KIB_MAX = 6 * 1024
SHARE = 1.10  # of the tree's size before, once `idle` has passed


def sizes_kib(pid: int) -> dict:
    """Rss, Pss, Pss_Anon ... of a process; all 0 when it has gone."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()[1:]
    except (FileNotFoundError, ProcessLookupError):
        lines = []
    return collections.Counter({line.split(":")[0]: int(line.split()[1]) for line in lines})


def tree_kib(app) -> int:
    """What the tree takes when no other instance maps the same files: what each has of its own, and the files once."""
    sizes = [sizes_kib(p.pid) for p in app.processes()]
    own = [s["Pss_Anon"] + s["Pss_Shmem"] for s in sizes]
    files = [s["Rss"] - s["Anonymous"] - s["Pss_Shmem"] for s in sizes]
    return sum(own) + max(files)


@pytest.fixture
def app(godwit):
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    godwit.file("work.php", "<?php usleep(5000); echo str_repeat('x', 20000);")
    return godwit


def test_server_is_small_at_rest(app):
    app.php()
    assert app.get("/work.php").status == 200
    assert sizes_kib(app.one("server").pid)["Pss"] < SERVER_KIB_MAX


@pytest.mark.seconds(90)
def test_memory_comes_back_after_a_peak(app):
    """5,000 clients and 15 workers: then the workers, their spawner and the server's buffers go."""
    app.php("workers 0..15; idle 1s;", top="access_log off;")
    assert app.get("/work.php").status == 200
    wait.until(lambda: not app.processes("spawner"), 15, "all have left")
    before = tree_kib(app)
    with Crowd(app.address, 5000) as crowd:
        crowd.ask("/work.php", 1, 60)
        assert crowd.failures == []
        at_peak = tree_kib(app)
    wait.until(lambda: not app.processes("spawner"), 15, "all have left again")
    sizes = []

    def is_back():
        sizes.append(tree_kib(app))
        return sizes[-1] <= SHARE * before

    wait.until(is_back, 10, lambda: f"{sizes[-1]} KiB, {before} KiB before the peak of {at_peak} KiB")
    print(f"before {before} KiB, at the peak {at_peak} KiB, after {sizes[-1]} KiB")
