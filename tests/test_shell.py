"""The README's examples from a shell, what a command imports, answers as JSON, completion, systems without POSIX."""

import json
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import h5py
import pytest
from test_cli import FAMILY, dp_bayes
from test_imports import run

from dp_bayes_nb import Bernoulli, Counts, Exact, Laplace, Ledger, Release, Within, cli, declare
from dp_bayes_nb.base import files
from dp_bayes_nb.command import completion

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


@pytest.fixture
def survey(tmp_path):
    "A table, a family and a ledger of 1."
    (tmp_path / "survey.csv").write_text("age,smokes\n" + "".join(f"{20 + i % 50},{i % 4 == 0}\n" for i in range(400)))
    (tmp_path / "family.toml").write_text(FAMILY)
    Ledger(tmp_path / "budget.json", epsilon=1)
    return tmp_path


# ---------------------------------------------------------------- the README


def shell_lines(text):
    "The lines of the README's block of the command, joined where they are continued."
    block, = (block for block in re.findall(r"^```bash\n(.*?)^```$", text, re.S | re.M) if "dp-bayes " in block)
    return block.replace("\\\n", " ").splitlines()


def test_the_readmes_two_examples_run_from_a_shell(tmp_path):
    said = {}
    for line in filter(None, shell_lines(README)):
        if line.startswith("dp-bayes "):
            code, out, err = dp_bayes(*shlex.split(line)[1:], cwd=tmp_path)
            assert (code, err) == (0, ""), (line, err)
            said[line] = out
        else:
            subprocess.run(["bash", "-c", line], cwd=tmp_path, check=True)
    counts, share = (out for line, out in said.items() if "dp-bayes fit" in line)
    row = next(line for line in counts.splitlines() if line.startswith("counts[two or more races]"))
    assert [abs(float(x) - y) <= 1 for x, y in zip(row.split()[-3:], (111, 122, 133))] == [True] * 3
    assert Release.load(tmp_path / "tract.json").matrix.tolist() == [[1, 1], [1, 0]]
    limit = Release.load(tmp_path / "limit.json")
    assert (limit.n, limit.family, limit.epsilon) == (880, Bernoulli("limit", success="yes"), 0.1)
    assert "probability" in share and (tmp_path / "limit.png").read_bytes()[:4] == b"\x89PNG"
    assert "epsilon = 0.1" in said["dp-bayes explain limit.json"]
    assert [str(each) for each in Ledger(tmp_path / "ledger.json").spent] == ["0.1", "0"]


# ---------------------------------------------------------------- what is imported


HEAVY = ("jax", "arviz", "xarray", "pandas", "scipy.stats", "matplotlib", "duckdb", "narwhals", "opendp")
SOLVER = ("scipy.sparse", "scipy.optimize")
LIGHT = [("--help",), ("--version",), ("fit", "--help"), ("ledger", "new.json", "--create", "--epsilon", "1"),
         ("ledger", "new.json"), ("declare", "61", "--n", "300", "--scale", "2", "--source", "s", "-o", "made.json"),
         ("declare", "a=61", "b=", "--printed", "a=Rounded(1)", "b=Suppressed(5)", "--source", "s", "-o", "b.json"),
         ("show", "made.json"), ("explain", "made.json", "b.json", "--json"), ("completion", "bash"),
         ("completion", "zsh"), ("examine", "b.json"), ("examine", "made.json"),
         ("show", *(str(ROOT / "tests" / "fixtures" / f"release_schema{k}_{noise}.json") for k in (1, 2)
                    for noise in ("laplace", "gaussian")))]
AFTER = """
import contextlib, io, json, os, sys
os.chdir(sys.argv[1])
from dp_bayes_nb.cli import main
seen, told = set(), []
for command in json.loads(sys.argv[2]):
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        code = main(command)
    new = sorted({name for name in json.loads(sys.argv[3]) if name in sys.modules} - seen)
    seen |= set(new)
    told.append([command[0], code, new])
print(json.dumps(told))
"""


def loaded_by(commands, names, folder):
    "The exit code of each command, and which of these modules it was the first to load, in one new process."
    done = run(AFTER, folder, json.dumps(commands), json.dumps(names))
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)


def test_commands_that_fit_nothing_load_nothing_heavy(tmp_path):
    told = loaded_by(LIGHT, [*HEAVY, *SOLVER], tmp_path)
    assert [each for each in told if each[1:] != [0, []]] == []


REFUSED_AT_ONCE = """fit none.json
    fit r.json --prior Beta(1
    fit r.json --prior Gamma(1,1)
    fit r.json --draws 0
    fit r.json --method exat
    show none.nc
    predict r.json
    contrast r.json
    explain cells.csv
    examine none.json
    synthesize none.nc -o t
    experiment fig9
    calibrate --column a --n 0 --epsilon 1
    plan --column a --target -1
    fit-many cells.csv --scale b --value smokers -o o.csv
    fit-many cells.csv -o o.csv
    fit-many cells.csv --scale b --model rate -o o.csv
    release none.csv --column a --epsilon 1 -o o.json
    release cells.csv --column n --epsilon 0 -o o.json
    quantile cells.csv 2 --epsilon 1 --lower 0 --upper 1
    compare --values 1 2 --scale -1
    declare 61 --epsilon 1 --source s -o o.json""".splitlines()


def test_refusals_load_nothing_heavy(tmp_path):
    declare(Bernoulli("smokes"), 61, n=300, noise=Laplace(scale=2), source="s").save(tmp_path / "r.json")
    (tmp_path / "cells.csv").write_text("value,n,b\n61,300,2\n")
    told = loaded_by([each.split() for each in REFUSED_AT_ONCE], [*HEAVY, *SOLVER], tmp_path)
    assert [(line, each) for line, each in zip(REFUSED_AT_ONCE, told) if each[1:] != [2, []]] == []


def test_a_posterior_is_explained_from_its_attributes(tmp_path):
    declare(Bernoulli("smokes"), 61, n=300, noise=Laplace(scale=2), source="s").save(tmp_path / "r.json")
    assert dp_bayes("fit", "r.json", "--draws", "50", "-o", "p.nc", cwd=tmp_path)[0] == 0
    told = loaded_by([("explain", "p.nc", "r.json"), ("show", "p.nc", "r.json", "--json")],
                     [*HEAVY, *SOLVER, "h5py"], tmp_path)
    assert told == [["explain", 0, ["h5py"]], ["show", 0, []]]
    new = dp_bayes("explain", "p.nc", cwd=tmp_path)
    with h5py.File(tmp_path / "p.nc", "a") as file:  # an older file: the words are looked up
        del file["posterior"].attrs["fitted_by"]
    assert dp_bayes("explain", "p.nc", cwd=tmp_path) == new and "method exact (share)" in new[1]


def test_posteriors_are_compared_without_what_draws_and_diagnoses(tmp_path):
    for name, value in (("p", 61), ("q", 44)):
        declare(Bernoulli(), value, n=300, noise=Laplace(scale=2), source=name).save(tmp_path / f"{name}.json")
        assert dp_bayes("fit", f"{name}.json", "--draws", "50", "-o", f"{name}.nc", cwd=tmp_path)[0] == 0
    lines = ["contrast p.nc q.nc", "compare p.nc q.nc", "predict p.nc"]
    told = loaded_by([line.split() for line in lines], ["arviz", "matplotlib", "scipy.stats", "duckdb"], tmp_path)
    assert [each[1:] for each in told] == [[0, []]] * 3


def test_the_solver_is_loaded_where_an_integer_program_is_needed(tmp_path):
    pairs = [[1, 1, 0], [1, 0, 1], [0, 1, 1]]
    declare(Counts(["a", "b", "c"]), [None, None, 1], matrix=pairs, printed=[Within(0, 1), Within(0, 1), Exact()],
            source="s").save(tmp_path / "odd.json")
    assert loaded_by([("examine", "odd.json")], SOLVER, tmp_path) == [["examine", 0, sorted(SOLVER)]]


def test_what_is_loaded_is_really_looked_at(tmp_path):
    "The deliberately wrong command: one that says how it would fit."
    told = loaded_by([LIGHT[5], ("fit", "made.json", "--explain")], HEAVY, tmp_path)
    assert told[0][1:] == [0, []] and told[1][1] == 0 and "jax" in told[1][2]


def test_jax_is_told_what_it_must_know_whoever_imports_it():
    "Records of this package are pytrees, and numbers have double precision, though JAX came after them."
    late = ("from dp_bayes_nb.base.priors import Beta\nfrom dp_bayes_nb.models.counts import Bernoulli\nimport sys\n"
            "assert 'jax' not in sys.modules\nimport jax, jax.numpy as jnp\n"
            "print(jax.tree.leaves(Beta(2.0, 5.0)), len(jax.tree.leaves(Bernoulli('a'))), jnp.ones(1).dtype)")
    done = run(late)
    assert done.stdout.split() == ["[2.0,", "5.0]", "0", "float64"], done.stderr[-2000:]


# ---------------------------------------------------------------- answers for programs


def documented():
    "The members of each command's object, from the page of the command line."
    cells = json.loads((ROOT / "nbs" / "cli.ipynb").read_text(encoding="utf-8"))["cells"]
    page = next(text for cell in cells if "## Answers for programs" in (text := "".join(cell["source"])))
    rows = re.findall(r"^\| `([\w-]+)` \| (.*) \|$", page, re.M)
    return {name: [set(re.findall(r"`(\w+)`", part)) for part in said.split("; with ")] for name, said in rows}


def answer(*command, cwd):
    "The object that a command prints, with nothing else on standard output."
    code, out, err = dp_bayes(*command, "--json", cwd=cwd)
    assert code == 0 and len(out.splitlines()) == 1, (command, out, err)
    found = json.loads(out, parse_constant=lambda word: pytest.fail(f"{word} is not JSON"))
    assert found.pop("command") == command[0]
    return found


def test_every_command_answers_with_the_members_that_are_documented(survey):
    known, asked = documented(), {}
    (survey / "cells.csv").write_text("value,n,b\n61,300,2\n44,250,2\n")
    lines = """release survey.csv --family family.toml --epsilon 0.5 --ledger budget.json -o r.json
        quantile survey.csv 0.5 --column age --epsilon 0.1 --lower 0 --upper 100 --ledger budget.json
        ledger budget.json
        declare a=61 b=44 --scale 2 --source s -o d.json
        explain d.json r.json
        show d.json r.json
        examine d.json
        fit r.json --draws 200 -o p.nc
        compare d.json --a a --b b
        predict p.nc --new-data 10
        synthesize p.nc --tables 2 --rows 5 -o tables
        fit-many cells.csv --family family.toml --scale b -o out.csv
        completion bash"""
    for line in lines.splitlines():
        asked[line.split()[0]] = answer(*line.split(), cwd=survey)
    asked["contrast"] = answer("contrast", "p.nc", "p2.nc", cwd=second_posterior(survey))
    for name, found in asked.items():
        assert set(found) <= known[name][0] and set(found) >= known[name][0] - INSIDE[name], (name, set(found))
    assert set(known) == set(cli.COMMANDS)
    assert asked["release"]["release"] == json.loads((survey / "r.json").read_text())
    assert asked["ledger"]["spent"] == {"epsilon": "0.6", "delta": "0"}
    assert set(asked["compare"]["rows"][0]) <= known["compare"][0]
    assert asked["fit"]["parameters"][0]["name"] == "probability" and asked["fit"]["problems"] == []
    assert set(answer("ledger", "budget.json", "--by", "month", cwd=survey)) == {"units", "left_of", "periods"}
    assert set(answer("fit", "r.json", "--explain", cwd=survey)) == known["fit"][1]


# members that the table names of what is inside others
INSIDE = {name: set() for name in cli.COMMANDS} | {
    "ledger": {"units", "left_of", "periods", "file", "page"}, "explain": {"file", "kind", "sentences"},
    "compare": {"a", "b", "probability_larger", "median", "low", "high", "difference", "ratio", "null"},
    "show": {"file", "kind", "release", "read_off", "method", "parameters", "answers", "table"}}


def second_posterior(survey):
    "A posterior of other records beside the first."
    declare(Bernoulli("smokes"), 44, n=250, noise=Laplace(scale=2), source="elsewhere").save(survey / "r2.json")
    assert dp_bayes("fit", "r2.json", "--draws", "200", "-o", "p2.nc", cwd=survey)[0] == 0
    return survey


@pytest.mark.slow
@pytest.mark.parametrize("line", ["audit family.toml --epsilon 1 --trials 1000 --releases 2",
                                  "calibrate --family family.toml --n 50 --epsilon 1 --trials 40 --draws 20",
                                  "plan --family family.toml --n 100 --epsilon 1 --trials 20 --method collapsed"])
def test_studies_answer_with_the_members_that_are_documented(survey, line):
    assert set(answer(*line.split(), cwd=survey)) == documented()[line.split()[0]][0]


def test_a_refusal_prints_no_object(tmp_path):
    code, out, err = dp_bayes("show", "none.json", "--json", cwd=tmp_path)
    assert (code, out, len(err.splitlines())) == (2, "", 1)


# ---------------------------------------------------------------- bad input


REFUSED = {"no value": [], "no noise": ["61", "--n", "300"], "text": ["many", "--scale", "2"],
           "a share": ["0.2", "--n", "300", "--scale", "0.001"], "infinite": ["61", "--n", "300", "--scale", "inf"],
           "negative noise": ["61", "--scale", "-2"], "n below": ["61", "--n", "3", "--scale", "0.1"],
           "fraction of people": ["61", "--n", "30.5", "--scale", "2"],
           "two noises": ["61", "--scale", "2", "--sd", "3"],
           "sensitivity": ["61", "--epsilon", "1"], "delta": ["61", "--scale", "2", "--delta", "1e-6"],
           "delta alone": ["61", "--epsilon", "1", "--sensitivity", "1", "--delta", "1e-6"],
           "budget too small": ["61", "--scale", "2", "--epsilon", "0.05"],
           "names and none": ["a=1", "2", "--scale", "2"],
           "twice": ["a=1", "a=2", "--scale", "2"], "sum of nobody": ["a=1", "--sum", "b=a + c", "--scale", "2"],
           "sum of itself": ["a=1", "--sum", "a=b + b", "--scale", "2"], "call": ["61", "--printed", "open('x')"],
           "not rounded": ["61", "--printed", "Rounded(5)"], "blank": ["a=", "--scale", "2"],
           "family": ["61", "--family", "none.toml", "--scale", "2"], "table": ["--table", "none.csv", "--value", "a"],
           "range": ["61", "--n-range", "9", "1", "--scale", "2"], "n noise": ["61", "--n-sd", "2", "--scale", "2"],
           "error": ["61", "--error95", "16"], "two words": ["61", "--scale", "2", "--words"],
           "three scales": ["a=1", "b=2", "--scale", "1", "2", "3"], "huge": ["1e400", "--scale", "2"]}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_declared_is_refused_in_one_line(tmp_path, case):
    code, out, err = dp_bayes("declare", *REFUSED[case], "--source", "s", "-o", "new.json", cwd=tmp_path)
    assert (code, out, len(err.splitlines())) == (2, "", 1) and "Traceback" not in err, (out, err)
    assert not list(tmp_path.iterdir())


TYPED_OTHERWISE = [  # what people type first, and what the refusal must name
    ("declare 41 --epsilon 0.5 -o o.json --source s", "--sensitivity 1"),
    ("declare 41 --epsilon 1 --sensitivity 1 --delta 1e-6 --source s -o o.json", "--delta must be given with --sd"),
    ("declare 12% --n 500 --scale 2 --source s -o o.json", "60 --n 500"),
    ("declare 60/500 --scale 2 --source s -o o.json", "write 60 --n 500"),
    ("declare 41 ± 6 --source s -o o.json", "--error95"), ("declare 1,204 --scale 2 --source s -o o.json", "1204"),
    ("declare a=<5 b=9 --scale 2 --source s -o o.json", "--printed 'NAME=READING'"),
    ("declare this year=45 --scale 2 --source s -o o.json", "stands in quotes"),
    ("declare 45 --laplace 2 --source s -o o.json", "did you mean --scale?"),
    ("declare 45 --rounded 5 --source s -o o.json", "--printed \"Rounded(5)\""),
    ("fit r.json --tune 5", "did you mean --warmup?"),
    ("declare --table t.csv --value n --name area --scale 2 --source s -o o.json", "--words reads texts such as '<5'"),
    ("fit-many t.csv --value n --scale 2 -o o.csv", "dp-bayes declare --table"),
    ("fit-many t.csv --value n --epsilon 2 -o o.csv", "did you mean --scale, the sensitivity divided by"),
    *((f"{name} t.csv", "dp-bayes declare --table t.csv") for name in ("show", "explain", "fit", "examine", "compare")),
    ("compare r.json 140", "dp-bayes declare 140"), ("compare 120 140", "such as --scale 2"),
    ("compare r.json t.csv --scale 2", "a file states its own noise")]


@pytest.mark.parametrize("line, said", TYPED_OTHERWISE)
def test_what_is_typed_otherwise_is_refused_with_what_to_type(tmp_path, line, said):
    declare(Counts(["count"]), 90, noise=Laplace(scale=2), source="s").save(tmp_path / "r.json")
    (tmp_path / "t.csv").write_text("area,n,m\nElm,<5,3\nOak,9,4\n")
    code, out, err = dp_bayes(*line.split(), cwd=tmp_path)
    assert (code, out, len(err.splitlines())) == (2, "", 1) and said in err, err
    assert not (tmp_path / "o.json").exists() and not (tmp_path / "o.csv").exists()


def test_a_share_that_is_typed_as_a_count_is_warned_of(tmp_path):
    said = [dp_bayes("declare", value, "--n", "500", "--scale", "2", "--source", "s", "-o", f"{value}.json",
                     cwd=tmp_path)[2] for value in ("0.12", "60")]
    assert "0.12 is typed as 60, with noise that is 500 times as large" in said[0] and said[1] == ""


@pytest.mark.parametrize("typed, budget, said", [
    ("--epsilon 0.5 --sensitivity 1", {"epsilon": 0.5}, "epsilon = 0.5"),
    ("--scale 2 --epsilon 0.5", {"epsilon": 0.5}, "epsilon = 0.5"),
    ("--rho 0.125 --sensitivity 1", {"rho": 0.125}, "rho = 0.125"),
    ("--sd 4.8 --epsilon 1 --delta 1e-6", {"epsilon": 1.0, "delta": 1e-6}, "epsilon = 1 and delta = 1e-06"),
    ("--scale 2", {}, "No privacy budget is stated")])
def test_a_budget_that_was_typed_stands_in_the_file(tmp_path, typed, budget, said):
    code, out, err = dp_bayes("declare", "312", *typed.split(), "--source", "s", "-o", "r.json", cwd=tmp_path)
    assert (code, err) == (0, "") and ("budget not stated" in out) == (not budget)
    made = Release.load(tmp_path / "r.json")
    assert {name: value for name, value in made.budget.items() if value is not None} == budget
    assert said in dp_bayes("explain", "r.json", cwd=tmp_path)[1]
    shown = dp_bayes("show", "r.json", cwd=tmp_path)[1]
    assert all(f"{name} = {value:g}" in shown for name, value in budget.items())
    told = answer("explain", "r.json", cwd=tmp_path)["files"][0]
    assert {name: told[name] for name in ("epsilon", "delta", "rho") if told[name] is not None} == budget


@pytest.mark.parametrize("values, n, larger", [((120, 140), None, 0.13), ((61, 44), (300, 250), 0.78)])
def test_a_comparison_is_that_of_the_two_releases(tmp_path, values, n, larger):
    typed = ["--values", *values, "--scale", "10" if n is None else "2", *(["--n", *n] if n else []), "--draws", "500"]
    found = answer("compare", *typed, cwd=tmp_path)["rows"][0]
    assert abs(found["probability_larger"] - larger) < 0.05
    for k, (value, size) in enumerate(zip(values, n or (None, None))):
        model, noise = (Counts(["count"]), Laplace(scale=10)) if n is None else (Bernoulli(), Laplace(scale=2))
        declare(model, value, n=size, noise=noise, source=f"number {k}").save(tmp_path / f"{k}.json")
    pair = answer("compare", "0.json", "1.json", "--draws", "500", cwd=tmp_path)["rows"][0]
    turned = answer("compare", "1.json", "0.json", "--draws", "500", cwd=tmp_path)["rows"][0]
    assert (pair["a"], pair["b"]) == ("0.json", "1.json")
    assert abs(pair["probability_larger"] - larger) < 0.05
    assert abs(pair["probability_larger"] + turned["probability_larger"] - 1) < 0.06


# ---------------------------------------------------------------- completion


@pytest.fixture(scope="module")
def scripts(tmp_path_factory):
    "The scripts of both shells as files."
    there = tmp_path_factory.mktemp("scripts")
    for shell in ("bash", "zsh"):
        code, out, err = dp_bayes("completion", shell, cwd=there)
        assert (code, err) == (0, "")
        (there / shell).write_text(out)
    return there


ASK = """source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _dp_bayes; printf '%s\\n' "${COMPREPLY[@]}" """


def completed(scripts, *words, cwd):
    "What bash offers for the last of these words."
    done = subprocess.run(["bash", "--norc", "-c", ASK, "bash", scripts / "bash", "dp-bayes", *words], cwd=cwd,
                          capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and not done.stderr, done.stderr
    return done.stdout.split("\n")[:-1]


def test_bash_completes_commands_options_words_and_files(scripts, tmp_path):
    (tmp_path / "a file.json").write_text("{}")
    assert set(cli.COMMANDS) <= set(completed(scripts, "", cwd=tmp_path))
    assert completed(scripts, "decl", cwd=tmp_path) == ["declare"]
    assert completed(scripts, "fit", "--expl", cwd=tmp_path) == ["--explain"]
    assert completed(scripts, "fit", "--pool", "", cwd=tmp_path) == ["none", "partial"]
    assert completed(scripts, "completion", "z", cwd=tmp_path) == ["zsh"]
    assert completed(scripts, "show", "a", cwd=tmp_path) == ["a file.json"]
    assert completed(scripts, "show", "--explain", cwd=tmp_path) in ([], [""])  # an option of another command


def test_completion_is_made_from_the_parser(scripts, monkeypatch):
    "Every option of every command stands in both; a new one comes in by itself."
    known = completion.words_of(cli.build_parser())
    assert set(known) == {"", *cli.COMMANDS} and len(known["declare"].options) > 30
    for shell in ("bash", "zsh"):
        text = (scripts / shell).read_text()
        assert all(option in text for words in known.values() for option in words.options), shell
        assert "--fresh" not in text
    fresh = ("--fresh", "new (default: no)", {"choices": ["a", "b"]})
    monkeypatch.setitem(cli.OPTIONS, "show", (*cli.OPTIONS["show"], fresh))
    again = completion.words_of(cli.build_parser())
    assert 'show --fresh") words="a b"' in completion.bash(again) and "--fresh:new" in completion.zsh(again)


def test_the_script_of_zsh_is_sound(scripts):
    text = (scripts / "zsh").read_text()
    shlex.split(text, comments=True)  # quotation marks are closed
    bare = re.sub(r"'[^']*'|^#.*", "", text, flags=re.M)
    assert bare.count("{") == bare.count("}") > 0
    for opens, closes in (("case", "esac"), ("if", "fi")):
        assert len(re.findall(rf"\b{opens}\b", bare)) == len(re.findall(rf"\b{closes}\b", bare)) > 0
    if shutil.which("zsh"):
        done = subprocess.run(["zsh", "-n", scripts / "zsh"], capture_output=True, text=True)
        assert (done.returncode, done.stderr) == (0, "")


# ---------------------------------------------------------------- other systems


def test_a_system_without_posix_is_refused_in_words(tmp_path, monkeypatch):
    made = declare(Bernoulli(), 61, n=300, noise=Laplace(scale=2), source="s")
    made.save(tmp_path / "r.json")
    monkeypatch.setattr(files, "POSIX", False)
    for command in (("show", "r.json"), ("declare", "61", "--scale", "2", "--source", "s", "-o", "new.json")):
        code, out, err = dp_bayes(*command, cwd=tmp_path)
        assert (code, out, len(err.splitlines())) == (1, "", 1) and "Windows Subsystem for Linux" in err
    assert dp_bayes("--version", cwd=tmp_path)[0] == 0
    for write in (lambda: made.save(tmp_path / "new.json"), lambda: Ledger(tmp_path / "new.json", epsilon=1)):
        with pytest.raises(OSError, match="Linux and macOS"):
            write()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["r.json"]


def test_the_process_is_a_command(tmp_path):
    "Once as a user runs it, by the script that is installed."
    done = subprocess.run([Path(sys.executable).with_name("dp-bayes"), "--version"], cwd=tmp_path, capture_output=True,
                          text=True, timeout=60)
    assert done.returncode == 0 and done.stdout.startswith("dp-bayes ")
