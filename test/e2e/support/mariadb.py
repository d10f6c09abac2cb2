# SPDX-License-Identifier: Apache-2.0
"""A MariaDB (Debian's package) of the test's own: in a directory of its own, on a Unix socket only."""
from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path

from . import wait
from .server import IS_ROOT, POPENS

SERVER = "/usr/sbin/mariadbd"
USER = "mysql" if IS_ROOT else None


class MariaDb:
    """One running instance. `root` may come without a password by the socket."""

    def __init__(self):
        # Short: a Unix socket's name may have 107 bytes.
        self.base = Path(tempfile.mkdtemp(prefix="e2e-db-"))
        self.base.chmod(0o755)
        self.socket = str(self.base / "s")
        data = self.base / "data"
        data.mkdir()
        if USER:
            shutil.chown(self.base, USER)
            shutil.chown(data, USER)
        user = [f"--user={USER}"] if USER else []
        made = subprocess.run(["/usr/bin/mariadb-install-db", "--no-defaults", f"--datadir={data}", *user, "--skip-test-db",
                               "--auth-root-authentication-method=normal"], capture_output=True, text=True, timeout=100)
        assert made.returncode == 0, made.stdout + made.stderr
        self.log = self.base / "log"
        command = [SERVER, "--no-defaults", f"--datadir={data}", f"--socket={self.socket}", "--skip-networking", *user,
                   f"--pid-file={data}/pid", "--innodb-flush-log-at-trx-commit=0", "--innodb-buffer-pool-size=64M",
                   "--skip-log-bin", "--skip-name-resolve", "--max-allowed-packet=64M"]
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=self.base,
                                            start_new_session=True)
        POPENS.add(self.process.pid)
        wait.until(self._answers, 60, lambda: f"MariaDB, which says {self.log.read_text('utf-8', 'replace')[-2000:]}")

    def _answers(self) -> bool:
        assert self.process.poll() is None, f"MariaDB ended: {self.log.read_text('utf-8', 'replace')[-2000:]}"
        return os.path.exists(self.socket) and self._run("SELECT 1").returncode == 0

    def _run(self, text: str, database: str = "") -> subprocess.CompletedProcess:
        return subprocess.run(["/usr/bin/mariadb", "--no-defaults", f"--socket={self.socket}", "-uroot", "-N", "-B", database],
                              input=text, capture_output=True, text=True, timeout=100)

    def sql(self, text: str, database: str = "") -> str:
        """Runs statements and returns what they print: one line a row, fields between tabs."""
        done = self._run(text, database)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def stop(self) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(60 * wait.SCALE)
        finally:
            shutil.rmtree(self.base, ignore_errors=True)
