# SPDX-License-Identifier: Apache-2.0
"""Directives that `godwit check` must not take."""
import re


def refused(godwit, directive: str, words: str, scope: str = "site") -> None:
    """The directive, in a site, a path of one or at top level, is an error of line 3 that says `words` (a pattern)."""
    inner = {"site": directive, "path": "path /p/ { " + directive + " }", "top": ""}[scope]
    top = directive if scope == "top" else "# nothing"
    line = 3 if scope != "top" else 1
    text = f"{top}\nsite _ {{\n{inner}\nroot {godwit.www};\n}}\n"
    godwit.config(text.replace("%", "%%"), with_user=False)
    done = godwit.run("check", "-c", godwit.conf, check=False)
    out = done.stdout + done.stderr
    assert done.returncode == 1, out
    assert re.search(rf"godwit\.conf:{line}:\d+: .*{words}", out), out
