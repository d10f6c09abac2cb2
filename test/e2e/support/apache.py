# SPDX-License-Identifier: Apache-2.0
"""Apache 2.4 with its PHP module (Debian's packages), to be asked the same as the server under test: an instance of its
own in the foreground, from a configuration written here."""
from __future__ import annotations

import glob
import signal
import socket
import subprocess
from pathlib import Path

from . import wait
from .server import IS_ROOT, POPENS, SERVER_USER, free_port, gid_of

PROGRAM = Path("/usr/sbin/apache2")
MODULES = Path("/usr/lib/apache2/modules")
NEEDED = ("mpm_prefork", "authz_core", "mime", "dir", "alias", "env", "rewrite")

CONF = """
ServerRoot {base}
DefaultRuntimeDir {base}
PidFile {base}/apache.pid
ErrorLog {base}/apache.log
ServerName localhost
{user}
{modules}
LoadModule php_module {php}
TypesConfig /etc/mime.types
Listen 127.0.0.1:{port}
Listen [::1]:{port}
StartServers 2
MaxRequestWorkers 4
DirectoryIndex index.html index.php
<Directory />
    Require all denied
</Directory>
<FilesMatch "\\.(php|phtml|phar)$">
    SetHandler application/x-httpd-php
</FilesMatch>
<VirtualHost *:{port}>
    DocumentRoot {www}
    Alias /alias {other}
    <Directory {www}>
        Require all granted
    </Directory>
    <Directory {other}>
        Require all granted
    </Directory>
{settings}
</VirtualHost>
"""


def php_module() -> str:
    """The path of the PHP module, "" when Apache or the module is not installed."""
    found = sorted(glob.glob(str(MODULES / "libphp*.so")))
    return found[-1] if PROGRAM.exists() and found else ""


class Apache:
    """One running instance; `settings` are lines such as "php_admin_value memory_limit 64M"."""

    def __init__(self, base: Path, www: Path, other: Path, settings: str = "", run_as: str = SERVER_USER):
        self.port = free_port()
        self.log = base / "apache.log"
        conf = base / "apache.conf"
        modules = "\n".join(f"LoadModule {m}_module {MODULES}/mod_{m}.so" for m in NEEDED)
        user = f"User {run_as}\nGroup #{gid_of(run_as)}" if IS_ROOT else ""
        conf.write_text(CONF.format(base=base, port=self.port, www=www, other=other, settings=settings, user=user,
                                    modules=modules, php=php_module()))
        environment = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}
        self.process = subprocess.Popen([str(PROGRAM), "-d", str(base), "-f", str(conf), "-DFOREGROUND"],
                                        env=environment, stdin=subprocess.DEVNULL, start_new_session=True)
        POPENS.add(self.process.pid)
        wait.until(self._answers, 15, lambda: f"Apache, which says {self._said()}")

    def _said(self) -> str:
        return self.log.read_text("utf-8", "replace")[-2000:] if self.log.exists() else "nothing"

    def _answers(self) -> bool:
        assert self.process.poll() is None, f"Apache ended: {self._said()}"
        with socket.socket() as s:
            return s.connect_ex(("127.0.0.1", self.port)) == 0

    def stop(self) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        self.process.wait(20)
