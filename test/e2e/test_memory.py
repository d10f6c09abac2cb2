# SPDX-License-Identifier: Apache-2.0
"""Memory: little at rest, and after a peak it comes back."""
import resource
from pathlib import Path

import pytest

from support import wait
from support.crowd import Crowd

pytestmark = pytest.mark.memory

SERVER_KIB_MAX = 6 * 1024
SHARE = 1.10  # of the tree's size before, once `idle` has passed


def pss_kib(pid: int) -> int:
    """Proportional size of a process; 0 when it has gone."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except (FileNotFoundError, ProcessLookupError):
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("Pss:")), 0)


def tree_kib(app) -> int:
    return sum(pss_kib(p.pid) for p in app.processes())


@pytest.fixture
def app(godwit):
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    godwit.file("work.php", "<?php usleep(5000); echo str_repeat('x', 20000);")
    return godwit


def test_server_is_small_at_rest(app):
    app.php()
    assert app.get("/work.php").status == 200
    assert pss_kib(app.one("server").pid) < SERVER_KIB_MAX


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
