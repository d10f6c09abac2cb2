# SPDX-License-Identifier: Apache-2.0
"""Each refusal of the server's own explains itself in one line of the log: request, site, app, worker, limit, value and the
setting that moves it; and each limit has a counter. The client sees the request id only."""
import re

import pytest

from support import wait
from support.http import Closed, chunked, format_request

SITE = "shop.example"
LOOP = "<?php while (true) usleep(1000);"


class Case:
    def __init__(self, app="workers 0..1;", top="", script="<?php echo 'ok';", busy=0, body=None):
        self.app, self.top, self.script, self.busy, self.body = app, top, script, busy, body


# name: (how, status, event, text behind "site, app[, worker]: ", counters)
CASES = {
    "queue": (Case("workers 0..1; queue 1;", busy=2), 503, "backend.queue_full",
              r"The queue of app \"shop\" is full: 1 requests wait \(queue 1\)", "queue_full"),
    "queue_time": (Case("workers 1..1; queue_time 300ms;", busy=1), 503, "backend.queue_timeout",
                   r".* for 300 ms \(queue_time\): 1 of 1 workers \(workers\) are busy", "queue_timeouts"),
    "start": (Case("workers 0..1; command /bin/false;"), 503, "backend.no_worker",
              r"No worker of app \"shop\" could be started, 3 tries .*exited with 1", "backend_failures workers_failed"),
    "start_time": (Case("workers 0..1; start_time 200ms; command /bin/sleep 1000;"), 503, "backend.no_worker",
                   r".*within 200 ms", "backend_failures workers_failed"),
    "request_time": (Case("workers 0..1; request_time 300ms;", script=LOOP), 504, "backend.timeout",
                     r"Worker %(pid)s .*request_time \(300 ms\)", "request_timeouts"),
    "death": (Case(script="<?php posix_kill(getmypid(), 9);"), 502, "backend.worker_died",
              r"Worker %(pid)s .*ended in the middle of the request", "backend_failures workers_died"),
    "close": (Case(script="<?php pcntl_exec('/bin/sleep', ['1000']);"), 502, "backend.worker_died",
              r"Worker %(pid)s .*closed its connection in the middle of the request", "backend_failures"),
    "spool_quota": (Case("workers 0..1; spool_quota 100k;", body=b"x" * 300_000), 413, "spool.full",
                    r"The request body is larger .*\(102400 bytes, spool_quota\)", "spool_refused"),
    "spool_max": (Case(top="spool_max 100k;", body=b"x" * 300_000), 413, "spool.full",
                  r"The request body is larger .*\(102400 bytes, spool_max\)", "spool_refused"),
    "spool_dir": (Case(top="spool_dir %(base)s/gone;", body=b"x" * 300_000), 500, "spool.failed",
                  r".*/gone \(spool_dir\)", "spool_refused"),
}


@pytest.mark.parametrize("name", CASES)
def test_line_explains(godwit, name):
    case, status, event, text, counters = CASES[name]
    godwit.file("page.php", case.script)
    godwit.file("wait.php", f"<?php while (!file_exists('{godwit.data}/open')) {{ usleep(5000); clearstatcache(); }}")
    godwit.config(f"listen 127.0.0.1:%(port)d;\n{case.top}\n"
                  f"site {SITE} {{ root %(www)s; app php shop {{ {case.app} }} }}\n")
    gone = godwit.base / "gone"  # it is there at the start
    gone.mkdir(mode=0o777)
    gone.chmod(0o777)
    godwit.start()
    gone.rmdir()
    if "workers 1" in case.app:  # its start is not to use up a request's time
        wait.until(lambda: "idle" in str(godwit.app()["workers"]), 30, "the worker is ready")
    held = [godwit.connect(30) for _ in range(case.busy)]
    for c in held:
        c.send(format_request("GET", "/wait.php", host=SITE))
        wait.until(lambda: "running" in str(godwit.app()["workers"]), 10, "the worker is busy")
    if case.busy > 1:
        wait.until(lambda: godwit.app()["queue"]["waiting"] == case.busy - 1, 5, "the others wait")
    answer = godwit.request("POST" if case.body else "GET", "/page.php", None, case.body, host=SITE)
    assert answer.status == status
    page_id = re.search(r"Request ID: <code>(\w+)", answer.text).group(1)
    assert "shop" not in answer.text.replace(SITE, "") and "(" not in re.sub(r"<[^>]*>", "", answer.text)
    head = rf"{event} \[req {page_id}\] site {SITE}, app shop"
    pid = r"(?P<pid>\d+)"
    line = godwit.stderr.wait(head + (rf", worker {pid}: " if "%(pid)s" in text else ": ")
                              + text.replace("%(pid)s", "(?P=pid)")).group(0)
    assert line
    for counter in counters.split():
        wait.until(lambda: godwit.status()["metrics"][counter] >= 1, 10, counter)
    (godwit.data / "open").touch()
    for c in held:
        c.read()
        c.close()


def test_cut_answer_explains(godwit):
    godwit.file("half.php", f"""<?php while (ob_get_level()) ob_end_flush(); echo 'x'; flush();
        while (!file_exists('{godwit.data}/seen')) {{ usleep(5000); clearstatcache(); }}
        posix_kill(getmypid(), 9);""")
    godwit.php("workers 1..1;")
    with godwit.connect() as c:
        c.send(format_request("GET", "/half.php"))
        assert c.head().status == 200 and c.chunk() == b"x"  # from here on no 502 can take its place
        (godwit.data / "seen").touch()
        with pytest.raises(Closed):
            c.chunk()
    godwit.stderr.wait(r"backend\.worker_died \[req \w+\] site _, app _, worker (\d+): Worker \1 .*The answer was cut\.")
    assert godwit.status()["metrics"]["responses_cut"] == 1


def test_short_answer_explains(godwit):
    """Less than Content-Length has promised, known before anything is sent: put right."""
    godwit.file("short.php", "<?php header('Content-Length: 10'); header('X-Of-App: 1'); echo '12345';")
    godwit.php("workers 1..1;")
    answer = godwit.get("/short.php")
    assert (answer.status, answer.header("X-Of-App"), answer.header("Content-Length"), answer.text) == (200, "1", "5", "12345")
    line = r'backend\.wrong_length \[req \w+\] app "_" promised a Content-Length of 10 bytes and sent 5, which is the length now'
    godwit.stderr.wait(line)
    assert len(re.findall(r"wrong_length", godwit.stderr.text())) == 1
