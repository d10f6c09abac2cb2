# SPDX-License-Identifier: Apache-2.0
"""A small HTTP/1.1 client that shows everything: raw bytes out, parsed answers in, one connection at a time."""
from __future__ import annotations

import select
import socket
import ssl
import struct
from dataclasses import dataclass, field

from . import wait


class Closed(Exception):
    """The server closed the connection: `got` is what had come of the answer before."""

    def __init__(self, got: bytes, reset: bool = False):
        super().__init__(f"connection {'reset' if reset else 'closed'} after {got[:200]!r}")
        self.got = got
        self.reset = reset


@dataclass
class Response:
    status: int
    reason: str
    version: str
    headers: list = field(default_factory=list)
    body: bytes = b""
    chunked: bool = False
    complete: bool = True

    def header(self, name: str, default=None):
        values = self.all(name)
        return values[0] if values else default

    def all(self, name: str) -> list:
        return [v for n, v in self.headers if n.lower() == name.lower()]

    @property
    def text(self) -> str:
        return self.body.decode("utf-8", "replace")


class Connection:
    """One connection. `address` is (host, port) or the path of a Unix socket; `source`: the client's own address."""

    def __init__(self, address, timeout: float = 10.0, source: str = None):
        self.timeout = timeout
        family = socket.AF_UNIX if isinstance(address, str) else (
            socket.AF_INET6 if ":" in address[0] else socket.AF_INET)
        self.sock = socket.socket(family, socket.SOCK_STREAM)
        self.sock.settimeout(timeout * wait.SCALE)
        if source:
            self.sock.bind((source, 0))
        self.sock.connect(address)
        if family != socket.AF_UNIX:
            self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.held = b""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self) -> None:
        self.sock.close()

    def leave(self) -> None:
        """Closes so that the server sees that nobody is there any more (RST): a mere FIN may be half of a close."""
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.sock.close()

    def send(self, data) -> None:
        self.sock.sendall(data if isinstance(data, bytes) else data.encode())

    def _more(self) -> bool:
        try:
            data = self.sock.recv(65536)
        except ConnectionResetError as error:
            raise Closed(self.held, reset=True) from error
        self.held += data
        return bool(data)

    def _line(self) -> bytes:
        while b"\n" not in self.held:
            if not self._more():
                raise Closed(self.held)
        line, self.held = self.held.split(b"\n", 1)
        return line.rstrip(b"\r")

    def _take(self, count: int) -> bytes:
        chunks, have = [self.held], len(self.held)
        self.held = b""
        while have < count:
            try:
                data = self.sock.recv(min(1 << 20, count - have + 65536))
            except ConnectionResetError as error:
                raise Closed(b"".join(chunks), reset=True) from error
            if not data:
                raise Closed(b"".join(chunks))
            chunks.append(data)
            have += len(data)
        whole = b"".join(chunks)
        self.held = whole[count:]
        return whole[:count]

    def head(self) -> Response:
        """Reads a status line and header fields."""
        line = self._line().decode("latin-1")
        parts = line.split(" ", 2)
        assert len(parts) >= 2 and parts[0].startswith("HTTP/"), f"not a status line: {line!r}"
        answer = Response(int(parts[1]), parts[2] if len(parts) > 2 else "", parts[0])
        while True:
            line = self._line().decode("latin-1")
            if not line:
                return answer
            name, colon, value = line.partition(":")
            assert colon and name == name.strip(), f"bad header line {line!r}"
            answer.headers.append((name, value.strip()))

    def chunk(self) -> bytes:
        """Reads one chunk of a chunked body; b"" is the end."""
        size = int(self._line().split(b";")[0], 16)
        data = self._take(size)
        assert self._line() == b""
        return data

    def body(self, answer: Response, method: str = "GET") -> Response:
        if method == "HEAD" or answer.status in (204, 304) or answer.status < 200:
            return answer
        if "chunked" in (answer.header("Transfer-Encoding") or ""):
            answer.chunked = True
            while data := self.chunk():
                answer.body += data
        elif answer.header("Content-Length") is not None:
            answer.body = self._take(int(answer.header("Content-Length")))
        else:
            answer.body = self.rest()
        return answer

    def read(self, method: str = "GET") -> Response:
        """Reads one whole answer."""
        return self.body(self.head(), method)

    def rest(self) -> bytes:
        """Everything up to the end of the connection."""
        while self._more():
            pass
        data, self.held = self.held, b""
        return data

    def talk(self, data: bytes) -> bytes:
        """Sends all of it and reads meanwhile: everything up to the end of the connection."""
        self.sock.settimeout(0)
        waits = (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError)
        left, got = memoryview(data), [self.held]
        while True:
            blocked = 0
            try:
                left = left[self.sock.send(left[:16384]):] if left else left
            except waits:
                blocked += 1
            try:
                got.append(self.sock.recv(65536))
                if not got[-1]:
                    return b"".join(got)
            except waits:
                blocked += 1
            if blocked == 2 or not left and blocked:
                ready = select.select([self.sock], [self.sock] if left else [], [], self.timeout * wait.SCALE)
                assert any(ready), f"nothing happens after {sum(map(len, got))} bytes, with {len(left)} left to send"

    def at_end(self) -> bool:
        """Whether the server closes now (waits for it, up to the time-out) without sending more."""
        try:
            return not self.held and not self._more()
        except Closed:
            return True

    def request(self, method: str, target: str, headers=None, body: bytes = None, host="localhost") -> Response:
        self.send(format_request(method, target, headers, body, host))
        return self.read(method)

    def get(self, target: str, headers=None, host="localhost") -> Response:
        return self.request("GET", target, headers, host=host)


def format_request(method: str, target: str, headers=None, body: bytes = None, host="localhost") -> bytes:
    lines = [f"{method} {target} HTTP/1.1", f"Host: {host}"]
    pairs = list(headers.items() if isinstance(headers, dict) else headers or [])
    lines += [f"{n}: {v}" for n, v in pairs]
    names = {n.lower() for n, _ in pairs}
    if body is not None and not names & {"content-length", "transfer-encoding"}:
        lines.append(f"Content-Length: {len(body)}")
    return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + (body or b"")


def chunked(*pieces: bytes) -> bytes:
    """A body in the chunked coding."""
    return b"".join(b"%x\r\n%s\r\n" % (len(p), p) for p in pieces) + b"0\r\n\r\n"


def multipart(fields: dict, files: dict) -> tuple:
    """A multipart/form-data body: files is {name: (file name, type, bytes)}. Returns (headers, body)."""
    edge = "edge-of-the-form-7d1f"
    out = b""
    for name, value in fields.items():
        out += f'--{edge}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'.encode()
    for name, (file, kind, data) in files.items():
        out += (f'--{edge}\r\nContent-Disposition: form-data; name="{name}"; filename="{file}"\r\n'
                f"Content-Type: {kind}\r\n\r\n").encode() + data + b"\r\n"
    return {"Content-Type": f"multipart/form-data; boundary={edge}"}, out + f"--{edge}--\r\n".encode()
