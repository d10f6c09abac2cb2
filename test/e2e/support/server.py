# SPDX-License-Identifier: Apache-2.0
"""The server under test: writes a configuration, starts the built binary, waits until it says that it is ready, and
checks at the end that nothing is left behind."""
from __future__ import annotations

import json
import os
import pwd
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

from . import proc, wait
from .http import Connection
from .notify import Notify

ROOT = Path(__file__).resolve().parents[3]
GODWIT = Path(os.environ.get("GODWIT", ROOT / "build" / "godwit")).resolve()
IS_ROOT = os.geteuid() == 0
IS_SANITIZED = GODWIT.exists() and re.search(rb"__(asan|tsan)_init", GODWIT.read_bytes()) is not None
SERVER_USER = "www-data"  # of the server when the tests run as root
APP_USER = "nobody"
READY_SECONDS = 15
GONE_SECONDS = 5  # promised: nothing is left behind after that

_next_instance = 0
LIVING = set()  # keepers of instances that are meant to run


def free_port(host: str = "127.0.0.1") -> int:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as s:
        s.bind((host, 0))
        return s.getsockname()[1]


class Log:
    """A growing text file, read line by line with a deadline. Lines before the last match are not seen again."""

    def __init__(self, path):
        self.path = Path(path)
        self.at = 0

    def text(self) -> str:
        return self.path.read_text("utf-8", "replace") if self.path.exists() else ""

    def skip(self) -> None:
        self.at = len(self.text())

    def find(self, pattern: str):
        found = re.compile(pattern, re.M).search(self.text(), self.at)
        if found:
            self.at = found.end()
        return found

    def wait(self, pattern: str, seconds: float = 10) -> re.Match:
        return wait.until(lambda: self.find(pattern), seconds,
                          lambda: f"a line like /{pattern}/ in {self.path.name}; it ends in\n{self.text()[self.at:][-2000:]}")


class Godwit:
    """One instance. Use it through the fixture `godwit`, which gives each test a fresh one and stops it."""

    def __init__(self, base: Path):
        global _next_instance
        _next_instance += 1
        self.base = base
        self.www = base / "www"
        self.www.mkdir()
        self.data = base / "data"  # writable by the app
        self.data.mkdir()
        self.data.chmod(0o777)
        self.conf = base / "godwit.conf"
        self.name = f"t{os.getpid()}-{_next_instance}"
        self.port = free_port()
        self.address = ("127.0.0.1", self.port)
        self.env = {k: v for k, v in os.environ.items()
                    if k not in ("NOTIFY_SOCKET", "LISTEN_FDS", "LISTEN_PID", "LISTEN_FDNAMES")}
        self.env["XDG_RUNTIME_DIR"] = str(base / "run")
        (base / "run").mkdir()
        (base / "run").chmod(0o777)
        self.stderr = Log(base / "stderr")
        self.user = None  # run as this user instead
        self.process = None
        self.notify = None
        self.expect_failure = False  # the keeper's own exit status is not looked at

    # ---- files

    def file(self, name: str, content="", mode: int = 0o644) -> Path:
        """Writes a file below the document root (or anywhere, by an absolute name)."""
        path = self.www / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        path.chmod(mode)
        return path

    def config(self, text: str, with_user: bool = True, **more) -> Path:
        """Writes the configuration. %(port)d, %(www)s, %(base)s, %(data)s and names of `more` are filled in; as root
        the server gets an unprivileged user unless `with_user` is False."""
        values = {"port": self.port, "www": self.www, "base": self.base, "data": self.data, **more}
        head = f"user {SERVER_USER};\n" if IS_ROOT and with_user and not self.user else ""
        self.conf.write_text(head + text % values)
        return self.conf

    def simple(self, site: str = "", top: str = "", **more) -> "Godwit":
        """A configuration of one site that serves `www`, with lines added; started."""
        self.config(f"listen 127.0.0.1:%(port)d;\n{top}\nsite _ {{\n root %(www)s;\n{site}\n}}\n", **more)
        return self.start()

    def php(self, app: str = "workers 0..4;", site: str = "", top: str = "", **more) -> "Godwit":
        return self.simple(f" app php {{ {app} }}\n{site}", top, **more)

    def odd_settings(self, directive: str = "ini") -> str:
        """Settings with characters that mean something in ini files; what says /odd.php then is ODD."""
        self.file("odd.php", """<?php echo json_encode(array_map('ini_get', ['user_agent', 'session.save_path',
            'arg_separator.output', 'mail.log', 'sendmail_from', 'error_reporting', 'open_basedir', 'disable_functions']),
            JSON_UNESCAPED_SLASHES), ' ', json_encode([error_reporting(), function_exists('exec')]);""")
        return " ".join(f"{directive} {name} {value};" for name, value in (
            ("user_agent", '"Mozilla/5.0 (X11; Linux)"'),
            ("session.save_path", '"tcp://127.0.0.1:6379?auth=secret&database=2"'),
            ("arg_separator.output", '"a&b"'), ("mail.log", '"/pa!ss ${HOME}"'), ("sendmail_from", '"it\'s \\""'),
            ("error_reporting", '"E_ALL & ~E_NOTICE"'), ("open_basedir", self.www), ("disable_functions", '"exec,shell_exec"')))

    ODD = ('["Mozilla/5.0 (X11; Linux)","tcp://127.0.0.1:6379?auth=secret&database=2","a&b","/pa!ss ${HOME}","it\'s \\"",'
           '"32759","%s","exec,shell_exec"] [32759,false]')

    # ---- life

    def command(self, *args) -> list:
        prefix = ["setpriv", f"--reuid={self.user}", f"--regid={gid_of(self.user)}", "--clear-groups", "--"] \
            if self.user else []
        return prefix + [str(GODWIT), *map(str, args)]

    def spawn(self, *args, sockets=(), env=None) -> subprocess.Popen:
        """Starts the binary without waiting for anything."""
        command = self.command(*args)
        if sockets:
            command = [sys.executable, str(Path(__file__).with_name("exec_with_sockets.py")),
                       ",".join(str(s.fileno()) for s in sockets), *command]
        with open(self.stderr.path, "ab") as log:
            process = subprocess.Popen(
                command, cwd=self.base, env=env or self.env, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                pass_fds=[s.fileno() for s in sockets], start_new_session=True)
        POPENS.add(process.pid)
        LIVING.add(process.pid)
        return process

    def start(self, *args, sockets=()) -> "Godwit":
        """Starts `godwit serve` (on the configuration, unless args say what) and waits until it is ready."""
        if self.notify:
            self.notify.close()
        self.notify = Notify(str(self.base / "notify"))
        env = dict(self.env, NOTIFY_SOCKET=self.notify.path)
        self.process = self.spawn("serve", *(args or ("-c", self.conf)), "-n", self.name, sockets=sockets, env=env)
        self.ready = self.notify.wait_for("READY", "1", READY_SECONDS, alive=lambda: self.process.poll() is None)
        return self

    @property
    def pid(self) -> int:
        return self.process.pid

    def processes(self, role: str = None) -> list:
        """The instance's living processes (of one role)."""
        found = [p for p in proc.below(self.pid) + [proc.look(self.pid)] if p and not p.is_zombie]
        return [p for p in found if role is None or p.role == role]

    def one(self, role: str, seconds: float = 5) -> proc.Process:
        return wait.until(lambda: self.processes(role), seconds,
                          lambda: f"a {role} process; there are {[p.command for p in self.processes()]}")[0]

    def stop(self, sig: int = signal.SIGTERM, seconds: float = 20) -> int:
        """Asks the instance to end and returns its exit status."""
        if self.process.poll() is None:
            self.process.send_signal(sig)
        try:
            return self.process.wait(seconds * wait.SCALE)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"does not end after signal {sig}:\n{self.stderr.text()[-3000:]}") from None

    def stop_hard(self) -> int:
        """The same, but does not wait for scripts that a failed test has left running."""
        self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(5 * wait.SCALE)
        except subprocess.TimeoutExpired:
            return self.stop()

    def finish(self) -> None:
        """Ends what still runs; fails when something is left behind or the log tells of a crash."""
        try:
            if self.process and self.process.poll() is None:
                status = self.stop_hard()
                assert self.expect_failure or status == 0, f"exit status {status}:\n{self.stderr.text()[-3000:]}"
            nothing_left()
        finally:
            if self.process:
                LIVING.discard(self.process.pid)
            for p in leftovers():
                os.kill(p.pid, signal.SIGKILL)
            if self.notify:
                self.notify.close()
        if not self.expect_failure:
            bad = re.search(r"(?m)^.*(assertion failed|ERROR: (?:Address|Leak)Sanitizer|WARNING: ThreadSanitizer|runtime error:).*$", self.stderr.text(), re.I)
            assert not bad, f"the log tells of a defect: {bad.group(0)}"

    # ---- talking to it

    def connect(self, timeout: float = 10) -> Connection:
        return Connection(self.address, timeout)

    def get(self, target: str, headers=None, host: str = "localhost"):
        with self.connect() as c:
            return c.get(target, headers, host)

    def request(self, method: str, target: str, headers=None, body=None, host="localhost"):
        with self.connect(30) as c:
            return c.request(method, target, headers, body, host)

    def run(self, *args, check: bool = True, seconds: float = 20) -> subprocess.CompletedProcess:
        """Runs a command of the binary to its end."""
        done = subprocess.run(self.command(*args), cwd=self.base, env=self.env, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=seconds * wait.SCALE)
        assert not check or done.returncode == 0, f"godwit {' '.join(map(str, args))}: {done.returncode}\n{done.stdout}{done.stderr}"
        return done

    def control(self, *args, check: bool = True) -> subprocess.CompletedProcess:
        """Runs a command that talks to this instance."""
        return self.run(args[0], "-n", self.name, *args[1:], check=check)

    def status(self) -> dict:
        return json.loads(self.control("status", "--json").stdout)

    def apps(self) -> list:
        return json.loads(self.control("apps", "--json").stdout)["apps"]

    def app(self, name: str = None) -> dict:
        found = [a for a in self.apps() if name in (None, a["name"])]
        assert found, f"no app {name}"
        return found[0]

    def reload(self, check: bool = True) -> subprocess.CompletedProcess:
        return self.control("reload", check=check)


POPENS = set()  # pids that a Popen will collect


def gid_of(user: str) -> int:
    return pwd.getpwnam(user).pw_gid


def leftovers() -> list:
    """Processes of the product that belong to no living instance."""
    proc.reap_orphans(POPENS)
    for pid in list(LIVING):
        if not proc.look(pid) or proc.look(pid).is_zombie:
            LIVING.discard(pid)
    ours = LIVING | {p.pid for pid in LIVING for p in proc.below(pid)}
    return [p for p in proc.below(os.getpid()) if p.pid not in ours and not p.is_zombie and "godwit" in p.command]


def zombies() -> list:
    """Dead processes that nobody has collected, but for those that the test itself will."""
    proc.reap_orphans(POPENS)
    return [p for p in proc.below(os.getpid()) if p.is_zombie and p.pid not in POPENS]


def nothing_left() -> None:
    wait.until(lambda: not leftovers(), GONE_SECONDS, lambda: f"left behind: {[p.command for p in leftovers()]}")
    wait.until(lambda: not zombies(), 1, lambda: f"zombies: {zombies()}")


def make_base() -> Path:
    """A directory that other users can enter (pytest's own cannot be)."""
    base = Path(tempfile.mkdtemp(prefix="godwit-e2e-"))
    base.chmod(0o755)
    return base


def remove_base(instance: "Godwit") -> None:
    """Removes the files of an instance that has ended, with what a killed one left of its runtime directory."""
    shutil.rmtree(instance.base, ignore_errors=True)
    shutil.rmtree(f"/run/godwit/{instance.name}", ignore_errors=True)
