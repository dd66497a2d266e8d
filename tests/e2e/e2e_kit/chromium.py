"""A headless Chromium, controlled by the WebDriver calls (W3C) that these tests need.

It can reach only addresses of this machine.
"""

import base64
import datetime as dt
import json
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import urllib3

from e2e_kit.waiting import until
from local.servers.browser import Programs

_FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update", "--disable-dev-shm-usage"),
    *("--no-proxy-server", "--window-size=900,640"),
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
    # Date fields have the format of the page's language, for `write_dates_in`.
    "--enable-blink-features=LangAttributeAwareFormControlUI",
)
_TEXT = r"""
const found = document.querySelector(%s);
return found && (found.checkVisibility() ? found.innerText.trim().replace(/\s*\n\s*/g, "\n") : "");
"""
#: Clicks on an element and holds back the call that its script makes, until `goOn`.
_CLICK_AND_HOLD = """
const done = arguments[arguments.length - 1], it = document.querySelector(%s), fetch = window.fetch;
window.fetch = (...call) => new Promise((go) => (window.goOn = () => {
  window.fetch = fetch;
  go(fetch(...call));
}));
it.click();
setTimeout(() => done(getComputedStyle(it).cursor === "progress"), 100);
"""
#: Sends a form with the token of the page's own forms.
_SEND = """
const [path, fields] = %s, form = document.createElement("form");
fields.form_token = document.querySelector("[name=form_token]").value;
Object.assign(form, {method: "post", action: path, hidden: true});
for (const [name, value] of Object.entries(fields))
  form.append(Object.assign(document.createElement("textarea"), {name, value}));
document.body.append(form);
window.isLeft = false;
form.submit();
"""
#: Scrolls so that the middle between two elements is in the middle of the window.
_CENTER = """
const [one, other] = %s.map((it) => document.querySelector(it).getBoundingClientRect());
scrollBy({top: (one.top + one.bottom + other.top + other.bottom) / 4 - innerHeight / 2, behavior: "instant"});
"""
#: The browser reads the language of a date field when the field gets its type.
_WRITE_DATES_IN = """
document.documentElement.lang = %s;
for (const it of document.querySelectorAll("[type=date], [type=time]")) {
  const { type } = it, hasFocus = it === document.activeElement;
  it.type = "text";
  it.type = type;
  if (hasFocus) it.focus();
}
"""
#: WebDriver's code of the left arrow, which moves to the previous part of a date field.
_LEFT = "\ue012"
#: The key under which WebDriver gives the id of an element.
_ELEMENT = "element-6066-11e4-a52e-4f735466cecf"
_STARTED = "was started successfully on port "
_TIMEOUT_SECONDS = 60.0
#: A narrower window behaves like a phone's: it has touch input, and no pointer that can hover.
_PHONES_WIDTH = 600


class Chromium:
    """A browser with one window. `css` in its methods is a CSS selector. If one call gets no answer, all later ones
    fail at once.
    """

    def __init__(self, driver_url: str, options: dict[str, Any]) -> None:
        #: Not the library requests: a test makes hundreds of calls, each of which would take more than twice the CPU
        #: time.
        self._http = urllib3.PoolManager(maxsize=1, retries=False)
        self._is_lost = False
        #: Width, height and scheme as `emulate_phone` takes them.
        self.screen = (0, 0, "")
        self._url = f"{driver_url}/session"
        made = self._ask("POST", "", capabilities={"alwaysMatch": options})
        self._url += f"/{made['sessionId']}"

    def open(self, url: str) -> None:
        self._ask("POST", "/url", url=url)

    def press(self, css: str) -> None:
        """Clicks on an element that leads to another page, and waits until that page is loaded."""
        self.run("window.isLeft = false")
        self._ask("POST", f"/element/{self._find(css)}/click")
        self._arrive(css)

    def send(self, path: str, **fields: str) -> None:
        """Sends a form that the current page does not have, with the page's form token, and waits until the answer is
        loaded.
        """
        self.run(_SEND % json.dumps([path, fields]))
        self._arrive(path)

    def click(self, css: str) -> None:
        """Clicks on an element that does not lead to another page.

        If the page replaces the element just before the click, clicks on the new one.
        """
        attempts = 3
        while True:
            attempts -= 1
            try:
                self._ask("POST", f"/element/{self._find(css)}/click")
                return
            except AssertionError as error:
                if not attempts or "stale element" not in str(error):
                    raise

    def click_and_hold(self, css: str) -> bool:
        """Clicks on an element whose script calls the server, and holds that call back until `go_on`. Returns whether
        the element shows within 100 ms, by its cursor, that it is waiting.
        """
        return bool(self.run_async(_CLICK_AND_HOLD % json.dumps(css)))

    def go_on(self) -> None:
        """Sends the call that `click_and_hold` holds back."""
        self.run("window.goOn()")

    def type(self, css: str, text: str) -> None:
        """Types text at the end of a field's content. For a file field the text is the path of a file."""
        self._ask("POST", f"/element/{self._find(css)}/value", text=text)

    def paste(self, css: str, text: str) -> None:
        """Inserts text into a field at once, as pasting does. Typing would take milliseconds for each character."""
        self.run(f"document.querySelector({json.dumps(css)}).focus()")
        self._ask("POST", "/goog/cdp/execute", cmd="Input.insertText", params={"text": text})

    def press_keys(self, keys: str) -> None:
        """Presses keys in the element that has the focus. Keys such as arrows are given by WebDriver's codes."""
        steps = [{"type": kind, "value": key} for key in keys for kind in ("keyDown", "keyUp")]
        self._ask("POST", "/actions", actions=[{"type": "key", "id": "keyboard", "actions": steps}])

    def fill_time(self, css: str, when: dt.datetime) -> None:
        """Types a date or a time of day into its field, digit by digit, in the American order."""
        self.click(css)
        is_date = self.run(f"return document.querySelector({json.dumps(css)}).type === 'date'")
        self.press_keys(3 * _LEFT + f"{when:{'%m%d%Y' if is_date else '%I%M%p'}}")

    def drag(self, css: str, onto: str) -> None:
        """Drags an element onto another with the mouse. Both must fit into the window at the same time."""
        self.run(_CENTER % json.dumps([css, onto]))
        way = [
            {"origin": {_ELEMENT: self._find(css)}, "x": 0, "y": 0},
            {"origin": "pointer", "x": 6, "y": 6},  # a movement of a few pixels begins dragging
            {"origin": {_ELEMENT: self._find(onto)}, "x": 0, "y": 0},
            {"origin": "pointer", "x": 2, "y": 2},
        ]
        moves = [{"type": "pointerMove", "duration": 50} | step for step in way]
        steps = [
            moves[0],
            {"type": "pointerDown", "button": 0},
            *moves[1:],
            {"type": "pointerUp", "button": 0},
        ]
        mouse = {"type": "pointer", "id": "mouse", "parameters": {"pointerType": "mouse"}, "actions": steps}
        self._ask("POST", "/actions", actions=[mouse])

    def has(self, css: str) -> bool:
        return bool(self._ask("POST", "/elements", using="css selector", value=css))

    def cookies(self) -> dict[str, str]:
        """Returns the cookies of the current page, those that scripts cannot read included."""
        return {it["name"]: it["value"] for it in self._ask("GET", "/cookie")}

    def keep_cookie(self, name: str, value: str) -> None:
        """Sets a cookie for the host of the current page, which scripts cannot read."""
        cookie = {"name": name, "value": value, "httpOnly": True, "sameSite": "Lax"}
        self._ask("POST", "/cookie", cookie=cookie)

    def forget(self) -> None:
        """Deletes the cookies of the current page's host."""
        self._ask("DELETE", "/cookie")

    def text(self, css: str = "body") -> str:
        """Returns the visible text of an element, without empty lines. Fails the test if there is no such element.

        A script reads it, because WebDriver's own call takes twenty times as long and tests poll for texts.
        """
        shown = self.run(_TEXT % json.dumps(css))
        assert shown is not None, f"there is no {css}"
        return str(shown)

    @property
    def url(self) -> str:
        address: str = self._ask("GET", "/url")
        return address

    @property
    def title(self) -> str:
        title: str = self._ask("GET", "/title")
        return title

    def run(self, script: str) -> Any:
        """Runs a script and returns its result. The page's content security policy does not apply to it."""
        return self._ask("POST", "/execute/sync", script=script, args=[])

    def run_async(self, script: str) -> Any:
        """Runs a script, waits until it calls its last argument with a result, and returns that result."""
        return self._ask("POST", "/execute/async", script=script, args=[])

    def emulate_phone(self, width: int, height: int, scheme: str) -> None:
        """Sets the size of the window and the light or dark scheme, until the call `emulate_phone(0, 0, "")`."""
        self.resize(width, height)
        self.emulate_scheme(scheme)

    def emulate_scheme(self, scheme: str) -> None:
        """Shows pages in the light or dark scheme; with an empty text, in the browser's own."""
        self.screen = (*self.screen[:2], scheme)
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self._ask(
            "POST", "/goog/cdp/execute", cmd="Emulation.setEmulatedMedia", params={"features": features}
        )

    def resize(self, width: int, height: int) -> None:
        """Sets the size of the window. A window below 600 pixels also behaves like a phone's. A width of 0 restores
        the usual size.
        """
        self.screen = (width, height, self.screen[2])
        metrics = {
            "width": width,
            "height": height,
            "deviceScaleFactor": 2,
            "mobile": width < _PHONES_WIDTH,
        }
        # With `set` a width of 0 would take effect only on the next page.
        command, params = ("set", metrics) if width else ("clear", {})
        self._ask("POST", "/goog/cdp/execute", cmd=f"Emulation.{command}DeviceMetricsOverride", params=params)

    def permit_scripts(self, permitted: bool) -> None:
        """Switches the scripts of pages on or off. `run` works in either case."""
        self._ask(
            "POST", "/goog/cdp/execute", cmd="Emulation.setScriptExecutionDisabled", params={"value": not permitted}
        )  # fmt: skip

    def set_text_size(self, pixels: int) -> None:
        """Sets the size of text for which a page sets no size, as in the browser's settings. The usual size is 16
        pixels.
        """
        sizes = {"standard": pixels, "fixed": pixels * 13 // 16}
        self._ask("POST", "/goog/cdp/execute", cmd="Page.setFontSizes", params={"fontSizes": sizes})

    def write_dates_in(self, language: str) -> None:
        """Shows the date fields of the present page as a browser in this language does. Their usual format is American,
        because Debian's browser has no other language.
        """
        self.run(_WRITE_DATES_IN % json.dumps(language))

    def keep_picture(self, path: Path) -> None:
        """Saves a screenshot of the window as a PNG file."""
        path.write_bytes(base64.b64decode(self._ask("GET", "/screenshot")))

    def logged(self) -> list[str]:
        """Returns the lines in the browser's console since the last call of this method. They include violations of
        the content security policy.
        """
        return [it["message"] for it in self._ask("POST", "/se/log", type="browser")]

    def reset(self) -> None:
        """Replaces the tab by a new one and deletes all data that the browser has stored, so that it is like new."""
        self.screen = (0, 0, "")
        new: str = self._ask("POST", "/window/new", type="tab")["handle"]
        self._ask("DELETE", "/window")
        self._ask("POST", "/window", handle=new)
        kept = {"origin": "*", "storageTypes": "all"}
        for command, params in (("Network.clearBrowserCache", {}), ("Storage.clearDataForOrigin", kept)):
            self._ask("POST", "/goog/cdp/execute", cmd=command, params=params)
        self._ask("POST", "/goog/cdp/execute", cmd="Network.clearBrowserCookies", params={})
        self.logged()

    def close(self) -> None:
        self._ask("DELETE", "")
        self._http.clear()

    def _arrive(self, by: str) -> None:
        arrived = "return window.isLeft === undefined && document.readyState === 'complete'"
        until(lambda: self.run(arrived), _TIMEOUT_SECONDS, f"{by} leads somewhere")

    def _find(self, css: str) -> str:
        found: str = self._ask("POST", "/element", using="css selector", value=css)[_ELEMENT]
        return found

    def _ask(self, method: str, path: str, **body: Any) -> Any:
        assert not self._is_lost, "the browser has stopped answering"
        sent = json.dumps(body).encode() if method == "POST" else None
        try:
            answer = self._http.request(method, self._url + path, body=sent, timeout=_TIMEOUT_SECONDS)
        except urllib3.exceptions.HTTPError:
            self._is_lost = True
            raise
        assert answer.status == 200, f"{method} {path} {body} → {answer.data[:1500].decode()}"
        return json.loads(answer.data)["value"]


@contextmanager
def chromium(browser: Programs, home: Path) -> Iterator[Chromium]:
    """Runs a browser with a new profile in `home` during the block."""
    log = home / "driver.log"
    with log.open("w") as output, subprocess.Popen(
        [browser.driver, "--port=0"], stdout=output, stderr=subprocess.STDOUT, env=_environment(home)
    ) as driver:  # fmt: skip
        try:
            line = until(lambda: _STARTED in log.read_text() and log.read_text(), 30, "the driver is there")
            port = line.partition(_STARTED)[2].split(".")[0]
            flags = [*_FLAGS, f"--user-data-dir={home / 'profile'}"]
            window = Chromium(
                f"http://127.0.0.1:{port}",
                {
                    "browserName": browser.name,
                    "goog:chromeOptions": {"binary": browser.program, "args": flags},
                    "goog:loggingPrefs": {"browser": "ALL"},
                },
            )
            try:
                yield window
            finally:
                with suppress(AssertionError, urllib3.exceptions.HTTPError):  # the browser may have crashed
                    window.close()
        finally:
            driver.terminate()


class Browser:
    """A browser that many tests use, one after the other. After a crash it is started again."""

    def __init__(self, programs: Programs, homes: Iterator[Path]) -> None:
        self._programs = programs
        self._homes = homes
        self._running = ExitStack()
        self._window: Chromium | None = None

    def window(self) -> Chromium:
        """Returns the browser's window, without cookies or other data of earlier tests."""
        if self._window is not None:
            try:
                self._window.reset()
                return self._window
            except (AssertionError, urllib3.exceptions.HTTPError):
                self.close()
        self._window = self._running.enter_context(chromium(self._programs, next(self._homes)))
        return self._window

    def close(self) -> None:
        self._running.close()
        self._window = None


def _environment(home: Path) -> dict[str, str]:
    """Returns the environment variables of the browser: few, without those of the user who runs the tests.

    The time zone is UTC, because an account without a time zone gets that of its browser.
    """
    return {"HOME": str(home), "PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8", "TZ": "UTC"}
