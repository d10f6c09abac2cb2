# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the end-to-end tests. GODWIT names the binary under test (default build/godwit)."""
from __future__ import annotations

import os
import signal

import pytest

from support import proc, server, wait

TEST_SECONDS = 120  # no test may take longer; see the marker `seconds`


def pytest_configure(config):
    config.addinivalue_line("markers", "seconds(n): this test may take up to n seconds")
    config.addinivalue_line("markers", "deep: not in `make check`, for it takes long or needs more packages (pytest -m deep)")
    config.addinivalue_line("markers", "memory: this test measures memory, of which sanitizers take more")
    wait.SCALE = float(os.environ.get("GODWIT_TEST_SCALE", "1"))
    proc.be_subreaper()


def pytest_sessionstart(session):
    if not server.GODWIT.exists():
        pytest.exit(f"{server.GODWIT} is not there: build first (make)", returncode=2)


def pytest_collection_modifyitems(config, items):
    """What only root can try is not chosen when somebody else runs the tests, nor what a sanitizer would spoil."""
    def is_chosen(item) -> bool:
        return (server.IS_ROOT or "as_root" not in item.fixturenames) \
            and not (server.IS_SANITIZED and item.get_closest_marker("memory"))

    config.hook.pytest_deselected(items=[item for item in items if not is_chosen(item)])
    items[:] = [item for item in items if is_chosen(item)]


@pytest.fixture(autouse=True)
def bounded(request):
    """Ends a test that hangs."""
    marker = request.node.get_closest_marker("seconds")
    seconds = int((marker.args[0] if marker else TEST_SECONDS) * wait.SCALE)

    def late(*_):
        raise AssertionError(f"the test took more than {seconds} s")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(seconds)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
    report = outcome.get_result()
    if report.failed:
        item.has_failed = True


@pytest.fixture
def make_godwit(request):
    """Makes instances; each is stopped and looked after at the end of the test."""
    made = []

    def make() -> server.Godwit:
        instance = server.Godwit(server.make_base())
        made.append(instance)
        return instance

    yield make
    problems = []
    for instance in made:
        try:
            instance.finish()
        except AssertionError as error:
            problems.append(str(error))
    failed = problems or getattr(request.node, "has_failed", False)
    for instance in made:
        if failed:
            print(f"--- {instance.conf}\n{instance.conf.read_text() if instance.conf.exists() else ''}"
                  f"--- stderr\n{instance.stderr.text()[-6000:]}")
        if not os.environ.get("GODWIT_KEEP"):
            server.remove_base(instance)
    assert not problems, "\n".join(problems)


@pytest.fixture
def godwit(make_godwit) -> server.Godwit:
    return make_godwit()


@pytest.fixture
def user_godwit(godwit) -> server.Godwit:
    """An instance run by an ordinary user, also when the tests run as root."""
    if server.IS_ROOT:
        godwit.user = "nobody"
        os.chmod(godwit.base, 0o777)
    return godwit
