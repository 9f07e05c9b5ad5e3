"""Open every page of _docs/ in headless Chromium, over a loopback server, and fail on what a reader would see broken.

A console error, a request to anywhere else, an equation that KaTeX could not set, an image that did not load, a figure
whose smallest text is below 9 pixels, or 6 on a phone, a figure that scrolls sideways on a phone, code of which 120
characters do not fit on a laptop, or a page wider than a phone is a fault. `--shots FOLDER` also saves a picture of
each page. Without Chromium it is skipped.
"""

import argparse
import functools
import http.server
import shutil
import sys
import threading
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "_docs"
FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
         "--disable-background-networking", "--disable-component-update", "--disable-sync"]
SIZES = {"laptop": (1200, 800), "phone": (390, 844)}
FAULTS = """() => ({
    maths: [...document.querySelectorAll('.katex-error')].map(e => e.textContent + ' ' + (e.title || '')),
    unset: [...document.querySelectorAll('span.math')]
        .filter(e => !e.querySelector('.katex') && !e.querySelector('.katex-error'))
        .map(e => e.textContent.slice(0, 80)),
    images: [...document.images].filter(e => e.complete && e.naturalWidth === 0).map(e => e.src.slice(0, 80)),
    tags: [...document.querySelectorAll('.katex-html > .tag')]
        .filter(t => [...t.parentElement.querySelectorAll('.base')].some(b => {
            const x = t.getBoundingClientRect(), y = b.getBoundingClientRect();
            return !t.contains(b) && y.right > x.left + 1 && y.left < x.right && y.bottom > x.top && y.top < x.bottom;
        })).map(t => t.textContent),
    small: [...document.querySelectorAll('main img')]
        .filter(e => e.clientWidth + 1 < (parseFloat(e.style.getPropertyValue(innerWidth < 768 ? '--phone' : '--least'))
                                          || 0.5 * e.naturalWidth))
        .map(e => `${e.naturalWidth} pixels on ${e.clientWidth}`),
    scrolls: innerWidth >= 768 ? [] : [...document.querySelectorAll('main .figure-scroll')]
        .filter(e => e.scrollWidth > e.clientWidth + 1)
        .map(e => `${e.querySelector('img').getAttribute('src')}, ${e.scrollWidth} pixels on ${e.clientWidth}`),
    cut: innerWidth < 1200 ? [] : [...document.querySelectorAll('main div.sourceCode pre')].slice(0, 1).filter(e => {
        const probe = document.createElement('span'), style = getComputedStyle(e);
        probe.textContent = 'x'.repeat(120);
        e.firstElementChild.prepend(probe);
        const wanted = probe.getBoundingClientRect().width;
        probe.remove();
        return e.clientWidth && e.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight) < wanted;
    }).map(e => `${e.clientWidth} pixels`),
    wide: document.documentElement.scrollWidth - document.documentElement.clientWidth,
})"""


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *args):
        pass


def serve(folder):
    "A server of `folder` on a free loopback port, in a thread."
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


def chromium():
    "The browser's path, or None."
    return next((found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))),
                None)


def look(browser, server, names, shots):
    "Open each page at each size; return the faults, one line each."
    base, bad = f"http://127.0.0.1:{server.server_port}/", []
    for size, (width, height) in SIZES.items():
        context = browser.new_context(viewport={"width": width, "height": height})
        page = context.new_page()
        said: list[str] = []
        page.on("console", lambda m, said=said: said.append(f"console {m.type}: {m.text}")
                if m.type in ("error", "warning") else None)
        page.on("pageerror", lambda e, said=said: said.append(f"script error: {e}"))
        page.on("request", lambda r, said=said: said.append(f"request to {r.url}")
                if not r.url.startswith((base, "data:", "blob:")) else None)
        page.on("response", lambda r, said=said: said.append(f"status {r.status} for {r.url}")
                if r.status >= 400 and not r.url.endswith("/favicon.ico") else None)
        for name in names:
            said.clear()
            page.goto(base + name, wait_until="load", timeout=300_000)  # a busy machine is no fault of a page
            page.evaluate("document.fonts.ready")
            found = page.evaluate(FAULTS)
            lines = [line for line in said if "favicon.ico" not in line and not ("404" in line and "console" in line)]
            lines += [f"KaTeX error in {text}" for text in found["maths"]]
            lines += [f"equation not set: {text}" for text in found["unset"]]
            lines += [f"the number {text} lies on its equation" for text in found["tags"]]
            lines += [f"image not shown: {text}" for text in found["images"]]
            lines += [f"a figure is too small to read: {text}" for text in found["small"]]
            lines += [f"a figure scrolls sideways: {text}" for text in found["scrolls"]]
            lines += [f"120 characters of code do not fit: {text}" for text in found["cut"]]
            if found["wide"] > 1:
                lines.append(f"the page is {found['wide']} pixels wider than the screen")
            bad += [f"{name} ({size}): {line}" for line in lines]
            if shots:
                page.screenshot(path=str(shots / f"{name.replace('/', '-').removesuffix('.html')}-{size}.png"),
                                full_page=True)
        context.close()
    return bad


def moved(path):
    "Whether a page only leads from an old address to a new one."
    return 'http-equiv="refresh"' in path.read_text(encoding="utf-8")[:600]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pages", nargs="*", help="pages such as base/chains.html (default: all)")
    parser.add_argument("--shots", type=Path, help="folder for pictures")
    args = parser.parse_args()
    path = chromium()
    if path is None:
        print("docs: Chromium was not found, so the pages were not opened in a browser")
        return 0
    from playwright.sync_api import sync_playwright

    names = args.pages or sorted(p.relative_to(DOCS).as_posix() for p in DOCS.rglob("*.html")
                                 if not moved(p) and p.name != "dp_bayes.html")
    if args.shots:
        args.shots.mkdir(parents=True, exist_ok=True)
    server = serve(DOCS)
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=path, args=FLAGS)
        bad = look(browser, server, names, args.shots)
        browser.close()
    server.shutdown()
    for line in bad:
        print(f"docs: {line}", file=sys.stderr)
    if not bad:
        print(f"docs: {len(names)} pages opened in a browser at {len(SIZES)} sizes, no fault")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
