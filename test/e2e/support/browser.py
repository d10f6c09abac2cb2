# SPDX-License-Identifier: Apache-2.0
"""A real browser: headless Chromium, spoken to over a pipe by its DevTools protocol, so that nothing but Debian's package
is needed. It reaches 127.0.0.1 only. What pages ask for and what goes wrong in them is kept."""
from __future__ import annotations

import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
from pathlib import Path

from . import wait
from .server import IS_ROOT, POPENS

PROGRAM = "/usr/bin/chromium"
CALL_SECONDS = 60

FLAGS = ("--headless=new", "--remote-debugging-pipe", "--no-first-run", "--no-default-browser-check", "--disable-gpu",
         "--disable-dev-shm-usage", "--disable-background-networking", "--disable-component-update", "--disable-sync",
         "--disable-extensions", "--hide-scrollbars", "--window-size=1280,1000", "--lang=en-US",
         "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1")


class Browser:
    """One Chromium with one page."""

    def __init__(self):
        self.home = Path(tempfile.mkdtemp(prefix="e2e-chromium-"))
        to_read, self.out = os.pipe()
        self.inp, to_write = os.pipe()
        flags = [*FLAGS, f"--user-data-dir={self.home}", *(["--no-sandbox"] if IS_ROOT else [])]
        # Chromium reads commands from descriptor 3 and writes answers to 4.
        command = ["/bin/bash", "-c", f'exec "$@" 3<&{to_read} 4>&{to_write}', "bash", PROGRAM, *flags, "about:blank"]
        with open(self.home / "stderr", "wb") as log:
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
                                            pass_fds=(to_read, to_write), env={**os.environ, "HOME": str(self.home)})
        POPENS.add(self.process.pid)
        os.close(to_read)
        os.close(to_write)
        self.held, self.next_id, self.session = b"", 0, None
        self.forget()
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")

    def close(self) -> None:
        if self.process.poll() is None:
            self.session = None
            self._send("Browser.close", {})
        try:
            self.process.wait(20 * wait.SCALE)
        finally:
            os.close(self.out)
            os.close(self.inp)
            shutil.rmtree(self.home, ignore_errors=True)

    # ---- the protocol

    def _send(self, method: str, params: dict) -> int:
        self.next_id += 1
        message = {"id": self.next_id, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self.out, data):]
        return self.next_id

    def _receive(self, end: float):
        """The next message, or None when none comes before `end`."""
        while b"\0" not in self.held:
            if not select.select([self.inp], [], [], wait.left(end))[0]:
                return None
            got = os.read(self.inp, 1 << 20)
            assert got, f"Chromium has gone: {(self.home / 'stderr').read_text('utf-8', 'replace')[-2000:]}"
            self.held += got
        message, _, self.held = self.held.partition(b"\0")
        return json.loads(message)

    def call(self, method: str, **params) -> dict:
        """Sends a command and returns its result; events that come meanwhile are kept."""
        sent, end = self._send(method, params), wait.deadline(CALL_SECONDS)
        while True:
            message = self._receive(end)
            assert message is not None, f"no answer to {method} {params}"
            if message.get("id") == sent:
                assert "error" not in message, f"{method} {params}: {message['error']}"
                return message["result"]
            self._on_event(message.get("method"), message.get("params", {}))

    def _on_event(self, method: str, params: dict) -> None:
        if method == "Page.loadEventFired":
            self.loads += 1
        elif method == "Page.javascriptDialogOpening":
            self._send("Page.handleJavaScriptDialog", {"accept": True})
        elif method == "Network.requestWillBeSent":
            self.asked[params["requestId"]] = params["request"]["url"]
        elif method == "Network.responseReceived":
            answer = params["response"]
            self.answers.append((answer["status"], answer["url"], answer["mimeType"]))
        elif method == "Network.loadingFailed" and not params.get("canceled"):
            self.failures.append((self.asked.get(params["requestId"], "?"), params["errorText"]))
        elif method == "Runtime.exceptionThrown":
            details = params["exceptionDetails"]
            self.errors.append(details.get("exception", {}).get("description", details["text"]))

    def forget(self) -> None:
        """Begins the records anew."""
        self.loads = 0
        self.asked, self.answers, self.failures, self.errors = {}, [], [], []

    def fresh(self) -> None:
        """Leaves the page and forgets all cookies: these know no ports, and belong to whatever else listens here, too."""
        self.go("about:blank")
        self.call("Network.clearBrowserCookies")

    # ---- pages

    def run(self, script: str):
        """The value of a JavaScript expression in the page (of a promise, what it comes to)."""
        result = self.call("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True, userGesture=True)
        assert "exceptionDetails" not in result, f"{script}: {result['exceptionDetails']}"
        return result["result"].get("value")

    def until(self, script: str, seconds: float = 30):
        """Waits until the expression is true, in whatever page is there by then."""
        def ask():
            # A page that is just being left cannot answer.
            result = self._ask(script)
            return result.get("result", {}).get("value") if "exceptionDetails" not in result else None

        return wait.until(ask, seconds, lambda: f"{script} in {self.where()}:\n{self.text()[:1500]}\n{self.errors}")

    def _ask(self, script: str) -> dict:
        try:
            return self.call("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True, userGesture=True)
        except AssertionError as error:
            if "context" in str(error) or "navigat" in str(error):
                return {}
            raise

    def where(self) -> str:
        return self.run("location.href")

    def text(self) -> str:
        return self.run("document.body ? document.body.innerText : ''")

    def go(self, url: str) -> None:
        """Opens a page and waits until all of it has loaded."""
        self.leave(lambda: self.call("Page.navigate", url=url))

    def leave(self, action) -> None:
        """Does something that opens another page, and waits until that has loaded."""
        before = self.loads
        action()
        wait.until(lambda: self._pump() and self.loads > before, 60, lambda: f"a page to load; it is {self.where()}")
        self.until("document.readyState == 'complete'")

    def _pump(self) -> bool:
        self.call("Runtime.evaluate", expression="1")
        return True

    def count(self, selector: str) -> int:
        return self.run(f"document.querySelectorAll({json.dumps(selector)}).length")

    def click(self, selector: str) -> None:
        """Clicks with the mouse in the middle of the first visible element of that selector, once that is enabled, stands
        still and nothing covers it."""
        place = self.until(f"""(async () => {{
            const find = () => [...document.querySelectorAll({json.dumps(selector)})].find(e => e.getClientRects().length);
            const found = find();
            if (!found || found.disabled || found.ariaDisabled == 'true') return null;
            found.scrollIntoView({{block: 'center', behavior: 'instant'}});
            const before = found.getBoundingClientRect();
            for (let i = 0; i < 3; i++) await new Promise(requestAnimationFrame);
            const box = found.getBoundingClientRect(), x = box.x + box.width / 2, y = box.y + box.height / 2;
            const top = document.elementFromPoint(x, y);
            const is_reached = top && (found.contains(top) || top.contains(found) || (found.labels && [...found.labels].some(l => l.contains(top))));
            return find() == found && box.x == before.x && box.y == before.y && is_reached ? {{x, y}} : null;
        }})()""")
        for kind in ("mouseMoved", "mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, button="none" if kind == "mouseMoved" else "left", clickCount=1,
                      **place)

    def fill(self, selector: str, text: str) -> None:
        """Puts text into a field in place of what is there, as keys would."""
        self.click(selector)
        self.run("document.activeElement.select && document.activeElement.select()")
        self.type(text)

    def type(self, text: str) -> None:
        self.call("Input.insertText", text=text)

    def press(self, key: str, code: int) -> None:
        text = "\r" if key == "Enter" else None
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=code,
                      **({"text": text} if text and kind == "keyDown" else {}))

    def choose_file(self, selector: str, path) -> None:
        """Gives a file to a file input, which need not be visible."""
        self.until(f"!!document.querySelector({json.dumps(selector)})")
        node = self.call("Runtime.evaluate", expression=f"document.querySelector({json.dumps(selector)})")["result"]["objectId"]
        self.call("DOM.setFileInputFiles", files=[str(path)], objectId=node)

    def picture(self, name: str) -> None:
        """Saves what the page looks like, for somebody to see, when GODWIT_PICTURES names a directory for that."""
        if os.environ.get("GODWIT_PICTURES"):
            data = self.call("Page.captureScreenshot", format="png")["data"]
            Path(os.environ["GODWIT_PICTURES"], name + ".png").write_bytes(base64.b64decode(data))

    # ---- what must hold of every page

    def complaints(self, base: str) -> list:
        """What is wrong with the page and with all it has asked of `base`: answers of 400 and more, files that did not
        come, exceptions in scripts, pictures that do not show, style sheets without a rule."""
        # Browsers ask for the site's icon by themselves.
        bad = [f"{status} {url}" for status, url, _ in self.answers
               if status >= 400 and url.startswith(base) and not url.endswith("/favicon.ico")]
        bad += [f"{error} {url}" for url, error in self.failures if url.startswith(base)]
        bad += self.errors
        bad += self.run(f"""[...document.images].filter(i => i.src.startsWith({json.dumps(base)}) && i.complete
            && i.loading != 'lazy' && !i.naturalWidth).map(i => 'broken picture ' + i.src)""")
        bad += self.run("""[...document.querySelectorAll('link[rel=stylesheet]')].filter(l => !l.disabled && !l.sheet
            ).map(l => 'no style sheet ' + l.href)""")
        return bad
