"""The app of `make app` in a real browser: Voilà serves it, Playwright presses its keys in Chromium.

One page for all tests, as one person meets it: explorer, calibration, own data, published numbers.
Skipped where there is no Chromium.
"""

import os
import re
import socket
import subprocess
import sys
import time
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

import pytest

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tools"))
from browse import FLAGS, chromium  # noqa: E402

pytest.importorskip("voila", reason="Voilà is not installed: pip install -e '.[app]'")
playwright = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed: pip install -e '.[dev]'")
if chromium() is None:
    pytest.skip("Chromium is not installed, so the app was not opened in a browser (Debian: apt-get install chromium)",
                allow_module_level=True)

WATCH = """() => {
    window.latencies = []; window.pressed = null;
    window.addEventListener('keydown', () => { window.pressed = performance.now(); }, true);
    new MutationObserver(changes => {
        if (window.pressed !== null && changes.some(c => c.target.closest && c.target.closest('.db-picture'))) {
            window.latencies.push(performance.now() - window.pressed); window.pressed = null;
        }
    }).observe(document.body, {subtree: true, childList: true});
}"""


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    "The app's server on a free loopback port; the address with its token, as it is printed."
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    env = {**os.environ, "JAX_PLATFORMS": "cpu", "PYTHONPATH": str(ROOT), "TMPDIR": str(tmp_path_factory.mktemp("app"))}
    process = subprocess.Popen([sys.executable, "tools/app.py", "--port", str(port)], cwd=ROOT, env=env, text=True,
                               stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    address = re.search(r"http://127\.0\.0\.1:\d+/\?token=[-\w]+", process.stdout.readline())[0]
    try:
        for _ in range(300):
            try:
                urlopen(address.split("?")[0] + "voila/static/voila.js", timeout=1).close()
                break
            except (URLError, OSError):
                assert process.poll() is None
                time.sleep(0.2)
        yield address
    finally:
        process.terminate()
        process.wait(30)


@pytest.fixture(scope="module")
def page(server):
    "The page, when its first picture is drawn; at the end nothing was asked of anybody else and no script failed."
    said = []
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=chromium(), args=FLAGS)
        tab = browser.new_context(viewport={"width": 1280, "height": 900}, accept_downloads=True).new_page()
        tab.set_default_timeout(60_000)
        tab.on("request", lambda r: said.append(f"request to {r.url}")
               if not re.match(r"(https?|wss?)://127\.0\.0\.1[:/]|data:|blob:", r.url) else None)
        tab.on("pageerror", lambda e: said.append(f"script error: {e}"))
        tab.on("console", lambda m: said.append(f"console error: {m.text}") if m.type == "error" else None)
        tab.goto(server)
        tab.wait_for_selector(".db-picture svg path[stroke='#0072B2']")
        tab.evaluate(WATCH)
        yield tab
        browser.close()
    assert not said, said


def control(page, words):
    "The visible control with these words above it."
    return page.locator(".widget-inline-hbox:visible, .widget-dropdown:visible, .widget-text:visible").filter(
        has_text=words).first


def test_slider_moves_the_picture(page, record_property):
    "Arrow keys move the budget; the interval that accounts for the noise changes, that which ignores it hardly."
    handle, text = control(page, "Budget epsilon").locator(".noUi-handle"), page.locator(".db-text:visible")
    text.filter(has_text=re.compile(r"accounts for the noise\s*[-\d.e]+ to")).wait_for(timeout=60_000)
    before, epsilon = text.inner_text(), control(page, "Budget epsilon").locator(".widget-readout").inner_text()
    handle.focus()
    for k in range(8):
        page.keyboard.press("ArrowRight")
        page.wait_for_function(f"window.latencies.length > {k}")
    after, latencies = text.inner_text(), sorted(page.evaluate("window.latencies"))
    record_property("milliseconds from key to picture", latencies)
    print("milliseconds from key to picture:", [round(v) for v in latencies])
    assert float(control(page, "Budget epsilon").locator(".widget-readout").inner_text()) > float(epsilon)
    assert width(after, "accounts for the noise") < 0.8 * width(before, "accounts for the noise")


def test_sliders_have_names_and_say_their_value(page):
    "Every handle has the words above it as its name, and its value is the one that is shown."
    unnamed = "() => [...document.querySelectorAll('.noUi-handle')].filter(h => !h.getAttribute('aria-label')).length"
    assert page.locator(".noUi-handle:visible").count() >= 5 and page.evaluate(unnamed) == 0
    shown = control(page, "Budget epsilon").locator(".widget-readout").inner_text()
    handle = page.get_by_role("slider", name="Budget epsilon (less is more private)").locator("visible=true")
    assert handle.get_attribute("aria-valuetext") == shown
    handle.focus()
    page.keyboard.press("ArrowLeft")
    page.wait_for_function("([h, before]) => h.getAttribute('aria-valuetext') !== before",
                           arg=[handle.element_handle(), shown])
    assert handle.get_attribute("aria-valuetext") == control(page,
                                                             "Budget epsilon").locator(".widget-readout").inner_text()


def width(text, words):
    "Width of the interval in a row of the table."
    low, high = re.search(rf"{words}\s+([-\d.e]+) to ([-\d.e]+)", text).groups()
    return float(high) - float(low)


def test_calibration_is_cancelled(page):
    "A run shows its batches and ends when it is told to."
    page.get_by_role("button", name="Calibration", exact=True).click()
    # the explorer, seen until then, has a box of the same name
    page.get_by_role("button", name="Run", exact=True).wait_for()
    page.get_by_role("checkbox", name="accounts for the noise").locator("visible=true").uncheck()
    slider = control(page, "Simulated releases").locator(".noUi-handle")
    slider.focus()
    page.keyboard.press("End")
    page.get_by_role("button", name="Run", exact=True).click()
    page.locator(".db-text:visible td", has_text="ignores the noise").wait_for()
    page.get_by_role("button", name="Cancel", exact=True).locator("visible=true").click()
    status = page.locator(".db-status:visible")
    status.filter(has_text="Cancelled after").wait_for()
    done, total = map(int, re.search(r"after (\d+) of (\d+)", status.inner_text()).groups())
    assert 0 < done < total == 1024 and done % 64 == 0


def test_own_table_is_released_once_the_budget_allows(page, tmp_path):
    "Upload, preview, a refusal, a release, its download, and a fit of the file."
    page.get_by_role("button", name="Your data", exact=True).click()
    table = tmp_path / "interviews.csv"
    table.write_text("limit,age\n" + "yes,70\nno,41\nno,36\nno,28\n" * 500)
    with page.expect_file_chooser() as chooser:
        page.get_by_role("button", name="upload a CSV file").click()
    chooser.value.set_files(table)
    status, text = page.locator(".db-status:visible"), page.locator(".db-text:visible")
    status.filter(has_text="2000 records").wait_for()
    field = control(page, "value that is counted").locator("input")
    field.fill("yes")
    field.press("Enter")
    text.filter(has_text="2000 (public)").wait_for()
    budget = control(page, "Budget epsilon of this release").locator("input")

    budget.fill("1.5")
    budget.press("Tab")
    text.filter(has_text="it will be refused").wait_for()
    page.get_by_role("button", name="3. Release").click()
    refused = page.locator(".db-status:visible [role=alert]")
    refused.wait_for()
    assert "1.5" in refused.inner_text() and "Traceback" not in refused.inner_text()
    assert "Left: 1" in page.locator(".db-ledger:visible").inner_text()

    budget.fill("0.4")
    budget.press("Tab")
    text.filter(has_text="epsilon 0.4 of").wait_for()
    page.get_by_role("button", name="3. Release").click()
    with page.expect_download() as download:
        page.locator("a.db-download").click()
    path = tmp_path / "release.json"
    download.value.save_as(path)
    text.filter(has_text="accounts for the noise").wait_for()
    assert "Left: 0.6" in page.locator(".db-ledger:visible").inner_text()

    from dp_bayes_nb import Release, fit

    received = Release.load(path)
    assert received.n == 2000 and received.epsilon == 0.4 and not received.simulated
    posterior = fit(received, draws=500, progress=False).posterior["probability"].values
    assert abs(posterior.mean() - received.values[0] / 2000) < 0.01  # the noise is some records, of 2000
    shown = re.search(r"accounts for the noise\s+probability\s+([\d.]+)", text.inner_text()).group(1)
    assert abs(float(shown) - posterior.mean()) < 0.005


def test_one_question_of_every_group_is_released_and_fitted(page, tmp_path):
    "A column of groups is chosen and its public levels are typed; the sizes are known by noise only."
    page.get_by_role("button", name="Your data", exact=True).first.click()
    table = tmp_path / "regions.csv"
    table.write_text("limit,region\n" + "yes,north\nno,south\nno,south\nyes,south\n" * 400)
    with page.expect_file_chooser() as chooser:
        page.get_by_role("button", name="upload a CSV file").click()
    chooser.value.set_files(table)
    page.locator(".db-status:visible").filter(has_text=re.compile("1600 records|nothing is spent")).wait_for()

    def typed(words, text):
        field = control(page, words).locator("input")
        field.fill(text)
        field.press("Enter")
    typed("value that is counted", "yes")
    typed("all other values", "no")
    control(page, "in each group of the column").locator("select").select_option("region")
    status, text = page.locator(".db-status:visible"), page.locator(".db-text:visible")
    status.filter(has_text="groups must be").wait_for()
    typed("public names of the groups", "north, south")
    typed("Budget epsilon of this release", "0.5")
    text.filter(has_text="north: successes").filter(has_text="epsilon 0.5 of the 0.6").wait_for()
    preview = text.inner_text()
    assert "1600 (public)" in preview and "known by noise only" in preview, preview
    page.get_by_role("button", name="3. Release").click()
    text.filter(has_text="records of south").wait_for()
    page.locator(".db-ledger:visible").filter(has_text="Left: 0.1").wait_for()  # it is drawn after the text
    with page.expect_download() as download:
        page.locator("a.db-download").click()
    path = tmp_path / "groups.json"
    download.value.save_as(path)

    from dp_bayes_nb import Grouped, Release

    received = Release.load(path)
    assert isinstance(received.family, Grouped) and received.n is None and received.epsilon == 0.5
    size = re.search(r"records of south\s+([\d.]+)", text.inner_text()).group(1)
    assert abs(float(size) - 1200) < 60


def test_published_numbers_are_typed_and_answered(page, tmp_path):
    "Each question of the page is answered; what cannot be is said, and nothing that is typed is lost or becomes HTML."
    page.get_by_role("button", name="Published numbers", exact=True).first.click()
    status, text = page.locator(".db-status:visible"), page.locator(".db-text:visible")
    text.filter(has_text="The true count is between 306 and 318").wait_for()
    question = control(page, "What do you want to know?").locator("select")
    for name, words in (("A share", "accounts for sampling"), ("A rate", "The rate"), ("A against B", "is larger"),
                        ("Rounded or hidden", "printed as <10"), ("A table", "The 4 cells together")):
        question.select_option(label=name)
        text.filter(has_text=words).wait_for()
    with page.expect_download() as download:
        page.locator("a.db-download:visible").click()
    path = tmp_path / "declared.json"
    download.value.save_as(path)
    lines = page.locator(".widget-textarea:visible textarea")
    for typed, said in (("Elm, 45\nOak, 20\ntotal, 400", "Is the last line their total?"),
                        ("Elm, 45\nOak, 1,200%\ntotal, 65", "must be"), ("Elm", "A table needs two cells or more")):
        lines.fill(typed)
        lines.press("Tab")
        status.filter(has_text=said).wait_for()
        assert "Traceback" not in status.inner_text() and not text.inner_text().strip()
        assert lines.input_value() == typed
    lines.fill("<img src=x onerror=alert(1)>, 12\nsouth, *\nall, 25")
    lines.press("Tab")
    text.filter(has_text="The 2 cells together").filter(has_text="<img src=x").wait_for()
    assert page.locator(".db-results:visible img").count() == 0

    from dp_bayes_nb import Release

    received = Release.load(path)
    assert received.values.tolist()[:2] == [45.0, 20.0] and received.source == "typed on a page"
    for name, content, said in (("cells.csv", b"cell,count\nElm,45\nOak,20\nall,66", "The 2 cells together"),
                                ("declared.json", path.read_bytes(), "These numbers were published by somebody else")):
        (tmp_path / name).write_bytes(content)
        with page.expect_file_chooser() as chooser:
            page.get_by_role("button", name="Open a file").locator("visible=true").click()
        chooser.value.set_files(tmp_path / name)
        text.filter(has_text=said).wait_for()
    assert lines.input_value() == "Elm, 45\nOak, 20\nall, 66"


def test_dark_mode_has_the_page_s_colours(page):
    "What is written is light on dark in every tool."
    page.emulate_media(color_scheme="dark")
    dim = """() => [...document.querySelectorAll('.db-app *')].filter(e => e.offsetParent && [...e.childNodes].some(
        c => c.nodeType === 3 && c.textContent.trim())).filter(e => {
            const rgb = getComputedStyle(e).color.match(/[\\d.]+/g).map(Number);
            return Math.max(...rgb.slice(0, 3)) < 110 && !e.closest('.mod-active, .mod-primary');
        }).map(e => e.className + ': ' + e.textContent.slice(0, 40))"""
    for name in ("Explorer", "Your data", "Published numbers"):
        page.get_by_role("button", name=name, exact=True).first.click()
        page.wait_for_timeout(500)
        assert page.evaluate(dim) == [], name
    page.emulate_media(color_scheme="light")
    assert page.evaluate(dim), "in light mode it is dark on light"


def test_keys_alone_reach_every_tool_on_a_phone(page):
    "Enter opens each tool, Tab goes on to its controls, focus is seen, and nothing is wider than a telephone."
    page.set_viewport_size({"width": 390, "height": 844})
    seen = "() => getComputedStyle(document.activeElement).outline"
    wider = "() => document.documentElement.scrollWidth - document.documentElement.clientWidth"
    cut = (
        "() => [...document.querySelectorAll('.db-intro p, .db-picture, .db-controls')].filter(e => e.offsetParent && "
        "e.getBoundingClientRect().right > innerWidth + 1).length")
    shown, another = ("() => document.querySelector('.db-status')",
                      "old => { const now = document.querySelector('.db-status'); return now && now !== old && "
                      "now.offsetParent; }")
    for name in ("Explorer", "Calibration", "Budget planner", "Regression", "Your data", "Published numbers"):
        button, old = page.get_by_role("button", name=name, exact=True).first, page.evaluate_handle(shown)
        open_already = "mod-active" in button.get_attribute("class")
        button.focus()
        page.keyboard.press("Enter")
        if not open_already:
            page.wait_for_function(another, arg=old)  # the tool before this one is seen until the kernel has answered
        page.locator(".db-status:visible").wait_for()
        for _ in range(3):
            page.keyboard.press("Tab")
            assert "solid 2px" in page.evaluate(seen), (name, page.evaluate("document.activeElement.outerHTML")[:200])
        page.locator(".db-text:visible").first.evaluate(
            "e => { e.querySelector('.widget-html-content').innerHTML = '<p style=\"white-space: nowrap\">' + 'wide "
            "'.repeat(60) + '</p>'; }")
        # results that are too wide are scrolled by themselves
        assert page.evaluate(wider) <= 0 and page.evaluate(cut) == 0, name
