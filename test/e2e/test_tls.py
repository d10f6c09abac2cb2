# SPDX-License-Identifier: Apache-2.0
"""A listener that speaks TLS: one certificate, which only the loader reads; HTTP as ever within."""
import ctypes
import hashlib
import os
import re
import select
import socket
import ssl
import subprocess

import pytest

from support import wait
from support.http import Connection, format_request
from support.server import IS_ROOT, free_port

WHO = "<?php echo $_SERVER['HTTPS'] ?? 'off', ' ', $_SERVER['REQUEST_SCHEME'], ' ', $_SERVER['REMOTE_ADDR'], ' ', strlen(file_get_contents('php://input'));"


def make_pair(directory, name: str, kind=("ec", "-pkeyopt", "ec_paramgen_curve:P-256"), password: str = None) -> tuple:
    cert, key = directory / f"{name}.pem", directory / f"{name}.key"
    lock = ["-passout", f"pass:{password}"] if password else ["-nodes"]
    subprocess.run(["openssl", "req", "-x509", "-newkey", *kind, *lock, "-keyout", key, "-out", cert, "-days", "10",
                    "-subj", f"/CN={name}", "-addext", f"subjectAltName=DNS:{name},DNS:localhost"],
                   check=True, capture_output=True)
    key.chmod(0o600)
    return cert, key


def context_for(cert, **more) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=cert)
    context.options &= ~ssl.OP_IGNORE_UNEXPECTED_EOF  # suppress_ragged_eofs of a socket says what counts
    for name, value in more.items():
        setattr(context, name, value)
    return context


class Tls(Connection):
    """A connection that speaks TLS."""

    def __init__(self, address, context, name="localhost", first: bytes = b"", timeout: float = 20):
        super().__init__(address, timeout)
        self.sock.sendall(first)
        self.sock = context.wrap_socket(self.sock, server_hostname=name)


CONF = "listen 127.0.0.1:%(port)d tls; certificate %(cert)s; key %(key)s; site _ { root %(www)s; app php { workers 0..2; } }"


@pytest.fixture
def site(godwit):
    godwit.cert, godwit.key = make_pair(godwit.base, "localhost")
    godwit.file("index.html", "home")
    godwit.file("who.php", WHO)
    godwit.config(CONF, cert=godwit.cert, key=godwit.key)
    godwit.start()
    return godwit


def test_requests(site):
    site.stderr.wait(f"listening on https://127.0.0.1:{site.port}$")
    with Tls(site.address, context_for(site.cert)) as c:
        assert c.get("/").text == "home"
        assert c.get("/who.php").text == "on https 127.0.0.1 0"
        body = os.urandom(300000)
        assert c.request("POST", "/who.php", body=body).text == "on https 127.0.0.1 300000"
        c.send(format_request("GET", "/") * 3)
        assert [c.read().text for _ in range(3)] == ["home"] * 3


def test_large_files(site):
    data = os.urandom(5 * 1024 * 1024)
    site.file("large.bin", data)
    with Tls(site.address, context_for(site.cert)) as c:
        for _ in range(2):
            assert hashlib.sha256(c.get("/large.bin").body).digest() == hashlib.sha256(data).digest()
        part = c.get("/large.bin", {"Range": "bytes=100-199,1000000-1999999"})
        assert part.status == 206 and data[1000000:2000000] in part.body


def test_a_slow_reader_gets_all(site):
    data = os.urandom(8 * 1024 * 1024)
    site.file("large.bin", data)
    with Tls(site.address, context_for(site.cert)) as slow:
        slow.send("GET /large.bin HTTP/1.1\r\nHost: a\r\n\r\n")
        head = slow.head()
        first = slow._take(1000)
        for _ in range(5):  # others are served while this one does not read
            with Tls(site.address, context_for(site.cert)) as c:
                assert c.get("/").text == "home"
        assert first + slow._take(int(head.header("Content-Length")) - 1000) == data


def test_close_is_told(site):
    """RFC 9112 9.8: the end of an answer is told by TLS, too."""
    with Tls(site.address, context_for(site.cert)) as c:
        c.sock.suppress_ragged_eofs = False
        assert c.get("/", {"Connection": "close"}).text == "home"
        assert c.sock.recv(10) == b""


def test_a_cut_answer_has_no_end(site):
    """Who trusts the end that TLS tells must not take a part for the whole."""
    site.config(CONF.replace("root", "file_check 0; root"), cert=site.cert, key=site.key)
    site.reload()
    path = site.file("large.bin", os.urandom(24 * 1024 * 1024))  # more than both sockets hold
    with Tls(site.address, context_for(site.cert)) as c:
        c.sock.suppress_ragged_eofs = False
        c.send(format_request("GET", "/large.bin"))
        assert c.head().status == 200
        os.truncate(path, 5000)
        with pytest.raises(ssl.SSLError, match="(?i)eof"):
            c.rest()
    site.stderr.wait(r"front\.cut .*the answer broke off")


def test_a_long_pipeline_is_answered_whole(site):
    with Tls(site.address, context_for(site.cert)) as c:
        got = c.talk(format_request("GET", "/") * 20000 + format_request("GET", "/missing", {"Connection": "close"}))
    assert got.count(b"HTTP/1.1 200 OK\r\n") == 20000 and got.count(b"HTTP/1.1 404 ") == 1


@pytest.mark.parametrize("low,high,works", [
    (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_2, True),
    (ssl.TLSVersion.TLSv1_3, ssl.TLSVersion.TLSv1_3, True),
    (ssl.TLSVersion.TLSv1, ssl.TLSVersion.TLSv1_1, False),
])
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_versions(site, low, high, works):
    context = context_for(site.cert)
    context.set_ciphers("ALL:@SECLEVEL=0")
    context.minimum_version, context.maximum_version = low, high
    if works:
        with Tls(site.address, context) as c:
            assert c.get("/").text == "home"
    else:
        with pytest.raises(OSError):
            Tls(site.address, context)


@pytest.mark.parametrize("offered,chosen", [(["http/1.1"], "http/1.1"), (["h2", "http/1.1"], "http/1.1"), (None, None), (["h2"], ssl.SSLError)])
def test_alpn(site, offered, chosen):
    context = context_for(site.cert)
    if offered:
        context.set_alpn_protocols(offered)
    if chosen is ssl.SSLError:
        with pytest.raises(ssl.SSLError, match="(?i)no.application.protocol"):
            Tls(site.address, context)
        return
    with Tls(site.address, context) as c:
        assert c.sock.selected_alpn_protocol() == chosen
        assert c.get("/").text == "home"


@pytest.mark.parametrize("proxied", [False, True])
def test_http_at_the_port_of_https_is_told_so(site, proxied):
    """400 without TLS, readable also by who sends a body at once; the connection ends behind it."""
    if proxied:
        site.config(CONF.replace(" tls;", " proxy_protocol tls;"), cert=site.cert, key=site.key)
        site.reload()
    first = b"PROXY TCP4 192.0.2.1 198.51.100.2 1 2\r\n" if proxied else b""
    for sent in (format_request("GET", "/"), format_request("POST", "/", body=os.urandom(300000)), format_request("HEAD", "/")):
        with site.connect() as c:
            c.send(first + sent)
            answer = c.read()
            assert answer.status == 400 and "https://" in answer.text
            assert c.at_end()
    assert site.status()["metrics"]["requests_malformed"] == 3


def test_what_is_no_tls_is_closed(site):
    for sent in (b"SSH-2.0-OpenSSH_9.2\r\n", b"\x16\x03\x01\xff\xff" + b"x" * 100, b"\0" * 1000):
        with site.connect() as c:
            try:
                c.send(sent)
                assert b"HTTP/1.1" not in c.rest()
            except OSError:
                pass
    with Tls(site.address, context_for(site.cert)) as c:
        assert c.get("/").text == "home"


def test_byte_by_byte(site):
    """A handshake that comes in pieces: the client's bytes are passed on one at a time."""
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = context_for(site.cert).wrap_bio(incoming, outgoing, server_hostname="localhost")
    with site.connect() as c:
        c.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

        def pump(work):
            while True:
                try:
                    return work()
                except ssl.SSLWantReadError:
                    for byte in outgoing.read():
                        c.sock.sendall(bytes([byte]))
                    incoming.write(c.sock.recv(65536))

        pump(client.do_handshake)
        client.write(b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
        answer = b""
        while b"home" not in answer:
            answer += pump(lambda: client.read(65536))
        assert answer.startswith(b"HTTP/1.1 200")


def test_a_reload_swaps_the_certificate(site):
    with Tls(site.address, context_for(site.cert)) as old:
        assert old.get("/").text == "home"
        cert, key = make_pair(site.base, "second")
        site.config(CONF, cert=cert, key=key)
        site.reload()
        with Tls(site.address, context_for(cert), "second") as new:
            assert new.get("/").text == "home"
        assert old.get("/").text == "home", "who is connected stays"
        with pytest.raises(ssl.SSLError):
            Tls(site.address, context_for(site.cert))


def test_a_bad_reload_changes_nothing(site):
    site.key.write_text("nonsense")
    done = site.reload(check=False)
    assert done.returncode != 0 and str(site.key) in done.stdout + done.stderr
    with Tls(site.address, context_for(site.cert)) as c:
        assert c.get("/").text == "home"


def test_the_server_cannot_read_the_key(site):
    server = site.one("server")
    if IS_ROOT:
        assert "Uid:\t0" not in open(f"/proc/{server.pid}/status").read()
        assert os.stat(site.key).st_uid == 0 and os.stat(site.key).st_mode & 0o077 == 0
    else:
        site.key.chmod(0)  # loaded; nobody needs it any more
    with Tls(site.address, context_for(site.cert)) as c:
        assert c.get("/").text == "home"


def test_wrong_files(godwit):
    cert, key = make_pair(godwit.base, "one")
    other_cert, other_key = make_pair(godwit.base, "other")
    locked_cert, locked_key = make_pair(godwit.base, "locked", password="secret")
    empty = godwit.base / "empty.pem"
    empty.write_text("")
    cut = godwit.base / "cut.pem"
    cut.write_text(cert.read_text()[:200])
    missing = godwit.base / "missing.pem"
    large = godwit.base / "large.pem"
    large.write_bytes(b"x" * (1 << 20) + b"x")
    pipe = godwit.base / "pipe.pem"
    os.mkfifo(pipe)
    cases = [
        (cert, other_key, other_key, "another key"),
        (cert, missing, missing, "cannot be read"),
        (missing, key, missing, "cannot be read"),
        (empty, key, empty, "no certificate"),
        (cut, key, cut, "no certificate"),
        (key, key, key, "no certificate"),
        (cert, cert, cert, "no private key"),
        (cert, empty, empty, "no private key"),
        (locked_cert, locked_key, locked_key, "password"),
        (cert, large, large, "1 MiB"),
        (cert, "/dev/zero", "/dev/zero", "no regular file"),
        (pipe, key, pipe, "no regular file"),
    ]
    for a, b, named, said in cases:
        godwit.config(CONF.replace("app php { workers 0..2; }", ""), cert=a, key=b)
        done = godwit.run("check", "-c", godwit.conf, check=False)
        assert done.returncode != 0 and str(named) in done.stderr and said in done.stderr, (a, b, done.stderr)
        assert re.match(r".*godwit.conf:\d+:\d+: ", done.stderr)
    for text, said in (("listen 127.0.0.1:%(port)d tls;", "certificate and key"), ("certificate %(cert)s;", "belong together"),
                       ("certificate %(cert)s %(cert)s; key %(key)s;", "too many"), ("key %(key)s;", "belong together")):
        godwit.config("listen 127.0.0.1:%(other)d; " + text + " site _ { root %(www)s; }", cert=cert, key=key, other=free_port())
        done = godwit.run("check", "-c", godwit.conf, check=False)
        assert done.returncode != 0 and said in done.stderr, (text, done.stderr)


def test_a_chain_is_sent(godwit):
    root, root_key = make_pair(godwit.base, "root")
    leaf_key, request, leaf = godwit.base / "leaf.key", godwit.base / "leaf.csr", godwit.base / "leaf.pem"
    names = godwit.base / "names"
    names.write_text("subjectAltName=DNS:localhost")
    middle_key, middle_csr, middle = godwit.base / "m.key", godwit.base / "m.csr", godwit.base / "m.pem"
    is_ca = godwit.base / "is_ca"
    is_ca.write_text("basicConstraints=critical,CA:TRUE")

    def run(*args):
        subprocess.run(["openssl", *map(str, args)], check=True, capture_output=True)

    for k, csr, name in ((middle_key, middle_csr, "middle"), (leaf_key, request, "leaf")):
        run("req", "-newkey", "rsa:2048", "-nodes", "-keyout", k, "-out", csr, "-subj", f"/CN={name}")
    run("x509", "-req", "-in", middle_csr, "-CA", root, "-CAkey", root_key, "-out", middle, "-days", 5, "-extfile", is_ca, "-CAcreateserial")
    run("x509", "-req", "-in", request, "-CA", middle, "-CAkey", middle_key, "-out", leaf, "-days", 5, "-extfile", names, "-CAcreateserial")
    both = godwit.base / "both.pem"
    both.write_text(leaf.read_text() + middle.read_text())
    godwit.file("index.html", "home")
    godwit.config(CONF.replace("app php { workers 0..2; }", ""), cert=both, key=leaf_key)
    godwit.start()
    with Tls(godwit.address, context_for(root)) as c:
        assert c.get("/").text == "home"


def test_plain_and_tls_side_by_side(site):
    plain = free_port()
    site.config(CONF + " listen 127.0.0.1:%(plain)d; redirect_https on;", cert=site.cert, key=site.key, plain=plain)
    done = site.reload(check=False)
    if done.returncode != 0:  # redirect_https belongs to a site
        site.config(CONF.replace("root %(www)s;", "root %(www)s; redirect_https on;") + " listen 127.0.0.1:%(plain)d;",
                    cert=site.cert, key=site.key, plain=plain)
        site.reload()
    with Connection(("127.0.0.1", plain)) as c:
        answer = c.get("/x")
        assert answer.status in (301, 308) and answer.header("Location").startswith("https://")
    with Tls(site.address, context_for(site.cert)) as c:
        assert c.get("/").text == "home"


def test_proxy_header_before_tls(godwit):
    cert, key = make_pair(godwit.base, "localhost")
    godwit.file("who.php", WHO)
    godwit.config(CONF.replace(" tls;", " proxy_protocol tls;"), cert=cert, key=key)
    godwit.start()
    with Tls(godwit.address, context_for(cert), first=b"PROXY TCP4 192.0.2.1 198.51.100.2 1 2\r\n") as c:
        assert c.get("/who.php").text == "on https 192.0.2.1 0"


class Busy:
    """A client by OpenSSL itself, which can say what Python's does not: new keys, as often as one likes."""

    KEY_UPDATE_NOT_REQUESTED = 0

    def __init__(self, address):
        self.lib = ctypes.CDLL("libssl.so.3")
        for name in ("TLS_client_method", "SSL_CTX_new", "SSL_new"):
            getattr(self.lib, name).restype = ctypes.c_void_p
        self.sock = socket.create_connection(address, timeout=20 * wait.SCALE)
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.sock.setblocking(True)  # so is the descriptor, for OpenSSL
        self.context = ctypes.c_void_p(self.lib.SSL_CTX_new(ctypes.c_void_p(self.lib.TLS_client_method())))
        self.ssl = ctypes.c_void_p(self.lib.SSL_new(self.context))
        assert self.lib.SSL_set_fd(self.ssl, self.sock.fileno()) == 1
        assert self.lib.SSL_connect(self.ssl) == 1

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.lib.SSL_free(self.ssl)
        self.lib.SSL_CTX_free(self.context)
        self.sock.close()

    def send(self, data: bytes) -> None:
        assert self.lib.SSL_write(self.ssl, data, len(data)) == len(data)

    def change_keys(self) -> bool:
        return self.lib.SSL_key_update(self.ssl, self.KEY_UPDATE_NOT_REQUESTED) == 1 and self.lib.SSL_do_handshake(self.ssl) == 1

    def get(self) -> bytes:
        room = ctypes.create_string_buffer(65536)
        got = self.lib.SSL_read(self.ssl, room, len(room))
        return room.raw[:max(got, 0)]

    def has_answer(self) -> bool:
        """Whether there are bytes beside the ticket that came with the handshake."""
        room = ctypes.create_string_buffer(1)
        return bool(select.select([self.sock], [], [], 0)[0]) and self.lib.SSL_peek(self.ssl, room, 1) == 1


def test_who_only_changes_keys_is_cut(site):
    """Before, in and behind a request; others are served meanwhile."""
    request = format_request("GET", "/")
    for first, then in ((b"", b""), (request, b""), (b"GET / HT", b"TP/1.1\r\nHost: a\r\n\r\n"),
                        (b"POST /who.php HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\n1", b"2345")):
        with Busy(site.address) as busy, Tls(site.address, context_for(site.cert)) as other:
            if first:
                busy.send(first)
            assert all(busy.change_keys() for _ in range(20)), "some are nothing unusual"
            if then:
                busy.send(then)
            if first:
                assert busy.get().startswith(b"HTTP/1.1 200 ")
            sent = 0
            while sent < 1000000 and busy.change_keys():
                sent += 1
                if sent % 1000 == 0:
                    assert other.get("/").text == "home"
            assert sent < 1000000, "the server has closed"
    wait.until(lambda: len(re.findall(r"front\.tls_flood .*127\.0\.0\.1 ", site.stderr.text())) == 4, 20, "one line for each")


@pytest.mark.parametrize("rate", [0, 100])
def test_new_keys_are_no_bytes_of_a_body(site, rate):
    """Who sends no body has body_idle_time for it, whatever else it sends."""
    site.config(f"body_idle_time 500ms; body_rate_min {rate}; " + CONF, cert=site.cert, key=site.key)
    site.reload()
    with Busy(site.address) as busy:
        busy.send(b"POST /who.php HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\n")
        begin, sent = wait.now(), 0

        def is_answered() -> bool:
            nonlocal sent
            if wait.now() >= begin + 0.05 * sent and sent < 60:
                sent += 1
                assert busy.change_keys()
            return busy.has_answer()

        wait.until(is_answered, 3, "an answer, though keys change all the time")
        assert busy.get().startswith(b"HTTP/1.1 408 ")


@pytest.mark.parametrize("times,begin,answer", [("header_time 500ms;", b"", b""), ("header_time 500ms;", b"GET /", b"HTTP/1.1 408 "),
                                                ("keepalive_time 500ms;", format_request("GET", "/"), b"")])
def test_new_keys_are_no_bytes_of_a_head(site, times, begin, answer):
    site.config(times + CONF, cert=site.cert, key=site.key)
    site.reload()
    with Busy(site.address) as busy:
        if begin:
            busy.send(begin)
        if begin and not answer:
            assert busy.get().startswith(b"HTTP/1.1 200 ")
        start, sent = wait.now(), 0

        def is_over() -> bool:
            nonlocal sent
            if wait.now() >= start + 0.05 * sent and sent < 60:
                sent += 1
                if not busy.change_keys():
                    return True
            ready = bool(select.select([busy.sock], [], [], 0)[0])
            return ready and (busy.has_answer() or busy.sock.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT) == b"")

        wait.until(is_over, 3, "the end, though keys change all the time")
        if answer:
            assert busy.get().startswith(answer)


@pytest.mark.memory
def test_idle_connections_hold_little(site):
    def memory() -> int:
        text = open(f"/proc/{site.one('server').pid}/smaps_rollup").read()
        return int(re.search(r"(?m)^Private_Dirty:\s+(\d+)", text).group(1)) * 1024

    context = context_for(site.cert)
    first = [Tls(site.address, context) for _ in range(50)]
    for c in first:
        assert c.get("/").text == "home"
    before = memory()
    more = [Tls(site.address, context) for _ in range(300)]
    for c in more:
        assert c.get("/").text == "home"
    each = (memory() - before) / len(more)
    for c in first + more:
        c.close()
    assert each < 24 * 1024, f"{each:.0f} bytes for each idle connection"
