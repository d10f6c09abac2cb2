# SPDX-License-Identifier: Apache-2.0
"""PHP's server interface in depth: what scripts may do while they run, where settings come from, what ends a request,
and that the next one sees nothing of it. Forms of header() are compared with Apache's in test_php_apache.py."""
import gzip
import json
import os
import re
import signal
import subprocess

import pytest

from support import wait
from support.http import format_request, multipart

HELLO = "<?php echo 'hello';"


@pytest.fixture
def site(godwit):
    godwit.file("hello.php", HELLO)
    return godwit.php("workers 1..1;")


# ---- output

def test_flush_is_seen_before_the_end(site):
    site.file("gate.php", f"""<?php
        ob_end_flush();
        echo "first"; flush();
        while (!file_exists('{site.data}/open')) {{ usleep(2000); clearstatcache(); }}
        echo "second";""")
    with site.connect() as c:
        c.send(format_request("GET", "/gate.php"))
        assert c.head().status == 200 and c.chunk() == b"first"
        (site.data / "open").touch()
        assert c.chunk() == b"second" and c.chunk() == b""


def test_implicit_flush(godwit):
    godwit.file("gate.php", f"""<?php echo "first";
        while (!file_exists('{godwit.data}/open')) {{ usleep(2000); clearstatcache(); }}""")
    godwit.php("workers 1..1; ini implicit_flush 1; ini output_buffering 0;")
    with godwit.connect() as c:
        c.send(format_request("GET", "/gate.php"))
        assert c.head().status == 200 and c.chunk() == b"first"
        (godwit.data / "open").touch()
        assert c.chunk() == b""


def test_compression_by_php(godwit):
    godwit.file("z.php", "<?php echo str_repeat('compress me ', 1000);")
    godwit.php("workers 1..1; ini zlib.output_compression 1;")
    packed = godwit.get("/z.php", {"Accept-Encoding": "gzip"})
    assert packed.header("Content-Encoding") == "gzip" and len(packed.body) < 1000
    assert gzip.decompress(packed.body) == b"compress me " * 1000
    plain = godwit.get("/z.php")
    assert plain.header("Content-Encoding") is None and plain.body == b"compress me " * 1000


# ---- what a script may do

def test_programs(site):
    site.file("exec.php", """<?php
        exec('echo a; exit 3', $lines, $status);
        $p = proc_open(['cat'], [['pipe', 'r'], ['pipe', 'w']], $pipes);
        fwrite($pipes[0], 'through a pipe'); fclose($pipes[0]);
        $text = stream_get_contents($pipes[1]); $end = proc_close($p);
        $h = popen('echo popen', 'r'); $said = trim(fgets($h)); $left = pclose($h);
        echo json_encode([$lines, $status, $text, $end, trim(shell_exec('echo shell')), $said, $left]);""")
    want = [["a"], 3, "through a pipe", 0, "shell", "popen", 0]
    with site.connect() as c:
        for _ in range(2):
            assert json.loads(c.get("/exec.php").text) == want


def test_programs_inherit_no_descriptors(site):
    site.file("fds.php", "<?php echo shell_exec('ls -l /proc/self/fd');")
    shown = site.get("/fds.php").text
    # PHP's own file of the script, when it was read just now, and the directory that ls lists.
    assert re.findall(r" (\d+) -> ", shown) in (["0", "1", "2", "3"], ["0", "1", "2", "3", "4"]), shown


def test_the_engine_is_php_cgi_s(site):
    """A library's engine would be dearer. What has us loaded into the program is not passed on."""
    site.file("host.php", "<?php echo json_encode([readlink('/proc/self/exe'), file_get_contents('/proc/self/maps'), "
              "getenv('LD_PRELOAD'), shell_exec('env'), PHP_BINARY, trim(file_get_contents('/proc/self/comm'))]);")
    program, maps, preload, environment, binary, name = json.loads(site.get("/host.php").text)
    assert re.fullmatch(r"/usr/bin/php-cgi\d\.\d", program)
    assert "godwit-php" in maps and "libphp" not in maps
    assert preload is False and "LD_PRELOAD" not in environment and "godwit-php8" not in environment
    assert (binary, name) == ("", "godwit-php")


def test_an_operator_s_preload_stays(godwit):
    library = godwit.data / "libmark.so"
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", library, "-x", "c", "-"], input="int mark(void) { return 1; }", text=True, check=True)
    godwit.file("preload.php", "<?php echo getenv('LD_PRELOAD'), ' ', shell_exec('cat /proc/self/maps');")
    godwit.php(f"workers 1..1; env LD_PRELOAD {library};")
    answer = godwit.get("/preload.php").text
    assert answer.startswith(f"{library} ") and "godwit-php" not in answer
    assert str(library) in answer.split(" ", 1)[1]


def test_system_calls(site):
    """What a request costs in calls of the kernel: one to take it and one to answer, none of the engine's own."""
    os.utime(site.www / "hello.php", (1e9, 1e9))  # opcache does not keep what has just changed
    assert site.get("/hello.php").text == "hello"
    pid = site.app()["workers"][0]["pid"]
    out = site.data / "calls"
    with subprocess.Popen(["strace", "-c", "-o", out, "-p", str(pid)], stderr=subprocess.PIPE, text=True) as tracer:
        assert "attached" in tracer.stderr.readline()
        with site.connect() as c:
            for _ in range(200):
                assert c.get("/hello.php").text == "hello"
        tracer.send_signal(signal.SIGINT)
        tracer.wait(10)
    calls = {line.split()[-1]: int(line.split()[3]) for line in out.read_text().splitlines() if re.match(r" *\d+\.", line)
             and not line.endswith("total")}
    often = {name for name, count in calls.items() if count > 100}
    assert often == {"recvfrom", "sendto"}, calls


def test_a_fatal_error_is_not_the_next_script_s(site):
    """A script that has gone when it ends has answered all the same, and a copy that exits without a word says 0."""
    (site.www).chmod(0o777)
    site.file("fatal.php", "<?php no_such_function();")
    site.file("goes.php", "<?php echo 'my answer'; unlink(__FILE__);")
    site.file("copy.php", "<?php $copy = pcntl_fork(); if (!$copy) exit; pcntl_waitpid($copy, $status); echo $status >> 8;")
    with site.connect() as c:
        assert c.get("/fatal.php").status == 500
        answer = c.get("/goes.php")
        assert (answer.status, answer.text) == (200, "my answer")
        assert c.get("/fatal.php").status == 500
        assert c.get("/copy.php").text == "0"


def test_fork(site):
    """A forked copy of a worker may compute; it answers nobody, and the worker goes on."""
    site.file("fork.php", f"""<?php
        echo 'parent';
        $pid = pcntl_fork();
        if ($pid == 0) {{
            echo 'child';
            flush();
            header('X-Child: 1');
            file_put_contents('{site.data}/child', connection_status() . getmypid());
            exit(7);
        }}
        pcntl_waitpid($pid, $status);
        $killed = pcntl_fork();
        if ($killed == 0) {{ while (true) usleep(1000); }}
        posix_kill($killed, SIGTERM);
        pcntl_waitpid($killed, $end);
        echo json_encode([pcntl_wexitstatus($status), pcntl_wtermsig($end)]);""")
    site.file("stays.php", f"""<?php
        if (pcntl_fork() == 0) {{
            while (!file_exists('{site.data}/open')) {{ usleep(2000); clearstatcache(); }}
            file_put_contents('{site.data}/stayed', 'x');
            return;
        }}
        echo 'parent';""")
    worker = site.get("/hello.php") and site.app()["workers"][0]["pid"]
    with site.connect() as c:
        answer = c.get("/fork.php")
        assert answer.text == "parent[7,15]" and answer.header("X-Child") is None
        assert c.get("/hello.php").text == "hello"
        assert (site.data / "child").read_text() not in ("", f"0{worker}")
        assert c.get("/stays.php").text == "parent"
        assert c.get("/hello.php").text == "hello"
    assert [w["pid"] for w in site.app()["workers"]] == [worker]
    assert site.app()["workers"][0]["requests"] == 5
    (site.data / "open").touch()
    wait.until((site.data / "stayed").exists, 10, "the copy goes on")


def test_headers_of_a_copy_are_not_missed(site):
    """The copy writes to nobody: its headers are not left out of an answer."""
    site.file("copy.php", """<?php header('X-Of: both'); $copy = pcntl_fork();
        if ($copy == 0) { echo 'copy'; exit; }
        pcntl_waitpid($copy, $status); error_log('waited'); echo 'first';""")
    answer = site.get("/copy.php")
    assert (answer.header("X-Of"), answer.text) == ("both", "first")
    site.stderr.wait("waited")
    assert "left out" not in site.stderr.text()


@pytest.mark.parametrize("script,left_out", [  # one more where expose_php is on
    ("for ($i = 0; $i < 3000; $i++) header(\"X-$i: $i\");", "200[23] of 300[23]"),
    ("for ($i = 0; $i < 99; $i++) header(\"X-$i: \" . str_repeat('x', 1000));", "3[67] of 10[12]"),
    ("header('X-0: ' . str_repeat('x', 32767));", "1 of [34]"),
])
def test_headers_beyond_the_limits(site, script, left_out):
    """One line in the log, and the client gets what matters."""
    site.file("many.php", f"<?php {script} header('Location: /there'); echo 'gone';")
    answer = site.get("/many.php")
    assert (answer.status, answer.header("Location"), answer.text) == (302, "/there", "gone")
    assert answer.header("Content-Type") == "text/html; charset=UTF-8"
    site.stderr.wait(rf"Too many or too large response headers: {left_out} left out \(at most 1000, 64000 bytes\), the first: X-\d+: ")
    site.get("/hello.php")
    assert len(re.findall("left out", site.stderr.text())) == 1


def test_dead_children_are_not_left_to_the_next_script(site):
    site.file("leaves.php", f"<?php if (pcntl_fork() == 0) {{ touch('{site.data}/ran'); exit(3); }}")
    site.file("waits.php", "<?php echo pcntl_waitpid(-1, $status, WNOHANG);")
    with site.connect() as c:
        c.get("/leaves.php")
        wait.until((site.data / "ran").exists, 10, "the child")
        wait.until(lambda: c.get("/waits.php").text == "-1", 10, "the child to be collected")
        c.get("/leaves.php")
        assert c.get("/hello.php").text == "hello"


def test_signals_of_a_script_end_with_it(site):
    site.file("set.php", "<?php pcntl_async_signals(true); pcntl_signal(SIGALRM, fn() => print 'late'); pcntl_signal(SIGTERM, SIG_IGN);"
                         " pcntl_sigprocmask(SIG_BLOCK, [SIGTERM, SIGUSR1]); pcntl_alarm(60); echo 'set';")
    site.file("look.php", "<?php pcntl_sigprocmask(SIG_BLOCK, [], $old); echo pcntl_alarm(0), json_encode([pcntl_async_signals(), $old]);")
    with site.connect() as c:
        assert c.get("/set.php").text == "set"
        assert c.get("/look.php").text == "0[false,[]]"
        assert c.get("/set.php").text == "set"
    worker = site.app()["workers"][0]["pid"]
    os.kill(worker, signal.SIGTERM)
    wait.until(lambda: worker not in [w["pid"] for w in site.app()["workers"]], 3, "the worker to hear its server")
    assert site.get("/hello.php").text == "hello"


# ---- clients that leave

@pytest.mark.parametrize("ignore,abort,reaches_end", [(False, "stop", False), (True, "stop", True), (False, "finish", True)])
def test_client_leaves(godwit, ignore, abort, reaches_end):
    godwit.file("a.php", f"""<?php
        ob_end_flush();
        ignore_user_abort({'true' if ignore else 'false'});
        register_shutdown_function(fn() => file_put_contents('{godwit.data}/end', connection_status() . ' ' . connection_aborted()));
        echo 'a'; flush();
        touch('{godwit.data}/begun');
        while (!file_exists('{godwit.data}/left')) {{ usleep(2000); clearstatcache(); }}
        for ($i = 0; $i < 50; $i++) {{ echo str_repeat('x', 10000); flush(); usleep(1000); }}
        touch('{godwit.data}/reached');""")
    godwit.file("hello.php", HELLO)
    godwit.php(f"workers 1..1; abort {abort};")
    c = godwit.connect()
    c.send(format_request("GET", "/a.php"))
    assert c.head().status == 200 and c.chunk() == b"a"
    c.leave()
    (godwit.data / "left").touch()
    end = wait.until(lambda: (godwit.data / "end").exists() and (godwit.data / "end").read_text(), 10, "the end of the script")
    assert (godwit.data / "reached").exists() == reaches_end
    assert end == ("0 0" if abort == "finish" else "1 1")
    assert godwit.get("/hello.php").text == "hello"


# ---- limits

def test_max_execution_time(godwit):
    godwit.file("loop.php", "<?php register_shutdown_function(fn() => print 'shut'); while (true) ;")
    godwit.file("caught.php", "<?php set_time_limit(1); function f() { for (;;) ; } f();")
    godwit.file("hello.php", HELLO)
    godwit.php("workers 1..1; ini max_execution_time 1; request_time 20s;")
    with godwit.connect(20) as c:
        answer = c.get("/loop.php")
        assert (answer.status, answer.text) == (500, "shut")
        assert c.get("/caught.php").status == 500
        assert c.get("/hello.php").text == "hello"
    godwit.stderr.wait(r"Maximum execution time of 1 second exceeded.*loop\.php")


def test_max_execution_time_of_a_copy(godwit):
    godwit.file("fork.php", """<?php $pid = pcntl_fork(); if ($pid == 0) while (true) ;
        pcntl_waitpid($pid, $status); echo pcntl_wifexited($status) ? pcntl_wexitstatus($status) : 'killed';""")
    godwit.php("workers 1..1; ini max_execution_time 1; request_time 20s;")
    for _ in range(2):  # the worker's own clock runs in the second
        assert godwit.get("/fork.php").text == "255"
    godwit.stderr.wait(r"Maximum execution time of 1 second exceeded.*fork\.php")


@pytest.mark.parametrize("function", ["proc_nice(5)", "pcntl_setpriority(5)"])
def test_nice_value_of_a_script_ends_with_it(godwit, function):
    godwit.file("nice.php", f"<?php {function}; echo pcntl_getpriority();")
    godwit.file("look.php", "<?php echo pcntl_getpriority();")
    godwit.php("workers 1..1;")
    before = godwit.get("/look.php").text
    for _ in range(3):
        assert godwit.get("/nice.php").text == str(int(before) + 5 if function.startswith("proc") else 5)
        assert godwit.get("/look.php").text == before


def test_request_time_ends_what_php_cannot(godwit):
    godwit.file("sleep.php", "<?php sleep(100);")
    godwit.file("hello.php", HELLO)
    godwit.php("workers 1..1; request_time 500ms;")
    assert godwit.get("/sleep.php").status == 504
    assert godwit.get("/hello.php").text == "hello"
    godwit.stderr.wait(r"sleep\.php|request_time")


def test_memory_limit(godwit):
    godwit.file("m.php", "<?php $s = ''; while (true) $s .= str_repeat('x', 100000);")
    godwit.file("s.php", "<?php register_shutdown_function(function () { echo error_get_last()['type']; }); $s = str_repeat('x', 1 << 26);")
    godwit.file("hello.php", HELLO)
    godwit.php("workers 1..1; ini memory_limit 8M;")
    with godwit.connect() as c:
        assert c.get("/m.php").status == 500
        answer = c.get("/s.php")
        assert (answer.status, answer.text) == (500, "1")
        assert c.get("/hello.php").text == "hello"
    godwit.stderr.wait(r"Allowed memory size of 8388608 bytes exhausted")


UPLOAD = """<?php
    $out = [];
    foreach ($_FILES as $name => $f) $out[$name] = [$f['error'], $f['size'], is_uploaded_file($f['tmp_name'])];
    echo json_encode([$out, $_POST]);"""


def files(count: int, size: int) -> tuple:
    return multipart({"note": "n"}, {f"f{i}": (f"{i}.bin", "a/b", b"x" * size) for i in range(count)})


def test_upload_limits(godwit):
    godwit.file("up.php", UPLOAD)
    godwit.php("workers 1..1; ini upload_max_filesize 1K; ini post_max_size 20K; ini max_file_uploads 3;", site="body_max 100k;")
    with godwit.connect() as c:
        def send(count, size):
            answer = c.request("POST", "/up.php", *files(count, size))
            return answer.status, json.loads(answer.text) if answer.status == 200 else None

        assert send(1, 100) == (200, [{"f0": [0, 100, True]}, {"note": "n"}])
        assert send(1, 2000) == (200, [{"f0": [1, 0, False]}, {"note": "n"}])  # UPLOAD_ERR_INI_SIZE
        assert sorted(send(5, 10)[1][0]) == ["f0", "f1", "f2"]
        godwit.stderr.wait(r"Maximum number of allowable file uploads has been exceeded")
        assert send(1, 30000) == (200, [[], []])
        godwit.stderr.wait(r"POST Content-Length of \d+ bytes exceeds the limit of 20480 bytes")
        assert send(1, 100) == (200, [{"f0": [0, 100, True]}, {"note": "n"}])
    assert godwit.request("POST", "/up.php", *files(1, 200000)).status == 413
    assert not list(godwit.base.glob("**/php*upload*"))


def test_form_limits(godwit):
    godwit.file("in.php", "<?php echo count($_POST), ' ', count($_GET);")
    godwit.php("workers 1..1; ini max_input_vars 10;")
    pairs = "&".join(f"a{i}=1" for i in range(50))
    answer = godwit.request("POST", f"/in.php?{pairs}", {"Content-Type": "application/x-www-form-urlencoded"}, pairs.encode())
    assert answer.text == "11 10", "PHP counts one more of a body"
    godwit.stderr.wait("Input variables exceeded 10")


def test_session_upload_progress_and_sessions(godwit):
    godwit.file("s.php", "<?php session_start(); $_SESSION['n'] = ($_SESSION['n'] ?? 0) + 1; echo $_SESSION['n'], ' ', session_module_name();")
    godwit.php(f"workers 2..2; ini session.save_path {godwit.data};")
    first = godwit.get("/s.php")
    cookie = {"Cookie": first.header("Set-Cookie").split(";")[0]}
    assert [godwit.get("/s.php", cookie).text for _ in range(4)] == [f"{n} files" for n in (2, 3, 4, 5)]
    assert [f.name[:5] for f in godwit.data.iterdir()] == ["sess_"]


# ---- settings

INI = "<?php echo json_encode(array_map(fn($n) => ini_get($n), explode(',', $_GET['n'])));"


def ini_of(godwit, path: str, *names: str) -> list:
    return json.loads(godwit.get(f"{path}?n={','.join(names)}").text)


def test_user_ini(godwit):
    for place in ("", "a/", "a/b/", "a/b/c/", "ab/"):
        godwit.file(f"{place}i.php", INI)
    godwit.file(".user.ini", "user_agent=top\nprecision=5\nmemory_limit=99M\n")
    godwit.file("a/b/.user.ini", "user_agent=below\ndisplay_errors=1\nallow_url_fopen=0\n")
    outside = godwit.base / "outside"
    godwit.file(str(outside / "x/i.php"), INI)
    godwit.file(str(outside / "x/.user.ini"), "user_agent=x\n")
    godwit.file(str(outside / ".user.ini"), "user_agent=above\n")
    godwit.config("listen 127.0.0.1:%(port)d;\nsite _ {\n root %(www)s;\n app php { workers 1..1; admin_ini memory_limit 64M; ini precision 7; }\n"
                  " path /x/ { root %(outside)s/x; }\n}\n", outside=outside)
    godwit.start()
    names = ("user_agent", "precision", "memory_limit", "display_errors")
    for path, want in (("/i.php", ["top", "5", "64M", ""]), ("/a/i.php", ["top", "5", "64M", ""]),
                       ("/a/b/i.php", ["below", "5", "64M", "1"]), ("/a/b/c/i.php", ["below", "5", "64M", "1"]),
                       ("/ab/i.php", ["top", "5", "64M", ""]), ("/x/i.php", ["x", "7", "64M", ""]), ("/i.php", ["top", "5", "64M", ""])):
        assert ini_of(godwit, path, *names) == want, path
    assert ini_of(godwit, "/a/b/i.php", "allow_url_fopen") == ["1"], "what only php.ini may set"
    assert godwit.get("/.user.ini").status in (403, 404)


def test_user_ini_limits_the_body(godwit):
    godwit.file("up/up.php", UPLOAD)
    godwit.file("up/.user.ini", "post_max_size=1K\n")
    godwit.php("workers 1..1;")
    answer = godwit.request("POST", "/up/up.php", {"Content-Type": "application/x-www-form-urlencoded"}, b"a=" + b"x" * 2000)
    assert json.loads(answer.text) == [[], []]
    godwit.stderr.wait("exceeds the limit of 1024 bytes")


def test_user_ini_is_kept_for_its_time(godwit):
    godwit.file("i.php", INI)
    godwit.file(".user.ini", "user_agent=one\n")
    godwit.file("n/i.php", INI)
    godwit.php("workers 1..1; ini user_ini.cache_ttl 3600;")
    assert ini_of(godwit, "/i.php", "user_agent") == ["one"]
    godwit.file(".user.ini", "user_agent=two\n")
    assert ini_of(godwit, "/i.php", "user_agent") == ["one"]
    assert ini_of(godwit, "/n/i.php", "user_agent") == ["two"], "another directory is read when it is first asked"


def test_user_ini_is_read_again(godwit):
    godwit.file("i.php", INI)
    godwit.file(".user.ini", "user_agent=one\n")
    godwit.php("workers 1..1; ini user_ini.cache_ttl 1;")
    assert ini_of(godwit, "/i.php", "user_agent") == ["one"]
    godwit.file(".user.ini", "user_agent=two\n")
    wait.until(lambda: ini_of(godwit, "/i.php", "user_agent") == ["two"], 10, "the new setting")
    (godwit.www / ".user.ini").unlink()
    wait.until(lambda: ini_of(godwit, "/i.php", "user_agent") == [""], 10, "the setting to go")


@pytest.mark.parametrize("name", ["", "mine.ini"])
def test_user_ini_file_name(godwit, name):
    godwit.file("i.php", INI)
    godwit.file(".user.ini", "user_agent=dot\n")
    godwit.file("mine.ini", "user_agent=mine\n")
    godwit.php(f'workers 1..1; ini user_ini.filename "{name}";')
    assert ini_of(godwit, "/i.php", "user_agent") == [name.split(".")[0]]


def test_broken_user_ini_is_told(godwit):
    godwit.file("hello.php", HELLO)
    godwit.file(".user.ini", "precision=5\nthis is (no ini\n")
    godwit.php("workers 1..1;")
    assert godwit.get("/hello.php").text == "hello"
    godwit.stderr.wait(r"syntax error.*\.user\.ini")


def test_prepended_and_appended_files(godwit):
    godwit.file("hello.php", HELLO)
    before = godwit.file("inc/before.php", "<?php echo 'before ';")
    after = godwit.file("inc/after.php", "<?php echo ' after';")
    godwit.php(f"workers 1..1; ini auto_prepend_file {before}; ini auto_append_file {after};")
    assert godwit.get("/hello.php").text == "before hello after"


def test_open_basedir(godwit):
    secret = godwit.file(str(godwit.base / "secret.txt"), "secret")
    godwit.file("r.php", f"<?php ini_set('open_basedir', '/'); echo @file_get_contents('{secret}'), @file_get_contents('ok.txt');")
    godwit.file("ok.txt", "fine")
    os.symlink(secret, godwit.www / "link.txt")
    godwit.file("l.php", "<?php echo @file_get_contents('link.txt'), 'end';")
    godwit.php(f"workers 1..1; admin_ini open_basedir {godwit.www};")
    assert godwit.get("/r.php").text == "fine"
    assert godwit.get("/l.php").text == "end"


def test_disabled_functions(godwit):
    godwit.file("d.php", "<?php echo json_encode([function_exists('exec'), function_exists('strlen')]);")
    godwit.php("workers 1..1; ini disable_functions exec,system;")
    assert json.loads(godwit.get("/d.php").text) == [False, True]


# ---- opcache

def test_preload(godwit):
    pre = godwit.file(str(godwit.base / "preload.php"), "<?php class Preloaded { const X = 'here'; } function preloaded() { return 1; }")
    godwit.file("p.php", "<?php echo json_encode([class_exists('Preloaded', false), function_exists('preloaded')]);")
    godwit.php(f"workers 2..2; ini opcache.preload {pre};")
    for _ in range(4):
        assert json.loads(godwit.get("/p.php").text) == [True, True]


def test_preload_that_fails_is_told(godwit):
    pre = godwit.file(str(godwit.base / "preload.php"), "<?php nothing_there();")
    godwit.file("hello.php", HELLO)
    godwit.php(f"workers 0..1; ini opcache.preload {pre}; start_time 5s; queue_time 3s;")
    assert godwit.get("/hello.php").status in (502, 503)
    godwit.stderr.wait("nothing_there")


def test_jit(godwit):
    godwit.file("j.php", """<?php
        function work($n) { $s = 0; for ($i = 0; $i < $n; $i++) { $s = ($s * 31 + $i) % 1000003; } return $s; }
        echo work(300000), ' ', json_encode(opcache_get_status(false)['jit']['on']);""")
    godwit.file("loop.php", "<?php function spin() { while (true) ; } spin();")
    godwit.php("workers 1..1; ini opcache.jit_buffer_size 32M; ini opcache.jit tracing; ini max_execution_time 1;")
    want = 0
    for i in range(300000):
        want = (want * 31 + i) % 1000003
    with godwit.connect(20) as c:
        for _ in range(3):
            assert c.get("/j.php").text == f"{want} true"
        assert c.get("/loop.php").status == 500
        assert c.get("/j.php").text == f"{want} true"


@pytest.fixture
def opcache(godwit):
    """Two workers, a script that stays until a file is there, and what opcache says of restarts."""
    godwit.file("hold.php", f"""<?php
        touch('{godwit.data}/held');
        while (!file_exists('{godwit.data}/open')) {{ usleep(2000); clearstatcache(); }}
        echo 'held';""")
    godwit.file("reset.php", "<?php echo json_encode(opcache_reset());")
    godwit.file("status.php", "<?php $s = opcache_get_status(false); echo json_encode([$s['restart_pending'], $s['opcache_statistics']['manual_restarts']]);")
    godwit.php("workers 2..2;")
    return godwit


def held(godwit):
    c = godwit.connect(30)
    c.send(format_request("GET", "/hold.php"))
    wait.until((godwit.data / "held").exists, 10, "the script to run")
    return c


def status_of(godwit) -> list:
    return json.loads(godwit.get("/status.php").text)


def test_opcache_is_not_emptied_under_a_running_script(opcache):
    assert status_of(opcache) == [False, 0]
    with held(opcache) as c:
        assert opcache.get("/reset.php").text == "true"
        for _ in range(5):
            assert status_of(opcache) == [True, 0]
        (opcache.data / "open").touch()
        assert c.read().text == "held"
    assert status_of(opcache) == [False, 1]
    assert opcache.get("/reset.php").text == "true"
    assert status_of(opcache) == [False, 2]


def test_killed_user_of_opcache_does_not_count(opcache):
    with held(opcache):
        worker = next(w["pid"] for w in opcache.app()["workers"] if "hold.php" in json.dumps(w))
        assert opcache.get("/reset.php").text == "true"
        assert status_of(opcache) == [True, 0]
        os.kill(worker, signal.SIGKILL)
        wait.until(lambda: status_of(opcache) == [False, 1], 10, "opcache to restart")
    assert opcache.get("/reset.php").text == "true"
    assert status_of(opcache) == [False, 2]


# ---- nothing stays

SET = """<?php
    putenv('TZ=Asia/Tokyo'); putenv('LEFT=1'); putenv('PATH=/nowhere'); chdir('/'); umask(0); setlocale(LC_ALL, 'C', 'POSIX');
    mb_internal_encoding('ISO-8859-1'); date_default_timezone_set('Asia/Tokyo'); ini_set('precision', '3');
    ini_set('include_path', '/x'); set_include_path('/y'); error_reporting(0); ini_set('error_log', '/dev/null'); assert_options(ASSERT_ACTIVE, 0);
    ini_set('session.name', 'X'); libxml_use_internal_errors(true); mt_srand(1); stream_wrapper_unregister('http');
    stream_filter_register('mine', 'php_user_filter'); spl_autoload_register(fn($c) => exit('autoload'));
    set_error_handler(fn() => exit('error')); set_exception_handler(fn() => exit('exception')); ob_start(); ignore_user_abort(true);
    set_time_limit(3); header('X-Left: 1'); http_response_code(404); gc_disable(); class Left {} function left() {} define('LEFT', 1);
    $GLOBALS['left'] = 1; $_SERVER['left'] = 1; register_shutdown_function(fn() => print 'shut'); apache_request_headers(); bcscale_if();
    function bcscale_if() { if (function_exists('bcscale')) bcscale(9); }
"""
LOOK = """<?php
    echo json_encode([getenv('LEFT'), getenv('PATH') == '/nowhere', getenv('TZ'), getcwd(), umask(), setlocale(LC_ALL, 0),
        mb_internal_encoding(), date_default_timezone_get(), ini_get('precision'), get_include_path(), error_reporting(), ini_get('error_log'),
        ini_get('session.name'), libxml_use_internal_errors(), in_array('http', stream_get_wrappers()), in_array('mine', stream_get_filters()),
        spl_autoload_functions(), set_error_handler(null), set_exception_handler(null), ob_get_level(), ignore_user_abort(), ini_get('max_execution_time'),
        headers_list(), http_response_code(), gc_enabled(), class_exists('Left'), function_exists('left'), defined('LEFT'), isset($GLOBALS['left']),
        isset($_SERVER['left']), connection_status(), localtime(0)[2]]);"""


def test_nothing_stays(site):
    site.file("set.php", SET)
    site.file("look.php", LOOK)
    with site.connect() as c:
        fresh = c.get("/look.php").text
        assert json.loads(fresh)[3] == str(site.www)
        for _ in range(3):
            answer = c.get("/set.php")
            assert (answer.status, answer.header("X-Left")) == (404, "1")
            again = c.get("/look.php")
            assert (again.text, again.status) == (fresh, 200)
    assert len(site.app()["workers"]) == 1


def test_files_of_a_script_are_closed_and_removed(site):
    site.file("open.php", f"""<?php
        $GLOBALS['f'] = tmpfile(); $GLOBALS['g'] = fopen('{site.data}/locked', 'c'); flock($GLOBALS['g'], LOCK_EX);
        echo count(scandir('/proc/self/fd'));""")
    with site.connect() as c:
        assert len({c.get("/open.php").text for _ in range(20)}) == 1, "descriptors stay"


# ---- the log

def test_errors_are_in_the_log_with_the_request(site):
    site.file("w.php", "<?php echo $undefined; error_log('said by the script'); trigger_error('noticed', E_USER_NOTICE); echo 'x';")
    answer = site.get("/w.php", {"X-Id": "1"})
    assert answer.text == "x"
    for text in ("Undefined variable", "said by the script", "noticed"):
        line = site.stderr.wait(rf"(?m)^.*{text}.*$").group(0)
        assert re.search(r"app\.output \[req [0-9a-f]+\] site _, app", line), line


def test_error_log_to_a_file(godwit):
    godwit.file("w.php", "<?php error_log('into the file'); echo 'x';")
    godwit.php(f"workers 1..1; ini error_log {godwit.data}/php.log;")
    assert godwit.get("/w.php").text == "x"
    assert "into the file" in (godwit.data / "php.log").read_text()


@pytest.mark.parametrize("code,said", [
    ("posix_kill(getmypid(), SIGSEGV); sleep(1);", "SIGSEGV|signal 11"),
    ("posix_kill(getmypid(), SIGKILL); sleep(1);", "SIGKILL|signal 9"),
    ("function f($n) { return f($n + 1) . preg_replace_callback('/x/', fn() => f(1), 'x'); } f(1);", "SIGSEGV|signal 11|memory size"),
])
def test_crash_is_explained(site, code, said):
    site.file("crash.php", f"<?php {code}")
    answer = site.get("/crash.php")
    assert answer.status in (500, 502)
    wait.until(lambda: re.search(said, site.stderr.text()), 10, f"{said} in the log")
    if answer.status == 502:
        assert "crash.php" not in answer.text, "details are for the log"
        wait.until(lambda: re.search(r"backend\.worker_died.*in the middle of the request", site.stderr.text()), 10, "the event")
    assert site.get("/hello.php").text == "hello"


def test_script_that_cannot_be_read(site):
    path = site.file("locked.php", HELLO)
    path.chmod(0)
    answer = site.get("/locked.php")
    assert answer.status == 403 and "hello" not in answer.text
    assert site.get("/hello.php").text == "hello"


def test_script_that_goes_away(godwit):
    """The server may still believe in a script that was removed a moment ago."""
    path = godwit.file("gone.php", HELLO)
    godwit.file("hello.php", HELLO)
    godwit.php("workers 1..1; ini opcache.revalidate_freq 0;", top="file_check 1h;")
    assert godwit.get("/gone.php").text == "hello"
    path.unlink()
    answer = godwit.get("/gone.php")
    assert answer.status == 404 and "hello" not in answer.text
    assert godwit.get("/hello.php").text == "hello"


# ---- the log knows the request

def request_id(site, target: str) -> str:
    return site.stderr.wait(rf'"GET {re.escape(target)} HTTP/1\.1" .* id=(\w+)').group(1)


def said(site, word: str) -> str:
    """The whole line of the log in which the app says a word."""
    wait.until(lambda: word in site.stderr.text(), 10, lambda: f"{word} in {site.stderr.text()[-2000:]}")
    return next(line for line in site.stderr.text().splitlines() if word in line and " app.output " in line)


def test_lines_after_the_answer_carry_its_id(site):
    """In the script, its shutdown functions, and what it has forked; warnings, errors, each line of a long one."""
    site.file("late.php", """<?php $n = $_GET['n']; error_log("before-$n."); echo 'x'; litespeed_finish_request();
        register_shutdown_function(function () use ($n) { error_log("shutdown-$n."); no_such_function("$n"); });
        error_log("after-$n.\\nsecond-$n."); trigger_error("warned-$n.", E_USER_WARNING);
        if (!($copy = pcntl_fork())) { error_log("copy-$n."); posix_kill(getmypid(), SIGKILL); } pcntl_waitpid($copy, $status);""")
    for n in range(3):
        with site.connect() as c:
            assert c.get(f"/late.php?n={n}").text == "x"
        name = request_id(site, f"/late.php?n={n}")
        for word in ("before", "after", "second", "warned", "copy", "shutdown"):
            line = said(site, f"{word}-{n}.")
            assert re.search(rf' app\.output \[req {name}\] site _, app "_", worker \d+ says: ', line), line
    wait.until(lambda: site.stderr.text().count("undefined function no_such_function") == 3, 10, "the fatal errors")
    fatal = [line for line in site.stderr.text().splitlines() if "Uncaught Error" in line]
    assert len(fatal) == 3 and all("[req " in line for line in fatal), fatal
    assert site.get("/hello.php").text == "hello"
    assert "\\x01" not in site.stderr.text()


def test_an_app_cannot_speak_for_another_request(site):
    """The id that a line names counts only if the worker has had that request."""
    site.file("forge.php", """<?php fwrite(fopen('php://stderr', 'w'), "\\1" . $_GET['id'] . "\\1forged-line\\n");""")
    assert site.get("/hello.php?first").text == "hello"
    site.get("/forge.php?id=00deadbeef00cafe")
    line = said(site, "forged-line")
    assert re.search(r" app\.output \[app _\] process \d+ says of request 00deadbeef00cafe: ", line), line


@pytest.mark.parametrize("mode", ["stop", "finish"])
def test_lines_for_a_client_that_has_left_carry_the_id(godwit, mode):
    godwit.file("left.php", f"""<?php ignore_user_abort(true); touch('{godwit.data}/began');
        while (!file_exists('{godwit.data}/open')) {{ usleep(2000); clearstatcache(); }} error_log('for nobody');""")
    godwit.php(f"workers 1..1; abort {mode};")
    c = godwit.connect()
    c.send(format_request("GET", "/left.php"))
    wait.until((godwit.data / "began").exists, 10, "the script runs")
    c.leave()
    name = request_id(godwit, "/left.php")
    (godwit.data / "open").touch()
    assert f"[req {name}] site _, " in said(godwit, "for nobody")


def test_the_end_of_a_worker_names_its_request(site):
    """Over a request, after its answer, and idle."""
    site.file("die.php", """<?php if (isset($_GET['after'])) { echo 'x'; litespeed_finish_request(); } posix_kill(getmypid(), SIGSEGV);""")
    site.file("pid.php", "<?php echo getmypid();")
    script = re.escape(str(site.www / "die.php"))
    with site.connect() as c:
        assert c.get("/die.php/more?a=%22b").status == 502
    site.stderr.wait(r"worker\.died \[app _\] worker \d+ killed by SIGSEGV.*, unasked, over request \w{16} \(site _\): "
                     rf'"GET /die\.php/more\?a=%22b", script "{script}"; another one')
    with site.connect() as c:
        assert c.get("/die.php?after").text == "x"
    end = site.stderr.wait(r"worker\.died .* SIGSEGV.*, unasked, after its answer to request (\w{16}) \(site _\): "
                           rf'"GET /die\.php\?after", script "{script}"; another one')
    assert f"id={end.group(1)} " in site.stderr.text()
    os.kill(int(site.get("/pid.php").text), signal.SIGKILL)
    site.stderr.wait(r"worker\.died .* killed by SIGKILL, unasked; another one")
