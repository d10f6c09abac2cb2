# SPDX-License-Identifier: Apache-2.0
"""What PHP complains of while pages are visited, under the server under test and under Apache with its PHP module."""
from __future__ import annotations

import re

from . import wait

MESSAGE = re.compile(r"PHP ((?:Notice|Warning|Deprecated|Strict Standards|(?:Recoverable f|F)atal error|Parse error): .*?"
                     r" in /\S+(?: on line |:)\d+)")

# Goes into the settings of an application: visited with ?mark=NAME, it complains of that.
MARK = "if (isset($_GET['mark'])) { trigger_error('mark ' . $_GET['mark'], E_USER_WARNING); }\n"


def collect(visit, read_log, mark, whole: bool = False) -> set:
    """The complaints that come while `visit()` runs, or of the whole log. `mark(name)` opens a page that complains of
    `name` (see MARK). Some come only when a file is compiled, before the first mark perhaps: Apache's log counts as a
    whole, and is asked first."""
    mark("begin")
    wait.until(lambda: "mark begin" in read_log(), 10, "the first mark in the log")
    before = 0 if whole else len(read_log())
    visit()
    mark("end")
    wait.until(lambda: "mark end" in read_log()[before:], 10, "the last mark in the log")
    return {plain(m) for m in MESSAGE.findall(read_log()[before:]) if "mark " not in m}


def plain(message: str) -> str:
    """Without what the logs do to backslashes and quotes: \\\\ in Apache's, \\x5c and \\x22 in ours."""
    message = re.sub(r"\\x([0-9a-f]{2})", lambda m: chr(int(m.group(1), 16)), message)
    return message.replace("\\\\", "\\")
