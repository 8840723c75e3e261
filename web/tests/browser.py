#!/usr/bin/env python3
"""Tests `brisk web` in a real browser (Debian's Chromium, by Playwright), with a real daemon and apps in groups.

It makes a daemon with a run directory of its own, which manages no disk, apps in control groups (as root), and the
page's program; all end with it. Screenshots of each state, in three widths and both schemes, lie in
target/web-test.

usage: web/tests/browser.py [DIR] [--only WORD] [--apps N] [--cost]
  DIR           the directory of brisk and brisk-web [default: target/debug]
  --only WORD   the tests whose names have this word
  --apps N      so many apps, 20 at the least [default: 203]
  --cost        also measure, for two minutes, what a page costs
Exit codes: 0 all passed, 1 some failed, 77 Playwright could not be installed.
"""

import contextlib
import http.client
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import venv
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

TREE = Path(__file__).resolve().parents[2]
WORK = TREE / "target" / "web-test"
GROUPS = Path("/sys/fs/cgroup/unified") if Path("/sys/fs/cgroup/unified").is_dir() else Path("/sys/fs/cgroup")
HOSTILE = "<img src=x onerror=document.title='hit'>"
APPS = ["org.gnome.Evince", "mpv", HOSTILE, *(f"org.example.App{n}" for n in range(200))]
PACKAGES = "playwright==1.65.2 axe-core-python==0.1.0"
OF_MANY = "org.example.App1"
PATIENCE_MS = 120_000
WIDTHS = {360: 740, 1280: 900, 3840: 2160}


def fail(text):
    sys.exit(f"web-test: error: {text}")


def playwright():
    """Playwright and axe in an environment of their own, which is made once."""
    home = WORK / "python"
    stamp = home / "packages"
    if not stamp.exists() or stamp.read_text() != PACKAGES:
        venv.create(home, with_pip=True)
        pip = [home / "bin" / "pip", "-q", "--disable-pip-version-check", "install", *PACKAGES.split()]
        if subprocess.run(pip).returncode:
            print("web-test: Playwright could not be installed: pip's message above says why", file=sys.stderr)
            sys.exit(77)
        stamp.write_text(PACKAGES)
    if Path(sys.prefix) != home:
        os.execv(home / "bin" / "python", [str(home / "bin" / "python"), __file__, *sys.argv[1:]])
    from playwright.sync_api import expect, sync_playwright

    expect.set_options(timeout=PATIENCE_MS)
    return sync_playwright, expect, next(home.rglob("axe.min.js")).read_text()


class Device:
    """A daemon, apps and the page's program."""

    def __init__(self, programs, run_dir):
        self.programs, self.run_dir = programs, run_dir
        self.apps, self.groups, self.daemon, self.web = [], [], None, None
        (run_dir / "brisk.toml").write_text('[daemon]\ndevices = ["none-of-this-machine"]\n')
        (run_dir / "briskd").symlink_to(programs / "brisk")

    def app(self, name, number):
        group = GROUPS / f"app-{name}-{self.number(number)}.scope"
        group.mkdir()
        self.groups.append(group)
        process = subprocess.Popen(["sleep", "100000"])
        self.apps.append(process)
        (group / "cgroup.procs").write_text(str(process.pid))
        return group

    @staticmethod
    def number(of):
        """Names of groups are those of this run alone."""
        return os.getpid() * 1000 + of

    def start(self):
        options = ["--run-dir", self.run_dir, "--config", self.run_dir / "brisk.toml"]
        options += ["--profiles", self.run_dir / "profiles", "--learned", self.run_dir / "learned"]
        with (self.run_dir / "briskd.log").open("a") as log:
            self.daemon = subprocess.Popen([self.run_dir / "briskd", *options], stderr=log)
        begun = time.monotonic()
        while subprocess.run([self.programs / "brisk", "status", "--json", "--run-dir", self.run_dir],
                             capture_output=True).returncode > 1:
            if self.daemon.poll() is not None or time.monotonic() - begun > 300:
                fail((self.run_dir / "briskd.log").read_text())

    def stop(self):
        self.daemon.terminate()
        self.daemon.wait(240)

    def page_of(self, *words):
        """The page's program, its link and where it listens."""
        words = [self.programs / "brisk", "web", *words, "--run-dir", self.run_dir, "--listen", "127.0.0.1:0"]
        web = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
        link = web.stdout.readline().strip()
        return web, link, int(link.split(":")[2].split("/")[0])

    def serve(self):
        self.web, self.link, self.port = self.page_of()
        self.url = f"http://127.0.0.1:{self.port}/"

    def ask(self, *words, run_dir=True):
        words = [self.programs / "brisk", *words, *(["--run-dir", self.run_dir] if run_dir else [])]
        return subprocess.run(words, capture_output=True, text=True, check=True).stdout

    def json(self, *words):
        return json.loads(subprocess.run([self.programs / "brisk", *words, "--json", "--run-dir", self.run_dir],
                                         capture_output=True, text=True).stdout)

    def end(self):
        for process in [one for one in (self.web, self.daemon, *self.apps) if one]:
            with contextlib.suppress(ProcessLookupError):
                process.send_signal(signal.SIGTERM)
            process.wait(240)
        for group in self.groups:
            group.rmdir()


class Tests:
    """Each test has a page of a browser that was let in."""

    def __init__(self, device, browser, expect, axe):
        self.device, self.browser, self.expect, self.axe = device, browser, expect, axe
        context = self.context()
        page = context.new_page()
        # The page of a link goes on by itself, maybe before it is loaded.
        page.goto(device.link, wait_until="commit")
        page.wait_for_url(device.url)
        self.state = context.storage_state()
        self.cookie = "; ".join(f"{one['name']}={one['value']}" for one in self.state["cookies"])
        context.close()

    def context(self, **options):
        context = self.browser.new_context(**options)
        context.set_default_timeout(PATIENCE_MS)
        return context

    def page(self, **options):
        options = {"storage_state": self.state, "locale": "en-GB", "viewport": {"width": 1280, "height": 900}} | options
        page = self.context(**options).new_page()
        self.errors = []
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("console", lambda line: self.errors.append(line.text) if line.type == "error" else None)
        page.goto(self.device.url)
        return page

    def raw(self, method, path, body=None, **headers):
        connection = http.client.HTTPConnection("127.0.0.1", self.device.port, timeout=240)
        connection.request(method, path, body, headers)
        answer = connection.getresponse()
        return answer.status, answer.read().decode()

    def test_an_app_that_comes_to_the_foreground_is_shown_without_a_reload(self):
        page = self.page()
        for name, number in (("mpv", 1), ("org.gnome.Evince", 0)):
            self.device.ask("front", f"app-{name}-{self.device.number(number)}.scope")
            self.expect(page.locator("#now strong")).to_have_text(name)
        event = page.locator("#event-list li", has_text="org.gnome.Evince came to the foreground")
        self.expect(event.first).to_be_visible()
        assert not self.errors, self.errors

    def test_an_engine_is_switched_by_mouse_and_by_keyboard(self):
        page = self.page()
        engines = lambda: self.device.json("trial")["engines"]
        ladder = lambda: next(one["ladder"] for one in engines() if one["engine"] == "smartio")
        card = page.locator("#engine-smartio")
        card.get_by_role("button", name="Off").click()
        self.expect(card.locator(".state")).to_have_text("off")
        assert ladder() == "off"
        card.get_by_role("button", name="By evidence").focus()
        page.keyboard.press("Space")
        self.expect(card.locator("[aria-pressed=true]")).to_have_text("By evidence")
        assert ladder() == "auto"
        self.expect(page.locator("#said")).to_contain_text("SmartIO is switched")
        assert page.evaluate("document.activeElement.value") == "auto", "focus is lost"

    def test_an_app_is_protected_or_ends_first_and_that_is_taken_back(self):
        page = self.page()
        config = lambda: self.device.ask("config", "show", self.device.run_dir / "brisk.toml", run_dir=False)
        page.locator("#app-filter").fill("evince")
        protect = page.locator("#app-list tr:visible").get_by_role("button", name="Protect")
        protect.click()
        self.expect(page.locator("#said")).to_contain_text("org.gnome.Evince is protected")
        self.expect(protect).to_have_attribute("aria-pressed", "true")
        self.expect(page.locator("#app-list tr:visible")).to_contain_text("never")
        assert 'protect = ["org.gnome.Evince"]' in config(), config()
        page.locator("#app-list tr:visible").get_by_role("button", name="End first").click()
        self.expect(protect).to_have_attribute("aria-pressed", "false")
        assert 'end_first = ["org.gnome.Evince"]' in config() and "protect = []" in config(), config()
        page.locator("#app-list tr:visible").get_by_role("button", name="End first").click()
        self.expect(page.locator("#said")).to_contain_text("like any other app")
        assert not list((self.device.run_dir / "brisk.d").iterdir())

    def test_the_configuration_is_checked_compared_and_saved_with_its_comments(self):
        page = self.page(bypass_csp=True)
        page.get_by_role("link", name="Edit the configuration").click()
        text, file = page.get_by_label("Text of the file"), self.device.run_dir / "brisk.toml"
        before = file.read_text()
        self.expect(text).to_have_value(before)
        text.fill(before + "devise = 1\n")
        page.get_by_role("button", name="Check").click()
        self.expect(page.get_by_role("alert")).to_contain_text("did you mean 'devices'?")
        self.expect(page.get_by_role("button", name="Save")).to_have_count(0)
        text.fill(before + "# mine <b>\n[engines]\ntrial = true\n")
        page.get_by_role("button", name="Check").click()
        self.expect(page.locator(".diff ins")).to_have_text(["+ # mine <b>", "+ [engines]", "+ trial = true"])
        self.axe_finds_nothing(page)
        page.screenshot(path=WORK / "configuration.png", full_page=True)
        assert file.read_text() == before
        file.write_text(before + "# another\n")
        page.get_by_role("button", name="Save").click()
        self.expect(page.get_by_role("alert")).to_contain_text("was changed by another program meanwhile")
        page.get_by_role("button", name="Check").click()
        page.get_by_role("button", name="Save").click()
        self.expect(page.get_by_role("status")).to_contain_text("It is saved")
        assert file.read_text() == before + "# mine <b>\n[engines]\ntrial = true\n"
        file.write_text(before)
        self.device.ask("config", "reload")

    def test_a_measurement_shows_how_far_it_is_and_is_stopped(self):
        page = self.page()
        page.locator("#job-start").get_by_role("button", name="Benchmark").click()
        page.get_by_role("dialog").get_by_role("button", name="Benchmark").click()
        job = page.locator("#job")
        self.expect(job.locator("progress[value]")).to_have_attribute("value", re.compile("[1-9]"))
        self.expect(page.locator("#job-start")).to_be_empty()
        page.screenshot(path=WORK / "measurement.png", full_page=True)
        job.get_by_role("button", name="Stop").click()
        self.expect(job).to_contain_text("stopped")
        self.expect(job.locator("pre")).to_contain_text("nothing is left behind")
        self.expect(page.locator("#job-start button")).to_have_count(1)

    def test_a_record_shows_what_was_seen_decided_and_written_and_changes_nothing(self):
        written, record = self.device.run_dir / "daemon.brisk", WORK / "day.brisk"
        for _ in range(3):
            before, begun = written.stat().st_size, time.monotonic()
            self.device.ask("config", "reload")
            while written.stat().st_size == before and time.monotonic() - begun < PATIENCE_MS / 1000:
                self.device.json("status")
        shutil.copy(written, record)
        web, link, port = self.device.page_of(record)
        try:
            page = self.context(locale="en-GB", bypass_csp=True, viewport={"width": 1280, "height": 900}).new_page()
            page.goto(link, wait_until="commit")
            page.wait_for_url(f"http://127.0.0.1:{port}/")
            lead, slider = page.locator("#moment .lead"), page.get_by_label("Decisions over time")
            count = int(slider.get_attribute("max")) + 1
            self.expect(lead).to_contain_text(f"decision {count} of {count}")
            self.expect(page.locator("#use-list tr").first).to_be_visible()
            assert page.locator("form.act").count() == 0 and page.locator("img").count() == 0
            slider.focus()
            page.keyboard.press("Home")
            self.expect(lead).to_contain_text(f"decision 1 of {count}")
            page.get_by_role("button", name="Later").click()
            self.expect(lead).to_contain_text(f"decision 2 of {count}")
            self.expect(slider).to_have_attribute("aria-valuetext", re.compile(f"decision 2 of {count}"))
            self.axe_finds_nothing(page)
            page.screenshot(path=WORK / "record.png", full_page=True)
            page.reload()
            self.expect(lead).to_contain_text(f"decision 2 of {count}")
            cookie = "; ".join(f"{one['name']}={one['value']}" for one in page.context.cookies())
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=240)
            connection.request("POST", "/act", "do=reset", {"Cookie": cookie})
            assert connection.getresponse().status == 404
        finally:
            web.terminate()
            web.wait(240)

    def test_everything_is_put_back_once_a_person_agrees(self):
        page = self.page()
        page.locator("#back button").click()
        page.get_by_role("dialog").get_by_role("button", name="Cancel").click()
        assert not self.device.json("status")["paused"]
        page.locator("#back button").click()
        page.get_by_role("dialog").get_by_role("button", name="Put everything back").click()
        self.expect(page.locator("#lead .lead")).to_contain_text("brisk is paused")
        assert self.device.json("status")["paused"]
        page.get_by_role("button", name="Let brisk go on").click()
        self.expect(page.locator("#lead .lead")).not_to_contain_text("paused")
        assert not self.device.json("status")["paused"]

    def test_a_daemon_that_ends_is_missed_and_one_that_comes_is_seen(self):
        page = self.page()
        self.expect(page.locator("#engine-list article")).to_have_count(5)
        self.device.stop()
        self.expect(page.locator("#lead .lead")).to_contain_text("its service does not run")
        self.expect(page.locator("#engines")).to_be_hidden()
        page.screenshot(path=WORK / "no-daemon.png")
        self.device.start()
        self.expect(page.locator("#engines")).to_be_visible()
        self.expect(page.locator("#lead .lead")).not_to_contain_text("does not run")

    def test_a_link_works_once_and_no_other_opens(self):
        for path in (self.device.link, self.device.url + "?link=" + "0" * 64, self.device.url):
            page = self.context(locale="de").new_page()
            answer = page.goto(path)
            assert answer.status == 403, path
            self.expect(page.locator("main")).to_contain_text("nicht eingelassen")
            assert self.raw("GET", "/live")[0] == 403
            page.screenshot(path=WORK / "denied.png")

    def test_a_strange_name_of_this_machine_is_refused(self):
        status, text = self.raw("GET", "/", Host="evil.example", Cookie=self.cookie)
        assert status == 421 and "brisk works" not in text, text
        page = self.context().new_page()
        answer = page.goto(f"http://rebound.example:{self.device.port}/")
        assert answer.status == 421

    def test_a_page_of_a_stranger_changes_nothing(self):
        url = self.device.url

        class Stranger(BaseHTTPRequestHandler):
            def do_GET(self):
                form = f'<form id=f method=post action="{url}act"><input name=do value=reset></form>'
                page = f'{form}<script>f.submit()</script>'
                self.send_response(200)
                self.send_header("Content-Type", "text/html")
                self.end_headers()
                self.wfile.write(page.encode())

            def log_message(self, *words):
                pass

        server = HTTPServer(("127.0.0.1", 0), Stranger)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        page = self.context(storage_state=self.state).new_page()
        # The same site, so that the cookie comes along: only the port differs.
        page.goto(f"http://127.0.0.1:{server.server_port}/")
        page.wait_for_url(url + "act")
        self.expect(page.locator("body")).to_contain_text("does not come from this page")
        server.shutdown()
        own = {"Host": f"127.0.0.1:{self.device.port}", "Cookie": self.cookie}
        for headers in (own, own | {"Origin": "http://evil.example"}, own | {"Origin": url.rstrip("/")}):
            for path, form in (("/act", "do=reset"), ("/config", "do=save&text=&version=")):
                assert self.raw("POST", path, form, **headers)[0] == 403, (path, headers)
        assert not self.device.json("status")["paused"]

    def test_a_name_of_an_app_is_text(self):
        page = self.page()
        row = page.locator("#app-list tr", has_text=HOSTILE)
        page.locator("#app-filter").fill("onerror")
        self.expect(row).to_be_visible()
        assert page.locator("img").count() == 0 and page.title() != "hit"

    def test_two_hundred_apps_fold_and_are_found(self):
        page = self.page()
        shown = page.locator("#app-list tr:visible")
        self.expect(page.locator("#app-list tr")).to_have_count(len(APPS))
        self.expect(shown).to_have_count(15)
        page.locator("#app-filter").fill(OF_MANY)
        self.expect(shown).to_have_count(sum(name.startswith(OF_MANY) for name in APPS))
        page.locator("#app-filter").fill("")
        page.get_by_role("button", name="Show all apps").click()
        self.expect(shown).to_have_count(len(APPS))

    def test_patches_leave_focus_and_what_is_open(self):
        page = self.page()
        button = page.locator("#engine-iram").get_by_role("button", name="On", exact=True)
        button.focus()
        kept = button.element_handle()
        before = page.locator("#now").inner_html()
        page.wait_for_function("before => document.querySelector('#now').innerHTML !== before", arg=before)
        assert page.evaluate("kept => document.activeElement === kept && kept.isConnected", kept)

    def test_a_slow_client_delays_no_other(self):
        slow = []
        for _ in range(8):
            client = socket.create_connection(("127.0.0.1", self.device.port))
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
            head = f"GET /live HTTP/1.1\r\nHost: 127.0.0.1:{self.device.port}\r\nCookie: {self.cookie}\r\n\r\n"
            client.sendall(head.encode())
            slow.append(client)
        # These do not even end their requests.
        for _ in range(8):
            client = socket.create_connection(("127.0.0.1", self.device.port))
            client.sendall(b"GET / HTTP/1.1\r\nHost:")
            slow.append(client)
        self.test_an_app_that_comes_to_the_foreground_is_shown_without_a_reload()
        for client in slow:
            client.close()

    def test_another_user_is_not_answered(self):
        ask = f"import http.client as h; c = h.HTTPConnection('127.0.0.1', {self.device.port}, timeout=240); " \
              "c.request('GET', '/icon.svg'); print(c.getresponse().status)"
        own = subprocess.run(["/usr/bin/python3", "-c", ask], capture_output=True, text=True)
        other = subprocess.run(["/usr/bin/python3", "-c", ask], capture_output=True, text=True, user=65534)
        assert own.stdout == "200\n" and other.returncode != 0 and not other.stdout, (own, other)

    def axe_finds_nothing(self, page):
        page.evaluate(self.axe)
        found = page.evaluate("axe.run()")["violations"]
        assert not found, [(one["id"], [node["target"] for node in one["nodes"]]) for one in found]

    def test_axe_finds_nothing(self):
        for options in ({}, {"color_scheme": "dark"}, {"viewport": {"width": 360, "height": 740}, "locale": "de"}):
            page = self.page(bypass_csp=True, **options)
            self.expect(page.locator("#engine-list article")).to_have_count(5)
            self.axe_finds_nothing(page)

    def test_no_width_scrolls_sideways_and_screenshots_are_there(self):
        for scheme in ("light", "dark"):
            for width, height in WIDTHS.items():
                page = self.page(color_scheme=scheme, viewport={"width": width, "height": height})
                self.expect(page.locator("#minutes svg:visible").first).to_be_visible()
                assert page.evaluate("document.documentElement.scrollWidth") == width, width
                page.screenshot(path=WORK / f"{width}-{scheme}.png", full_page=True)
                assert not self.errors, self.errors
                page.context.close()

    def test_a_page_asks_no_other_machine(self):
        page = self.context(storage_state=self.state).new_page()
        asked = []
        page.on("request", lambda request: asked.append(request.url))
        page.goto(self.device.url)
        self.expect(page.locator("#engine-list article")).to_have_count(5)
        assert all(url.startswith(self.device.url) for url in asked), asked


def cost(device, page):
    """Processor time and memory of both programs, with a page open and without."""
    ticks = os.sysconf("SC_CLK_TCK")

    def used(pid):
        words = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(words[11]) + int(words[12])) / ticks, int(words[21]) * os.sysconf("SC_PAGE_SIZE") / 2**20

    def over(span_s, name):
        both = {"briskd": device.daemon.pid, "brisk-web": device.web.pid}
        before = {of: used(pid)[0] for of, pid in both.items()}
        time.sleep(span_s)
        for of, pid in both.items():
            now, memory = used(pid)
            print(f"{name}: {of} {(now - before[of]) / span_s * 100:.2f} % of a processor, {memory:.1f} MiB")

    over(30, f"a page with {len(APPS)} apps open")
    page.goto("about:blank")
    time.sleep(3)
    over(30, "no page open")


def main():
    arguments = sys.argv[1:]
    only = arguments.pop(arguments.index("--only") + 1) if "--only" in arguments else ""
    if "--apps" in arguments:
        del APPS[int(arguments.pop(arguments.index("--apps") + 1)):]
    measures = "--cost" in arguments
    arguments = [one for one in arguments if one not in ("--only", "--apps", "--cost")]
    programs = Path(arguments[0] if arguments else TREE / "target" / "debug").resolve()
    chromium = shutil.which("chromium") or fail("chromium is missing: apt install chromium")
    if os.geteuid() != 0:
        fail("it makes control groups: run it as root")
    WORK.mkdir(parents=True, exist_ok=True)
    sync_playwright, expect, axe = playwright()
    passed = failed = 0
    with tempfile.TemporaryDirectory(prefix="brisk-web-test-") as run_dir, contextlib.ExitStack() as ends:
        os.chmod(run_dir, 0o755)
        device = Device(programs, Path(run_dir))
        ends.callback(device.end)
        # What has to be ended is ended however the run ends.
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
        for number, name in enumerate(APPS):
            device.app(name, number)
        device.start()
        device.serve()
        with sync_playwright() as play:
            rules = "--host-resolver-rules=MAP rebound.example 127.0.0.1"
            browser = play.chromium.launch(executable_path=chromium, args=["--no-sandbox", rules])
            tests = Tests(device, browser, expect, axe)
            for name in [name for name in dir(tests) if name.startswith("test_") and only in name]:
                try:
                    getattr(tests, name)()
                    passed += 1
                    print(f"ok {name.removeprefix('test_').replace('_', ' ')}", flush=True)
                except Exception as error:  # noqa: BLE001 the next test runs all the same
                    failed += 1
                    print(f"FAILED {name.removeprefix('test_').replace('_', ' ')}: {error}", flush=True)
                for context in browser.contexts:
                    context.close()
            if measures:
                cost(device, tests.page())
            browser.close()
    # As cargo says it.
    print(f"test result: {'FAILED' if failed else 'ok'}. {passed} passed; {failed} failed;")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
