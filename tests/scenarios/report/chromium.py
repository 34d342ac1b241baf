"""A small client of headless Chromium: the DevTools protocol over a pipe, one command after the other."""

import json
import os
import select
import subprocess
import sys
import time
from base64 import b64decode
from pathlib import Path
from typing import Any

ANSWERS_WITHIN_SECONDS = 60.0
FLAGS = ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars")

_PLACE_PIPES = (
    "import os, sys; read, write = map(int, sys.argv[1:3]); os.dup2(read, 3); os.dup2(write, 4);"
    " os.execv(sys.argv[3], sys.argv[3:])"
)
"""Chromium reads commands from 3 and writes answers to 4."""


class Chromium:
    """One browser process."""

    def __init__(self, program: str, profile: Path) -> None:
        ours_in, theirs_out = os.pipe()
        theirs_in, ours_out = os.pipe()
        flags = [*FLAGS, f"--user-data-dir={profile}", "--remote-debugging-pipe", "about:blank"]
        self._process = subprocess.Popen(
            [sys.executable, "-c", _PLACE_PIPES, str(theirs_in), str(theirs_out), program, *flags],
            pass_fds=(theirs_in, theirs_out),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={"HOME": str(profile), "PATH": os.environ["PATH"]},
        )
        os.close(theirs_in)
        os.close(theirs_out)
        self._in, self._out, self._half, self._number = ours_in, ours_out, b"", 0
        self.events: list[dict[str, Any]] = []

    def close(self) -> None:
        self.ask("Browser.close")
        os.close(self._out)
        self._process.wait(timeout=ANSWERS_WITHIN_SECONDS)
        os.close(self._in)

    def ask(self, method: str, *, tab: str | None = None, **parameters: object) -> dict[str, Any]:
        """The answer to one command; events that come before it are kept."""
        self._number += 1
        message: dict[str, object] = {"id": self._number, "method": method, "params": parameters}
        if tab is not None:
            message["sessionId"] = tab
        os.write(self._out, json.dumps(message).encode() + b"\0")
        answer = self._until(lambda told: told.get("id") == self._number)
        assert "error" not in answer, f"{method}: {answer['error']}"
        result: dict[str, Any] = answer["result"]
        return result

    def wait_for(self, event: str) -> None:
        if not any(told["method"] == event for told in self.events):
            self._until(lambda told: told.get("method") == event)

    def _until(self, wanted: Any) -> dict[str, Any]:
        deadline = time.monotonic() + ANSWERS_WITHIN_SECONDS
        while True:
            for told in self._read(deadline):
                if "method" in told:
                    self.events.append(told)
                if wanted(told):
                    return told

    def _read(self, deadline: float) -> list[dict[str, Any]]:
        """Whole messages only; one answer is read at a time, so what follows an answer is events."""
        ready, _, _ = select.select([self._in], [], [], max(0.0, deadline - time.monotonic()))
        assert ready, "the browser did not answer"
        part = os.read(self._in, 1 << 20)
        assert part, "the browser has ended"
        *whole, self._half = (self._half + part).split(b"\0")
        return [json.loads(message) for message in whole]


class Page:
    """A file in a tab of its own, at one width and in one colour scheme."""

    def __init__(self, browser: Chromium, file: Path, *, width: int, scheme: str) -> None:
        self._browser, self.width = browser, width
        browser.events.clear()
        target = browser.ask("Target.createTarget", url="about:blank")["targetId"]
        self._tab = browser.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Network", "Runtime", "Log"):
            self.ask(f"{domain}.enable")
        scale = 2 if width < 800 else 1
        self.ask(
            "Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=scale, mobile=width < 800
        )
        self.ask("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        browser.events.clear()
        self.ask("Page.navigate", url=file.as_uri())
        browser.wait_for("Page.loadEventFired")

    def ask(self, method: str, **parameters: object) -> dict[str, Any]:
        return self._browser.ask(method, tab=self._tab, **parameters)

    def evaluate(self, expression: str) -> Any:
        """What a JavaScript expression comes to."""
        answer = self.ask("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def screenshot(self, file: Path, *, whole: bool = True) -> None:
        shot = self.ask("Page.captureScreenshot", captureBeyondViewport=whole)
        file.write_bytes(b64decode(shot["data"]))

    @property
    def requests(self) -> list[str]:
        told = [event["params"] for event in self._browser.events if event["method"] == "Network.requestWillBeSent"]
        return [str(request["request"]["url"]) for request in told]

    @property
    def complaints(self) -> list[str]:
        """All that the console was told."""
        heard = {"Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded"}
        return [json.dumps(event["params"]) for event in self._browser.events if event["method"] in heard]
