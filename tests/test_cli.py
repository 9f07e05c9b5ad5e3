"""The command: exit codes, one line on standard error, nothing spent or written by a refusal."""

import ast
import contextlib
import importlib.util
import inspect
import io
import os
import re
import shlex
import subprocess
import sys
import textwrap

import numpy as np
import pytest

from dp_bayes_nb import (
    Bernoulli, Counts, Exponential, FlatCounts, Gamma, Grouped, Laplace, Ledger, Pooled, Release, SharedGamma,
    __version__, contrast, declare, fit, predict, simulate_release,
)
from dp_bayes_nb import cli
from dp_bayes_nb.cli import main
from dp_bayes_nb.command import analyse
from dp_bayes_nb.command.options import EXAMPLES, OPTIONS
from dp_bayes_nb.command.publish import parse_bounds_source

FAMILY = 'family = "Bernoulli"\ncolumn = "smokes"\n'
needs_fit = pytest.mark.skipif(importlib.util.find_spec("dp_bayes_nb.posterior.fit") is None,
                               reason="the fit chapter is not there yet")


def dp_bayes(*arguments, cwd):
    "Run the command here, which is fast: exit code, standard output, standard error."
    out, err = io.StringIO(), io.StringIO()
    with contextlib.chdir(cwd), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main([str(a) for a in arguments])
    return code, out.getvalue(), err.getvalue()


def dp_bayes_process(*arguments, cwd):
    "Run the command in a process of its own, as a user does: exit code, standard output, standard error."
    code = "import sys; from dp_bayes_nb.cli import main; sys.exit(main())"
    done = subprocess.run([sys.executable, "-c", code, *map(str, arguments)], cwd=cwd, capture_output=True, text=True,
                          timeout=300,
                          env={**os.environ, "MPLBACKEND": "Agg"})
    return done.returncode, done.stdout, done.stderr


@pytest.fixture
def folder(tmp_path):
    "A table, a family and a ledger of 1."
    (tmp_path / "survey.csv").write_text("age,smokes\n" + "".join(f"{20 + i % 50},{i % 4 == 0}\n" for i in range(400)))
    (tmp_path / "family.toml").write_text(FAMILY)
    Ledger(tmp_path / "budget.json", epsilon=1)
    return tmp_path


def release(folder, *more, data="survey.csv", family="family.toml", epsilon="0.5", output="release.json", run=dp_bayes):
    return run("release", data, "--family", family, "--epsilon", epsilon, "--ledger", "budget.json", "-o", output,
               *more, cwd=folder)


OWN = '''
import dp_bayes_nb as db


@db.family_class
class Pairs(db.Model):
    "How many throws of two dice are a pair."
    column: str | None = None
    statistics, integer = ("pairs",), True
    columns = property(lambda self: (db.Column(self.column, (0, 1)),))
    parameters = property(lambda self: {"share": db.Parameter("unit")})
    prior_type, default_prior = db.Beta, db.Beta(1.0, 1.0)

    def statistic(self, x):
        return (x,)

    def sensitivity(self, neighbours="change_one", norm="l1", grid_exponent=None):
        return 1.0

    def moments(self, theta):
        p = theta["share"]
        return p[None], (p * (1 - p))[None, None]

    def simulate_records(self, key, theta, n):
        import jax
        return (jax.random.uniform(key, (n,)) < theta["share"]).astype(float)
'''


def test_a_model_of_ones_own_is_released_and_fitted_by_commands(folder):
    (folder / "mine.py").write_text(OWN)
    (folder / "mine.toml").write_text('family = "Pairs"\ncolumn = "smokes"\n')
    code, _, err = release(folder, family="mine.toml")
    assert code == 2 and "--models FILE.py" in err
    assert release(folder, "--models", "mine.py", family="mine.toml")[0] == 0
    code, _, err = dp_bayes_process("fit", "release.json", cwd=folder)
    assert code == 2 and "Pairs" in err and len(err.splitlines()) == 1
    code, out, err = dp_bayes_process("fit", "release.json", "--models", "mine.py", cwd=folder)
    assert code == 0, err
    share = [float(line.split()[1]) for line in out.splitlines() if line.startswith("share")]
    assert abs(share[0] - 0.25) < 0.06
    (folder / "a folder").mkdir()
    (folder / "a folder" / "neighbour.py").write_text("TOP = 3")
    (folder / "a folder" / "more.py").write_text("from neighbour import TOP\n" + OWN.replace("Pairs", "More"))
    both = ["--models", "mine.py", "--models", "a folder/more.py"]
    assert dp_bayes("fit", "release.json", *both, cwd=folder)[0] == 0
    (folder / "broken.py").write_text("raise RuntimeError('no')")
    code, _, err = dp_bayes("fit", "release.json", "--models", "broken.py", cwd=folder)
    assert code == 2 and "--models must be a Python file that runs" in err


def test_the_account_is_a_page_of_html_where_the_file_is_called_so(folder):
    assert release(folder)[0] == 0
    assert dp_bayes("ledger", "budget.json", "--report", "-o", "a.html", cwd=folder)[0] == 0
    assert dp_bayes("ledger", "budget.json", "--report", "-o", "a.md", cwd=folder)[0] == 0
    page, text = (folder / "a.html").read_text(), (folder / "a.md").read_text()
    assert page.startswith("<!DOCTYPE html>") and text.startswith("# Privacy account")
    for words in ("1 release", "survey.csv", "laplace", "50.00%"):
        assert words in page and words in text


def test_release_then_ledger(folder):
    code, out, err = release(folder, "--name", "survey of 2026", run=dp_bayes_process)
    assert (code, err) == (0, "")
    made = Release.load(folder / "release.json")
    assert (made.family, made.n, made.epsilon, made.simulated) == (Bernoulli("smokes"), 400, 0.5, False)
    assert "n = 400" in out
    code, out, err = dp_bayes("ledger", "budget.json", cwd=folder)
    assert (code, err) == (0, "")
    assert "survey of 2026" in out and "0.5 spent, 0.5 left" in out
    when = Ledger(folder / "budget.json").entries[0].time
    for yearly, left in (([], "0.5 left of the total"), (["--yearly", "0.8"], "0.3 left of the year")):
        code, out, err = dp_bayes("ledger", "budget.json", "--by", "month", *yearly, cwd=folder)
        assert (code, out, err) == (0, f"{when[:7]}  1 entry  epsilon 0.5  delta 0  {left}\n", "")


REFUSED = {
    "epsilon zero": dict(epsilon="0"), "epsilon NaN": dict(epsilon="nan"), "epsilon infinite": dict(epsilon="inf"),
    "epsilon text": dict(epsilon="lots"),
    "over budget": dict(epsilon="1.5"), "no file": dict(data="nowhere.csv"), "wrong ending": dict(data="family.toml"),
    "no family": dict(family="nowhere.toml"),
    "no folder": dict(output="none/release.json"), "output is input": dict(more=["--force"], output="survey.csv"),
    "gaussian without delta": dict(more=["--mechanism", "gaussian"]),
    "delta of one": dict(more=["--mechanism", "gaussian", "--delta", "1"]),
    "delta over budget": dict(more=["--mechanism", "gaussian", "--delta", "1e-6"]),
    "unknown column": dict(more=["--column", "smoke"]),
    "outside the support": dict(more=["--column", "age"]), "mechanism": dict(more=["--mechanism", "cauchy"]),
    "missing": dict(more=["--missing", "impute"]),
    "unknown option": dict(more=["--seed", "1"]),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_refused_release_costs_nothing_and_writes_nothing(folder, case):
    options = dict(REFUSED[case])
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    code, out, err = release(folder, *options.pop("more", []), **options)
    after = {path.name: path.read_bytes() for path in folder.iterdir()}
    assert (code, out) == (2, "") and err.startswith("dp-bayes: ") and len(err.splitlines()) == 1, err
    assert "Traceback" not in err and after == before


@pytest.mark.parametrize("rows, said", [("", "at least one complete record"), ("1\n\n0\n", "1 missing"),
                                        ("1\n2\n", "1 outside"), ("1\nMrs Smith\n", "1 of 2 fields that are none")])
def test_bad_tables_are_refused_without_quoting_them(folder, rows, said):
    (folder / "bad.csv").write_text("smokes,id\n" + "".join(f"{row},7\n" for row in rows.splitlines()))
    code, out, err = release(folder, data="bad.csv")
    assert code == 2 and len(err.splitlines()) == 1 and "Smith" not in err and said in err, err
    assert not Ledger(folder / "budget.json").entries


MALFORMED = {"blank": ("\n\n", "no names"), "no header": ("Mrs Smith,1\nMr Jones,0\n", "reads like a record"),
             "semicolons": ("smokes;id\n1;Smith\n", "semicolons"),
             "ragged": ("smokes,id\n1,Smith\n0,Smith,Ann\n", "1 of 2 records"),
             "quotes": ('smokes,id\n1,"Smith\n', "double quote"),
             "encoding": ("smokes,id\n1,Smïth\n".encode("latin-1"), "not UTF-8"),
             "names": ("smokes,smokes\n1,0\n", "2 names that come again"),
             "no numbers": ("smokes,id\nSmith,1\n", "numbers or booleans"),
             "gaps": ("smokes,id\n1,7\n,7\n", "or pass --missing drop")}


@pytest.mark.parametrize("case", MALFORMED)
def test_a_malformed_csv_file_is_told_what_is_wrong_in_the_words_of_the_shell(folder, case):
    content, said = MALFORMED[case]
    (folder / "bad.csv").write_bytes(content if isinstance(content, bytes) else content.encode())
    code, out, err = release(folder, data="bad.csv")
    assert (code, out, len(err.splitlines())) == (2, "", 1) and said in err, err
    assert not re.search(r"Sm.th|Jones", err) and not re.search(r"\b(missing|success|k|mechanism)=",
                                                                re.sub(r"\(.*?\)", "", err)), err
    assert not Ledger(folder / "budget.json").entries


@pytest.mark.parametrize("case", ["over budget", "outside the support", "unknown option"])
def test_a_process_says_one_line_and_exits_with_two(folder, case):
    options = dict(REFUSED[case])
    code, out, err = release(folder, *options.pop("more", []), run=dp_bayes_process, **options)
    assert (code, out, len(err.splitlines())) == (2, "", 1), err


def test_an_existing_output_is_refused_before_anything_is_spent(folder):
    (folder / "release.json").write_text("mine")
    code, _, err = release(folder)
    assert code == 2 and "--force" in err
    assert (folder / "release.json").read_text() == "mine" and not Ledger(folder / "budget.json").entries
    assert release(folder, "--force")[0] == 0
    assert Release.load(folder / "release.json").n == 400


def test_a_release_that_cannot_be_written_is_printed(folder):
    code = """
import os, sys
from dp_bayes_nb.cli import main
def full(*a): raise OSError(28, "No space left on device")
import dp_bayes_nb.releases.document
sys.modules["dp_bayes_nb.releases.document"].atomic_write = full
sys.exit(main())
"""
    done = subprocess.run([sys.executable, "-c", code, "release", "survey.csv", "--family", "family.toml", "--epsilon",
                           "0.5", "--ledger", "budget.json",
                           "-o", "release.json"], cwd=folder, capture_output=True, text=True, timeout=300)
    assert done.returncode == 1 and len(done.stderr.splitlines()) == 1 and "printed instead" in done.stderr
    assert Release.from_json(done.stdout).n == 400 and len(Ledger(folder / "budget.json").entries) == 1


@pytest.mark.parametrize("failure", ["ValueError('a defect')", "MemoryError()", "KeyboardInterrupt()"])
def test_a_release_is_printed_whatever_went_wrong(folder, failure, monkeypatch):
    def broken(*a):
        raise eval(failure)

    monkeypatch.setitem(Release.save.__globals__, "atomic_write", broken)
    code, out, err = release(folder)
    assert code == 1 and len(err.splitlines()) == 1 and "printed instead" in err
    assert Release.from_json(out).n == 400 and len(Ledger(folder / "budget.json").entries) == 1


def test_a_careless_delta_is_one_line_on_standard_error(folder):
    Ledger(folder / "both.json", epsilon=1, delta=0.5)
    code, out, err = dp_bayes("release", "survey.csv", "--family", "family.toml", "--epsilon", "1", "--mechanism",
                              "gaussian", "--delta", "0.1",
                              "--ledger", "both.json", "-o", "release.json", cwd=folder)
    assert code == 0 and len(err.splitlines()) == 1 and err.startswith(
        "dp-bayes: warning: --delta should be far below 1/n")


def test_a_release_without_a_ledger_is_warned_of(folder):
    code, _, err = dp_bayes("release", "survey.csv", "--family", "family.toml", "--epsilon", "0.5", "-o",
                            "release.json", cwd=folder)
    assert code == 0 and "no --ledger" in err and err.count("\n") == 1
    assert "no --ledger" not in release(folder, output="other.json")[2]


def test_parquet_gaussian_and_a_ledger_with_delta(folder):
    duckdb = pytest.importorskip("duckdb")
    duckdb.sql(f"copy (select * from read_csv('{folder}/survey.csv')) to '{folder}/survey.parquet' (format parquet)")
    assert dp_bayes("ledger", "both.json", "--create", "--epsilon", "1", "--delta", "1e-5", cwd=folder)[0] == 0
    code, out, err = dp_bayes("release", "survey.parquet", "--family", "family.toml", "--epsilon", "1", "--mechanism",
                              "gaussian", "--delta", "1e-6",
                              "--ledger", "both.json", "-o", "release.json", cwd=folder)
    assert (code, err) == (0, "")
    assert [str(v) for v in Ledger(folder / "both.json").left] == ["0.0", "0.000009"]


@pytest.mark.parametrize("arguments, said",
                         [(["ledger", "none.json"], "does not exist"),
                          (["ledger", "survey.csv"], "another kind of file"),
                                             (["ledger", "budget.json", "--create", "--epsilon", "2"],
                                              "--create must be given with a new ledger"),
                                             (["ledger", "budget.json", "--create", "--epsilon", "1"], "never changes"),
                          (["ledger", "."], "not a folder"),
                                             (["ledger", ".", "--create", "--epsilon", "1"], "name a file in it"),
                          (["ledger", "new.json", "--create"], "--epsilon"),
                                             (["ledger", "new.json", "--create", "--epsilon", "-1"], "> 0"),
                          (["ledger", "budget.json", "--by", "day"], "--by must be one of 'week', 'month'"),
                          (["ledger", "budget.json", "--yearly", "1"], "--by must be left out with --report"),
                          (["ledger", "budget.json", "--by", "year", "--yearly", "0"], "--yearly must be a finite"),
                          (["ledger", "new.json", "--create", "--epsilon", "1", "--by", "year"], "left out with"),
                          (["inspect"], "invalid choice"), ([], "required")])
def test_refused_ledgers_and_commands(folder, arguments, said):
    code, out, err = dp_bayes(*arguments, cwd=folder)
    assert (code, out) == (2, "") and said in err and len(err.splitlines()) == 1
    assert not (folder / "new.json").exists()


def test_the_module_is_the_command(folder):
    run = [sys.executable, "-m", "dp_bayes_nb.cli", "ledger", "nothing.json"]
    done = subprocess.run(run, cwd=folder, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (2, "") and "nothing.json' does not exist" in done.stderr


def test_help_and_version(tmp_path):
    assert dp_bayes_process("--version", cwd=tmp_path) == (0, f"dp-bayes {__version__}\n", "")
    code, out, err = dp_bayes("release", "--help", cwd=tmp_path)
    assert (code, err) == (0, "") and "--family" in out


@pytest.mark.parametrize("command", [[], ["plan"], ["release"], ["fit"], ["synthesize"], ["ledger"], ["show"],
                                     ["quantile"], ["predict"], ["contrast"], ["experiment"], ["examine"], ["declare"],
                                     ["explain"], ["compare"], ["completion"]])
def test_help_shows_defaults_and_an_example_that_runs(folder, command):
    code, out, err = dp_bayes(*command, "--help", cwd=folder)
    assert (code, err) == (0, "") and "Example:" in out
    if command:
        options = [line for line in re.split(r"\n  (?=-)", out.split("options:")[1].split("Example:")[0])
                   if "--help" not in line][1:]
        assert all("default" in option or "--output" in option or "--family" in option for option in options), options
    if command in ([], ["release"]):
        families = re.findall(r"^  family = .*\n(?:  .*\n?)+", out, re.M)
        assert len(families) >= 15  # every kind of model has an example, and each is released below
        (folder / "survey.csv").write_text(
            "smokes,days,insured,health,self_employed,age,region,wage,month,ill,visits,minutes,height,weight,route,admitted\n"
            + ("yes,3,no,poor,0,30,north,900,2024-01,no,2,41.5,170,60,car,2024-02-29\n"
               "no,120.5,yes,good,1,61,south,1200,2024-03,yes,9,77,181,95,bus,2024-11-30 08:15\n") * 100)
        line = next(line for line in out.splitlines() if line.startswith("  dp-bayes release")).split()[1:]
        Ledger(folder / "wide.json", epsilon=len(families))
        for family in families:
            (folder / "FAMILY.toml").write_text("\n".join(text.strip() for text in family.splitlines()))
            done = dp_bayes(*[word.replace("budget", "wide") for word in line], "--force", cwd=folder)
            assert done[0] == 0, (family, done)


@needs_fit
def test_fit_writes_draws_a_figure_and_a_summary(folder):
    simulate_release(Bernoulli("smokes"), {"probability": 0.3}, 1000, 0.5).save(folder / "release.json")
    code, out, err = dp_bayes("fit", "release.json", "--prior", "Beta(2, 5)", "--draws", "500", "-o", "posterior.nc",
                              "--plot", "posterior.png", cwd=folder)
    assert code == 0 and "probability" in out, err
    assert (folder / "posterior.png").read_bytes()[:4] == b"\x89PNG"
    import arviz

    idata = arviz.from_netcdf(folder / "posterior.nc")
    assert idata.posterior["probability"].shape == (4, 500)
    assert abs(float(idata.posterior["probability"].mean()) - 0.3) < 0.1
    assert dp_bayes("fit", "release.json", "-o", "posterior.nc", cwd=folder)[0] == 2


def test_fit_explains_itself_without_fitting(folder, monkeypatch):
    release(folder)
    monkeypatch.setattr("dp_bayes_nb.posterior.route.Route.run", lambda *given, **more: pytest.fail("it was fitted"))
    code, out, err = dp_bayes("fit", "release.json", "--explain", cwd=folder)
    assert code == 0 and out.startswith("method  exact\nway     share\n"), err
    assert "error   none that shows" in out and "'collapsed', 'gibbs', 'naive' are available" in out
    assert dp_bayes("fit", "release.json", "--explain", "--method", "naive", cwd=folder)[1].startswith("method  naive")
    code, _, err = dp_bayes("fit", "release.json", "--explain", "--method", "chain", cwd=folder)
    assert code == 2 and "is not available here" in err
    code, _, err = dp_bayes("fit", "release.json", "--explain", "-o", "posterior.nc", cwd=folder)
    assert code == 2 and "--explain must be given without -o" in err and not (folder / "posterior.nc").exists()


@needs_fit
@pytest.mark.parametrize("more", [["--prior", "Beta(1)"], ["--prior", "Dirichlet(1)"],
                                  ["--prior", "__import__('os').abort()"], ["--draws", "0"], ["--method", "magic"],
                                  ["--plot", "figure.txt"], ["--prior", "Beta(0, 1)"]])
def test_a_refused_fit_writes_nothing(folder, more):
    simulate_release(Bernoulli("smokes"), {"probability": 0.3}, 100, 0.5).save(folder / "release.json")
    before = sorted(folder.iterdir())
    code, out, err = dp_bayes("fit", "release.json", *more, "-o", "posterior.nc", cwd=folder)
    assert (code, out) == (2, "") and len(err.splitlines()) == 1 and sorted(folder.iterdir()) == before, err


@needs_fit
def test_a_fit_of_a_file_that_is_no_release_is_refused(folder):
    for name in ("budget.json", "survey.csv", "nowhere.json"):
        code, out, err = dp_bayes("fit", name, "-o", "posterior.nc", cwd=folder)
        assert (code, out) == (2, "") and len(err.splitlines()) == 1, err


needs_plan = pytest.mark.skipif(importlib.util.find_spec("dp_bayes_nb.research.planning") is None,
                                reason="the planning chapter is not there yet")


@needs_plan
@pytest.mark.slow
def test_plan_prints_a_table_and_a_budget_and_opens_no_data(folder):
    (folder / "survey.csv").unlink()
    before = (folder / "budget.json").read_bytes()
    code, out, err = dp_bayes("plan", "--family", "family.toml", "--prior", "Beta(1, 1)", "--n", "1000", "--target",
                              "0.1", "--trials", "20",
                              "--method", "collapsed", "--plot", "plan.png", cwd=folder)
    assert (code, err) == (0, "")
    assert "width_95" in out and 0.03 < float(re.search(r"n = 1000: epsilon (\S+) ", out)[1]) < 0.2
    assert (folder / "plan.png").read_bytes()[:4] == b"\x89PNG" and (folder / "budget.json").read_bytes() == before


@needs_plan
def test_a_plan_shows_on_standard_error_how_far_it_is(folder, monkeypatch):
    from dp_bayes_nb.research.trials import run_trials

    arguments = ("plan", "--family", "family.toml", "--n", "100", "--epsilon", "1", "--trials", "40", "--method",
                 "collapsed")
    quiet = dp_bayes(*arguments, cwd=folder)
    assert (quiet[0], quiet[2]) == (0, "")  # no terminal, no bar
    monkeypatch.setitem(run_trials.__globals__, "_show_progress", bool)
    code, out, err = dp_bayes(*arguments, cwd=folder)
    assert (code, out) == quiet[:2] and "simulated studies: 100%" in err


def test_calibrate_prints_ranks_and_opens_no_data(folder):
    (folder / "survey.csv").unlink()
    design = ("calibrate", "--family", "family.toml", "--n", "100", "--epsilon", "0.5", "--trials", "64", "--draws",
              "50", "--path", "batches")
    code, out, err = dp_bayes(*design, "--plot", "ranks.png", cwd=folder)
    assert (code, err) == (0, "")
    assert "64 trials of 50 draws" in out and float(re.search(r"KS (\S+) \(p = ", out)[1]) < 0.25
    assert (folder / "ranks.png").read_bytes()[:4] == b"\x89PNG" and len(
        list((folder / "batches").glob("trials-*.npz"))) == 1
    assert dp_bayes(*design, cwd=folder)[1] == out  # from the kept batches
    code, out, err = dp_bayes("calibrate", "--family", "family.toml", "--n", "100", "--epsilon", "-1", cwd=folder)
    assert (code, out) == (2, "") and "epsilon must be" in err and len(err.splitlines()) == 1


@needs_plan
@pytest.mark.parametrize("more, said", [(["--n", "0"], "n must be"), (["--n", "ten"], "invalid int"),
                                        (["--target", "-1"], "target must be"),
                                        (["--epsilon", "0"], "epsilon must be"),
                                        (["--prior", "Gamma(1, 1)"], "prior must be Beta"),
                                        (["--mechanism", "gaussian"], "delta must be"),
                                        (["--plot", "plan.doc"], "--plot must be")])
def test_a_refused_plan_says_why_and_writes_nothing(folder, more, said):
    before = sorted(folder.iterdir())
    code, out, err = dp_bayes("plan", "--family", "family.toml", *more, cwd=folder)
    assert (code, out) == (2, "") and said in err and len(err.splitlines()) == 1
    assert sorted(folder.iterdir()) == before


@pytest.fixture
def declared(tmp_path):
    "Files of numbers that somebody else published: counts, two districts, a noisy size, a private table."
    noise = Laplace(scale=2)
    declare(Counts(["north", "south", "east"]), [11.5, 3.2, -1.1], noise=noise, source="s").save(tmp_path / "c.json")
    for k, (value, n) in enumerate([(61, 300), (44, 250)], 1):
        declare(Bernoulli(), value, n=n, noise=noise, source=f"district {k}").save(tmp_path / f"d{k}.json")
    declare(Bernoulli(), 61, n=307, n_noise=noise, noise=noise, source="a noisy size").save(tmp_path / "sized.json")
    return tmp_path


@pytest.mark.parametrize("prior, make", [("SharedGamma(2, 0.5)", lambda: SharedGamma(2, 0.5)),
                                         ("SharedGamma(rate=0.5, shape=2)", lambda: SharedGamma(2, 0.5)),
                                         ("FlatCounts()", FlatCounts), ("Gamma(2, 0.5)", lambda: Gamma(2, 0.5))])
def test_the_priors_of_counts_are_those_of_the_library(declared, prior, make):
    code, out, err = dp_bayes("fit", "c.json", "--prior", prior, cwd=declared)
    assert (code, err) == (0, "")
    counts = fit(Release.load(declared / "c.json"), make(), progress=False).posterior["counts"]
    for name, mean in zip(("north", "south", "east"), counts.mean(("chain", "draw")).values):
        assert re.search(rf"^counts\[{name}\] +{mean:.4g} ", out, re.M), (mean, out)


@pytest.mark.parametrize("prior, said", [
    ("SharedGamma(2)", "--prior must be SharedGamma(shape, rate)"), ("FlatCounts(1)", "--prior must be FlatCounts()"),
    ("SharedGamma(-1, 2)", "must be"), ("FlatCounts", "SharedGamma, FlatCounts, Shrinkage")])
def test_wrong_priors_of_counts_are_refused_in_one_line(declared, prior, said):
    code, out, err = dp_bayes("fit", "c.json", "--prior", prior, cwd=declared)
    assert (code, out, len(err.splitlines())) == (2, "", 1) and said in err, err


def test_help_of_fit_names_the_priors_of_counts():
    code, out, _ = dp_bayes("fit", "--help", cwd=".")
    assert code == 0 and "SharedGamma(2" in " ".join(out.split()) and "FlatCounts()" in out


def test_several_files_are_independent_tables_and_their_result_is_that_of_the_library(declared):
    code, out, err = dp_bayes("fit", "d1.json", "d2.json", "-o", "both.nc", "--draws", "200", cwd=declared)
    assert (code, err) == (0, "") and "district 1" in out and "district 2" in out
    both = [Release.load(declared / f"d{k}.json") for k in (1, 2)]
    mean = float(fit(both, draws=200, progress=False).posterior["probability"].mean())
    assert re.search(rf"^probability +{mean:.4g} ", out, re.M)
    alone = float(fit(both[0], draws=200, progress=False).posterior["probability"].mean())
    assert abs(mean - 105 / 550) < 0.01 < abs(alone - 105 / 550)  # the mutant: the first file only


REFUSED_FILES = {("d1.json", "d1.json"): "the same release twice", ("d1.json", "c.json"): "releases of one model",
                 ("d1.json", "no.json"): "no.json", ("d1.json", "d2.json", "-o", "d2.json"): "another file",
                 (): "required: release"}


@pytest.mark.parametrize("files", REFUSED_FILES)
def test_files_that_are_no_independent_tables_are_refused(declared, files):
    before = (declared / "d2.json").read_bytes()
    code, out, err = dp_bayes("fit", *files, *["--force"][: "-o" in files], cwd=declared)
    assert (code, out, len(err.splitlines())) == (2, "", 1) and REFUSED_FILES[files] in err, err
    assert (declared / "d2.json").read_bytes() == before


@pytest.mark.parametrize("more", [(), pytest.param(("-o", "made.nc"), marks=pytest.mark.slow)])
def test_a_summary_shows_n_where_it_is_unknown_and_only_there(declared, more):
    code, out, err = dp_bayes("fit", "sized.json", *more, cwd=declared)
    n = fit(Release.load(declared / "sized.json"), progress=False).confidential["n"]
    assert (code, err) == (0, "")
    assert re.search(rf"^n +{float(n.mean()):.4g} +{float(n.std(ddof=1)):.4g} ", out, re.M), out
    assert not re.search(r"^n ", dp_bayes("fit", "d1.json", cwd=declared)[1], re.M)


@pytest.mark.slow  # the fit is that of test_declare
def test_a_summary_of_several_files_shows_n_where_it_is_unknown(declared):
    code, out, err = dp_bayes("fit", "d1.json", "sized.json", "--draws", "50", "--warmup", "50", cwd=declared)
    assert code == 0 and re.search(r"^n\[2\] +3\d\d", out, re.M) and "n[1]" not in out, (out, err)


@pytest.fixture
def groups(tmp_path):
    "Releases of groups: private sizes; two columns in `by`; eight groups of public sizes."
    theta = {"probability": np.array([0.2, 0.4, 0.5])}
    private = Grouped(Bernoulli("ill"), "region", ["north", "south", "mid"])
    simulate_release(private, theta, [300, 1800, 900], 1.0, seed=1).save(tmp_path / "private.json")
    two = Grouped(Exponential((0, 30), "days"), ["region", "sex"], {"region": ["north", "south"], "sex": ["f", "m"]},
                  sizes="public")
    simulate_release(two, {"rate": np.array([[0.2, 0.4], [0.5, 0.3]])}, [300, 1800, 900, 400],
                     1.0, seed=1).save(tmp_path / "two.json")
    eight = Grouped(Bernoulli("ill"), "region", [f"r{k}" for k in range(8)], sizes="public")
    simulate_release(eight, {"probability": np.linspace(0.2, 0.4, 8)}, [300] * 8, 1.0, seed=1).save(
        tmp_path / "eight.json")
    return tmp_path


def labels(out):
    "The first column of a summary's table, which ends where a sentence begins."
    return [line[:line.index("  ")] for line in out.splitlines()[1:] if "  " in line]


@pytest.mark.parametrize("more", [pytest.param((), marks=pytest.mark.slow), ("-o", "made.nc")])
def test_a_summary_of_groups_names_each_group_and_its_size(groups, more):
    code, out, err = dp_bayes("fit", "private.json", *more, cwd=groups)
    names = ["north", "south", "mid"]
    assert (code, err) == (0, "")
    assert labels(out) == [f"probability[{name}]" for name in names] + [f"n[{name}]" for name in names]
    n = fit(Release.load(groups / "private.json"), progress=False).confidential["n"]
    for name in names:
        mean = float(n.sel(region=name).mean())
        assert re.search(rf"^n\[{name}\] +{mean:.4g} ", out, re.M), out
    code, out, err = dp_bayes("fit", "two.json", "--prior", "Gamma(1, 0.3)", *more,
                              *["--force"][:len(more)], cwd=groups)
    assert code == 0 and labels(out) == [f"rate[{a}, {b}]" for a in ("north", "south") for b in "fm"], (out, err)


def test_a_plot_of_groups_is_a_forest_with_a_row_for_each_combination(groups, monkeypatch):
    from dp_bayes_nb.posterior import contrasts

    rows, own = [], contrasts.plot_groups
    def seen(*given, **options):
        rows.append([text.get_text() for text in own(*given, **options).get_yticklabels()])
        return own(*given, **options)
    monkeypatch.setattr(contrasts, "plot_groups", seen)
    for file, more in (("two.json", ["--prior", "Gamma(1, 0.3)"]), ("private.json", []),
                       ("eight.json", ["--pool", "partial"])):
        code, out, err = dp_bayes("fit", file, *more, "--plot", f"{file}.png", cwd=groups)
        assert (code, err) == (0, "") and (groups / f"{file}.png").stat().st_size > 1000
    assert sorted(rows[0]) == ["north, f", "north, m", "south, f", "south, m"]
    assert sorted(rows[1]) == ["mid", "north", "south"] and len(rows[2]) == 8


def test_a_fit_whose_picture_is_refused_has_written_nothing(groups, monkeypatch):
    from dp_bayes_nb.posterior import contrasts

    asked = ("fit", "two.json", "--prior", "Gamma(1, 0.3)", "-o", "z.nc", "--plot", "z.png")
    with monkeypatch.context() as patched:
        def refused(*given):
            raise ValueError("data must be something else")
        patched.setattr(analyse, "_picture", refused)
        code, out, err = dp_bayes(*asked, cwd=groups)
    assert (code, out) == (2, "") and not list(groups.glob("z.*")), err
    with monkeypatch.context() as patched:  # before the fit
        patched.setattr(contrasts, "MOST_ROWS", 3)
        patched.setattr(analyse, "_write_fit", None)
        code, out, err = dp_bayes(*asked, cwd=groups)
    assert (code, out, len(err.splitlines())) == (2, "", 1) and "--plot must be left out for more than 3 rows" in err
    assert not list(groups.glob("z.*"))


def test_pooling_by_the_command_is_that_of_the_library(groups):
    rain = [1, 2, 3, 4, 5, 6, 7, 9]
    code, out, err = dp_bayes("fit", "eight.json", "--pool", "partial", "--prior",
                              f"Pooled(effects='normal', scale=0.5, covariates={{'rain': {rain}}})", cwd=groups)
    prior = Pooled(effects="normal", scale=0.5, covariates={"rain": rain})
    theirs = fit(Release.load(groups / "eight.json"), prior, pool="partial", progress=False).posterior
    assert (code, err) == (0, "") and "\neffect[rain] " in out
    for name, mean in (("probability[r3]", theirs["probability"].sel(region="r3")), ("spread", theirs["spread"]),
                       ("effect[rain]", theirs["effect"])):
        assert re.search(rf"^{re.escape(name)} +{float(mean.mean()):.4g} ", out, re.M), out


@pytest.mark.parametrize("more, said", [
    (["--prior", "Pooled()"], "add --pool partial"), (["--pool", "partial", "--prior", "Beta(1, 1)"], "Pooled"),
    (["--pool", "partial", "--prior", "Pooled(2, bad=3)"], "effects, location, scale, slope, covariates"),
    (["--pool", "partial", "--prior", "Pooled(effects='t3', effects='t3')"], "--prior must be"),
    (["--pool", "partial", "--prior", "Pooled(scale=open('x'))"], "--prior must be"),
    (["--pool", "partial", "--prior", "Pooled('t3', effects='t3')"], "--prior must be"),
    (["--pool", "partial", "--prior", "Pooled(scale=-1)"], "scale must be"), (["--pool", "complete"], "--pool")])
def test_wrong_pooling_is_refused_in_one_line(groups, more, said):
    code, out, err = dp_bayes("fit", "eight.json", *more, "-o", "z.nc", cwd=groups)
    assert (code, out, len(err.splitlines())) == (2, "", 1) and said in err and not (groups / "z.nc").exists(), err


def test_groups_stand_in_the_help_of_release():
    code, out, _ = dp_bayes("release", "--help", cwd=".")
    assert code == 0 and 'family = "Grouped"' in out and "known by noise only" in out


@pytest.mark.parametrize("command", [("plan", "--n", 100), ("calibrate", "--n", 100, "--epsilon", 1)])
def test_studies_of_groups_are_refused_in_words_before_any_work(folder, command):
    (folder / "groups.toml").write_text('family = "Grouped"\nby = "region"\nlevels = ["a", "b"]\n'
                                        '[model]\nfamily = "Bernoulli"\ncolumn = "smokes"\n')
    code, out, err = dp_bayes(*command, "--family", "groups.toml", cwd=folder)
    assert (code, out, len(err.splitlines())) == (2, "", 1) and f"{command[0]} one group: {command[0]}(Bern" in err, err


# ---------------------------------------------------------------- show, quantile, predict, contrast; no family file


def function_of(command):
    "The function of the library that a command calls, and its options that have other names or meanings there."
    import dp_bayes_nb as db

    return {"release": (db.release, {}), "fit": (db.fit, {}), "fit-many": (db.fit_many, {}),
            "plan": (db.plan, {}), "calibrate": (db.calibrate, {}),
            "audit": (db.audit, {}), "synthesize": (db.write_synthetic, {"rows": "n"}),
            "quantile": (db.private_quantile, {}), "predict": (db.predict, {}), "contrast": (db.contrast, {})}[command]


# what the command leaves to the function, or has no default in Python: (command, option)
OTHERWISE = {("fit-many", "n"), ("fit-many", "value"), ("fit-many", "quantiles"),  # lists for names and tuples
             ("release", "bounds_source")}  # a list of words


@pytest.mark.parametrize("command", ["release", "fit", "fit-many", "plan", "calibrate", "audit", "synthesize",
                                     "quantile", "predict", "contrast"])
def test_defaults_of_the_command_are_those_of_the_function(command):
    function, names = function_of(command)
    theirs = inspect.signature(function).parameters
    compared = set()
    for words, _, settings in OPTIONS[command]:
        name = words.split()[-1].removeprefix("--").replace("-", "_")
        name = names.get(name, name)
        optional = words.startswith("-") and not settings.get("required")
        optional &= name in theirs and theirs[name].default is not inspect.Parameter.empty
        if optional and (command, name) not in OTHERWISE:
            ours = settings.get("default", False if settings.get("action") == "store_true" else None)
            assert ours == theirs[name].default, (command, name, ours, theirs[name].default)
            compared.add(name)
    assert len(compared) >= {"quantile": 2, "predict": 2, "synthesize": 3, "plan": 5}.get(command, 6) or \
        command == "fit-many" and len(compared) >= 4, compared


def test_lists_of_the_command_are_the_defaults_of_the_function():
    options = {words.split()[-1]: settings for words, _, settings in OPTIONS["fit-many"]}
    theirs = inspect.signature(function_of("fit-many")[0]).parameters
    assert options["--value"]["default"] == [theirs["value"].default]
    said = next(text for words, text, _ in OPTIONS["fit-many"] if words == "--n")
    assert f"(default: {theirs['n'].default};" in said
    assert tuple(options["--quantiles"]["default"]) == theirs["quantiles"].default
    source = {words.split()[-1]: settings for words, _, settings in OPTIONS["release"]}["--bounds-source"]
    assert parse_bounds_source(source["default"]) == inspect.signature(
        function_of("release")[0]).parameters["bounds_source"].default
    assert parse_bounds_source(["2"]) == 2 and parse_bounds_source(["1", "3"]) == (1, 3)


@pytest.fixture
def answers(tmp_path):
    "A table of texts and days, and a ledger."
    rows = "".join(f"{'yes' if i % 4 == 0 else 'no'},{i % 50}\n" for i in range(400))
    (tmp_path / "survey.csv").write_text("smokes,days\n" + rows)
    Ledger(tmp_path / "budget.json", epsilon=10)
    return tmp_path


def test_a_share_is_released_and_shown_without_a_family_file(answers):
    code, out, err = dp_bayes("release", "survey.csv", "--column", "smokes", "--success", "yes", "--epsilon", "2",
                              "--ledger", "budget.json", "-o", "release.json", cwd=answers)
    assert (code, err) == (0, "")
    made = Release.load(answers / "release.json")
    assert made.family == Bernoulli("smokes", success="yes") and abs(made.values[0] - 100) < 20
    code, out, err = dp_bayes("show", "release.json", cwd=answers)
    assert (code, err) == (0, "") and re.search(r"^  share of smokes = yes  0\.[23]\d+ ± 0\.00\d+$", out, re.M), out
    code, out, err = dp_bayes("release", "survey.csv", "--column", "smokes", "--levels", "yes", "no", "--epsilon", "2",
                              "--ledger", "budget.json", "-o", "levels.json", cwd=answers)
    assert (code, err) == (0, "") and Release.load(answers / "levels.json").family.levels == ("yes", "no")


@pytest.mark.parametrize("more, said", [
    ([], "--family must be given, or --column with --success or --levels"),
    (["--success", "yes", "--family", "f.toml"], "--success must be left out with a file of --family"),
    (["--levels", "a", "b", "--success", "a"], "--levels must be left out with --success"),
    (["--column", "smokes"], "smokes"), (["--column", "smokes", "--success", "yes", "--failure", "yes"], "failure"),
    (["--column", "smokes", "--success", "yes", "--bounds-source", "somebody"], "--bounds-source must be"),
    (["--column", "smokes", "--success", "yes", "--person", "days", "--combine", "any"],
     "--failure must be given with --person, got None; such as --failure no")])
def test_a_wrong_share_is_refused_and_costs_nothing(answers, more, said):
    code, out, err = dp_bayes("release", "survey.csv", *more, "--epsilon", "2", "--ledger", "budget.json", "-o",
                              "release.json", cwd=answers)
    assert (code, out, len(err.splitlines())) == (2, "", 1) and said in err, err
    assert not Ledger(answers / "budget.json").entries and not (answers / "release.json").exists()


def test_a_bound_is_bought_and_the_release_says_which_entry_paid(answers):
    code, out, err = dp_bayes("quantile", "survey.csv", "0.9", "--column", "days", "--epsilon", "5", "--lower", "0",
                              "--upper", "100", "--candidates", "101", "--ledger", "budget.json", cwd=answers)
    assert code == 0 and 40 <= float(out) <= 50 and "--bounds-source 1" in err, (out, err)
    (answers / "days.toml").write_text(f'family = "Exponential"\nbounds = [0, {float(out):g}]\ncolumn = "days"\n')
    code, out, err = dp_bayes("release", "survey.csv", "--family", "days.toml", "--epsilon", "2", "--ledger",
                              "budget.json", "--bounds-source", "1", "-o", "days.json", cwd=answers)
    assert (code, err) == (0, "") and Release.load(answers / "days.json").bounds_source == "private_quantile"
    for wrong, said in ((["2", "--epsilon", "1"], "q must be"), (["0.9", "--epsilon", "-1"], "--epsilon must be"),
                        (["0.9", "--epsilon", "100"], "")):
        code, out, err = dp_bayes("quantile", "survey.csv", *wrong, "--column", "days", "--lower", "0", "--upper", "9",
                                  "--ledger", "budget.json", cwd=answers)
        assert (code, out, len(err.splitlines())) == (2, "", 1) and said in err, err
    assert len(Ledger(answers / "budget.json").entries) == 2


def test_show_and_predict_and_contrast_say_what_the_functions_say(declared):
    import arviz

    for k in (1, 2):
        assert dp_bayes("fit", f"d{k}.json", "-o", f"d{k}.nc", "--draws", "500", cwd=declared)[0] == 0
    code, out, err = dp_bayes("show", "d1.json", "d1.nc", cwd=declared)
    idata, other = (arviz.from_netcdf(declared / f"d{k}.nc") for k in (1, 2))
    assert (code, err) == (0, "") and "share of records = 1  0.203 ± 0.02" in out, out
    for name, draws in (("probability", idata.posterior["probability"]), ("successes", idata.confidential["s"]),
                        ("share of records = 1", idata.confidential["s"] / 300)):
        shown = [draws.mean(), draws.std(ddof=1), *draws.quantile([0.025, 0.5, 0.975])]
        assert re.search(rf"^{name} +{' +'.join(f'{float(each):.4g}' for each in shown)}$", out, re.M), (name, out)
    frame = contrast(idata, other=other)
    code, out, err = dp_bayes("contrast", "d1.nc", "d2.nc", "-o", "c.csv", cwd=declared)
    assert (code, err) == (0, "") and f"{frame['mean'][0]:.4g}" in out and f"{frame['above'][0]:.4g}" in out, out
    assert out.startswith("d1.nc minus d2.nc:\n")
    assert (declared / "c.csv").read_text().splitlines()[0] == ",".join(frame.columns)
    found = predict(idata, 20)
    code, out, err = dp_bayes("predict", "d1.nc", "--new-data", "20", "-o", "p.csv", cwd=declared)
    assert (code, err) == (0, "") and re.search(
        rf"^mean of 20 records +{float(found.mean()):.4g} ", out, re.M), out
    assert len((declared / "p.csv").read_text().splitlines()) == 3


@pytest.mark.parametrize("words, said", [
    (["show", "none.json"], "file must be an existing file"), (["show"], "required: FILE"),
    (["predict", "d1.json"], "a netCDF file of dp-bayes fit"),
    (["contrast", "a.nc", "b.nc", "c.nc"], "one file, or two"),
    (["contrast", "none.nc"], "posterior must be an existing netCDF file"),
    (["contrast", "d1.nc", "--how", "sum"], "--how must be"),
    (["contrast", "d1.nc", "--level", "2"], "--level must be"),
    (["contrast", "d1.nc", "--rest"], "unrecognized arguments: --rest; did you mean --against rest?"),
    (["predict", "d1.nc", "--new-data", "none.csv"], "--new-data must be a number of records, or an existing CSV"),
    (["predict", "d1.nc", "--draws", "9999"], "--draws must be"),
    (["predict", "d1.nc", "-o", "d1.json"], "a new file")])
def test_wrong_questions_to_results_are_refused_in_one_line(declared, words, said):
    if "d1.nc" in words:
        fit(Release.load(declared / "d1.json"), draws=50, progress=False).to_netcdf(str(declared / "d1.nc"))
    code, out, err = dp_bayes(*words, cwd=declared)
    assert (code, out, len(err.splitlines())) == (2, "", 1) and said in err, err


def test_groups_are_contrasted_by_name(groups):
    assert dp_bayes("fit", "private.json", "-o", "groups.nc", "--draws", "200", cwd=groups)[0] == 0
    code, out, err = dp_bayes("contrast", "groups.nc", "--a", "north", "--b", "south", cwd=groups)
    assert (code, err) == (0, "") and len(out.splitlines()) == 3 and out.startswith("a minus b:\n"), (out, err)
    assert re.match(r"north +south +-0\.", out.splitlines()[2])
    code, out, err = dp_bayes("contrast", "groups.nc", "--a", "nowhere", "--b", "south", cwd=groups)
    assert (code, out, len(err.splitlines())) == (2, "", 1) and "nowhere" in err, err


STUDIES = ("plan", "calibrate", "audit")  # each has a quick test of its own


@pytest.mark.parametrize("left", [STUDIES, pytest.param((), marks=pytest.mark.slow)], ids=["few", "all"])
def test_the_example_of_each_command_runs(tmp_path, left):
    "Every line of the help, in the order in which a person would type them; studies and experiments made small."
    (tmp_path / "survey.csv").write_text("smokes,days\n" + "yes,10\nno,30\nno,4\n" * 100)
    (tmp_path / "FAMILY.toml").write_text('family = "Bernoulli"\ncolumn = "smokes"\nsuccess = "yes"\n')
    (tmp_path / "cells.csv").write_text("value,n,b\n61,300,2\n44,250,2\n")
    other = declare(Bernoulli(), 44, n=250, noise=Laplace(scale=2), source="another office")
    fit(other, draws=200, progress=False).to_netcdf(str(tmp_path / "other.nc"))
    small = {"plan": ["--trials", "20"], "calibrate": ["--trials", "40", "--draws", "20"],
             "audit": ["--trials", "1000", "--releases", "2"]}
    assert {*EXAMPLES} == {*OPTIONS} == {*cli.COMMANDS}
    for name, line in EXAMPLES.items():
        if name not in ("experiment", *left):  # test_experiments.py runs them
            code, out, err = dp_bayes(*shlex.split(line)[1:], *small.get(name, []), cwd=tmp_path)
            assert code == 0 and out, (line, out, err)


def read_by(function, seen):
    "Names of options that a function reads of its `args`, and those functions to which it hands them on."
    if function in seen:
        return set()
    seen.add(function)
    found, tree = set(), ast.parse(textwrap.dedent(inspect.getsource(function)))
    texts = {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)}
    for node in ast.walk(tree):
        given = [] if not isinstance(node, ast.Call) else [*node.args, *(word.value for word in node.keywords)]
        if isinstance(node, ast.Attribute) and getattr(node.value, "id", "") == "args":
            found.add(node.attr)
        elif any(isinstance(each, ast.Name) and each.id == "args" for each in given):
            name = ast.unparse(node.func)
            if name == "getattr":
                found |= {node.args[1].value} if isinstance(node.args[1], ast.Constant) else texts
            else:
                found |= {"*"} if name == "vars" else read_by(function.__globals__[name], seen)
    return found


def unread(command, options):
    "Options of a command that nothing reads."
    found = read_by(cli.run_of(command), set())
    first = lambda names: next((name for name in names.split() if name.startswith("--")), names)
    named = {first(names).lstrip("-").replace("-", "_") for names, *_ in options}
    return set() if "*" in found else named - found - {"models", "json"}  # which `main` reads


def test_every_option_is_read_by_its_command():
    "`plan` and `calibrate` took `--explain`, and ran all the same."
    assert {command: left for command in cli.COMMANDS if (left := unread(command, OPTIONS[command]))} == {}
    assert unread("plan", [*OPTIONS["plan"], ("--explain", "", {})]) == {"explain"}
