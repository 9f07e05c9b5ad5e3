"""What pip would install beside this package, for users of other packages: results/resolution.json.

    python tools/resolve.py     the Pythons of settings.ini that are here (on the path, or in ~/.pyenv/versions)

Nothing is installed: it is pip's own report of a dry run with an empty environment. What the oldest Python cannot have
must be refused there, and everything else resolved. `N passed, N failed` is the last line.
"""

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from install import LIB, ROOT, build, pythons
from pyproject import settings

NEWEST = ["pymc>=6", "numpyro>=0.22", "jax>=0.12", "arviz>=1", "numpy>=2.5", "pandas>=3.1", "polars>=2", "duckdb>=2"]
BESIDE = {"alone": [], "with pymc>=6": ["pymc>=6"], "with jax>=0.12": ["jax>=0.12"], "with numpyro": ["numpyro"],
          "with arviz>=1": ["arviz>=1"], "with arviz<1": ["arviz<1"], "with everything newest": NEWEST}
OLDEST = "3.11"  # which these have left
LEFT = ("pymc>=6", "jax>=0.12", "arviz>=1")
SHOWN = ("numpy", "scipy", "pandas", "jax", "jaxlib", "arviz", "xarray", "blackjax", "pymc", "numpyro", "narwhals",
         "duckdb", "opendp", "polars")


def resolved(python, wheel, extra, words) -> dict | str:
    "The versions that pip chooses, by name; or its words where it finds none."
    with tempfile.NamedTemporaryFile(suffix=".json") as report:
        done = subprocess.run([python, "-m", "pip", "install", "--dry-run", "--ignore-installed", "--quiet", "--report",
                               report.name, f"{wheel}[{extra}]", *words], capture_output=True, text=True)
        if done.returncode:
            return next((line for line in done.stderr.splitlines() if "ResolutionImpossible" in line or
                         line.startswith("ERROR")), "failed")
        found = json.loads(Path(report.name).read_text())["install"]
    versions = {each["metadata"]["name"].lower(): each["metadata"]["version"] for each in found}
    return {name: versions[name] for name in SHOWN if name in versions}


def main() -> int:
    tables, failed = {}, 0
    with tempfile.TemporaryDirectory() as folder:
        wheel, trouble = build(Path(folder))
        if trouble:
            sys.exit(trouble)
        for version, python in pythons(settings()["pythons"].split()).items():
            for name, words in BESIDE.items() if python else ():
                found = resolved(python, wheel, "release", words)
                expected = not (version == OLDEST and any(word in LEFT for word in words))
                good = isinstance(found, dict)
                failed += good != expected
                tables.setdefault(f"Python {version}", {})[name] = found
                print(f"{'passed' if good == expected else 'FAILED'}  {LIB}[release] {name}, Python {version}: {found}",
                      flush=True)
    count = sum(map(len, tables.values()))
    (ROOT / "results" / "resolution.json").write_text(json.dumps(
        {"about": "versions that pip chooses for the package with its extra `release`, beside what else is asked for "
         "(tools/resolve.py)", "date": time.strftime("%Y-%m-%d"), **tables}, indent=1) + "\n")
    print(f"{count - failed} passed, {failed} failed")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
