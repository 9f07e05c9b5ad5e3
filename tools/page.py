"""One file from the sources of the page: dp_bayes_nb/page/dp_bayes.html, which asks nothing of a network.

The modules of `page/` are put in their order, each in a function of its own, so that no bundler is needed; they may
import and export by name only. The policy in the page allows its own script and its own style, by their hashes, and
nothing else. `--check` says whether the file is what the sources give.
"""

import argparse
import base64
import hashlib
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCES = ROOT / "page"
PAGE = ROOT / "dp_bayes_nb" / "page" / "dp_bayes.html"
LARGEST = 300_000  # bytes
NAMES = r"\{([^{}]*)\}"
IMPORT = re.compile(rf'^import\s+(?:{NAMES}|\*\s+as\s+(\w+))\s+from\s+"(\.[^"]+)";[ \t]*$', re.M)
EXPORT_FROM = re.compile(rf'^export\s+{NAMES}\s+from\s+"(\.[^"]+)";[ \t]*$', re.M)
EXPORT_LIST = re.compile(rf"^export\s+{NAMES};[ \t]*$", re.M)
EXPORT = re.compile(r"^export\s+((?:async\s+)?function\*?|class|const)\s+(\w+)", re.M)
EXPORT_PARTS = re.compile(r"^export\s+const\s+\[([\w\s,]+)\]", re.M)


def listed(text):
    "Names of a list as pairs: what a thing is called there, and here."
    pairs = [re.split(r"\s+as\s+", name.strip()) for name in text.split(",") if name.strip()]
    return [(pair[0], pair[-1]) for pair in pairs]


def called(path):
    "The variable of a module."
    return "$" + re.sub(r"\W", "_", path.relative_to(SOURCES).with_suffix("").as_posix())


def linked(path):
    "A module as a function that returns what it exports, and the modules that it needs."
    text, needs, out = path.read_text(encoding="utf-8"), [], []

    def module(name):
        needs.append((path.parent / name).resolve())
        return called(needs[-1])

    def imported(found):
        names, whole, name = found.groups()
        if whole:
            return f"const {whole} = {module(name)};"
        parts = (here if here == there else f"{there}: {here}" for there, here in listed(names))
        return f"const {{ {', '.join(parts)} }} = {module(name)};"

    def passed_on(found):
        of = module(found[2])
        out.extend(f"{here}: {of}.{there}" for there, here in listed(found[1]))
        return ""

    def exported(found):
        out.append(found[2])
        return f"{found[1]} {found[2]}"

    def parted(found):
        out.extend(here for _, here in listed(found[1]))
        return f"const [{found[1]}]"

    def named(found):
        out.extend(here if here == there else f"{here}: {there}" for there, here in listed(found[1]))
        return ""

    for pattern, change in ((IMPORT, imported), (EXPORT_FROM, passed_on), (EXPORT_LIST, named), (EXPORT, exported),
                            (EXPORT_PARTS, parted)):
        text = pattern.sub(change, text)
    if wrong := re.search(r"^(?:import|export)\b.*", text, re.M):
        raise ValueError(f"{path.relative_to(ROOT)}: {wrong[0]!r} is not joined: import and export by name only")
    return f"const {called(path)} = (() => {{\n{shorter(text)}\nreturn {{ {', '.join(out)} }};\n}})();", needs


def shorter(text):
    "A module without lines that are comments alone, blank lines, and the blanks at its lines' beginnings."
    lines = text.splitlines()
    if any(line.count("`") % 2 for line in lines):  # a text over several lines keeps its blanks
        return text.strip()
    return "\n".join(line.strip() for line in lines if line.strip() and not line.strip().startswith("//"))


def script(main):
    "All modules in the order in which they need each other, as one script."
    done, parts, open_ = set(), [], []

    def visit(path):
        if path in open_:
            raise ValueError(f"modules that import each other: {', '.join(p.name for p in [*open_, path])}")
        if path not in done:
            open_.append(path)
            text, needs = linked(path)
            for each in needs:
                visit(each)
            open_.pop()
            done.add(path)
            parts.append(text)

    visit(main)
    return '"use strict";\n' + "\n".join(parts) + "\n"


def hashed(text):
    "A hash as policies name it."
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def build():
    "The text of the page."
    code, style = script(SOURCES / "view" / "main.js"), (SOURCES / "style.css").read_text(encoding="utf-8")
    if "</script" in code.lower() or "<!--" in code or "</style" in style.lower():
        raise ValueError("a source holds the end of its own element")
    policy = (f"default-src 'none'; script-src {hashed(code)}; style-src {hashed(style)}; img-src data:; "
              "base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'")
    title = re.search(r'^ {2}title: "([^"]+)"', (SOURCES / "strings.js").read_text(encoding="utf-8"), re.M)[1]
    page = (SOURCES / "page.html").read_text(encoding="utf-8")
    for name, text in (("policy", policy), ("title", title), ("style", style), ("script", code)):
        head, mark, tail = page.partition("{{" + name + "}}")
        if not mark:
            raise ValueError(f"page.html must have a place for the {name}")
        page = head + text + tail
    if len(page.encode()) > LARGEST:
        raise ValueError(f"the page has {len(page.encode())} bytes, more than {LARGEST}")
    return page


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing; fail if the sources give another file")
    args = parser.parse_args()
    text = build()
    if args.check:
        if not PAGE.exists() or PAGE.read_text(encoding="utf-8") != text:
            print(f"{PAGE.relative_to(ROOT)} is not what page/ gives: make page", file=sys.stderr)
            return 1
        return 0
    PAGE.parent.mkdir(exist_ok=True)
    PAGE.write_text(text, encoding="utf-8")
    print(f"{PAGE.relative_to(ROOT)}: {len(text.encode()):,} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
