# SPDX-License-Identifier: Apache-2.0
"""Workers that misbehave: at most their own request is lost, and the pool knows where each of them is."""
import os
import re
import time

import pytest

from support import proc, wait
from support.http import Closed, format_request
from support.load import Load


@pytest.fixture
def hello(godwit):
    godwit.file("hello.php", "<?php echo getmypid();")
    return godwit


def states(godwit) -> list:
    return sorted(w["state"] for w in godwit.app()["workers"])


def test_child_that_keeps_the_descriptor(hello):
    """A grandchild holds the worker's connection open: the worker's death is still seen, and it is replaced."""
    hello.file("fork.php", f"""<?php
        exec("sh -c 'touch {hello.data}/child; while [ ! -e {hello.data}/open ]; do sleep 0.05; done' >/dev/null 2>&1 &");
        echo getmypid();""")
    hello.php("workers 1..1;")
    pid = int(hello.get("/fork.php").text)
    wait.until((hello.data / "child").exists, 5, "the grandchild runs")
    os.kill(pid, 9)
    wait.until(lambda: proc.look(pid) is None, 5, "the worker is collected")
    began = time.monotonic()
    assert int(hello.get("/hello.php").text) != pid
    assert time.monotonic() - began < 3
    (hello.data / "open").touch()


def test_workers_do_not_push_the_server_off(hello):
    """On a busy processor the server goes on when it has woken a worker."""
    hello.php("workers 1..1;")
    pid = int(hello.get("/hello.php").text)
    assert os.sched_getscheduler(pid) == os.SCHED_BATCH
    assert os.sched_getscheduler(hello.one("server").pid) == os.SCHED_OTHER


def test_work_after_the_answer(hello):
    """litespeed_finish_request: the client has its answer, the worker is detached, others are served."""
    hello.file("after.php", f"""<?php
        echo getmypid(); litespeed_finish_request();
        while (!file_exists('{hello.data}/open')) {{ usleep(5000); clearstatcache(); }}
        touch('{hello.data}/done-' . getmypid());""")
    hello.php("workers 0..2;")
    pid = int(hello.get("/after.php").text)
    wait.until(lambda: "detached" in states(hello), 5, lambda: f"a detached worker: {states(hello)}")
    assert int(hello.get("/hello.php").text) != pid
    (hello.data / "open").touch()
    wait.until((hello.data / f"done-{pid}").exists, 5, "the rest of the script")
    wait.until(lambda: "detached" not in states(hello), 5, "it is free or gone afterwards")


def test_a_detached_worker_serves_again(hello):
    """Applications that finish each answer early do not cost a process for each, nor what it has in its caches."""
    hello.file("after.php", "<?php echo getmypid(), ' '; litespeed_finish_request(); usleep(1000);")
    hello.php("workers 1..1;")
    assert len({hello.get("/after.php").text for _ in range(20)} | {hello.get("/hello.php").text + " "}) == 1


def test_detached_workers_count(hello):
    hello.file("after.php", f"""<?php echo 'ok'; litespeed_finish_request();
        while (!file_exists('{hello.data}/open')) {{ usleep(5000); clearstatcache(); }}""")
    hello.php("workers 0..2;")
    for _ in range(2):
        assert hello.get("/after.php").text == "ok"
    with hello.connect(15) as c:
        c.send(format_request("GET", "/hello.php"))
        wait.until(lambda: hello.app()["queue"]["waiting"] == 1, 5, "the third request waits")
        assert len(hello.app()["workers"]) == 2
        (hello.data / "open").touch()
        assert c.read().status == 200


@pytest.mark.parametrize("code", ["posix_kill(getmypid(), 9);", "posix_kill(getmypid(), 11);", "posix_kill(getmypid(), 6);"])
def test_worker_that_dies_in_a_request(hello, code):
    hello.file("die.php", f"<?php {code}")
    hello.php("workers 1..2;")
    for _ in range(3):
        answer = hello.get("/die.php")
        assert answer.status == 502
        assert hello.get("/hello.php").status == 200
    wait.until(lambda: len(re.findall(r"worker\.died", hello.stderr.text())) >= 3, 5, "each death is in the log")


def test_worker_that_dies_after_a_part_of_its_answer(hello):
    hello.file("part.php", "<?php echo str_repeat('x', 2000000); flush(); posix_kill(getmypid(), 9);")
    hello.php("workers 1..1;")
    with hello.connect() as c:
        c.send(format_request("GET", "/part.php"))
        with pytest.raises(Closed):  # must not look complete
            c.read()
    assert hello.get("/hello.php").status == 200
    assert hello.status()["metrics"]["responses_cut"] >= 1


def kill_listed(worker: dict) -> bool:
    """Kills a worker of the list, which may still name one that was killed just before: whether it was there."""
    try:
        os.kill(worker["pid"], 9)
        return True
    except ProcessLookupError:
        return False


def test_killed_while_idle(hello):
    hello.php("workers 2..4;")
    hello.get("/hello.php")
    for _ in range(10):
        for worker in hello.app()["workers"]:
            kill_listed(worker)
        assert hello.get("/hello.php").status == 200, "a request meets no dead worker"


def test_random_kills_cost_at_most_one_request_each(hello):
    hello.file("work.php", "<?php usleep(3000); echo getmypid();")
    hello.php("workers 2..4;")
    kills = 0
    with Load(hello.address, "/work.php", clients=6) as load:
        load.wait_done(50)
        for _ in range(20):
            workers = [w for w in hello.app()["workers"] if w["state"] in ("idle", "running", "reading")]
            if workers:
                kills += kill_listed(workers[kills % len(workers)])
            load.wait_done(30)
    assert kills >= 10
    assert len(load.failures) <= kills, load.failures
    assert all("502" in f for f in load.failures), load.failures


def test_a_spawner_that_is_killed(hello):
    """By the kernel for its memory, say: that is in the log; its workers serve on, and later ones come of another."""
    hello.php("workers 1..2;")
    pid = int(hello.get("/hello.php").text)
    os.kill(hello.one("spawner").pid, 9)
    hello.stderr.wait(r"app\.failed .*the spawner killed by SIGKILL")
    assert hello.get("/hello.php").text == str(pid)
    os.kill(pid, 9)
    assert hello.get("/hello.php").text != str(pid)


def test_crash_in_boot(hello):
    """The spawner cannot even load its program: 503 that explains itself; the site's files are still served."""
    hello.file("a.txt", "static")
    hello.php("workers 0..2; command /bin/false;")
    began = time.monotonic()
    answer = hello.get("/hello.php")
    assert answer.status == 503 and answer.header("Retry-After")
    assert time.monotonic() - began < 10
    assert hello.get("/a.txt").text == "static"
    hello.stderr.wait(r"app\.failed")
    failure = hello.app()["last_failure"]
    assert failure and "exited with 1" in str(failure)


def test_hang_in_boot(hello):
    hello.file("a.txt", "static")
    hello.php("workers 0..2; start_time 1s; command /bin/sleep 1000;")
    answer = hello.get("/hello.php")
    assert answer.status == 503
    assert hello.get("/a.txt").text == "static"
    hello.stderr.wait(r"app\.failed")
    wait.until(lambda: not [p for p in hello.processes() if "sleep" in p.command], 5, "what hung is ended")


def test_never_answers(hello):
    """request_time: the worker is killed, the client gets 504, the next request is served."""
    hello.file("never.php", "<?php while (true) usleep(1000);")
    hello.file("cpu.php", "<?php while (true);")
    hello.php("workers 1..1; request_time 1s; ini max_execution_time 0;")
    for target in ("/never.php", "/cpu.php"):
        pid = int(hello.get("/hello.php").text)
        began = time.monotonic()
        answer = hello.get(target)
        assert answer.status == 504 and 0.9 < time.monotonic() - began < 5
        assert int(hello.get("/hello.php").text) != pid
        wait.until(lambda: proc.look(pid) is None, 5, "the stuck worker is gone")
        line = hello.stderr.wait(rf"^.*Worker {pid} .*request_time.*$").group(0)
        assert str(pid) in line
    assert hello.status()["metrics"]["request_timeouts"] == 2


def test_stuck_script_says_where_it_is(hello):
    hello.file("stuck.php", """<?php
        class Shop {
            static function total($n) {
                while (true) usleep(1000);
            }
        }
        function page() { Shop::total(1); }
        array_map(fn($x) => page(), [1]);""")
    hello.php("workers 1..1; request_time 500ms;")
    pid = int(hello.get("/hello.php").text)
    assert hello.get("/stuck.php").status == 504
    for line in ("PHP is here:", "#0 PHP in usleep()", f"#1 {hello.www}/stuck.php:4 in Shop::total()",
                 f"#2 {hello.www}/stuck.php:7 in page()", f"#3 {hello.www}/stuck.php:8 in {{closure}}()",
                 "#4 PHP in array_map()", f"#5 {hello.www}/stuck.php:8"):
        hello.stderr.wait(rf"app\.output .*{pid}.*{re.escape(line)}")
    hello.file("spin.php", "<?php\n$i = 0;\nwhile (true) $i++;")
    assert hello.get("/spin.php").status == 504
    hello.stderr.wait(rf"app\.output .*#0 {hello.www}/spin.php:\d")
    assert hello.get("/hello.php").status == 200


# How many frames; the line between the innermost and the outermost.
@pytest.mark.parametrize("count, left_out", [
    (30, None), (31, "... 1 more frame"), (100_000, "... 99970 more frames"), (1_000_003, "... more than 999976 more frames"),
], ids=str)
def test_deep_recursion_shows_both_ends(hello, count, left_out):
    hello.file("deep.php", """<?php
        function dig($n) { return $n ? dig($n - 1) : posix_kill(getmypid(), 12); }
        ini_set('memory_limit', -1);
        echo dig($_GET['count'] - 3);""")
    hello.php("workers 1..1;")
    assert hello.get(f"/deep.php?count={count}").text == "1"
    assert hello.get("/hello.php").status == 200
    script = f"{hello.www}/deep.php"
    shown = ["PHP is here:", "#0 PHP in posix_kill()"] + [f"#{i} {script}:2 in dig()" for i in range(1, 24)]
    if left_out:
        shown.append(left_out)
    if count < 1_000_000:
        shown += [f"#{i} {script}:2 in dig()" for i in range(count - 6, count - 1)] + [f"#{count - 1} {script}:4"]
    told = wait.until(lambda: len(lines := re.findall(r"app\.output .*?(PHP is here:|#\d[^\"]*|\.\.\. [^\"]*)", hello.stderr.text()))
                      >= len(shown) and lines, 10, "the stack is in the log")
    assert told == shown


# What computes without a call notes no place of its own: name, script, the line, the function ("": the file itself), who
# called it.
SPINS = {
    "function": ("<?php\nfunction f() {\n    while (true);\n}\nf();", 3, "f()", 5),
    "counting": ("<?php\nfunction f() {\n    $i = 0;\n    while (true)\n        $i++;\n}\nf();", "[45]", "f()", 7),
    "closure": ("<?php\n(function () {\n    while (true);\n})();", 3, "{closure}()", 4),
    "generator": ("<?php\nfunction g() {\n    yield 1;\n    while (true);\n}\nforeach (g() as $x);", 4, "g()", 6),
    "destructor": ("<?php\nclass C {\n    function __destruct() {\n        while (true);\n    }\n}\n$c = new C;\n$c = null;", 4,
                   "C::__destruct()", 8),
    "included": ("<?php\ninclude 'more.inc';", 3, "", 2),
}


@pytest.mark.parametrize("jit", ["off", "tracing", pytest.param("function", marks=pytest.mark.deep)])
def test_spinning_script_says_where_it_is(hello, jit):
    hello.file("more.inc", "<?php\n\nwhile (true);")
    for name, (script, *_) in SPINS.items():
        hello.file(f"{name}.php", script)
    hello.php("workers 1..2; busy_max all; request_time 1s; ini opcache.enable 1; ini opcache.jit_buffer_size 16M; "
              f"ini opcache.jit {jit};")
    hello.file("jit.php", "<?php echo json_encode(opcache_get_status(false)['jit']['on']);")
    assert hello.get("/jit.php").text == ("false" if jit == "off" else "true")
    held = {name: hello.connect(60) for name in SPINS}
    for name, c in held.items():
        c.send(format_request("GET", f"/{name}.php"))
    for c in held.values():
        assert c.read().status == 504
        c.close()

    def logged(pattern: str) -> re.Match:  # in any order
        return wait.until(lambda: re.search(pattern, hello.stderr.text()), 10, pattern)

    for name, (_, line, function, caller) in SPINS.items():
        pid = int(logged(rf'"GET /{name}\.php HTTP/1\.1" 504 .*worker_pid=(\d+)').group(1))
        at = rf"{hello.www}/{'more.inc' if name == 'included' else name + '.php'}:"
        exact = rf"{at}{line}" + (" in " + re.escape(function) if function else "")
        near = rf"near {at}\d+" + (" in " + re.escape(function) if function else "")
        # Compiled code keeps no instruction pointer.
        logged(rf"app\.output .*{pid}.*#0 " + (exact if jit == "off" else f"(?:{exact}|{near})") + r"(?:\D|$)")
        logged(rf"app\.output .*{pid}.*#1 {hello.www}/{name}\.php:{caller}(?:\D|$)")
        wait.until(lambda: proc.look(pid) is None, 10, "the stuck worker is gone")
    assert "worker.died" not in hello.stderr.text() and "be read" not in hello.stderr.text()


# name: (script that gives up its connection in the middle and lives, whether it ignores SIGTERM)
CLOSES = {
    "exec": ("<?php pcntl_exec('/bin/sleep', ['1000']);", False),
    "deaf": ("<?php pcntl_signal(SIGTERM, SIG_IGN); pcntl_exec('/bin/sleep', ['1000']);", True),
}


@pytest.mark.parametrize("name", CLOSES)
def test_worker_that_closes_and_lives(hello, name):
    """The request is answered for at once, and the next one gets another worker: not only after request_time."""
    script, is_deaf = CLOSES[name]
    hello.file("close.php", script)
    hello.php("workers 1..1; request_time 300s;")
    pid = int(hello.get("/hello.php").text)
    assert hello.get("/close.php").status == 502
    assert int(hello.get("/hello.php").text) != pid
    assert proc.look(pid) is None or proc.look(pid).is_zombie
    hello.stderr.wait(rf"backend\.worker_died \[req \w+\] site _, app _, worker {pid}: Worker {pid} of app \"_\" closed its "
                      r"connection in the middle of the request, .*worker\.closed")
    what = "it ignores SIGTERM and is killed" if is_deaf else "SIGTERM is sent"
    hello.stderr.wait(rf"worker\.closed \[app _\] worker {pid} has closed its connection over a request and has not ended: {what}")
    assert "worker.died" not in hello.stderr.text().replace("backend.worker_died", "")


@pytest.mark.parametrize("more", ["", " requests 1;"])
def test_worker_that_closes_after_its_answer_and_lives(hello, more):
    """Another program in the place of a worker that has answered early: the next request does not wait for detached_time."""
    hello.file("close.php", "<?php echo getmypid(); litespeed_finish_request(); pcntl_exec('/bin/sleep', ['1000']);")
    hello.php(f"workers 1..1; detached_time 300s;{more}")
    pid = int(hello.get("/close.php").text)
    assert int(hello.get("/hello.php").text) != pid
    assert proc.look(pid) is None or proc.look(pid).is_zombie
    hello.stderr.wait(rf"worker\.closed \[app _\] worker {pid} has closed its connection while it went on after its answer and has "
                      "not ended: SIGTERM is sent")
    assert "worker.died" not in hello.stderr.text()


def test_request_time_after_the_head_cuts(hello):
    hello.file("half.php", "<?php echo str_repeat('x', 100000); flush(); while (true) usleep(1000);")
    hello.php("workers 1..1; request_time 1s;")
    with hello.connect() as c:
        c.send(format_request("GET", "/half.php"))
        assert c.head().status == 200
        with pytest.raises(Closed):
            while c.chunk():
                pass


def test_queue_limit(hello):
    hello.file("wait.php", f"<?php while (!file_exists('{hello.data}/open')) {{ usleep(5000); clearstatcache(); }} echo 'ok';")
    hello.php("workers 0..1; queue 2;")
    held = [hello.connect(30) for _ in range(3)]
    for n, c in enumerate(held):
        c.send(format_request("GET", "/wait.php"))
        wait.until(lambda: hello.app()["queue"]["waiting"] == n, 10, f"{n} wait")
    answer = hello.get("/hello.php")
    assert answer.status == 503 and answer.header("Retry-After")
    assert hello.status()["metrics"]["queue_full"] == 1
    (hello.data / "open").touch()
    assert [c.read().text for c in held] == ["ok"] * 3
    for c in held:
        c.close()


def test_queue_time(hello):
    hello.file("wait.php", f"<?php while (!file_exists('{hello.data}/open')) {{ usleep(5000); clearstatcache(); }} echo 'ok';")
    hello.php("workers 0..1; queue_time 1s;")
    with hello.connect(30) as c:
        c.send(format_request("GET", "/wait.php"))
        wait.until(lambda: "running" in states(hello), 10, "the worker is busy")
        answer = hello.get("/hello.php")
        assert answer.status == 503 and answer.header("Retry-After")
        (hello.data / "open").touch()
        assert c.read().text == "ok"
    assert hello.status()["metrics"]["queue_timeouts"] == 1


def test_waiting_client_that_leaves_is_dropped(hello):
    hello.file("wait.php", f"<?php while (!file_exists('{hello.data}/open')) {{ usleep(5000); clearstatcache(); }} echo 'ok';")
    hello.file("count.php", f"<?php file_put_contents('{hello.data}/count', 'x', FILE_APPEND);")
    hello.php("workers 0..1;")
    with hello.connect(30) as c:
        c.send(format_request("GET", "/wait.php"))
        wait.until(lambda: "running" in states(hello), 10, "the worker is busy")
        leaver = hello.connect()
        leaver.send(format_request("GET", "/count.php"))
        wait.until(lambda: hello.app()["queue"]["waiting"] == 1, 5, "it waits")
        leaver.leave()
        wait.until(lambda: hello.app()["queue"]["waiting"] == 0, 5, "it is dropped")
        (hello.data / "open").touch()
        assert c.read().text == "ok"
    assert hello.get("/hello.php").status == 200
    assert not (hello.data / "count").exists()


def test_burst_waits_instead_of_failing(hello):
    hello.file("work.php", "<?php usleep(5000); echo 'ok';")
    hello.php("workers 1..2;")
    with Load(hello.address, "/work.php", clients=60, timeout=30) as load:
        load.wait_done(600, 60)
    assert load.failures == []


def test_upload_in_progress_takes_no_worker(hello):
    hello.php("workers 0..1;")
    slow = [hello.connect(20) for _ in range(5)]
    for c in slow:
        c.send("POST /hello.php HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nabc")
    for _ in range(10):
        assert hello.get("/hello.php").status == 200
    for c in slow:
        c.send("defghij")
        assert c.read().status == 200
        c.close()


def test_memory_comes_back(hello):
    """Idle workers leave down to the minimum, and so does the spawner when nobody is left."""
    hello.php("workers 0..4; idle 1s;")
    assert hello.get("/hello.php").status == 200
    wait.until(lambda: not hello.processes("worker") and not hello.processes("spawner"), 15,
               lambda: f"idle ones leave: {[p.command for p in hello.processes()]}")
    assert hello.get("/hello.php").status == 200


def test_requests_replaces_workers(hello):
    """After ten requests, a tenth more or less, and those that it serves until the new one is ready."""
    hello.php("workers 1..1; requests 10;")
    pids = []

    def four_were_replaced():
        pids.extend(hello.get("/hello.php").text for _ in range(20))
        return len(set(pids)) >= 5

    wait.until(four_were_replaced, 20, lambda: f"another worker now and then: {set(pids)}")
    runs = [pids.count(pid) for pid in dict.fromkeys(pids)]
    assert all(n >= 9 for n in runs[:-1]), runs


def test_recycling_fails_no_request(hello):
    hello.php("workers 2..3; requests 20;")
    with Load(hello.address, "/hello.php", clients=6) as load:
        load.wait_done(1500, 60)
    assert load.failures == []


@pytest.mark.parametrize("how,finished", [("stop", False), ("finish", True)])
def test_abort(hello, how, finished):
    """What happens to a script whose client has left."""
    hello.file("long.php", f"""<?php
        touch('{hello.data}/begun');
        while (!file_exists('{hello.data}/open')) {{ usleep(5000); clearstatcache(); }}
        for ($i = 0; $i < 50; $i++) {{ echo str_repeat('x', 4096); flush(); }}
        touch('{hello.data}/finished');""")
    hello.php(f"workers 1..1; abort {how};")
    c = hello.connect()
    c.send(format_request("GET", "/long.php"))
    wait.until((hello.data / "begun").exists, 10, "the script runs")
    c.leave()
    wait.until(lambda: hello.status()["metrics"]["connections_open"] == 1, 5, "only that which asks is left")
    (hello.data / "open").touch()
    assert hello.get("/hello.php").status == 200
    assert (hello.data / "finished").exists() == finished


@pytest.mark.parametrize("how", ["stop", "finish"])
def test_request_time_of_a_client_that_left(hello, how):
    """It ends when it would have ended for the client; where the script was is in the log, and so is why it was killed."""
    hello.file("cpu.php", f"""<?php
        function spin() {{ while (true) usleep(1000); }}
        touch('{hello.data}/begun'); spin();""")
    limit = round(3 * wait.SCALE)
    hello.php(f"workers 1..1; request_time {limit}s; ini max_execution_time 0; abort {how};")
    pid = int(hello.get("/hello.php").text)
    c = hello.connect()
    c.send(format_request("GET", "/cpu.php"))
    wait.until((hello.data / "begun").exists, 10, "the script runs")
    began = time.monotonic()
    wait.stays(lambda: proc.look(pid) is not None, 2, "it runs")
    c.leave()
    wait.until(lambda: proc.look(pid) is None, 10, "it is killed")
    assert time.monotonic() - began < 1.5 * limit, "no second request_time for it"
    hello.stderr.wait(rf"app\.output \[req \w+\] .*worker {pid} .*spin\(\)")
    assert re.search(rf"backend\.timeout .*Worker {pid}, whose client is gone, .*request_time \({limit}000 ms\)", hello.stderr.text())
    assert hello.status()["metrics"]["request_timeouts"] == 1
    assert hello.get("/hello.php").status == 200


def test_detached_time(hello):
    hello.file("after.php", "<?php echo getmypid(); litespeed_finish_request(); while (true) usleep(1000);")
    hello.php("workers 0..1; detached_time 1s;")
    pid = int(hello.get("/after.php").text)
    assert hello.get("/hello.php").status == 200, "it waits until the detached one was killed"
    assert proc.look(pid) is None


def test_stop_time(hello):
    """A worker that is asked to leave and does not is killed after stop_time."""
    hello.php("workers 1..1; stop_time 1s;")
    pid = int(hello.get("/hello.php").text)
    os.kill(pid, 19)  # SIGSTOP: deaf to all but SIGKILL
    began = time.monotonic()
    hello.stop()
    assert time.monotonic() - began < 10
    assert proc.look(pid) is None


@pytest.mark.parametrize("value,lives", [("on", True), ("off", False)])
def test_keep_children(hello, value, lives):
    hello.file("job.php", f"""<?php
        exec("sh -c 'echo $$ > {hello.data}/pid; while [ ! -e {hello.data}/open ]; do sleep 0.05; done; touch {hello.data}/finished' >/dev/null 2>&1 &");
        echo getmypid();""")
    hello.php(f"workers 0..1; idle 500ms; keep_children {value};")
    worker = int(hello.get("/job.php").text)
    wait.until(lambda: (hello.data / "pid").exists() and (hello.data / "pid").read_text().strip(), 5, "the job runs")
    job = proc.look(int((hello.data / "pid").read_text()))
    wait.until(lambda: proc.look(worker) is None, 15, "the idle worker leaves")
    if lives:
        assert proc.is_alive(job)
        (hello.data / "open").touch()
        wait.until((hello.data / "finished").exists, 5, "the job goes on to its end")
    else:
        wait.until(lambda: not proc.is_alive(job), 5, "the job ends with its worker")


def test_children_of_a_killed_worker_are_killed(hello):
    hello.file("job.php", f"""<?php
        exec("sh -c 'echo $$ > {hello.data}/pid; while :; do sleep 0.05; done' >/dev/null 2>&1 &");
        while (true) usleep(1000);""")
    hello.php("workers 0..1; request_time 1s;")
    assert hello.get("/job.php").status == 504
    job = proc.look(int((hello.data / "pid").read_text()))
    wait.until(lambda: job is None or not proc.is_alive(job), 5, "the job ends with its worker")


def test_answer_in_the_buffer_frees_the_worker(hello):
    """A client that does not read holds no worker as long as the answer fits into response_buffer."""
    hello.file("big.php", "<?php echo str_repeat('x', 6000000);")
    hello.php("workers 1..1; response_buffer 16m;")
    with hello.connect(20) as slow:
        slow.send(format_request("GET", "/big.php"))
        assert slow.head().status == 200
        for _ in range(5):
            assert hello.get("/hello.php").status == 200
