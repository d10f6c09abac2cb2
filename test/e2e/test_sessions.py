# SPDX-License-Identifier: Apache-2.0
"""What stays between requests of PHP: sessions, with their locks, and persistent connections."""
import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
from pathlib import Path

import pytest

from support import wait
from support.http import format_request
from support.mariadb import MariaDb
from support.recipe import app_user
from support.server import APP_USER, IS_ROOT, POPENS

SESSION = """<?php
session_start();
$_SESSION['n'] = ($_SESSION['n'] ?? 0) + 1;
echo session_id(), ' ', $_SESSION['n'], ' ', getmypid();
"""
# Holds its session until a file is there, then adds to it.
HOLD = """<?php
session_start();
touch($_GET['dir'] . '/held');
while (!file_exists($_GET['dir'] . '/go')) { usleep(2000); clearstatcache(); }
$_SESSION['n'] += 10;
"""
REGENERATE = "<?php session_start(); session_regenerate_id(true); echo session_id();"
DESTROY = "<?php session_start(); session_destroy(); echo 'gone';"
PEEK = "<?php echo session_status() == PHP_SESSION_NONE && !isset($_SESSION) ? 'none' : 'left over';"


def with_sessions(godwit, app: str):
    for name, text in (("n", SESSION), ("hold", HOLD), ("regenerate", REGENERATE), ("destroy", DESTROY), ("peek", PEEK)):
        godwit.file(f"{name}.php", text)
    return godwit.php(f"workers 0..4; {app}")


@pytest.fixture
def in_files(godwit):
    directory = godwit.data / "sessions"
    directory.mkdir()
    directory.chmod(0o777)
    return with_sessions(godwit, f"ini session.save_path {directory};")


def counts_for_each_client(godwit) -> None:
    first = godwit.get("/n.php")
    assert first.header("Set-Cookie").startswith("PHPSESSID=") and first.text.split()[1] == "1"
    cookie = {"Cookie": f"PHPSESSID={first.text.split()[0]}"}
    for n in range(2, 6):
        answer = godwit.get("/n.php", cookie)
        assert answer.text.split()[:2] == [first.text.split()[0], str(n)]
        assert not answer.all("Set-Cookie")
    assert godwit.get("/n.php").text.split()[1] == "1", "another client has another session"
    assert godwit.get("/peek.php", cookie).text == "none"


def waits_its_turn(godwit) -> None:
    """Requests of one session come one after another, though there are workers for both; others do not wait."""
    cookie = {"Cookie": f"PHPSESSID={godwit.get('/n.php').text.split()[0]}"}
    holder = threading.Thread(target=lambda: godwit.get(f"/hold.php?dir={godwit.data}", cookie))
    holder.start()
    wait.until((godwit.data / "held").exists, 10, "the session to be held")
    with godwit.connect(30) as second:
        second.send(format_request("GET", "/n.php", cookie, None, "localhost"))
        assert godwit.get("/n.php").text.split()[1] == "1", "another session does not wait"
        (godwit.data / "go").write_text("")
        assert second.read().text.split()[1] == "12", "1 + 10 + 1: the second request has waited for the first"
    holder.join()


def can_be_renewed_and_destroyed(godwit) -> None:
    old = godwit.get("/n.php").text.split()[0]
    new = godwit.get("/regenerate.php", {"Cookie": f"PHPSESSID={old}"}).text
    assert new != old
    assert godwit.get("/n.php", {"Cookie": f"PHPSESSID={new}"}).text.split()[:2] == [new, "2"]
    assert godwit.get("/destroy.php", {"Cookie": f"PHPSESSID={new}"}).text == "gone"
    assert godwit.get("/n.php", {"Cookie": f"PHPSESSID={new}"}).text.split()[1] == "1"


def test_sessions_in_files(in_files):
    counts_for_each_client(in_files)
    assert list((in_files.data / "sessions").glob("sess_*"))


def test_session_files_are_locked(in_files):
    waits_its_turn(in_files)


def test_sessions_end(in_files):
    can_be_renewed_and_destroyed(in_files)


def test_a_killed_worker_leaves_no_session_locked(in_files):
    cookie = {"Cookie": f"PHPSESSID={in_files.get('/n.php').text.split()[0]}"}
    with in_files.connect(30) as held:
        held.send(format_request("GET", f"/hold.php?dir={in_files.data}", cookie, None, "localhost"))
        wait.until((in_files.data / "held").exists, 10, "the session to be held")
        busy = wait.until(lambda: [w for w in in_files.app()["workers"] if w["state"] == "running"], 10, "a running worker")
        os.kill(busy[0]["pid"], signal.SIGKILL)
        assert held.read().status == 502
    assert in_files.get("/n.php", cookie).text.split()[1] == "2"


# ---- connections

PSOCKET = """<?php
$file = pfsockopen('unix://' . $_GET['to'], -1);
fwrite($file, "hello\\n");
echo getmypid(), ' ', fgets($file);
"""
PDO_SQLITE = """<?php
$db = new PDO('sqlite:' . $_GET['file'], null, null, [PDO::ATTR_PERSISTENT => true]);
$db->exec('CREATE TEMP TABLE IF NOT EXISTS seen (n)');
$db->exec('INSERT INTO seen VALUES (1)');
echo getmypid(), ' ', $db->query('SELECT COUNT(*) FROM seen')->fetchColumn();
"""


def test_a_persistent_socket_stays_open(godwit):
    """One connection for each worker, whatever the number of requests."""
    godwit.file("p.php", PSOCKET)
    path = str(godwit.data / "echo")
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    os.chmod(path, 0o777)
    listener.listen()
    accepted = []

    def serve():
        while True:
            try:
                conn, _ = listener.accept()
            except OSError:
                return
            accepted.append(conn)
            number = len(accepted)
            threading.Thread(target=answer, args=(conn, number), daemon=True).start()

    def answer(conn, number):
        while conn.recv(100):
            conn.sendall(f"connection {number}\n".encode())

    threading.Thread(target=serve, daemon=True).start()
    godwit.php("workers 1..1;")
    said = {godwit.get(f"/p.php?to={path}").text for _ in range(5)}
    listener.shutdown(socket.SHUT_RDWR)
    listener.close()
    assert len(said) == 1 and said.pop().endswith(" connection 1\n")
    assert len(accepted) == 1


def test_a_persistent_pdo_connection_stays_open(godwit):
    godwit.file("p.php", PDO_SQLITE)
    godwit.php("workers 1..1;")
    said = [godwit.get(f"/p.php?file={godwit.data}/db").text.split() for _ in range(4)]
    assert [n for _, n in said] == ["1", "2", "3", "4"] and len({pid for pid, _ in said}) == 1, said


MYSQLI = """<?php
$db = new mysqli('p:localhost', $_GET['user'], '', 'x', 0, $_GET['to']);
echo getmypid(), ' ', $db->thread_id, ' ', $db->query('SELECT @left')->fetch_row()[0] ?? 'clean';
$db->query('SET @left = 1');
if (isset($_GET['dirty'])) { $db->begin_transaction(); $db->query('INSERT INTO t VALUES (1)'); }
"""
PDO_MYSQL = """<?php
$db = new PDO("mysql:unix_socket={$_GET['to']};dbname=x", $_GET['user'], '', [PDO::ATTR_PERSISTENT => true]);
echo getmypid(), ' ', $db->query('SELECT CONNECTION_ID()')->fetchColumn();
"""


# The database asks the system who is there.
USER = f"user {APP_USER};" if IS_ROOT else ""


@pytest.fixture(scope="module")
def database():
    instance = MariaDb()
    instance.sql(f"CREATE DATABASE x; CREATE TABLE x.t (n INT); CREATE USER {app_user()}@localhost IDENTIFIED VIA unix_socket; "
                 f"GRANT ALL ON x.* TO {app_user()}@localhost")
    yield instance
    instance.stop()


@pytest.mark.deep
def test_persistent_mysqli_connections(godwit, database):
    godwit.file("p.php", MYSQLI)
    godwit.php(f"{USER} workers 1..1;")
    target = f"/p.php?to={database.socket}&user={app_user()}"
    said = [godwit.get(target).text.split() for _ in range(5)]
    assert len({(pid, number) for pid, number, _ in said}) == 1, said
    assert {left for _, _, left in said} == {"clean"}, "what a request has set is gone in the next"
    godwit.get(target + "&dirty=1")
    godwit.get(target)
    assert database.sql("SELECT COUNT(*) FROM x.t") == "0", "an open transaction is rolled back"
    database.sql(f"KILL {said[0][1]}")
    again = godwit.get(target)
    assert again.status == 200 and again.text.split()[1] != said[0][1], "a broken connection is made anew"


@pytest.mark.deep
def test_persistent_pdo_mysql_connections(godwit, database):
    godwit.file("p.php", PDO_MYSQL)
    godwit.php(f"{USER} workers 1..1;")
    said = {godwit.get(f"/p.php?to={database.socket}&user={app_user()}").text for _ in range(5)}
    assert len(said) == 1 and re.fullmatch(r"\d+ \d+", said.pop())


@pytest.mark.deep
def test_connections_go_with_their_workers(godwit, database):
    """Workers that leave do not leave connections behind."""
    godwit.file("p.php", MYSQLI)
    godwit.php(f"{USER} workers 0..2; idle 200ms;")
    assert godwit.get(f"/p.php?to={database.socket}&user={app_user()}").text
    wait.until(lambda: database.sql(f"SELECT COUNT(*) FROM information_schema.processlist WHERE user = '{app_user()}'") == "0",
               20, "the connection to be closed")


# ---- Redis

class Redis:
    """A Redis (Debian's package) of the test's own, on a Unix socket only."""

    def __init__(self):
        self.base = Path(tempfile.mkdtemp(prefix="e2e-redis-"))
        self.base.chmod(0o755)
        self.socket = str(self.base / "s")
        with open(self.base / "log", "wb") as log:
            self.process = subprocess.Popen(
                ["/usr/bin/redis-server", "--port", "0", "--unixsocket", self.socket, "--unixsocketperm", "777", "--save", "",
                 "--dir", str(self.base)], stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)
        POPENS.add(self.process.pid)
        wait.until(lambda: os.path.exists(self.socket) and self.ask("PING") == "PONG", 20, "Redis")

    def ask(self, *words) -> str:
        return subprocess.run(["/usr/bin/redis-cli", "-s", self.socket, *words], capture_output=True, text=True,
                              timeout=20).stdout.strip()

    def stop(self) -> None:
        self.process.terminate()
        try:
            self.process.wait(20 * wait.SCALE)
        finally:
            shutil.rmtree(self.base, ignore_errors=True)


@pytest.fixture
def redis():
    instance = Redis()
    yield instance
    instance.stop()


@pytest.fixture
def in_redis(godwit, redis):
    return with_sessions(godwit, f"ini session.save_handler redis; ini session.save_path unix://{redis.socket}?persistent=1; "
                                 "ini redis.session.locking_enabled 1; ini redis.session.lock_retries -1;")


@pytest.mark.deep
def test_sessions_in_redis(in_redis, redis):
    counts_for_each_client(in_redis)
    assert "PHPREDIS_SESSION:" in redis.ask("KEYS", "*")


@pytest.mark.deep
def test_redis_sessions_are_locked(in_redis):
    waits_its_turn(in_redis)


@pytest.mark.deep
def test_redis_sessions_end(in_redis):
    can_be_renewed_and_destroyed(in_redis)


@pytest.mark.deep
def test_persistent_redis_connections(in_redis, redis):
    """Not one for each request."""
    before = int(re.search(r"total_connections_received:(\d+)", redis.ask("INFO", "stats")).group(1))
    for _ in range(20):
        in_redis.get("/n.php")
    after = int(re.search(r"total_connections_received:(\d+)", redis.ask("INFO", "stats")).group(1))
    # Two are redis-cli's own, of before and after; at most four are of the workers.
    assert after - before <= 5
