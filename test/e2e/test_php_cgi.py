# SPDX-License-Identifier: Apache-2.0
"""PHP by php-cgi, the last choice: each worker stands before a FastCGI process of its own."""
import json
import os
import re
import signal
from pathlib import Path

import pytest

from support import proc, wait
from support.any_php import dies_behind_a_child
from support.http import Closed, multipart
from support.load import Load

PROGRAM = Path("/usr/bin/php-cgi")
VERSION = "7.8"  # a name only: nothing else has it


@pytest.fixture
def cgi(godwit):
    path = godwit.base / "php" / f"php-cgi{VERSION}"
    path.parent.mkdir()
    path.symlink_to(PROGRAM)
    godwit.file("pid.php", "<?php echo getmypid();")

    def start(app: str = "workers 0..2;"):
        return godwit.php(f"version {VERSION}; {app}", top="php_search %(base)s/php;")
    return start


def pid_of(godwit) -> int:
    return int(godwit.get("/pid.php").text)


def has_gone(pid: int) -> bool:
    now = proc.look(pid)
    return now is None or now.is_zombie


def test_requests(cgi, godwit):
    godwit.file("all.php", """<?php
        header('X-Api: ' . PHP_SAPI); setcookie('one', '1'); setcookie('two', '2');
        $file = $_FILES['f'] ?? null;
        echo json_encode([$_SERVER['REQUEST_METHOD'], $_SERVER['PATH_INFO'] ?? '', $_SERVER['SCRIPT_NAME'], $_GET, $_POST,
            $file ? [$file['name'], $file['size'], md5_file($file['tmp_name'])] : null, $_SERVER['HTTP_X_OWN'] ?? '',
            ini_get('precision'), getenv('STAGE'), strlen(file_get_contents('php://input'))]);""")
    godwit.file("long.php", "<?php for ($i = 0; $i < 3000; $i++) echo str_repeat('x', 1000);")
    godwit.file("gone.php", "<?php error_log('a word for the log'); header('HTTP/1.1 404 Not Here'); echo 'gone';")
    godwit.file("version.php", "<?php echo json_encode(PHP_VERSION);")
    godwit.file("early.php", "<?php echo str_repeat('y', 300000); flush(); echo strlen(file_get_contents('php://input'));")
    cgi("ini precision 9; env STAGE test;")
    with godwit.connect(30) as c:
        first = c.get("/all.php/more?a=1", {"X-Own": "yes"})
        assert first.header("X-Api") == "cgi-fcgi" and len(first.all("Set-Cookie")) == 2
        assert first.text == '["GET","\\/more","\\/all.php",{"a":"1"},[],null,"yes","9","test",0]'
        headers, body = multipart({"k": "v"}, {"f": ("name.bin", "a/b", b"\0\1" * 300_000)})
        assert '{"k":"v"},["name.bin",600000,' in c.request("POST", "/all.php", headers, body).text
        assert len(c.get("/long.php").body) == 3_000_000
        assert c.request("POST", "/early.php", {"Content-Type": "a/b"}, b"z" * 2_000_000).text.endswith("y2000000")
        gone = c.get("/gone.php")
        assert (gone.status, gone.text) == (404, "gone")
        assert c.request("HEAD", "/long.php").status == 200
        assert int(c.get("/pid.php").text) > 0
    godwit.stderr.wait("a word for the log")
    app = godwit.app()
    assert app["runtime"] == f"php-cgi{VERSION}" and app["program"].endswith(f"/php/php-cgi{VERSION}")
    assert app["version"] == json.loads(godwit.get("/version.php").text)


def test_streaming(cgi, godwit):
    """What a script flushes arrives while it runs on."""
    godwit.file("slow.php", f"""<?php echo "first\\n"; flush();
        while (!file_exists('{godwit.data}/open')) {{ usleep(5000); clearstatcache(); }} echo "last\\n";""")
    cgi("ini output_buffering 0;")
    with godwit.connect(30) as c:
        c.send(b"GET /slow.php HTTP/1.1\r\nHost: x\r\n\r\n")
        answer = c.head()
        assert answer.status == 200 and c.chunk() == b"first\n"
        (godwit.data / "open").touch()
        assert c.chunk() == b"last\n"


def test_killed(cgi, godwit):
    """php-cgi dies: busy, it costs its request; idle, nothing. The worker goes with it."""
    godwit.file("die.php", "<?php posix_kill(getmypid(), 9);")
    godwit.file("part.php", "<?php echo str_repeat('p', 100000); flush(); posix_kill(getmypid(), 9);")
    cgi("workers 1..1; ini output_buffering 0;")
    assert godwit.get("/die.php").status == 502
    godwit.stderr.wait("broke off in the middle of an answer: killed by SIGKILL")
    with pytest.raises(Closed):
        godwit.get("/part.php")
    pid = pid_of(godwit)
    worker = godwit.app()["workers"][0]["pid"]
    os.kill(pid, signal.SIGKILL)
    wait.until(lambda: has_gone(worker), 10, "the worker's end")
    assert pid_of(godwit) != pid
    with Load(godwit.address, "/pid.php", 2) as load:
        load.wait_done(50)
    assert not load.failures


@pytest.mark.parametrize("code, how", [
    ("posix_kill(getmypid(), SIGSEGV);", r"killed by SIGSEGV( \(core dumped\))?"), ("pcntl_exec('/bin/sh', ['-c', 'exit 3']);", "exited with 3")])
def test_the_log_tells_how_it_ended(cgi, godwit, code, how):
    """It, and not the process before it."""
    godwit.file("die.php", f"<?php {code}")
    cgi("workers 1..1;")
    pid_of(godwit)
    worker = godwit.app()["workers"][0]["pid"]
    assert godwit.get("/die.php").status == 502
    godwit.stderr.wait(rf"app\.output \[req \w+\] .*php-cgi{VERSION}, process \d+: it broke off .*: {how}")
    godwit.stderr.wait(rf"worker\.died \[app _\] worker {worker} {how}, unasked")
    pid = pid_of(godwit)
    worker = godwit.app()["workers"][0]["pid"]
    os.kill(pid, signal.SIGABRT)
    for line in (rf"process {pid}, its program, killed by SIGABRT", rf"worker\.died \[app _\] worker {worker} killed by SIGABRT"):
        wait.until(lambda: re.search(line, godwit.stderr.text()), 10, lambda: f"/{line}/ in {godwit.stderr.text()[-2000:]}")


def test_killed_behind_a_child(cgi, godwit):
    cgi("workers 1..1; request_time 300s; ini output_buffering 0;")
    dies_behind_a_child(godwit, "[4-9]", "broke off in the middle of an answer: killed by SIGKILL")


def test_request_time(cgi, godwit):
    godwit.file("stuck.php", f"<?php file_put_contents('{godwit.data}/pid', getmypid()); while (true) usleep(1000);")
    cgi("request_time 1s;")
    assert godwit.get("/stuck.php").status == 504
    pid = int((godwit.data / "pid").read_text())
    wait.until(lambda: has_gone(pid), 10, "php-cgi is killed with its worker")
    assert pid_of(godwit) > 0


def test_client_that_leaves(cgi, godwit):
    """The script ends at its next output, or goes on if it wants to."""
    godwit.file("on.php", f"""<?php ignore_user_abort(isset($_GET['on'])); echo 'x'; flush();
        touch('{godwit.data}/began'); while (!file_exists('{godwit.data}/open')) {{ usleep(5000); clearstatcache(); }}
        for ($i = 0; $i < 50; $i++) {{ echo str_repeat('y', 10000); flush(); }} touch('{godwit.data}/done');""")
    cgi("workers 1..1; ini output_buffering 0;")
    for query, is_done in (("", False), ("?on", True)):
        for name in ("began", "open", "done"):
            (godwit.data / name).unlink(missing_ok=True)
        with godwit.connect() as c:
            c.send(f"GET /on.php{query} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
            wait.until((godwit.data / "began").exists, 10, "the script runs")
        wait.until(lambda: "running" not in [w["state"] for w in godwit.app()["workers"]], 10, "it is seen that nobody waits")
        (godwit.data / "open").touch()
        assert pid_of(godwit) > 0
        if is_done:
            wait.until((godwit.data / "done").exists, 10, "the script went on")
        else:
            assert not (godwit.data / "done").exists()


def test_every_character_in_settings(cgi, godwit):
    cgi("workers 1..1; " + godwit.odd_settings())
    assert godwit.get("/odd.php").text == godwit.ODD % godwit.www


def test_choice(godwit):
    """php-cgi comes last; what it cannot keep is refused."""
    config = "listen 127.0.0.1:%(port)d;\nphp_search %(base)s/php;\nsite _ {{ root %(www)s; app php {{ version {}; {} }} }}\n"
    godwit.file(godwit.base / "php" / "php-cgi7.8", "#!/bin/sh\n", 0o755)
    godwit.config(config.format("7.8", ""))
    assert f"runs {godwit.base}/php/php-cgi7.8\n" in godwit.run("check", "-c", godwit.conf).stdout
    godwit.config(config.format("7.8", "admin_ini open_basedir /srv;"))
    refused = godwit.run("check", "-c", godwit.conf, check=False)
    assert refused.returncode == 1 and "admin_ini cannot be kept by" in refused.stderr
    godwit.file(godwit.base / "php" / "lsphp7.8", "#!/bin/sh\n", 0o755)
    godwit.config(config.format("7.8", ""))
    assert f"runs {godwit.base}/php/lsphp7.8\n" in godwit.run("check", "-c", godwit.conf).stdout


def test_no_fastcgi(godwit):
    """A program that is something else is told apart when it starts."""
    path = godwit.file(godwit.base / "php-cgi-no", "#!/bin/sh\nexit 3\n", 0o755)
    godwit.file("pid.php", "<?php")
    godwit.php(f"command {path};")
    with godwit.connect(30) as c:
        assert c.get("/pid.php").status == 503
    godwit.stderr.wait("does not answer FastCGI")
