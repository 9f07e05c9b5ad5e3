"""The search of the site: the first hit for what users would type. The index is that of the site, made from the
notebooks, and the ranking is the page's own `tools/search.js`, run in Node; where Node is missing the test is skipped.
"""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tools"))
import search  # noqa: E402

FIRST = {
    "difference between groups": "posterior/contrasts", "compare groups": "posterior/contrasts",
    "odds ratio": "posterior/contrasts", "hierarchical": "fields/pooling", "hierarchical model": "fields/pooling",
    "partial pooling": "fields/pooling", "census": "tutorials/census_tract", "seed": "base/arguments",
    "getting started": "start", "where to start": "start", "command line": "cli", "csv": "data_holder/csv_files",
    "pandas": "data_holder/tables", "ledger": "data_holder/ledger", "privacy budget": "data_holder/ledger",
    "release": "data_holder/release", "missing values": "data_holder/tables", "which method": "questions/which_method",
    "linear regression": "regression/model", "logistic regression": "tables/logistic",
    "synthetic data": "tables/synthetic", "negative binomial": "models/varied_counts", "clipping": "models/bounds",
    "prior": "base/priors", "rhat": "posterior/fit", "predict": "posterior/results", "opendp": "releases/other_tools",
    "pymc": "posterior/log_likelihood", "calibration": "research/evaluation", "sample size": "research/planning",
    "audit": "research/audit", "laplace noise": "noise/laplace", "gaussian noise": "noise/design",
    "contingency table": "tables/log_linear", "naive bayes": "naive_bayes/model",
    "hidden markov": "hidden_markov/model",
    "own model": "models/own_model", "several rows per person": "data_holder/persons",
    "combine releases": "releases/combine", "other packages": "questions/comparisons",
    "confidence interval": "recipes/one_count", "margin of error": "recipes/one_count", "income": "recipes/mean_income",
    "mean income": "recipes/mean_income", "average": "recipes/mean_income", "change": "recipes/weeks",
    "which weeks changed": "recipes/weeks", "time series": "recipes/series", "forecast": "recipes/series",
    "trend": "recipes/series", "season": "recipes/series", "map": "recipes/map", "small area": "recipes/map",
    "bym2": "fields/structures", "Fay-Herriot": "fields/structures", "compare": "recipes/larger",
    "is A larger than B": "recipes/larger", "rounded": "recipes/rounded", "suppressed": "recipes/rounded",
    "logistic from margins": "recipes/logistic", "yearly budget": "recipes/yearly_budget",
    "choose epsilon": "recipes/wished_width", "how much epsilon do I need": "recipes/wished_width",
    "ledger report": "data_holder/report", "what was spent": "data_holder/report",
    "release a table": "recipes/first_count", "how to release a number": "recipes/first_count",
    "how do I publish a table": "recipes/first_count",
    "release a table with a privacy budget": "recipes/first_count", "people with several rows": "recipes/many_rows",
    "privacy account": "recipes/account", "report of the budget": "recipes/account",
    "publish what was spent": "recipes/account", "how large must epsilon be": "recipes/wished_width",
    "course": "course/index", "gibbs sampler": "course/gibbs", "recipes": "recipes/index",
    "coverage": "evidence/calibration", "a million cells": "recipes/many_cells",
    "contrast": "posterior/contrasts", "explain": "posterior/route", "Suppressed": "noise/printing",
    "summary": "posterior/summary", "quantity": "posterior/quantities", "PolyaTree": "models/histogram",
    "LogisticRegression": "tables/logistic", "fit_many": "many/fit_many", "declare": "releases/declare",
}
MUTANTS = {
    "text weighs as much as titles": ('["text", 1]', '["text", 30]'),
    "headings before pages": ("page: 1.6", "page: 0.3"),
    "no phrases": ("if (row.phrases.includes(query)) score += 12;", ""),
    "names of the package last": ("(name ? 100 : 0)", "(name ? -100 : 0)"),
}


@pytest.fixture(scope="module")
def index():
    return search.entries(ROOT / "nbs", ROOT / "dp_bayes_nb")


def first_hits(folder, index, script):
    "The page of the first hit for each query, by the JavaScript that the pages run."
    node = shutil.which("node") or shutil.which("nodejs")
    if node is None:
        pytest.skip("Node was not found, so the ranking of the site's search was not run")
    (folder / "search.js").write_text(script, encoding="utf-8")
    (folder / "index.json").write_text(json.dumps({"entries": index, "queries": list(FIRST)}), encoding="utf-8")
    code = ("const {entries, queries} = require('./index.json'); const s = new (require('./search.js'))(entries); "
            "const first = q => (s.search(q, {limit: 1})[0] || {item: {href: ''}}).item.href; "
            "console.log(JSON.stringify(queries.map(first)))")
    done = subprocess.run([node, "-e", code], cwd=folder, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    assert done.returncode == 0, done.stderr
    return dict(zip(FIRST, (href.split("#")[0].removesuffix(".html") for href in json.loads(done.stdout))))


def wrong(hits):
    return {query: (hits[query], page) for query, page in FIRST.items() if hits[query] != page}


def script():
    return (ROOT / "tools" / "search.js").read_text(encoding="utf-8")


def test_first_hits(tmp_path, index):
    assert len(FIRST) >= 30 and wrong(first_hits(tmp_path, index, script())) == {}


@pytest.mark.parametrize("mutant", MUTANTS)
def test_a_worse_ranking_is_found_out(tmp_path, index, mutant):
    old, new = MUTANTS[mutant]
    assert script().count(old) == 1
    assert wrong(first_hits(tmp_path, index, script().replace(old, new)))


def test_titles_and_text_alone_find_most(tmp_path, index):
    "Without the words that readers type and no title says, the ranking still finds half of the pages first."
    bare = [{**row, "words": ""} for row in index]
    assert len(wrong(first_hits(tmp_path, bare, script()))) < len(FIRST) / 2


def test_words_belong_to_pages(index):
    assert set(search.WORDS) <= {row["href"].removesuffix(".html") for row in index if row["kind"] == "page"}


def test_code_is_not_in_the_index(index):
    cells = [{"cell_type": "markdown", "source": ["# Title\n\n> Of a page\n"]},
             {"cell_type": "code", "source": ["zebra = 1"]},
             {"cell_type": "markdown", "source": ["## A heading: `x`\n\ntext\n\n```python\nzebra = 1\n```\n"]}]
    rows = search.page_entries("models/01_own.ipynb", cells, ROOT)
    assert [row["href"] for row in rows] == ["models/own.html", "models/own.html#a-heading-x"]
    assert "zebra" not in json.dumps(rows) and rows[1]["text"] == "text"


def test_a_long_text_keeps_its_start_and_each_word():
    start, rest = "alpha " * 80, "beta gamma beta alpha 12 delta"
    assert search.brief("short") == "short" and search.brief(start + rest) == start[:395] + " … beta gamma delta"
