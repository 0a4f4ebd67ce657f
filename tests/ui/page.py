"""The chat page in headless Chromium, as a test sees it."""
import os
import shutil
import socket
import sys
import tempfile
import time
from pathlib import Path

SKIP = "SKIP"


def skip(reason):
    print(f"{SKIP} {reason}")
    sys.exit(0)


try:
    from selenium import webdriver
    from selenium.common.exceptions import StaleElementReferenceException
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys
except ImportError:
    skip("the Python package selenium is missing (tests/run installs it)")

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
DRIVER = shutil.which("chromedriver")
PHONE, DESKTOP = (390, 844), (1280, 800)


def find_axe():
    """axe.min.js of a Python package that carries it, or None."""
    for folder in map(Path, sys.path):
        for package in ("axe_core_python", "axe_playwright_python", "axe_selenium_python"):
            found = sorted((folder / package).rglob("axe.min.js")) if (folder / package).is_dir() else []
            if found:
                return found[0]
    return None


class Page:
    def __init__(self, url):
        if not CHROMIUM or not DRIVER:
            skip("chromium and chromedriver are missing (Debian packages chromium and chromium-driver)")
        try:
            socket.getaddrinfo("localhost", None)
        except OSError:  # chromedriver and chromium find each other by that name
            skip("this system does not know the name 'localhost' (/etc/hosts)")
        self.url = url
        self.folder = Path(tempfile.mkdtemp(prefix="veloce-ui-"))
        options = webdriver.ChromeOptions()
        options.binary_location = CHROMIUM
        for flag in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars",
                     "--no-first-run", "--disable-background-networking", "--disable-component-update",
                     "--force-prefers-reduced-motion", f"--user-data-dir={self.folder}/profile", "--window-size=1280,800"):
            options.add_argument(flag)
        options.add_experimental_option("prefs", {"download.default_directory": str(self.folder)})
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        self.driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
        self.driver.set_script_timeout(90)
        self.shots = os.environ.get("VELOCE_UI_SHOTS")
        self.size(*DESKTOP)

    def close(self):
        self.driver.quit()
        shutil.rmtree(self.folder, ignore_errors=True)

    # Emulated, so that the width is the page's and may be a phone's.
    def size(self, width, height):
        self.cdp("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 500)

    def scheme(self, name):
        self.cdp("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": name}])

    def cdp(self, command, **arguments):
        return self.driver.execute_cdp_cmd(command, arguments)

    def open(self, path=""):
        self.driver.get(self.url + path)
        self.ready()

    def reload(self):
        self.driver.refresh()
        self.ready()

    def ready(self):
        self.until(lambda: self.js("return document.documentElement.dataset.ready === 'yes'"), "the page to be ready")

    def js(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    def js_async(self, script, *arguments):
        """The value that the async function's body `script` returns; its arguments are a."""
        value = self.driver.execute_async_script(
            "const done = arguments[arguments.length - 1], a = [...arguments].slice(0, -1);"
            "(async () => {" + script + "})().then((value) => done({value}), (error) => done({error: String(error.stack || error)}));", *arguments)
        assert "error" not in value, value.get("error")
        return value.get("value")

    def until(self, condition, what, seconds=60):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            value = condition()
            if value:
                return value
            time.sleep(0.04)
        self.shot("failed")
        raise AssertionError(f"waited in vain for {what}")

    def all(self, selector):
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def one(self, selector):
        return self.driver.find_element(By.CSS_SELECTOR, selector)

    def visible(self, selector):
        out = []
        for node in self.all(selector):
            try:
                if node.is_displayed():
                    out.append(node)
            except StaleElementReferenceException:
                pass   # replaced since it was found
        return out

    def click(self, selector):
        self.until(lambda: self.visible(selector), f"{selector} to be seen")[0].click()

    def key(self, *keys):
        chain = webdriver.ActionChains(self.driver)
        for key in keys[:-1]:
            chain.key_down(key)
        chain.send_keys(keys[-1])
        for key in keys[:-1]:
            chain.key_up(key)
        chain.perform()

    def busy(self):
        return self.one("#stop").is_displayed()

    def idle(self, seconds=60):
        self.until(lambda: not self.busy(), "the answer to end", seconds)

    def type(self, text):
        field = self.one("#composer-text")
        field.click()
        field.send_keys(text)

    def ask(self, text, wait=True):
        self.type(text)
        self.one("#composer-text").send_keys(Keys.ENTER)
        if wait:
            self.until(lambda: len(self.texts("user")) and self.texts("user")[-1].startswith(text[:20]), "the question")
            self.idle()

    def texts(self, role):
        return self.js("return [...document.querySelectorAll('.message." + role + " .' + (arguments[0] === 'user' ? 'bubble' : 'answer-text'))].map((n) => n.innerText)", role)

    def new_chat(self):
        self.js("document.getElementById('new-chat').click()")
        self.until(lambda: self.visible("#welcome"), "a new chat")

    def focused(self):
        return self.js("return document.activeElement.id || document.activeElement.getAttribute('aria-label')")

    def button(self, label, within=".message:last-child"):
        # Buttons of a message show with the pointer over it; the keyboard reaches them always.
        self.js("const b = [...document.querySelectorAll(arguments[0] + ' button')].find((n) => n.getAttribute('aria-label') === arguments[1]"
                " || n.textContent === arguments[1]); if (!b) throw new Error('no button ' + arguments[1]); b.click()", within, label)

    def shot(self, name):
        if self.shots:
            Path(self.shots).mkdir(parents=True, exist_ok=True)
            self.driver.save_screenshot(f"{self.shots}/{name}.png")

    def console(self):
        """What the browser complained about since the last call."""
        return [entry["message"] for entry in self.driver.get_log("browser") if entry["level"] in ("SEVERE", "WARNING")]

    def axe(self):
        """Violations of WCAG 2.2 A and AA and of axe's best practices: [(rule, what, where)].

        Not the order of headings: within an answer it is the model's.
        """
        axe = find_axe()
        assert axe, "axe.min.js is missing"
        if not self.js("return typeof axe === 'object'"):
            self.cdp("Runtime.evaluate", expression=axe.read_text())
        found = self.js_async("return (await axe.run(document, {resultTypes: ['violations'],"
                              " rules: {'heading-order': {enabled: false}}})).violations")
        return [(rule["id"], rule["help"], [" ".join(map(str, node["target"])) + ": " + (node.get("failureSummary") or "")[:200] for node in rule["nodes"]][:5])
                for rule in found]
