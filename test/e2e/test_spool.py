# SPDX-License-Identifier: Apache-2.0
"""Slow clients hold no workers: bodies of both directions wait in temporary files, within limits that are told."""
import json
import os
import re
import socket
import statistics
import subprocess
import time

import pytest

from support import wait
from support.http import Closed, chunked, format_request

BIG = "<?php for ($i = 0; $i < %d; $i++) echo str_repeat(chr(65 + $i %% 26), 100000);"
BIG_PIECES = 200


@pytest.fixture
def app(godwit):
    godwit.file("hello.php", "<?php echo strlen(file_get_contents('php://input'));")
    godwit.file("big.php", BIG % BIG_PIECES)
    return godwit


@pytest.fixture
def as_root():
    """Tests that use it are chosen only when root runs them (conftest.py)."""


@pytest.fixture
def small_disk(app, as_root):
    """A file system of 1 MiB as spool_dir."""
    place = app.base / "disk"
    place.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m,mode=1777", "none", place], check=True)
    yield place
    app.finish()
    subprocess.run(["umount", "-l", place], check=True)


def stalled(app, target: str):
    """A client that has asked and reads nothing but the head."""
    c = app.connect(30)
    c.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 16384)
    c.send(format_request("GET", target))
    assert c.head().status == 200
    return c


def rest_of(c) -> bytes:
    body = b""
    while piece := c.chunk():
        body += piece
    return body


def is_whole(body: bytes) -> bool:
    return body == b"".join(bytes([65 + i % 26]) * 100000 for i in range(BIG_PIECES))


def idle(app) -> int:
    return sum(w["state"] == "idle" for w in app.app()["workers"])


def test_stalled_download_frees_its_worker(app):
    app.php("workers 1..1;")
    with stalled(app, "/big.php") as c:
        wait.until(lambda: idle(app) == 1, 10, "the worker is free though the client reads nothing")
        assert app.app()["spool_bytes"] > 15_000_000
        assert app.status()["spool_bytes"] == app.app()["spool_bytes"]
        assert app.get("/hello.php").status == 200
        assert is_whole(rest_of(c))
    wait.until(lambda: app.status()["spool_bytes"] == 0, 5, "the file is gone")


@pytest.mark.parametrize("directives", ["response_spool_max 0;", "response_spool_max 2m;", "spool_quota 2m;"])
def test_beyond_the_limit_the_worker_waits(app, directives):
    app.php(f"workers 1..1; {directives}")
    with stalled(app, "/big.php") as c:
        wait.stays(lambda: idle(app) == 0, 0.3, "the worker waits for the client")
        assert app.app()["spool_bytes"] <= 2 << 20
        assert is_whole(rest_of(c))
    assert app.get("/hello.php").status == 200


def test_spool_max(app):
    app.php("workers 1..2;", top="spool_max 3m;")
    with stalled(app, "/big.php") as c:
        wait.until(lambda: app.status()["spool_bytes"] > 2_000_000, 10, "the limit is near")
        answer = app.request("POST", "/hello.php", body=b"x" * 2_000_000)
        assert answer.status == 503 and answer.header("Retry-After")
        app.stderr.wait(r"spool\.full .* hold [23]\d{6} of 3145728 bytes \(spool_max\)")
        assert app.request("POST", "/hello.php", body=b"x" * 1000).text == "1000"  # needs no file
        assert is_whole(rest_of(c))


def test_upload_beyond_spool_quota(app):
    app.php("workers 0..1; spool_quota 1m;")
    answer = app.request("POST", "/hello.php", {"Transfer-Encoding": "chunked"}, chunked(*[b"x" * 100_000] * 20))
    assert answer.status == 413
    app.stderr.wait(r"spool\.full .*1048576 bytes, spool_quota")
    wait.until(lambda: app.status()["spool_bytes"] == 0, 5, "nothing is kept of it")


ASKING = "POST /hello.php HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\nExpect: 100-continue\r\n\r\n"


def upload_when_asked(app, size: int):
    """The answer to a client that waits for 100 Continue, and whether it came."""
    with app.connect(30) as c:
        c.send(ASKING % size)
        head = c.head()
        if head.status != 100:
            return head, False
        c.send(b"x" * size)
        return c.read(), True


@pytest.mark.parametrize("quota, top, name", [("spool_quota 2m;", "", "spool_quota"), ("", "spool_max 2m;", "spool_max")])
def test_upload_that_can_never_fit_is_not_asked_for(app, quota, top, name):
    app.php(f"workers 0..1; {quota}", top=top)
    answer, asked = upload_when_asked(app, 3_000_000)
    assert (answer.status, asked, answer.header("Retry-After")) == (413, False, None)
    app.stderr.wait(rf"spool\.full .*\(2097152 bytes, {name}\)")
    answer, asked = upload_when_asked(app, 2 << 20)
    assert (answer.status, asked, answer.text) == (200, True, str(2 << 20))


def test_upload_that_does_not_fit_now_is_not_asked_for(app):
    app.php("workers 1..2; spool_quota 3m;")
    with stalled(app, "/big.php") as c:
        wait.until(lambda: app.status()["spool_bytes"] > 2_000_000, 10, "the limit is near")
        answer, asked = upload_when_asked(app, 2_000_000)
        assert (answer.status, asked) == (503, False) and answer.header("Retry-After")
        app.stderr.wait(r"spool\.full .* hold [23]\d{6} of 3145728 bytes \(spool_quota\)")
        assert is_whole(rest_of(c))
    wait.until(lambda: app.status()["spool_bytes"] == 0, 5, "the file is gone")
    assert upload_when_asked(app, 2_000_000)[0].text == "2000000"


def test_streamed_upload_needs_no_room_in_files(app):
    app.php("workers 1..1; spool_quota 2m; stream_request on;")
    assert upload_when_asked(app, 3_000_000)[0].text == "3000000"


@pytest.mark.parametrize("header", ["Content-Type: text/event-stream", "X-Accel-Buffering: no"])
def test_streams_pass_straight_through(app, header):
    app.file("events.php", f"""<?php header('{header}');
        while (ob_get_level()) ob_end_flush();
        for ($i = 0; $i < 3; $i++) {{
            echo "data: $i\\n\\n"; flush();
            while (!file_exists("{app.data}/$i")) {{ usleep(2000); clearstatcache(); }}
        }}""")
    app.php("workers 1..1;")
    with app.connect() as c:
        c.send(format_request("GET", "/events.php"))
        assert c.head().status == 200
        for i in range(3):
            assert c.chunk() == f"data: {i}\n\n".encode()
            (app.data / str(i)).touch()
        assert c.chunk() == b""


def test_stream_request(app):
    app.file("first.php", f"""<?php $in = fopen('php://input', 'r'); file_put_contents('{app.data}/first', fread($in, 5));
        echo 5 + strlen(stream_get_contents($in));""")
    app.php("workers 1..1; stream_request on; request_time 1s;")
    with app.connect() as c:
        c.send("POST /first.php HTTP/1.1\r\nHost: a\r\nContent-Length: 40000\r\n\r\n01234" + "x" * 19995)
        wait.until(lambda: (app.data / "first").exists() and (app.data / "first").read_text() == "01234", 5,
                   "the script has the first part while the rest is not sent")
        wait.stays(lambda: idle(app) == 0, 1.3, "it waits for the client, longer than request_time")
        c.send("x" * 20000)
        assert c.read().text == "40000"
    assert app.request("POST", "/hello.php", {"Transfer-Encoding": "chunked"}, chunked(b"abc", b"def")).text == "6"


def test_stream_request_that_breaks_off(app):
    app.php("workers 1..1; stream_request on;")
    c = app.connect()
    c.send("POST /hello.php HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n01234")
    wait.until(lambda: idle(app) == 0, 5, "the worker has the request")
    c.leave()
    assert app.get("/hello.php").status == 200


def test_full_disk_refuses_uploads(app, small_disk):
    app.php("workers 1..1;", top=f"spool_dir {small_disk};")
    answer = app.request("POST", "/hello.php", body=b"x" * 3_000_000)
    assert answer.status == 507
    app.stderr.wait(r"spool\.failed .*spool_dir\): No space left on device")
    assert app.request("POST", "/hello.php", body=b"x" * 500_000).text == "500000"


def test_full_disk_loses_nothing_of_answers(app, small_disk):
    app.php("workers 1..1;", top=f"spool_dir {small_disk};")
    with stalled(app, "/big.php") as c:
        app.stderr.wait(r"spool\.failed .*No space left on device; its worker waits")
        assert is_whole(rest_of(c))
    assert app.get("/hello.php").status == 200


def test_full_disk_and_stalled_clients_hold_no_workers(app, small_disk):
    """While others wait for the workers; a client that reads, however slowly, keeps its own."""
    app.php("workers 2..2;", top=f"spool_dir {small_disk};")
    held = [stalled(app, "/big.php") for _ in range(2)]
    app.stderr.wait(r"spool\.failed .*No space left on device; its worker waits")
    with app.connect(30) as c:
        assert c.get("/hello.php").status == 200  # send_time would be a minute
    app.stderr.wait(r"spool\.stalled .*read nothing for 5 s: other requests wait.*spool_dir\)\. The answer was cut")
    cut = 0
    for c in held:
        try:
            assert is_whole(rest_of(c))
        except Closed:
            cut += 1
        c.close()
    assert 1 <= cut <= 2


@pytest.mark.parametrize("app_limit, top_limit, names", [
    ("spool_quota 1m;", "", "1048576 bytes \\(spool_quota\\)"),
    pytest.param("response_spool_max 2m;", "", "2097152 bytes .*response_spool_max", marks=pytest.mark.deep),
    pytest.param("response_spool_max 0;", "", "0 bytes .*response_spool_max", marks=pytest.mark.deep),
    pytest.param("", "spool_max 1m;", "1048576 bytes \\(spool_max\\)", marks=pytest.mark.deep),
])
def test_no_limit_has_stalled_clients_hold_workers(app, app_limit, top_limit, names):
    """While others wait for them; who reads steadily keeps its own, however little."""
    app.php(f"workers 2..2; {app_limit}", top=top_limit)
    with stalled(app, "/big.php") as slow, stalled(app, "/big.php") as dead, app.connect(30) as c:
        wait.stays(lambda: idle(app) == 0, 0.3, "both workers wait for their clients")
        c.send(format_request("GET", "/hello.php"))

        def is_cut():
            assert slow.sock.recv(2000), "it reads a little each time"
            return app.stderr.find(rf"spool\.stalled .*read nothing for 5 s: other requests wait\. .*{names}.* The answer was cut")

        wait.until(is_cut, 30, "the client that reads nothing is cut")
        assert c.read().status == 200
        assert len(re.findall(r"spool\.stalled", app.stderr.text())) == 1
        with pytest.raises(Closed):
            rest_of(dead)


def test_stalled_clients_do_not_keep_other_apps_out(app):
    """The app that they stall has no request that waits; another one has, for which workers_max leaves no room."""
    app.config("""listen 127.0.0.1:%(port)d;
        workers_max 2;
        site _ { root %(www)s; app php first { workers 0..2; spool_quota 1m; } }
        site b { root %(www)s; app php other { workers 0..2; } }""")
    app.start()
    held = [stalled(app, "/big.php") for _ in range(2)]
    wait.until(lambda: len(app.app("first")["workers"]) == 2, 5, "they have all workers")
    with app.connect(30) as c:
        assert c.get("/hello.php", host="b").status == 200
    app.stderr.wait(r"spool\.stalled .*spool_quota")
    for c in held:
        c.leave()


def test_a_client_that_leaves_gives_its_file_back(app):
    app.php("workers 1..1;")
    for _ in range(3):
        with stalled(app, "/big.php") as c:
            wait.until(lambda: app.status()["spool_bytes"] > 0, 10, "a file")
            c.leave()
        wait.until(lambda: app.status()["spool_bytes"] == 0, 5, "the file is gone")


@pytest.mark.seconds(60)
def test_slow_clients_do_not_slow_the_others(app):
    """Four stalled downloads of 50 MB and four uploads of a byte at a time, on four workers: each other request finds a
    worker that is free, so it takes what it takes without them."""
    app.file("huge.php", BIG % 500)
    app.file("work.php", "<?php usleep(5000); echo 'ok';")
    log = app.base / "access.json"
    app.php("workers 4..4;", top="access_log %(base)s/access.json json;")

    def ask() -> float:
        """Median of the times of several requests, one after another."""
        took = []
        with app.connect() as c:
            for _ in range(60):
                began = time.monotonic()
                assert c.get("/work.php").status == 200
                took.append(time.monotonic() - began)
        return statistics.median(took) * 1000

    def waits() -> list:
        lines = [json.loads(line) for line in log.read_text().splitlines() if "/work.php" in line]
        return [line["queue_us"] for line in lines]

    wait.until(lambda: idle(app) == 4, 20, "the workers")
    normal = ask()
    downloads = [stalled(app, "/huge.php") for _ in range(4)]
    uploads = [app.connect(30) for _ in range(4)]
    for c in uploads:
        c.send("POST /hello.php HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\n")
        c.send("x")
    wait.until(lambda: idle(app) == 4, 20, "all workers are free")
    besieged = ask()
    for c in uploads:
        c.send("x")
    assert idle(app) == 4
    for c in downloads + uploads:
        c.leave()
    print(f"besieged {besieged:.2f} ms, normally {normal:.2f} ms")
    wait.until(lambda: len(waits()) == 120, 10, "all lines of the log")
    assert set(waits()) == {0}
