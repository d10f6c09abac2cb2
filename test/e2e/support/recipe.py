# SPDX-License-Identifier: Apache-2.0
"""What doc/applications.md says about an application, carried out in a directory of the test."""
from __future__ import annotations

import os
import pwd
import re
import subprocess

from .server import APP_USER, IS_ROOT, ROOT, Godwit

APPLICATIONS = ROOT / "doc" / "applications.md"


def app_user() -> str:
    """Who runs the app here."""
    return APP_USER if IS_ROOT else pwd.getpwuid(os.geteuid()).pw_name


class Recipe:
    """The blocks of a section (shell, then perhaps PHP, then configuration), for this place, address and user.

    `host` and `user` are those that the page speaks of; `local` says what else is elsewhere here."""

    def __init__(self, instance: Godwit, section: str, host: str, user: str, local: dict):
        self.instance = instance
        text = APPLICATIONS.read_text().split(f"\n## {section}\n")[1].split("\n## ")[0]
        self.blocks = re.findall(r"^```\w*\n(.*?)^```$", text, re.M | re.S)
        # Packages and users are there already; an ordinary user runs everything as himself.
        self.replace({"apt-get install": ": apt-get install", "useradd": ": useradd", f"site {host}": "site 127.0.0.1",
                      f"user {user};": f"user {APP_USER};" if IS_ROOT else "", **local})

    def replace(self, local: dict) -> None:
        for there, here in local.items():
            assert any(there in block for block in self.blocks), f"the page does not say {there}"
            self.blocks = [block.replace(there, here) for block in self.blocks]

    def shell(self) -> None:
        done = subprocess.run(["sh", "-ec", self.blocks[0]], capture_output=True, text=True, timeout=100,
                              env={**os.environ, "TMPDIR": str(self.instance.base)})
        assert done.returncode == 0, done.stdout + done.stderr

    def start(self) -> Godwit:
        """Starts the instance on the configuration of the page."""
        self.instance.config("listen 127.0.0.1:%(port)d;\n" + self.blocks[-1].replace("%", "%%"))
        return self.instance.start()
