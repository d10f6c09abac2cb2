# SPDX-License-Identifier: Apache-2.0
"""PHP by the stock lsphp, which forks its workers by itself, and the choice among several PHPs. A stand-in takes the
place of lsphp (support/lsphp_standin.py); LSPHP in the environment names a real one
for the same tests."""
import os
import re
import signal
import sys
from pathlib import Path

import pytest

from support import proc, wait
from support.any_php import dies_behind_a_child
from support.http import multipart
from support.load import Load
from support.server import GODWIT, IS_ROOT

REAL = os.environ.get("LSPHP")
VERSION = "7.9"  # a name only: no godwit-php has it
STANDIN = Path(__file__).with_name("support") / "lsphp_standin.py"
GODWIT_PHP = GODWIT.parent / "runtime" / "php" / "godwit-php"
PID = "<?php echo getmypid();"


def install(godwit, version: str = VERSION) -> Path:
    """Puts an lsphp of that version where php_search finds it."""
    command = [REAL] if REAL else [sys.executable, str(STANDIN), version, str(GODWIT_PHP)]
    if REAL:
        path = godwit.base / "php" / f"lsphp{version}"
        path.parent.mkdir(exist_ok=True)
        path.symlink_to(REAL)
        return path
    return godwit.file(godwit.base / "php" / f"lsphp{version}", f'#!/bin/sh\nexec {" ".join(command)} "$@"\n', 0o755)


@pytest.fixture
def lsphp(godwit):
    """Starts a site whose PHP is an lsphp: call it with directives of the app."""
    install(godwit)
    godwit.file("pid.php", PID)

    def start(app: str = "workers 0..4;", **more):
        return godwit.php(f"version {VERSION}; {app}", top="php_search %(base)s/php;", **more)
    return start


def pid_of(godwit) -> int:
    return int(godwit.get("/pid.php").text)


def program_of(godwit) -> proc.Process:
    """The lsphp that forks the others."""
    spawner = godwit.one("spawner")
    return next(p for p in godwit.processes() if p.ppid == spawner.pid)


def has_gone(pid: int) -> bool:
    now = proc.look(pid)
    return now is None or now.is_zombie


def slow(godwit) -> None:
    """A script that runs until the file `open` is there, and has left the file `began`."""
    godwit.file("slow.php", f"""<?php echo getmypid(); touch('{godwit.data}/began');
        while (!file_exists('{godwit.data}/open')) {{ usleep(5000); clearstatcache(); }}""")


def test_requests(lsphp, godwit):
    """Variables, a form, an upload, a session, a long answer, the log: as with our own."""
    godwit.file("all.php", """<?php
        session_save_path('%s'); session_start(); $_SESSION['n'] = ($_SESSION['n'] ?? 0) + 1;
        header('X-Api: ' . PHP_SAPI); setcookie('one', '1'); setcookie('two', '2');
        $file = $_FILES['f'] ?? null;
        echo json_encode([$_SERVER['REQUEST_METHOD'], $_SERVER['PATH_INFO'] ?? '', $_GET, $_POST, $_SESSION['n'],
            $file ? [$file['name'], $file['size'], md5_file($file['tmp_name'])] : null,
            getenv('STAGE'), $_SERVER['LSAPI_KEEP_LISTEN'] ?? getenv('LSAPI_KEEP_LISTEN')]);""" % godwit.data)
    godwit.file("long.php", "<?php for ($i = 0; $i < 3000; $i++) echo str_repeat('x', 1000);")
    godwit.file("log.php", "<?php error_log('a word for the log'); header('HTTP/1.1 404 Not Here'); echo 'gone';")
    lsphp("env STAGE test;")
    with godwit.connect(30) as c:
        first = c.get("/all.php/more?a=1")
        assert first.header("X-Api") == "litespeed" and len(first.all("Set-Cookie")) == 3
        assert first.text == '["GET","\\/more",{"a":"1"},[],1,null,"test",false]'
        cookie = first.all("Set-Cookie")[0].split(";")[0]
        headers, body = multipart({"k": "v"}, {"f": ("name.bin", "a/b", b"\0\1" * 300_000)})
        second = c.request("POST", "/all.php", {**headers, "Cookie": cookie}, body)
        assert second.text.startswith('["POST","",[],{"k":"v"},2,["name.bin",600000,'), second.text
        assert len(c.get("/long.php").body) == 3_000_000
        third = c.request("POST", "/all.php", {"Content-Type": "application/x-www-form-urlencoded"}, b"p=" + b"q" * 20000)
        assert '"p":"' + "q" * 20000 + '"' in third.text
        gone = c.get("/log.php")
        assert gone.status == 404 and gone.text == "gone"
    godwit.stderr.wait("a word for the log")


def test_settings(lsphp, godwit):
    """ini also reaches what only a start can set; admin_ini holds against scripts; .user.ini is read."""
    godwit.file("ini.php", """<?php ini_set('precision', '3'); ini_set('date.timezone', 'Europe/Paris');
        echo json_encode([ini_get('precision'), ini_get('disable_functions'), ini_get('date.timezone'),
                          ini_get('arg_separator.output')]);""")
    godwit.file(".user.ini", "arg_separator.output = ';'\n")
    lsphp("ini precision 9; ini disable_functions 'exec,system'; admin_ini date.timezone Asia/Tokyo;")
    assert godwit.get("/ini.php").text == '["3","exec,system","Asia\\/Tokyo",";"]'
    assert not [name for name in os.listdir("/dev/shm") if re.match(r"godwit-\w{6}$", name) and
                os.stat(f"/dev/shm/{name}").st_ctime > godwit.conf.stat().st_ctime], "the private directory has gone"


@pytest.mark.parametrize("directive", ["ini", "admin_ini"])
def test_every_character_in_settings(lsphp, godwit, directive):
    lsphp("workers 0..1; " + godwit.odd_settings(directive))
    assert godwit.get("/odd.php").text == godwit.ODD % godwit.www


def test_environment(lsphp, godwit):
    """What makes lsphp fork one process a connection, and leave everything else to us."""
    lsphp("workers 0..5; env LSAPI_MAX_IDLE 4000;")
    pid_of(godwit)
    text = Path(f"/proc/{program_of(godwit).pid}/environ").read_bytes().decode().split("\0")
    told = dict(entry.split("=", 1) for entry in text if "=" in entry)
    assert told["LSAPI_TITLE_ROOM"] and int(told["PHP_LSAPI_CHILDREN"]) >= 10
    assert told["LSAPI_MAX_IDLE_CHILDREN"] == told["PHP_LSAPI_CHILDREN"] and told["LSAPI_EXTRA_CHILDREN"] == "0"
    assert (told["LSAPI_KEEP_LISTEN"], told["LSAPI_ACCEPT_NOTIFY"], told["LSAPI_PPID_NO_CHECK"]) == ("0", "1", "1")
    assert told["LSAPI_MAX_IDLE"] == "4000", "the operator's word stands"
    assert not [name for name in told if name.startswith("GODWIT_")]


def test_what_is_shown(lsphp, godwit):
    lsphp()
    pid = pid_of(godwit)
    app = godwit.app()
    assert app["runtime"] == f"lsphp{VERSION}" and app["program"] == str(godwit.base / "php" / f"lsphp{VERSION}")
    assert re.match(r"\d+\.\d+\.\d+", app["version"]), app["version"]
    assert [w["pid"] for w in app["workers"]] == [pid], "the process that serves is shown"
    assert godwit.app()["workers"][0]["memory_kib"] > 0
    godwit.stderr.wait(rf"app\.loaded .*lsphp{re.escape(VERSION)} is loaded")
    if IS_ROOT:
        assert proc.look(pid).uid == os.stat(f"/proc/{program_of(godwit).pid}").st_uid != 0
    assert f'runs {godwit.base}/php/lsphp{VERSION}' in godwit.run("check", "-c", godwit.conf).stdout


def test_scaling_and_idle(lsphp, godwit):
    """As many as are needed, up to the limit; idle ones leave, and with the last one the whole program."""
    slow(godwit)
    lsphp("workers 0..3; idle 1s;")
    connections = [godwit.connect(60) for _ in range(5)]
    for c in connections:
        c.send(b"GET /slow.php HTTP/1.1\r\nHost: x\r\n\r\n")
    wait.until(lambda: [w["state"] for w in godwit.app()["workers"]] == ["running"] * 3, 20, "three workers run")
    assert godwit.app()["queue"]["waiting"] == 2
    (godwit.data / "open").touch()
    assert len({c.read().text for c in connections}) == 3
    for c in connections:
        c.close()
    wait.until(lambda: not godwit.processes("spawner") and not godwit.app()["workers"], 20, "all have left")
    wait.until(lambda: {p.role for p in godwit.processes()} == {"keeper", "server"}, 10,
               lambda: f"nothing is left: {[p.command for p in godwit.processes()]}")
    assert "worker.died" not in godwit.stderr.text() and "app.failed" not in godwit.stderr.text()
    assert pid_of(godwit) > 0


def test_killed_behind_a_child(lsphp, godwit):
    lsphp("workers 0..2; request_time 300s; env STANDIN_INHERITS 1;")
    dies_behind_a_child(godwit, "*", r"backend\.worker_died \[req \w+\] .*in the middle of the request")


def test_killed_worker(lsphp, godwit):
    """kill -9 of the process that serves costs the request that it has, and no other."""
    slow(godwit)
    lsphp("workers 0..2;")
    with godwit.connect(30) as c:
        c.send(b"GET /slow.php HTTP/1.1\r\nHost: x\r\n\r\n")
        wait.until((godwit.data / "began").exists, 20, "the script runs")
        pid = next(w["pid"] for w in godwit.app()["workers"] if w["state"] == "running")
        os.kill(pid, signal.SIGKILL)
        assert c.read().status == 502
    assert pid_of(godwit) != pid
    idle = pid_of(godwit)
    os.kill(idle, signal.SIGKILL)
    wait.until(lambda: idle not in [w["pid"] for w in godwit.app()["workers"]], 10, "its end is seen")
    assert pid_of(godwit) != idle
    # How it ended, not how the process that stands for it did. Once lsphp has collected it, newer kernels still tell.
    how = "killed by SIGKILL, unasked"
    if tuple(int(n) for n in re.findall(r"\d+", os.uname().release)[:2]) < (6, 15):
        how = f"(?:{how}|has ended, unasked, it is not known how)"
    for killed in pid, idle:
        godwit.stderr.wait(rf"worker\.died \[app _\] worker {killed} {how}")


def test_worker_that_closes_and_lives(lsphp, godwit):
    """It is ended, and not only the process that stands for it."""
    godwit.file("close.php", "<?php pcntl_exec('/bin/sleep', ['1000']);")
    lsphp("workers 1..1; request_time 300s;")
    pid = pid_of(godwit)
    assert godwit.get("/close.php").status == 502
    assert pid_of(godwit) != pid
    assert has_gone(pid)
    godwit.stderr.wait(rf"backend\.worker_died \[req \w+\] site _, app _, worker {pid}: Worker {pid} of app \"_\" closed its ")
    godwit.stderr.wait(rf"worker\.closed \[app _\] worker {pid} has closed .*SIGTERM is sent")
    assert " worker.died" not in godwit.stderr.text()


def test_killed_program(lsphp, godwit):
    """kill -9 of lsphp's parent process: what runs goes on, another one is started when a worker is needed."""
    slow(godwit)
    lsphp("workers 0..2;")
    with godwit.connect(30) as c:
        c.send(b"GET /slow.php HTTP/1.1\r\nHost: x\r\n\r\n")
        wait.until((godwit.data / "began").exists, 20, "the script runs")
        spawner = godwit.one("spawner").pid
        os.kill(program_of(godwit).pid, signal.SIGKILL)
        wait.until(lambda: proc.look(spawner) is None, 10, "the spawner leaves")
        godwit.stderr.wait(r"lsphp\S* killed by SIGKILL")
        assert pid_of(godwit) > 0
        (godwit.data / "open").touch()
        assert c.read().status == 200


def test_killed_spawner(lsphp, godwit):
    """kill -9 of our process that started it: lsphp ends with it, its busy process answers."""
    slow(godwit)
    lsphp("workers 0..2;")
    with godwit.connect(30) as c:
        c.send(b"GET /slow.php HTTP/1.1\r\nHost: x\r\n\r\n")
        wait.until((godwit.data / "began").exists, 20, "the script runs")
        program = program_of(godwit).pid
        os.kill(godwit.one("spawner").pid, signal.SIGKILL)
        wait.until(lambda: has_gone(program), 10, "lsphp's parent process ends")
        assert pid_of(godwit) > 0
        (godwit.data / "open").touch()
        assert c.read().status == 200


def test_killed_minder(lsphp, godwit):
    """The process that stands for a worker dies: the worker goes with it, and is replaced."""
    lsphp("workers 0..2;")
    pid = pid_of(godwit)
    minder = next(p for p in godwit.processes() if "(minder)" in p.command)
    os.kill(minder.pid, signal.SIGKILL)
    wait.until(lambda: has_gone(pid), 10, "the process that served ends, too")
    assert pid_of(godwit) != pid


def test_request_time(lsphp, godwit):
    """A stuck script is killed, with what it has started."""
    godwit.file("stuck.php", f"""<?php file_put_contents('{godwit.data}/pid', getmypid());
        exec("sh -c 'echo \\$\\$ > {godwit.data}/child; exec sleep 600'");""")
    lsphp("workers 0..2; request_time 1500ms;")
    pid_of(godwit)
    assert godwit.get("/stuck.php").status == 504
    for name in ("pid", "child"):
        pid = int((godwit.data / name).read_text())
        wait.until(lambda: has_gone(pid), 10, f"the end of {name}")
    assert pid_of(godwit) > 0


def test_after_the_answer(lsphp, godwit):
    """litespeed_finish_request: answered at once, shown as detached, and it ends its work."""
    godwit.file("after.php", f"""<?php echo getmypid(); litespeed_finish_request(); error_log('said later');
        while (!file_exists('{godwit.data}/open')) {{ usleep(5000); clearstatcache(); }}
        touch('{godwit.data}/done');""")
    lsphp("workers 0..2;")
    pid = int(godwit.get("/after.php").text)
    wait.until(lambda: "detached" in [w["state"] for w in godwit.app()["workers"]], 10, "a detached worker")
    assert pid_of(godwit) != pid
    (godwit.data / "open").touch()
    wait.until((godwit.data / "done").exists, 10, "the rest of the script")
    # Its processes have one standard error; the stand-in marks its lines.
    who = r"\[app _\] process \d+" if REAL else rf"\[req \w+\] site _, .* worker {pid}"
    godwit.stderr.wait(rf"app\.output {who} says: .*said later")


def test_silent_exits(lsphp, godwit):
    """What lsphp's own limits end leaves without a word: no request is lost, and nobody is alarmed."""
    lsphp("workers 0..2; env PHP_LSAPI_MAX_REQUESTS 3; env LSAPI_MAX_IDLE 1; env LSAPI_ACCEPT_NOTIFY 0;")
    pids = [pid_of(godwit) for _ in range(12)]
    assert len(set(pids)) > 1
    last = pid_of(godwit)
    wait.until(lambda: has_gone(last), 10, "it leaves when it was idle")
    assert pid_of(godwit) != last


def test_recycling(lsphp, godwit):
    lsphp("workers 0..2; requests 5;")
    seen = set()

    def note(answer) -> str:
        seen.add(answer.text)
        return "" if answer.status == 200 else f"status {answer.status}"

    with Load(godwit.address, "/pid.php", 4, check=note) as load:
        wait.until(lambda: len(seen) > 4, 60, lambda: f"five workers, one after another; {seen}")
    assert not load.failures, load.failures[:3]


def test_reload(lsphp, godwit):
    """A changed app gets new workers before the old ones go; nothing is dropped."""
    godwit.file("stage.php", "<?php echo getenv('STAGE');")
    lsphp("workers 1..2; env STAGE one;")
    assert godwit.get("/stage.php").text == "one"
    with Load(godwit.address, "/stage.php", 4) as load:
        load.wait_done(20, 30)
        godwit.conf.write_text(godwit.conf.read_text().replace("STAGE one", "STAGE two"))
        godwit.reload()
        wait.until(lambda: godwit.get("/stage.php").text == "two", 20, "new workers")
    assert not load.failures, load.failures[:3]
    wait.until(lambda: len(godwit.processes("spawner")) == 1, 10, "the old program has left")


def test_failed_reload_keeps_workers(lsphp, godwit):
    """A program that does not start: the old processes serve on without their parent."""
    lsphp("workers 1..1;")
    pid = pid_of(godwit)
    broken = godwit.file(godwit.base / "php" / "lsphp7.0", "#!/bin/sh\nexit 3\n", 0o755)
    godwit.conf.write_text(godwit.conf.read_text().replace(f"version {VERSION};", "version 7.0;"))
    godwit.reload()
    godwit.stderr.wait(r"app\.failed|backend\.no_worker")
    assert pid_of(godwit) == pid, broken


@pytest.mark.deep
def test_dead_keeper(lsphp, godwit):
    """Everything ends with the keeper, also a script that would run for ever."""
    slow(godwit)
    lsphp("workers 0..2;")
    c = godwit.connect(30)
    c.send(b"GET /slow.php HTTP/1.1\r\nHost: x\r\n\r\n")
    wait.until((godwit.data / "began").exists, 20, "the script runs")
    before = godwit.processes()
    godwit.expect_failure = True
    os.kill(godwit.pid, signal.SIGKILL)
    wait.until(lambda: not [p for p in before if proc.is_alive(p)], 15,
               lambda: f"all are gone: {[p.command for p in before if proc.is_alive(p)]}")
    c.close()


def test_dead_server(lsphp, godwit):
    lsphp("workers 0..2;")
    pid = pid_of(godwit)
    os.kill(godwit.one("server").pid, signal.SIGKILL)
    wait.until(lambda: has_gone(pid), 10, "the worker leaves with its connection")
    assert pid_of(godwit) != pid


def test_no_program_for_lsapi(godwit):
    """A program that serves something else is told apart."""
    godwit.file("pid.php", PID)
    path = godwit.file(godwit.base / "lsphp-no", f"""#!{sys.executable}
import socket
s, _ = socket.socket(fileno=0).accept()
s.sendall(b"220 mail.example ESMTP")
s.recv(1)
""", 0o755)
    godwit.php(f"command {path};")
    with godwit.connect(60) as c:
        assert c.get("/pid.php").status == 503
    godwit.stderr.wait("does not say the number of a process that it has forked")


# ---- which PHP

def test_two_versions(godwit):
    """Two sites with two versions at once."""
    install(godwit)
    godwit.file("api.php", "<?php echo PHP_VERSION;")
    godwit.config(f"""listen 127.0.0.1:%(port)d;
        php_search %(base)s/php;
        site new.example {{ root %(www)s; app php {{ version {VERSION}; }} }}
        site usual.example {{ root %(www)s; app php {{ }} }}
    """)
    godwit.start()
    assert godwit.get("/api.php", host="new.example").status == 200
    assert godwit.get("/api.php", host="usual.example").status == 200
    runtimes = {app["name"]: app["runtime"] for app in godwit.apps()}
    assert runtimes == {"new.example": f"lsphp{VERSION}", "usual.example": "godwit-php"}


def test_own_version_is_preferred(godwit):
    """godwit-php of the version stands before an lsphp of it; without a version, before any."""
    install(godwit, "8.1")
    godwit.file(godwit.base / "php" / "godwit-php8.1", f'#!/bin/sh\nexec {GODWIT_PHP} "$@"\n', 0o755)
    godwit.file(godwit.base / "php" / "lsphp99", "#!/bin/sh\n", 0o755)
    check = "listen 127.0.0.1:%(port)d;\nphp_search %(base)s/php;\nsite _ {{ root %(www)s; app php {{ {} }} }}\n"
    godwit.config(check.format("version 8.1;"))
    assert f"runs {godwit.base}/php/godwit-php8.1\n" in godwit.run("check", "-c", godwit.conf).stdout
    godwit.config(check.format(""))
    assert f'runs {GODWIT_PHP}\n' in godwit.run("check", "-c", godwit.conf).stdout


def test_places(godwit):
    """The folders of LiteSpeed's packages; a missing version says what was looked for."""
    godwit.file(godwit.base / "php" / "lsphp74" / "bin" / "lsphp", "#!/bin/sh\n", 0o755)
    config = "listen 127.0.0.1:%(port)d;\nphp_search %(base)s/php;\nsite _ {{ root %(www)s; app php {{ version {}; }} }}\n"
    godwit.config(config.format("7.4"))
    assert f"runs {godwit.base}/php/lsphp74/bin/lsphp\n" in godwit.run("check", "-c", godwit.conf).stdout
    godwit.config(config.format("7.3"))
    refused = godwit.run("check", "-c", godwit.conf, check=False)
    assert refused.returncode == 1
    for place in ("needs PHP 7.3", f"{godwit.base}/php/godwit-php7.3", f"{godwit.base}/php/lsphp73/bin/lsphp",
                  "/usr/local/lsws/lsphp73/bin/lsphp", "lsphp7.3"):
        assert place in refused.stderr, refused.stderr


@pytest.mark.parametrize("app, said", [
    ("app php 8.2 { }", "a version is chosen inside: { version 8.2; }"),
    ("app php { version new; }", 'version is "new", one like 8.2 was expected'),
    ("app php { version 8.2; command /bin/true; }", "version is for app php without a command"),
    ("app lsapi { version 8.2; command /bin/true; }", "version is for app php without a command"),
])
def test_wrong_versions(godwit, app, said):
    godwit.config("listen 127.0.0.1:%%(port)d;\nsite _ { root %%(www)s; %s }\n" % app)
    refused = godwit.run("check", "-c", godwit.conf, check=False)
    assert refused.returncode == 1 and said in refused.stderr, refused.stderr
    relative = "php_search php;\nlisten 127.0.0.1:%(port)d;\nsite _ { root %(www)s; app php { } }\n"
    godwit.config(relative)
    assert "php_search" in godwit.run("check", "-c", godwit.conf, check=False).stderr


# ---- deploys

@pytest.mark.parametrize("kind", ["godwit-php", "lsphp"])
def test_swapped_release(godwit, kind):
    """A release is a directory, `current` a symbolic link to it: a swapped link serves new code with the next request,
    also what the script includes, and opcache does not stand in the way."""
    install(godwit)
    releases = godwit.base / "releases"
    for name in ("one", "two"):
        godwit.file(releases / name / "index.php",
                    "<?php require __DIR__ . '/part.php'; echo part(), ' ', basename($_SERVER['DOCUMENT_ROOT']), "
                    "' ', basename(__DIR__);")
        godwit.file(releases / name / "part.php", f"<?php function part() {{ return '{name}'; }}")
        for file in ("index.php", "part.php"):
            os.utime(releases / name / file, (1_600_000_000, 1_600_000_000))  # the same time: no hint for a cache
    current = godwit.base / "current"
    current.symlink_to(releases / "one")
    app = f"version {VERSION};" if kind == "lsphp" else ""
    godwit.config(f"""listen 127.0.0.1:%(port)d;
        php_search %(base)s/php;
        site _ {{ root %(base)s/current; app php {{ {app} workers 1..2; ini opcache.revalidate_freq 3600; }} }}
    """)
    godwit.start()
    for _ in range(3):
        assert godwit.get("/").text.startswith("one ")
    for name in ("two", "one", "two"):
        link = godwit.base / "next"
        link.symlink_to(releases / name)
        os.rename(link, current)  # as ln -sfn with mv -T does
        for _ in range(3):
            words = godwit.get("/").text.split()
            assert words[0] == words[2] == name, words
