"""Control of Chromium by the DevTools protocol over a pipe: the contents of a page, and simulated input.

Nothing beside the browser itself is needed, and no port is opened.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import select
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

#: The browser, or None where there is none.
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
#: Seconds to wait for an answer, at most.
PATIENCE = 60.0
#: What a browser needs to start without a screen, and to leave the network alone.
QUIET = (
    "--headless=new --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync --disable-extensions --hide-scrollbars --remote-debugging-pipe"
)
#: The keys that tests press: their codes.
KEYS = {"Tab": 9, "Enter": 13, " ": 32, "End": 35, "Home": 36, "ArrowLeft": 37, "ArrowRight": 39}


class Tab:
    """One page of a browser.

    Attributes
    ----------
    events : list of dict
        What the page reported since it was opened: messages of its console, dialogs, requests.
    """

    def __init__(self, process: subprocess.Popen[bytes], to: int, back: int):
        self._process, self._to, self._back = process, to, back
        self._number, self._rest, self._session = 0, b"", ""
        self.events: list[dict[str, Any]] = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **given: Any) -> dict[str, Any]:
        """Call a method of the protocol and return its result; RuntimeError if the browser refuses."""
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": given}
        if self._session and not method.startswith("Browser."):
            message["sessionId"] = self._session
        os.write(self._to, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._read()
            if answer.get("id") == self._number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']['message']}")
                return dict(answer["result"])
            self._keep(answer)

    def _keep(self, event: dict[str, Any]) -> None:
        """Note an event; a dialog is closed, as it would hold the page."""
        self.events.append(event)
        if event.get("method") == "Page.javascriptDialogOpening":
            close = {"id": 0, "method": "Page.handleJavaScriptDialog", "params": {"accept": False}}
            os.write(self._to, json.dumps({**close, "sessionId": self._session}).encode() + b"\0")

    def _read(self) -> dict[str, Any]:
        end = time.monotonic() + PATIENCE
        while b"\0" not in self._rest:
            if not select.select([self._back], [], [], max(end - time.monotonic(), 0.0))[0]:
                raise TimeoutError("the browser does not answer")
            piece = os.read(self._back, 1 << 20)
            if not piece:
                raise RuntimeError("the browser has ended")
            self._rest += piece
        whole, self._rest = self._rest.split(b"\0", 1)
        return dict(json.loads(whole))

    # --- what is shown ----------------------------------------------------------------------------

    def screen(self, width: int, height: int = 900) -> None:
        """Take the size of a device."""
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.call("Emulation.setDeviceMetricsOverride", **size)

    def open(self, page: Path | str) -> None:
        """Open a file or an address, and wait until all of it is there."""
        self.events.clear()
        self.call("Page.navigate", url=page.as_uri() if isinstance(page, Path) else page)
        self.until("document.readyState === 'complete'")

    def js(self, expression: str) -> Any:
        """Return the value of an expression in the page."""
        found = self.call(
            "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True, userGesture=True
        )
        if "exceptionDetails" in found:
            raise RuntimeError(f"{expression}: {found['exceptionDetails']}")
        return found["result"].get("value")

    def until(self, expression: str) -> None:
        """Wait until an expression holds."""
        end = time.monotonic() + PATIENCE
        while not self.js(expression):
            if time.monotonic() > end:
                raise TimeoutError(expression)
            time.sleep(0.02)

    def ran(self) -> list[str]:
        """Return what a page should not have done: errors, dialogs, and addresses that it asked for."""
        found = []
        for event in self.events:
            method, given = event.get("method", ""), event.get("params", {})
            if method == "Runtime.exceptionThrown":
                found.append(f"error: {given['exceptionDetails'].get('text')}")
            elif method == "Page.javascriptDialogOpening":
                found.append(f"dialog: {given.get('message')}")
            elif method == "Log.entryAdded" and given["entry"].get("level") == "error":
                found.append(f"log: {given['entry'].get('text')}")
            elif method == "Runtime.consoleAPICalled":
                found.append(f"console: {[one.get('value') for one in given['args']]}")
            elif method == "Network.requestWillBeSent":
                address = given["request"]["url"]
                if not address.startswith(("data:", "file:", "about:")):
                    found.append(f"request: {address}")
        return found

    # --- hands ------------------------------------------------------------------------------------

    def key(self, name: str) -> None:
        """Press a key of `KEYS`."""
        given: dict[str, Any] = {"key": name, "code": "Space" if name == " " else name}
        given |= {"windowsVirtualKeyCode": KEYS[name]}
        text = {"Enter": "\r", " ": " "}.get(name)
        self.call("Input.dispatchKeyEvent", type="keyDown", **given, **({"text": text} if text else {}))
        self.call("Input.dispatchKeyEvent", type="keyUp", **given)

    def place(self, selector: str) -> tuple[float, float]:
        """Bring an element into view and return where its centre is."""
        box = self.js(
            f"(() => {{ const e = document.querySelector({json.dumps(selector)});"
            " e.scrollIntoView({block: 'center', inline: 'center', behavior: 'instant'});"
            " const b = e.getBoundingClientRect(); return [b.x + b.width / 2, b.y + b.height / 2]; })()"
        )
        return float(box[0]), float(box[1])

    def click(self, selector: str) -> None:
        """Click an element with the mouse."""
        x, y = self.place(selector)
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)


@contextmanager
def browser() -> Iterator[Tab]:
    """Start a browser with a profile of its own, and end it."""
    if CHROMIUM is None:
        raise SystemExit("There is no Chromium: install the package chromium of your system.")
    read_commands, to = os.pipe()
    back, write_answers = os.pipe()
    # High numbers, so that moving one to its place does not close the other.
    ends = [fcntl.fcntl(end, fcntl.F_DUPFD, 64) for end in (read_commands, write_answers)]
    os.close(read_commands)
    os.close(write_answers)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        # The protocol takes its commands from descriptor 3 and answers on 4.
        start = "import os, sys; os.dup2(int(sys.argv[1]), 3); os.dup2(int(sys.argv[2]), 4); "
        start += "os.execv(sys.argv[3], sys.argv[3:])"
        own = [sys.executable, "-c", start, *map(str, ends)]
        process = subprocess.Popen(
            [*own, CHROMIUM, *QUIET.split(), f"--user-data-dir={profile}"],
            stderr=subprocess.DEVNULL,
            pass_fds=ends,
        )
        for end in ends:
            os.close(end)
        try:
            tab = Tab(process, to, back)
            yield tab
            with contextlib.suppress(RuntimeError, OSError, TimeoutError):
                tab._session = ""
                tab.call("Browser.close")
            process.wait(10)
        finally:
            process.kill()
            process.wait()
            os.close(to)
            os.close(back)
