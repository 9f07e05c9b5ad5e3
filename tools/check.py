"""One notebook, quickly: `make check NB=chains/collapsed` (or `collapsed`, or a folder), in seconds to a minute.

Exports it; lints its modules; checks their types; runs it once, cell by cell, tests included, slow cells left out; and
compares what its cells show with what is saved. Nothing is saved but the exported modules. `make test` does the rest.
"""

import argparse
import re
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from docs import LIB, ROOT, read_nb, source  # noqa: E402
from execute import chosen, environment, short  # noqa: E402

BIN = Path(sys.executable).parent


def module_of(path):
    "The module that a notebook exports, or None."
    for cell in read_nb(path)["cells"]:
        found = re.search(r"^#\|\s*default_exp\s+(\S+)", source(cell), re.M)
        if found:
            return ROOT / LIB / f"{found[1].replace('.', '/')}.py"
    return None


def step(what, command):
    "Run a command and say how it went; its words only when it failed. Returns whether it did."
    start = time.perf_counter()
    done = subprocess.run([str(word) for word in command], cwd=ROOT, text=True, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    bad = done.returncode != 0 or "Failed" in done.stdout and what == "export"
    print(f"{'FAILED' if bad else 'passed'}  {what} ({time.perf_counter() - start:.0f} s)", flush=True)
    if bad:
        print("\n".join("    " + line for line in done.stdout.strip().splitlines()[-60:]), flush=True)
    return bad


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="+", help="notebooks, such as chains/collapsed")
    paths = chosen(parser.parse_args().names)
    environment()
    modules = [module for path in paths if (module := module_of(path))]
    failed = step("export", [BIN / "nbdev-export"])
    if modules and not failed:
        failed += step("lint", [sys.executable, "-m", "ruff", "check", *modules])
        failed += step("types", [sys.executable, "-m", "mypy", *modules])
    for path in paths:
        failed += step(f"cells and outputs of {short(path)}",
                       [sys.executable, ROOT / "tools" / "execute.py", "--check", "--quick", short(path)])
    if failed:
        print("where only an output has changed: make notebooks NB='" + " ".join(map(short, paths)) + "'")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
