# SPDX-License-Identifier: Apache-2.0
"""What `make serve` shows: the script behind it, the pages, the guestbook with its session, database and upload."""
import base64
import html
import os
import re
import signal
import subprocess
import time

import pytest

from support import wait
from support.http import Connection, multipart
from support.server import GODWIT, POPENS, ROOT, free_port

PICTURE = base64.b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==")


@pytest.fixture
def served(godwit):
    """tools/serve on a port of its own; gives the address and the process."""
    port = free_port()
    with open(godwit.base / "out", "wb") as out:
        process = subprocess.Popen([str(ROOT / "tools" / "serve"), str(GODWIT.parent), str(port)], cwd=godwit.base, stdout=out,
                                   stderr=out, stdin=subprocess.DEVNULL, start_new_session=True,
                                   env={**godwit.env, "EXAMPLES_DATA": str(godwit.base / "examples")})
    POPENS.add(process.pid)
    address = ("127.0.0.1", port)

    def answers():
        assert process.poll() is None, (godwit.base / "out").read_text()
        try:
            Connection(address).close()
            return True
        except OSError:
            return False
    wait.until(answers, 15, "the port")
    yield address, process, godwit.base / "out"
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGTERM)
        process.wait(20)


class Visitor:
    def __init__(self, address):
        self.address, self.cookie = address, ""

    def request(self, method, target, headers=None, body=None):
        with Connection(self.address) as c:
            answer = c.request(method, target, {**(headers or {}), **({"Cookie": self.cookie} if self.cookie else {})}, body)
        for value in answer.all("Set-Cookie"):
            self.cookie = value.split(";")[0]
        return answer

    def post(self, fields, files=None):
        page = self.request("GET", "/guestbook/").text
        token = html.unescape(re.search(r'name="token" value="([^"]*)"', page).group(1))
        headers, body = multipart({"token": token, **fields}, files or {})
        answer = self.request("POST", "/guestbook/", headers, body)
        assert answer.status == 303
        return self.request("GET", answer.header("Location")).text


def test_examples(served):
    address, process, out = served
    assert f"http://127.0.0.1:{address[1]}/guestbook/" in out.read_text()
    visitor = Visitor(address)
    for target, words in (("/", "Godwit is serving this page"), ("/hello.php", "Hello from PHP"), ("/style.css", "--ink"),
                          ("/guestbook/", "Sign in")):
        answer = visitor.request("GET", target)
        assert answer.status == 200 and words in answer.text, target
    mark = f"<b>{time.time()}</b>"
    assert "Welcome, Ann." in visitor.post({"do": "sign-in", "name": "Ann"})
    page = visitor.post({"do": "write", "text": mark}, {"picture": ("dot.png", "image/png", PICTURE)})
    assert "Thank you." in page and html.escape(mark) in page and mark not in page
    picture = visitor.request("GET", "/guestbook/" + re.search(r'src="(picture\.php\?id=\d+)"', page).group(1))
    assert picture.header("Content-Type") == "image/png" and picture.body == PICTURE
    assert "not a picture" in visitor.post({"do": "write", "text": "x"}, {"picture": ("x.png", "image/png", b"no")})
    assert html.escape(mark) in Visitor(address).request("GET", "/guestbook/").text
    os.killpg(process.pid, signal.SIGINT)  # as Ctrl-C does
    assert process.wait(20) == 0
    assert not re.search(r"PHP (Warning|Notice|Fatal|Deprecated)", out.read_text())


def test_only_what_is_meant_is_served(served):
    """The server's configuration lies beside what it serves."""
    address, _, _ = served
    for target in ("/godwit.conf", "/site.conf", "/www/index.html", "/../godwit.conf"):
        assert Visitor(address).request("GET", target).status in (400, 404), target


def test_nothing_is_written_into_the_source_tree(served):
    address, _, _ = served
    before = sorted((p.as_posix(), p.stat().st_mtime) for p in (ROOT / "examples").rglob("*"))
    Visitor(address).request("GET", "/guestbook/")
    assert sorted((p.as_posix(), p.stat().st_mtime) for p in (ROOT / "examples").rglob("*")) == before
