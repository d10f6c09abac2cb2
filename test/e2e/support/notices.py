# SPDX-License-Identifier: Apache-2.0
"""What PHP complains of while pages are visited, under the server under test and under Apache with its PHP module."""
from __future__ import annotations

import re

from . import wait

MESSAGE = re.compile(r"PHP ((?:Notice|Warning|Deprecated|Strict Standards|(?:Recoverable f|F)atal error|Parse error): .*?"
                     r" in /\S+(?: on line |:)\d+)")

# Goes into the settings of an application: visited with ?mark=NAME, it complains of that.
MARK = "if (isset($_GET['mark'])) { trigger_error('mark ' . $_GET['mark'], E_USER_WARNING); }\n"


def collect(visit, read_log, mark) -> set:
    """The complaints that come while `visit()` runs. `mark(name)` opens a page that complains of `name` (see MARK)."""
    mark("begin")
    wait.until(lambda: "mark begin" in read_log(), 10, "the first mark in the log")
    before = len(read_log())
    visit()
    mark("end")
    wait.until(lambda: "mark end" in read_log()[before:], 10, "the last mark in the log")
    return {m for m in MESSAGE.findall(read_log()[before:]) if "mark " not in m}
