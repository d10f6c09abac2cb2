# SPDX-License-Identifier: Apache-2.0
"""A program on libgodwit-app: under Godwit, and by itself under any LSAPI server (prefork on descriptor 0)."""
import os
import socket
import struct
import subprocess

import pytest

from support import wait
from support.server import GODWIT

BUILD = GODWIT.parent


@pytest.fixture
def program():
    found = [p for p in BUILD.rglob("lsapi-hello") if p.is_file() and os.access(p, os.X_OK)]
    assert found, "lsapi-hello was not built"
    return found[0]


def test_under_godwit(godwit, program):
    godwit.file("index.html", "static")
    godwit.simple(" app lsapi { command %(program)s; workers 1..2; }", program=program)
    answer = godwit.get("/anything?q=1")
    assert answer.status == 200 and b"/anything" in answer.body


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
            env = {"SCRIPT_FILENAME": "/srv/x", "SCRIPT_NAME": "/x", "QUERY_STRING": "q=1", "REQUEST_METHOD": "GET",
                   "REQUEST_URI": "/x?q=1"}
            with socket.socket(socket.AF_UNIX) as client:
                client.settimeout(10 * wait.SCALE)
                client.connect(path)
                for _ in range(3):  # one connection, many requests
                    client.sendall(begin_request(env))
                    packets = read_packets(client)
                    kinds = [kind for kind, _ in packets]
                    assert 3 in kinds and kinds[-1] == 5
                    assert b"/x" in b"".join(data for kind, data in packets if kind == 4)
        finally:
            app.terminate()
            app.wait(10)
