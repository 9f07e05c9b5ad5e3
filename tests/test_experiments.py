"""The figures' numbers: repeated by one command, not lost by a kill,
and committed with what is needed to repeat them.
"""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from dp_bayes_nb.cli import main
from dp_bayes_nb.papers.experiments import BINS, EXPERIMENTS, MODELS, label

ROOT = Path(__file__).resolve().parent.parent
RUN = """
import sys
from dataclasses import replace
from dp_bayes_nb.papers.experiments import EXPERIMENTS
from dp_bayes_nb.cli import main
EXPERIMENTS["fig1b"] = replace(EXPERIMENTS["fig1b"], designs=(("binomial", 50, 0.1),), methods=("naive", "non_private"))
sys.exit(main(["experiment", "fig1b", "--trials", "320", *sys.argv[1:]]))
"""


def start(cwd, *more):
    "The command on a grid of one design, in a process of its own."
    return subprocess.Popen([sys.executable, "-c", RUN, *more], cwd=cwd, env={**os.environ, "JAX_PLATFORMS": "cpu"},
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def numbers(path):
    "What a result says, without how long it took."
    result = json.loads(path.read_text())
    return {d: {m: {k: v for k, v in row.items() if k != "seconds"} for m, row in rows.items()}
            for d, rows in result["cells"].items()}


@pytest.mark.slow
def test_a_killed_experiment_goes_on_and_gives_the_same_numbers(tmp_path):
    assert start(tmp_path, "-o", "whole.json", "--cache", "other").wait() == 0
    process, cache = start(tmp_path), tmp_path / "experiments.cache"
    while process.poll() is None and not list(cache.rglob("trials-*.npz")):
        time.sleep(0.005)
    process.send_signal(signal.SIGKILL)
    process.wait()
    kept = {path: path.stat().st_mtime_ns for path in cache.rglob("trials-*.npz")}
    assert kept and not (tmp_path / "fig1b.json").exists()
    again = start(tmp_path)
    out, err = again.communicate()
    assert again.returncode == 0 and "naive: KS" in out, err
    assert numbers(tmp_path / "fig1b.json") == numbers(tmp_path / "whole.json")
    assert kept == {path: path.stat().st_mtime_ns for path in kept}  # read, not computed again


@pytest.mark.parametrize("more, said", [(["fig9"], "NAME must be an experiment, got 'fig9'; did you mean fig3?"),
                                        (["fig2", "--trials", "0"], "trials must be"),
                                        (["fig2", "-o", "none/a.json"], "-o must be"), ([], "required"),
                                        (["fig2", "-o", "here.json"], "--force"),
                                        (["fig2", "--cache", "here.json"], "--cache must be")])
def test_a_refused_experiment_says_why_and_writes_nothing(tmp_path, monkeypatch, capsys, more, said):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "here.json").write_text("{}")
    assert main(["experiment", *more]) == 2
    out, err = capsys.readouterr()
    assert out == "" and said in err and len(err.splitlines()) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["here.json"]


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_results_are_complete_small_and_say_how_they_were_made(name):
    experiment, path = EXPERIMENTS[name], ROOT / "results" / f"{name}.json"
    text = path.read_text()
    result = json.loads(text)
    assert len(text) < 200_000 and (result["experiment"], result["seed"], result["trials"]) == (name, experiment.seed,
                                                                                                experiment.trials)
    assert {"dp_bayes_nb", "python", "numpy", "jax", "jaxlib", "arviz"} == set(result["versions"])
    assert list(result["cells"]) == [label(*design) for design in experiment.designs]
    for design in experiment.designs:
        rows = result["cells"][label(*design)]
        assert list(rows) == [m for m in experiment.methods if m in MODELS[design[0]].runs]
        for row in rows.values():
            assert experiment.row is None or row["trials"] == experiment.trials
            assert sum(row.get("ranks", [experiment.trials])) == experiment.trials and len(row.get("ranks",
                                                                                                   [0] * BINS)) == BINS
            assert row.get("nonfinite", 0) == 0
