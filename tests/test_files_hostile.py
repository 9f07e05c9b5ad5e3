"""Files that were made to harm: a release, a ledger, a family file or a prior is read, or refused with a ValueError.

Each runs in a fresh interpreter with two gigabytes beyond what the imports take, so that a short text which declares
much cannot hide behind a large machine.
"""

import dataclasses
import json
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from dp_bayes_nb.base.arguments import MOST_SUMS
from dp_bayes_nb.releases.files import seal

FIXTURES = Path(__file__).parent / "fixtures"
LIMITED = """
import json, random, resource, sys, time, warnings
from pathlib import Path
import dp_bayes_nb.cli, dp_bayes_nb.hidden_markov.model, dp_bayes_nb.naive_bayes.model, dp_bayes_nb.models.rates
import dp_bayes_nb.models.gamma, dp_bayes_nb.models.normal, dp_bayes_nb.regression.model
from dp_bayes_nb import Ledger, Release
from dp_bayes_nb.releases.files import seal
warnings.simplefilter("ignore")
# "Bounded" is a test's own family
fixtures = [p for p in sorted(Path(sys.argv[1]).glob("release_*.json")) if '"Bounded"' not in p.read_text()]
for path in fixtures: Release.load(path)  # everything is imported and compiled
pages = int(Path("/proc/self/statm").read_text().split()[0]) if Path("/proc/self/statm").exists() else 0
if pages:
    most = pages * resource.getpagesize() + 2 * 2**30
    resource.setrlimit(resource.RLIMIT_AS, (most, most))

def outcome(read, *arguments):
    "\\"read\\", or the refusal; anything else is raised. A refusal is one printable line of a moderate length."
    start = time.process_time()
    try:
        read(*arguments)
    except ValueError as error:
        assert str(error).isprintable() and len(str(error)) < 3000, str(error)[:500]
        said = str(error)
    else:
        said = "read"
    assert time.process_time() - start < 20, (said, time.process_time() - start)
    return said
"""


def limited(code, *arguments):
    "Run code in a new interpreter with little memory and return what it prints."
    done = subprocess.run([sys.executable, "-c", LIMITED + textwrap.dedent(code), str(FIXTURES), *map(str, arguments)],
                          capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


def document(family, names=("a", "b"), **changes):
    "A sealed release that declares a family, all else plausible."
    m = len(names)
    return seal({"schema": 1, "family": family, "names": list(names), "integers": [0] * m, "grid_exponent": 0, "n": 10,
                 "noise": {"kind": "laplace", "scale": [2.0] * m}, "sensitivity": 2.0, "epsilon": 1.0, "delta": None,
                 "neighbours": "change_one", "missing": "error", "bounds_source": "public", "simulated": False,
                 **changes})


def document_2(model, names=("a", "b"), **changes):
    "The same in schema 2."
    return seal({"schema": 2, "id": "0" * 16, "origin": "made here", "model": model, "names": list(names),
                 "values": [0] * len(names), "matrix": None,
                 "noise": {"kind": "laplace", "scale": 2, "grid": 1}, "n": 10, "printed": "exact",
                 "neighbours": "change_one",
                 "budget": {"epsilon": 1.0, "delta": None}, "sensitivity": 2.0, "missing": "error",
                 "bounds_source": "public", **changes})


HUGE = {
    "2000 cubed": {"family": "HiddenMarkov", "chain": ["a", 2000], "step": ["b", 2000], "features": [["c", 2000]],
                   "states": 2},
    "many features of a chain": {"family": "HiddenMarkov", "chain": ["a", 2], "step": ["b", 2],
                                 "features": [[f"c{i}", 2000] for i in range(50_000)], "states": 2},
    "many tables": {"family": "NaiveBayes", "label": ["y", 2000], "features": [["a", 2000], ["b", 2000]]},
    "a great many tables": {"family": "NaiveBayes", "label": ["y", 2],
                            "features": [[f"c{i}", 2000] for i in range(100_000)]},
    "categories times categories": {"family": "LinearRegression", "covariates": {f"c{i}": {"levels": 2000}
    for i in range(8)}, "response": {"y": [0, 1]}},
    "many numbers": {"family": "LinearRegression", "covariates": {f"c{i}": [0, 1] for i in range(20_000)},
                     "response": {"y": [0, 1]}},
    "many codes": {"family": "Categorical", "k": 10**9},
    "more codes": {"family": "Categorical", "k": 10**300},
    "many failures": {"family": "Bernoulli", "success": "a", "failure": [f"b{i}" for i in range(100_000)]},
}


def test_a_short_text_that_declares_much_is_refused_before_it_is_built(tmp_path):
    "All in one process of little memory."
    paths = [tmp_path / f"{what} {schema}.json" for what in HUGE for schema in (1, 2)]
    for path, text in zip(paths, (make(family) for family in HUGE.values() for make in (document, document_2))):
        path.write_text(text)
    found = limited("for path in sys.argv[2:]: print(outcome(Release.load, path))", *paths).splitlines()
    assert len(found) == len(paths)
    for path, said in zip(paths, found):
        assert "at most" in said or "numbers up to" in said, (path.stem, said)


def test_the_counts_before_building_are_those_after():
    "By arithmetic and by names; the refusal is at the number that is written."
    from dp_bayes_nb import HiddenMarkov, LinearRegression, NaiveBayes
    from dp_bayes_nb.naive_bayes.model import declared_levels
    from dp_bayes_nb.regression.model import _sums_of

    features = {"a": 3, "b": ["x", "y"], "c": range(2, 7)}
    assert len(NaiveBayes(("y", 4), features).names) == 4 * declared_levels(tuple(features.items()))
    assert len(HiddenMarkov(("r", 4), ("t", 3), features, 2).names) == 12 * declared_levels(tuple(features.items()))
    for covariates in ({"a": (0, 1)}, {"a": (0, 1), "b": ["u", "v", "w"]},
                       {"a": {"levels": 5}, "b": {"levels": ["x", "y", "z"]}, "c": (0, 1)}):
        assert len(LinearRegression(covariates, {"y": (0, 1)}).names) == _sums_of(tuple(covariates.items()))
    NaiveBayes(("y", 2), {f"c{i}": 2**11 // 2 for i in range(MOST_SUMS // 2**11)})
    with pytest.raises(ValueError, match=f"at most {MOST_SUMS} sums are released, got {MOST_SUMS + 4}"):
        NaiveBayes(("y", 2), {"one": 2} | {f"c{i}": 2**11 // 2 for i in range(MOST_SUMS // 2**11)})


FUZZ = """
seed, rounds = int(sys.argv[2]), int(sys.argv[3])
draw = random.Random(seed)
good = [json.loads(p.read_text()) for p in fixtures]
good += [json.loads(text) for text in json.loads(sys.argv[4])]
NUMBERS = [0, -1, 1, -0.0, 0.5, 1e-320, 5e-324, 1e308, 2**53, 2**63, 10**18, 10**300, 10**400, True, False]
TEXTS = ["", "a", "\\x00", "\\x1b[2J", "a\\nb", "\\ud800", "x" * 5000, "NaN", "1e999", "HiddenMarkov",
         "Categorical", "Normal", "gaussian", "drop"]
SHAPES = [None, [], {}, [[]], [None], {"a": 1}, {"family": "Bernoulli"}, list(range(3000)),
          [[1, 2], [3]], {"levels": 2000}, {"clip": [0, 1]}, {"redact": [1, 0]}]

def shape(): return json.loads(json.dumps(draw.choice(SHAPES)))

def deep(k):
    out = draw.choice([1, "a", None])
    for _ in range(k): out = [out] if draw.random() < .5 else {"a": out}
    return out

def places(value, path=()):
    "Every place in a document."
    yield path
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in inside:
        yield from places(item, path + (key,))

def mutate(d):
    d = json.loads(json.dumps(d))
    d.pop("sha256", None)
    for _ in range(draw.choice([1, 1, 2, 4])):
        path = draw.choice([p for p in places(d) if p])
        at = d
        for key in path[:-1]: at = at[key]
        kind = draw.random()
        if kind < .35: at[path[-1]] = draw.choice(NUMBERS)
        elif kind < .55: at[path[-1]] = draw.choice(TEXTS)
        elif kind < .75: at[path[-1]] = shape()
        elif kind < .8: at[path[-1]] = deep(draw.choice([3, 19, 21, 60, 400]))
        elif kind < .9 and isinstance(at[path[-1]], (int, float)):
            at[path[-1]] = at[path[-1]] * draw.choice([-1, 2, 1e6, 10**40, .5])
        elif isinstance(at, list):
            at.extend([at[path[-1]]] * draw.choice([1, 3, 3000]) if not isinstance(at[path[-1]], (list, dict)) else [1])
        else: del at[path[-1]]
    return d

def text_of(d):
    "Sealed where it can be; or written raw, with what JSON does not know, cut, doubled or deepened."
    try: text = seal(d)
    except (ValueError, RecursionError): text = json.dumps(d)
    kind = draw.random()
    if kind < .04:
        text = text.replace(": 1", draw.choice([": NaN", ": Infinity", ": -Infinity", ": 1e999", ": 1" + "0" * 5000,
                                                ": -0.0", ": 01"]), 1)
    elif kind < .06: text = text[:draw.randrange(len(text))]
    elif kind < .07: text = "[" * 100_000 + text
    elif kind < .08: text = text.replace('"n"', '"n": 3, "n"', 1)
    elif kind < .09: text = text.replace('"names"', '"x": ' + '{"a": ' * 5000 + "1" + "}" * 5000 + ', "names"', 1)
    return text

read, kinds = 0, set()
for k in range(rounds):
    text = text_of(mutate(draw.choice(good)))
    try: said = outcome(Release.from_json, text)
    except BaseException:
        print(text[:3000], file=sys.stderr)
        raise
    if said == "read":
        read += 1
        r = Release.from_json(text)
        assert all(line.isprintable() for line in repr(r).split(chr(10))), repr(r)
        assert Release.from_json(r.to_json()) == r
    else: kinds.add(said[:40])
print(read, len(kinds))
"""


def declarations():
    "Releases of models that the fixtures do not have, as JSON texts."
    from dp_bayes_nb import Clip, Exponential, HiddenMarkov, LinearRegression, NaiveBayes, Normal, Redact
    from dp_bayes_nb.noise.design import noise_design
    from dp_bayes_nb.releases.document import Release

    out = []
    for family in (NaiveBayes(("y", 2), {"a": 3, "b": ["u", "v"]}),
                   HiddenMarkov(("r", 2), ("t", 2), {"a": 2}, 2, [[3, 4], [5, 6]]),
                   LinearRegression({"a": (0, 1), "b": ["u", "v"]}, {"y": (0, 10)}), Exponential(Clip(0, 3)),
                   Normal(Redact(0, 3))):
        noise, sensitivity = noise_design(family, epsilon=1.0)
        made = Release(family, family.names, [0.0] * len(family.names), 18, noise, sensitivity, 1.0,
                       id="0123456789abcdef")
        out += [made.to_json(), dataclasses.replace(made, id=None, schema=1).to_json()]
    out += [(FIXTURES / "declared_schema2.json").read_text()] * 4
    return json.dumps(out)


@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_thousands_of_damaged_releases_are_read_or_refused(seed):
    read, kinds = map(int, limited(FUZZ, seed, 1500, declarations()).split())
    assert read > 10 and kinds > 50, (read, kinds)  # the mutations reach behind the first checks, and some do no harm


LEDGER = """
draw, path = random.Random(int(sys.argv[2])), Path(sys.argv[3]) / "ledger.json"
Ledger(path, epsilon=1).spend(epsilon="0.25", data="table", release="a")
good = json.loads(path.read_text())
WORDS = ["", "0", "-0", "1e400", "1e-401", "1e999999999999999999", "-1", "NaN", "sNaN", "Infinity",
         "9" * 100_000, "0x10", "1_0", " 1 ", "\\x1b[2J", "\\u0661"]
kinds = set()
for k in range(1500):
    d = json.loads(json.dumps(good)); d.pop("sha256")
    for _ in range(draw.choice([1, 2])):
        entries = d.get("entries")
        first = entries[0] if isinstance(entries, list) and entries else None
        where = draw.choice([d, first if isinstance(first, dict) else d])
        where[draw.choice(list(where))] = draw.choice(WORDS + [10**400, 1.5, None, [], {}, True, [[]] * 3000])
    text = seal(d) if draw.random() < .9 else json.dumps(d).replace("1", draw.choice(["NaN", "1e999", "[" * 5000]), 1)
    path.write_text(text)
    said = outcome(lambda: (Ledger(path).entries, Ledger(path).left, repr(Ledger(path))))
    kinds.add(said.split(",")[0][:40])
print(len(kinds))
"""


def test_damaged_ledgers_are_read_or_refused(tmp_path):
    assert int(limited(LEDGER, 1, tmp_path)) > 5


@pytest.mark.parametrize("prior", ["Beta(1e999, 1)", "Beta(" + "9" * 401 + ", 1)", "Beta(" + "9" * 5000 + ", 1)",
                                   "Beta(-0.0, 1)", "Beta(1, nan)",
                                   "Beta(" + "(" * 5000 + "1", "Beta([[[[1]]]], 1)", "Dirichlet([" + "1," * 4000 + "])",
                                   "{'a': Beta(1, 1)}",
                                   "Beta(1j, 1)", "Beta(True, 1)", "Beta(10**400, 1)", "Beta(1, 1, 1)", "Beta(*[1, 1])",
                                   "-" * 4000 + "1"],
                         ids=lambda p: p[:20])
def test_a_prior_on_the_command_line_is_read_or_refused(prior, tmp_path, capsys):
    from dp_bayes_nb.cli import main

    release = FIXTURES / "release_schema1_laplace.json"
    assert main(["fit", str(release), "--prior", prior, "-o", str(tmp_path / "p.nc")]) == 2
    err = capsys.readouterr().err
    assert len(err.splitlines()) == 1 and "defect" not in err and err.rstrip("\n").isprintable()


@pytest.mark.parametrize("toml", ["family = 'Categorical'\nk = " + "9" * 400, "family = 'Categorical'\nk = 1e999",
                                  "family = 'Categorical'\nk = nan",
                                  "family = 'Exponential'\nbounds = [0, inf]", "x = " + "[" * 5000,
                                  "family = 'Exponential'\nbounds = [0, " + "9" * 4000 + "]",
                                  "family = 'HiddenMarkov'\nchain = ['a', 2000]\nstep = ['b', 2000]\nstates = "
                                  "2\n[features]\nc = 2000",
                                  "family = 'NaiveBayes'\nlabel = ['a', 2000]\n[features]\nb = 2000\nc = 2000"],
                         ids=lambda t: t[:30])
def test_a_family_file_is_read_or_refused(toml, tmp_path, capsys):
    from dp_bayes_nb.cli import main

    (tmp_path / "f.toml").write_text(toml)
    (tmp_path / "t.csv").write_text("a,b,c\n0,0,0\n1,1,1\n")
    assert main(["release", str(tmp_path / "t.csv"), "--family", str(tmp_path / "f.toml"), "--epsilon", "1", "-o",
                 str(tmp_path / "r.json")]) == 2
    err = capsys.readouterr().err
    assert len(err.splitlines()) == 1 and "defect" not in err and err.rstrip("\n").isprintable()
