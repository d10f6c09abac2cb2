# SPDX-License-Identifier: Apache-2.0
"""A program on libgodwit-app: under Godwit, and by itself under any LSAPI server (prefork on descriptor 0)."""
import os
import re
import signal
import socket
import struct
import subprocess

import pytest

from support import proc, wait
from support.server import GODWIT

BUILD = GODWIT.parent


@pytest.fixture
def program():
    found = [p for p in BUILD.rglob("lsapi-hello") if p.is_file() and os.access(p, os.X_OK)]
    assert found, "lsapi-hello was not built"
    return found[0]


@pytest.fixture
def site(godwit, program):
    godwit.file("file.txt", "static")
    godwit.simple(" app lsapi { command %(program)s; workers 1..2; request_time 2s; }", program=program)
    return godwit


def test_files_are_files_and_the_rest_is_the_app(site):
    assert site.get("/file.txt").text == "static"
    for target in ("/", "/anything", "/any/thing/"):
        assert site.get(target).text == "Hello, world\n", target


def test_what_the_app_is_told(site):
    lines = site.get("/some/path?env", {"X-Mine": "yes", "User-Agent": "e2e"}, host="shop.example").text.splitlines()
    for line in ("REQUEST_METHOD=GET", "REQUEST_URI=/some/path?env", "QUERY_STRING=env", "SERVER_PROTOCOL=HTTP/1.1",
                 "REMOTE_ADDR=127.0.0.1", "SERVER_NAME=shop.example", "header Host=shop.example", "header User-Agent=e2e",
                 "header X-Mine=yes"):
        assert line in lines, line


def test_bodies(site):
    data = os.urandom(700000)
    answer = site.request("POST", "/?echo", {"Content-Type": "image/x-test"}, data)
    assert answer.body == data and answer.header("Content-Type") == "image/x-test"
    assert len(site.get("/?big=3000000").body) == 3000000
    assert site.get("/?stream=50").text == "".join(f"piece {n}\n" for n in range(1, 51))


def test_head_of_the_answer(site):
    assert site.get("/?status=418").status == 418
    answer = site.get("/?header")
    assert answer.all("Set-Cookie") == ["a=1", "b=2"]
    assert answer.header("X-Smuggled") is None


def test_log(site):
    assert site.get("/?log").text == "logged\n"
    site.stderr.wait(r"hello: something to note")


@pytest.mark.parametrize("query,status", [("crash", 502), ("exit=3", 502), ("noanswer", 504), ("hang", 504)])
def test_bad_requests_cost_themselves_only(site, query, status):
    answer = site.get("/?" + query)
    assert answer.status == status
    assert site.get("/").text == "Hello, world\n"


def test_process_that_holds_the_descriptors(site):
    """A grandchild keeps the connection open: the worker's end is seen by its pidfd, not by end-of-file."""
    pid = int(re.search(r"\d+", site.get("/?pid").text).group(0))
    site.get("/?fork")
    os.kill(pid, signal.SIGKILL)
    wait.until(lambda: proc.look(pid) is None, 5, "the worker is collected")
    assert site.get("/").text == "Hello, world\n"


@pytest.mark.parametrize("what,words", [("HELLO_BOOT crash", "booting"), ("HELLO_BOOT fail", "booting"), ("HELLO_BOOT hang", "booting"),
                                        ("HELLO_PRELOAD crash", "loading"), ("HELLO_PRELOAD fail", "loading"),
                                        ("HELLO_PRELOAD hang", "loading")])
def test_start_that_fails_explains_itself(godwit, program, what, words):
    godwit.file("file.txt", "static")
    godwit.simple(" app lsapi { command %(program)s; workers 0..2; start_time 500ms; env %(what)s; }", program=program, what=what)
    answer = godwit.get("/")
    assert answer.status == 503 and answer.header("Retry-After")
    assert godwit.get("/file.txt").text == "static"
    assert words in godwit.app()["last_failure"]["text"]
    godwit.stderr.wait(rf"app\.failed .*{words}")


def begin_request(env: dict, body: bytes = b"") -> bytes:
    """A BEGIN_REQUEST packet as a foreign LSAPI server sends it."""
    raw = b"GET /x HTTP/1.1\r\nHost: a\r\n\r\n"
    def entry(name, value):
        n, v = name.encode() + b"\0", value.encode() + b"\0"
        return struct.pack(">HH", len(n), len(v)) + n + v
    specials = b"\0\0\0\0"
    listed, offsets, at = b"", {}, 44 + len(specials)
    for name, value in env.items():
        offsets[name] = at + len(listed) + 4 + len(name) + 1
        listed += entry(name, value)
    listed += b"\0\0\0\0"
    end = at + len(listed)
    pad = -end % 8
    index = end + pad
    raw_at = index + 152
    lengths = [0] * 25
    places = [0] * 25
    host = 10  # slot of Host
    lengths[host], places[host] = 1, raw.index(b"a\r\n")
    table = struct.pack("<25H2x25i", *lengths, *places)
    total = raw_at + len(raw)
    fixed = struct.pack("<9i", len(raw), len(body), offsets["SCRIPT_FILENAME"], offsets["SCRIPT_NAME"],
                        offsets["QUERY_STRING"], offsets["REQUEST_METHOD"], 0, len(env), 0)
    flag = 0
    packet = b"LS" + bytes([1, flag]) + struct.pack("<i", total) + fixed + specials + listed + b"\0" * pad + table + raw
    assert len(packet) == total
    return packet + body


def read_packets(sock) -> list:
    """Packets up to RESP_END: (type, payload)."""
    packets, held = [], b""
    while not packets or packets[-1][0] != 5:
        data = sock.recv(65536)
        assert data, f"closed after {packets}"
        held += data
        while len(held) >= 8:
            length = struct.unpack("<i", held[4:8])[0]
            if len(held) < length:
                break
            packets.append((held[2], held[8:length]))
            held = held[length:]
    return packets


def test_alone_on_descriptor_0(program, tmp_path):
    path = str(tmp_path / "app.sock")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen(16)
        app = subprocess.Popen([str(program)], stdin=listener.fileno(), env={**os.environ, "LSAPI_CHILDREN": "2"})
        try:
            env = {"SCRIPT_FILENAME": "/srv/x", "SCRIPT_NAME": "/x", "QUERY_STRING": "env", "REQUEST_METHOD": "GET",
                   "REQUEST_URI": "/x?env"}
            with socket.socket(socket.AF_UNIX) as client:
                client.settimeout(10 * wait.SCALE)
                client.connect(path)
                for _ in range(3):  # one connection, many requests
                    client.sendall(begin_request(env))
                    packets = read_packets(client)
                    kinds = [kind for kind, _ in packets]
                    assert 3 in kinds and kinds[-1] == 5
                    assert b"SCRIPT_NAME=/x\n" in b"".join(data for kind, data in packets if kind == 4)
        finally:
            app.terminate()
            app.wait(10)
