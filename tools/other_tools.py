"""The readers of other tools against these tools as they are today, each in a throw-away environment.

    python tools/other_tools.py               all of them, and results/peers.json
    python tools/other_tools.py mbi Tumult    some; their entries are renewed in the file

OpenDP and mbi are installed beside this package, and tests/test_readers.py runs them there. The others need versions
that this package does not allow, or many more packages: each is installed alone, a script of tests/peers/ has it write
files, and tests/peers/reads.py reads them with this package. A skipped test counts as failed, and so does a tool that
cannot be installed. `N passed, N failed` is the last line.
"""

import argparse
import datetime
import json
import os
import platform
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).parent))
from install import LIB, ROOT, build, call  # noqa: E402
from pyproject import settings  # noqa: E402

RESULTS = ROOT / "results" / "peers.json"
TESTS = ROOT / "tests"


class Peer(NamedTuple):
    "A tool: what pip installs, whose versions are told, the script that has it write files, and the tests."

    wants: tuple[str, ...]
    versions: tuple[str, ...]
    tests: str  # pytest's -k
    makes: str = ""  # a script of tests/peers/; none: the tool runs beside the package


PEERS = {
    "OpenDP": Peer(("opendp[polars,mbi]",), ("opendp", "polars", "mbi"),
                   "query_of_opendp or gaussian_queries or table_of_opendp"),
    "mbi": Peer(("mbi>=2",), ("mbi",), "measurements_of_mbi"),
    "Tumult": Peer(("tmlt.analytics",), ("tmlt.analytics", "tmlt.core", "pyspark"), "tumult", "makes_tumult.py"),
    "DP-Wizard": Peer(("dp-wizard[pins]",), ("dp-wizard", "opendp", "polars"), "dp_wizard", "makes_dp_wizard.py"),
    "PipelineDP": Peer(("pipeline-dp",), ("pipeline-dp", "python-dp"), "pipeline_dp", "makes_pipeline_dp.py"),
}


def environment(folder: Path, *wants):
    "A virtual environment with these packages: (its python, trouble)."
    if trouble := call(sys.executable, "-m", "venv", folder):
        return None, trouble
    python = folder / "bin" / "python"
    return python, call(python, "-m", "pip", "--disable-pip-version-check", "--quiet", "install", "--no-compile",
                        *wants)


def versions(python, names):
    "Versions of installed packages."
    code = "import sys; from importlib.metadata import version; print(*map(version, sys.argv[1:]))"
    said = subprocess.run([python, "-c", code, *names], capture_output=True, text=True, check=True).stdout
    return dict(zip(names, said.split()))


def words(trouble):
    "Errors of pip, or the last line, without addresses and places on this machine."
    lines = [line for line in trouble.splitlines() if line.startswith("ERROR:")] or trouble.strip().splitlines()[-1:]
    return re.sub(r"\w+://\S+|(?<!\w)/[\w.+-]+/\S*", "…", " ".join(lines))[:400]


def tested(python, file, which, place: Path):
    "The chosen tests of a file: names, and troubles of those that failed or were skipped."
    report = place / "report.xml"
    said = call(python, "-m", "pytest", "-q", "-c", ROOT / "setup.cfg", f"--junitxml={report}", file, "-k", which,
                cwd=place)
    if not report.is_file():
        return [], {f"tests of {which}": said}
    cases = [*ElementTree.parse(report).iter("testcase")]
    troubles = {case.get("name"): f"{child.tag}: {child.text or child.get('message')}" for case in cases
                for child in case if child.tag in ("failure", "error", "skipped")}
    return [case.get("name") for case in cases], troubles if cases else {f"tests of {which}": "there are none"}


def tried(peer, wheel, reader, folder: Path):
    "One tool: its entry in the results, and the troubles of its tests."
    place = Path(tempfile.mkdtemp(dir=folder))
    ours = (f"{wheel}[release]", "pytest")
    python, trouble = environment(place / "venv", *(() if peer.makes else ours), *peer.wants)
    if trouble:
        return {"not run": f"not installed: {words(trouble)}"}, {"installing": trouble}
    entry = {"versions": versions(python, peer.versions)}
    if peer.makes:
        if trouble := call(python, TESTS / "peers" / peer.makes, cwd=place):
            return entry | {"not run": f"wrote no files: {words(trouble)}"}, {peer.makes: trouble}
        python = reader(*ours)
    names, troubles = tested(python, TESTS / ("peers/reads.py" if peer.makes else "test_readers.py"), peer.tests, place)
    failed = sorted(troubles)
    return entry | {"passed": len(names) - len(failed), "failed": failed, "tests": names}, troubles


def run(chosen, folder: Path):
    "Each tool: its name, its entry, its troubles."
    wheel, trouble = build(folder)
    if trouble:
        raise RuntimeError(trouble)
    made = []

    def reader(*wants):
        "The environment that reads files, made once."
        if not made:
            python, trouble = environment(folder / "reader", *wants)
            if trouble:
                raise RuntimeError(trouble)
            made.append(python)
        return made[0]

    for name in chosen:
        yield name, *tried(PEERS[name], wheel, reader, folder)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("peers", nargs="*", metavar="NAME", help=f"some of {', '.join(PEERS)} (default: all)")
    chosen = parser.parse_args().peers or [*PEERS]
    if unknown := {*chosen} - {*PEERS}:
        parser.error(f"a name must be one of {', '.join(PEERS)}, got {', '.join(sorted(unknown))}")
    os.environ.pop("PYTHONPATH", None)
    passed = failed = 0
    found = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.is_file() else {}
    with tempfile.TemporaryDirectory() as folder:
        for name, entry, troubles in run(chosen, Path(folder)):
            today = {"date": datetime.date.today().isoformat(), "python": platform.python_version(),
                     LIB: settings()["version"]}
            found[name] = today | entry
            RESULTS.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
            passed, failed = passed + entry.get("passed", 0), failed + len(troubles)
            told = ", ".join(f"{each} {version}" for each, version in entry.get("versions", {}).items())
            print(f"{'FAILED' if troubles else 'passed'}  {name}: {told or 'not installed'}", flush=True)
            for test, trouble in troubles.items():
                print("\n".join(f"    {line}" for line in (test, *trouble.strip().splitlines()[-40:])), flush=True)
    print(f"{passed} passed, {failed} failed")
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
