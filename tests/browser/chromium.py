# SPDX-License-Identifier: GPL-2.0-only
"""A headless Chromium, driven through two pipes by its own protocol: no port, no driver, no network."""

import base64
import json
import os
import pathlib
import shutil
import subprocess
import tempfile

NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--remote-debugging-pipe",
    "--no-first-run",
    "--host-resolver-rules=MAP * ~NOTFOUND",
    "--window-size=1200,800",
    "--hide-scrollbars",
    "--force-device-scale-factor=1",
)


def find():
    return next((path for path in map(shutil.which, NAMES) if path), None)


class Chromium:
    def __init__(self, program):
        self.folder = tempfile.TemporaryDirectory(prefix="perftape-browser-", ignore_cleanup_errors=True)
        read_here, write_there = os.pipe()
        read_there, write_here = os.pipe()

        def pipes():
            os.dup2(read_there, 3)
            os.dup2(write_there, 4)

        # move both descriptors above 4, so that pipes() does not overwrite one before it has copied it
        read_there, write_there = (self.move(fd) for fd in (read_there, write_there))
        self.process = subprocess.Popen(
            [program, *FLAGS, f"--user-data-dir={self.folder.name}", "about:blank"],
            preexec_fn=pipes,
            pass_fds=(3, 4),
            close_fds=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(read_there)
        os.close(write_there)
        self.input, self.output = os.fdopen(write_here, "wb", 0), os.fdopen(read_here, "rb", 0)
        self.number, self.rest, self.events = 0, b"", []
        target = next(row for row in self.call("Target.getTargets")["targetInfos"] if row["type"] == "page")
        self.session = self.call("Target.attachToTarget", targetId=target["targetId"], flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")

    @staticmethod
    def move(fd):
        other = os.open("/dev/null", os.O_RDONLY)
        while other < 5:
            other = os.dup(other)
        os.dup2(fd, other)
        os.close(fd)
        return other

    def message(self):
        while b"\0" not in self.rest:
            piece = os.read(self.output.fileno(), 1 << 16)
            if not piece:
                raise RuntimeError("chromium has ended")
            self.rest += piece
        one, _, self.rest = self.rest.partition(b"\0")
        return json.loads(one)

    def call(self, method, **params):
        self.number += 1
        request = {"id": self.number, "method": method, "params": params}
        if getattr(self, "session", None):
            request["sessionId"] = self.session
        self.input.write(json.dumps(request).encode() + b"\0")
        while True:
            answer = self.message()
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]
            if "method" in answer:
                self.events.append(answer)

    def wait(self, *methods):
        while not any(event["method"] in methods for event in self.events):
            self.events.append(self.message())

    def open(self, path, fragment=""):
        self.events.clear()
        self.call("Page.navigate", url=f"file://{path}" + ("#" + fragment if fragment else ""))
        while True:
            self.wait("Page.loadEventFired")
            # the event may belong to the page before
            self.events.clear()
            if self.run("document.readyState === 'complete' && decodeURI(location.pathname)") == str(path):
                return

    def back(self):
        """Goes back within the document."""
        self.events.clear()
        history = self.call("Page.getNavigationHistory")
        entry = history["entries"][history["currentIndex"] - 1]["id"]
        self.call("Page.navigateToHistoryEntry", entryId=entry)
        self.wait("Page.navigatedWithinDocument")

    def picture(self, path, **area):
        """Writes a screenshot; with x, y, width and height, of this area also beyond the window."""
        more = {"clip": {**area, "scale": 1}, "captureBeyondViewport": True} if area else {}
        pathlib.Path(path).write_bytes(base64.b64decode(self.call("Page.captureScreenshot", **more)["data"]))

    def run(self, script):
        """The value of an expression in the page. Raises an exception if the expression does."""
        answer = self.call("Runtime.evaluate", expression=script, returnByValue=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(str(answer["exceptionDetails"]))
        return answer["result"].get("value")

    def key(self, key):
        text = {"text": key} if len(key) == 1 else {"text": "\r"} if key == "Enter" else {}
        self.call("Input.dispatchKeyEvent", type="keyDown", key=key, **text)
        self.call("Input.dispatchKeyEvent", type="keyUp", key=key)

    def click(self, x, y):
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def hover(self, x, y):
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    def complaints(self):
        """Errors in the page, and its requests to the network."""
        bad = [event for event in self.events if event["method"] in ("Runtime.exceptionThrown", "Log.entryAdded")]
        asked = [
            event["params"]["request"]["url"] for event in self.events if event["method"] == "Network.requestWillBeSent"
        ]
        return [json.dumps(event["params"])[:300] for event in bad] + [
            url for url in asked if not url.startswith("file:")
        ]

    def close(self):
        self.process.terminate()
        self.process.wait()
        self.input.close()
        self.output.close()
        self.folder.cleanup()
