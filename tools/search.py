"""The index of the site's search, made from the notebooks: pages, their headings and the names that they explain.

Code and outputs are left out: a reader who types "seed" wants the page that says what a seed is, not a test that has
one. `search.js` ranks the entries, in the page and in the tests.
"""

import ast
import json
import re
from pathlib import Path

PLAIN = [(r"```.*?```", " "), (r"\$\$.*?\$\$", " "), (r":::[^\n]*", " "), (r"!?\[([^\]]*)\]\([^)]*\)", r"\1"),
         (r"^\|?[-|: ]+\|$", " "), (r"[|`*$\\{}]+", " "), (r"\s+", " ")]
# What readers type and no title says, by page; a phrase between commas is worth more than its words.
WORDS = {
    "start": "start, getting started, begin, first steps, new here, introduction, where to start, quick start",
    "tutorials/first_release": "first release, first posterior, tutorial, example, proportion, share of people, "
                               "publish a table, csv to release, how to release, analyst, read a release, "
                               "fit a release, credible interval",
    "tutorials/census_tract": "census, decennial, us census, census bureau",
    "tutorials/wages": "linear regression example, wages",
    "tutorials/wages_by_state": "hierarchical example, states",
    "tutorials/counts": "poisson, overdispersion example, count data",
    "tutorials/synthetic_tables": "synthetic data tutorial",
    "course/index": "course, lessons, learn, student, teach, introduction to the method, theory",
    "course/equations": "equations of the papers, lemma 1, theorem, algorithm",
    "course/gibbs": "gibbs sampler, gibbs",
    "course/calibration": "ranks, what is calibration",
    "recipes/index": "recipes, how do i, examples, quick answers, short answers",
    "recipes/one_count": "confidence interval, interval, margin of error, error bar, uncertainty of a count, "
                         "one count, credible interval, how sure",
    "recipes/rate": "rate, ratio of two counts, percentage, proportion of two noisy numbers, per capita",
    "recipes/mean_income": "income, mean income, average income, mean, average, clipped sum, salary",
    "recipes/larger": "compare, a larger than b, is a larger than b, bigger, difference, significant, "
                      "difference of two counts, hypothesis test, p value",
    "recipes/weeks": "change, which weeks changed, changes, over time, last week, "
                     "before and after, weekly, month to month",
    "recipes/series": "time series, forecast, forecasting, smooth, smoothing, trend, season, seasonal, missing weeks, "
                      "random walk, weekly counts",
    "recipes/map": "map, maps, small area, small areas, neighbours, neighbors, spatial, disease map, regions",
    "recipes/rounded": "rounded, rounding, suppressed, suppression, hidden cells, small cells, less than 10, "
                       "censored counts",
    "recipes/logistic": "logistic from margins, odds ratio from published tables, regression from published tables",
    "recipes/many_cells": "million cells, many intervals, every cell, whole table",
    "recipes/many_rows": "many rows a person, people with several rows, repeated visits, protect a person",
    "recipes/wished_width": "which epsilon, choose epsilon, how much epsilon, epsilon for a width, wished width, "
                            "budget for a width, how much budget do i need, target width",
    "data_holder/report": "ledger report, account of the budget, what was spent, publish the ledger, "
                          "check the ledger, budget report",
    "recipes/first_count": "release a table, publish a table, publish a count, publish my own table, "
                           "release a number, release a count, add noise to a count, "
                           "release a table with a privacy budget, how do i publish a table",
    "recipes/account": "privacy account, account of what was spent, tell the public, report of the budget, "
                       "publish what was spent, what did i spend",
    "recipes/yearly_budget": "yearly budget, monthly releases, spend epsilon, budget over time",
    "evidence/calibration": "evidence, does it work, coverage, do the intervals hold, validation",
    "evidence/scoreboard": "scoreboard, published figures, benchmarks",
    "questions/which_method": "which method, choose a method, compare methods, which model",
    "questions/privacy": "threat model, what is protected, guarantee, privacy promise, differential privacy",
    "questions/comparisons": "other packages, alternatives, tumult, compare packages",
    "data_holder/release": "release, publish, make a release, add noise",
    "data_holder/ledger": "budget, ledger, privacy budget, accountant, composition, spent, budget left",
    "data_holder/tables": "pandas, polars, parquet, duckdb, spark, dataframe, missing values",
    "data_holder/csv_files": "csv, csv file, read csv",
    "data_holder/quantiles": "quantile, private median, private quantile, unknown bounds, buy a bound",
    "data_holder/persons": "several rows per person, user level, person id, repeated rows, contribution bounding",
    "releases/declare": "declare, published numbers, somebody else's numbers, noisy count from a website",
    "releases/combine": "combine releases, two releases, several releases",
    "releases/published": "read a published table, csv, withheld numbers, suppressed, small counts hidden",
    "releases/other_tools": "opendp, import from opendp, mbi, tumult analytics",
    "releases/document": "release file",
    "releases/schema": "json, file format, schema",
    "posterior/fit": "fit, posterior, sampler, rhat, convergence, warning, mcmc, draws",
    "posterior/results": "predict, prediction, posterior predictive, plot",
    "posterior/summary": "summary, summary table, coefficient table, regression table, standard errors, "
                         "share of noise, probability of sign",
    "posterior/quantities": "arithmetic, ratio of two results, random variable, rvar, derived quantity, "
                            "probability that one is larger",
    "ways/methods": "methods, which sampler, auto",
    "posterior/contrasts": "difference between groups, compare groups, odds ratio, ratio, difference of two releases, "
                           "rank, forest plot",
    "fields/pooling": "hierarchical, hierarchical model, partial pooling, multilevel, random effects, shrinkage",
    "fields/structures": "bym2, bym, besag, icar, car model, small area estimation, fay-herriot, fay herriot, "
                         "intrinsic, structured prior",
    "fields/propagation": "expectation propagation, ep, laplace approximation, inla",
    "posterior/log_likelihood": "pymc, numpyro, stan, log likelihood, own prior model",
    "many/fit_many": "many cells, thousands of counts, bulk, batch",
    "many/clusters": "dask, spark cluster",
    "noise/laplace": "laplace, laplace noise, laplace mechanism",
    "noise/design": "scale, noise scale, gaussian, gaussian noise, epsilon, delta, zcdp, how much noise",
    "base/arguments": "seed, random seed, key, reproducible, error message, valueerror, double precision",
    "base/priors": "prior, priors, beta prior, dirichlet, choose a prior",
    "models/bounds": "clipping, clip, bounds, truncate, redaction, outlier, sensitivity",
    "models/own_model": "own model, custom model, new family, write a model",
    "models/grouped": "groups, group by, grouped release",
    "models/varied_counts": "negative binomial, overdispersion, zero inflated",
    "models/counts": "bernoulli, binomial, proportion, share, categorical, multinomial",
    "models/normal": "normal, mean and variance, lognormal",
    "models/mixture": "mixture, bimodal",
    "regression/model": "linear regression, regression, least squares, ols, slope",
    "regression/tobit": "tobit, censored regression",
    "regression/multivariate_normal": "covariance, correlation, multivariate normal",
    "tables/logistic": "logistic regression, logit, binary response",
    "tables/log_linear": "contingency table, margins, log-linear, cross table, marginals",
    "tables/synthetic": "synthetic data, synthetic table, synthetic, microdata, multiple imputation",
    "research/evaluation": "calibration, coverage, sbc, simulation based calibration, calibrate",
    "research/planning": "planning, sample size, power, plan, expected width",
    "research/audit": "audit, check a release, membership inference, attack",
    "naive_bayes/model": "naive bayes, classifier",
    "hidden_markov/model": "hidden markov, hmm, states over time",
    "app/widgets": "widgets, app, interactive, voila, browser tool",
    "cli": "command line, terminal, shell, dp-bayes, cli",
}


def address(name):
    "The page of a notebook, without its ending."
    return re.sub(r"(^|/)\d\d_", r"\1", name).removesuffix(".ipynb")


def plain(text):
    "The running text of Markdown."
    for pattern, by in PLAIN:
        text = re.sub(pattern, by, text, flags=re.S | re.M)
    return text.strip()


SHOWN = 400  # characters of a text that are kept as they are, of which a hit shows some


def brief(text):
    "The start of a text, and of the rest each new word once, which is all that the ranking asks of it."
    end = text.rfind(" ", 0, SHOWN) if len(text) > SHOWN else len(text)
    known, kept = {word.lower() for word in re.findall(r"\w+", text[:end])}, []
    for word in re.findall(r"[^\W\d_]\w{2,}", text[end:]):
        if word.lower() not in known:
            known.add(word.lower())
            kept.append(word)
    return text[:end] + " … " * bool(kept) + " ".join(kept)


def anchor(heading, names=()):
    """The identifier that a heading gets: its own `{#id}`, or letters, digits and hyphens from the first letter on;
    with an ending where the page explains a name that is the same.
    """
    own = re.search(r"\{#([\w-]+)[^}]*\}\s*$", heading)
    kept = "".join(c.lower() for c in plain(heading) if c.isalnum() or c.isspace() or c in "_-.")
    found = own[1] if own else re.sub(r"^[^a-zα-ω]+", "", "-".join(kept.split())) or "section"
    return f"{found}-section" if found in names else found


def explained(path):
    "The public names of a module, each with the first line of what it says of itself."
    if not path.exists():
        return []
    body = ast.parse(path.read_text(encoding="utf-8")).body
    public = next((set(ast.literal_eval(node.value)) for node in body if isinstance(node, ast.Assign)
                   and getattr(node.targets[0], "id", "") == "__all__"), set())
    return [(node.name, (ast.get_docstring(node) or "").split("\n\n")[0]) for node in body
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and node.name in public]


def page_entries(notebook, cells, package):
    "Entries of one notebook: the page, its headings with the text below them, its names."
    text = "\n\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")
    text = re.sub(r"```.*?```", " ", text, flags=re.S)
    callout = r"^(:::+ *\{[^\n]*\.callout[^\n]*\n+)#+ "  # its title is no heading of the page
    text = re.sub(callout, r"\1", text, flags=re.M)
    found = re.match(r"\s*# ([^\n]+)\n+(?:> ([^\n]*))?", text)
    if not found:
        return []
    page, title = address(notebook), plain(found[1])
    parts = re.split(r"^(##+ .+)$", text[found.end():], flags=re.M)
    rows = [{"href": f"{page}.html", "title": title, "section": "", "subtitle": plain(found[2] or ""),
             "words": WORDS.get(page, ""), "kind": "page",
             "text": brief(plain((found[2] or "") + " " + parts[0]))}]
    seen, public = {}, explained(package / f"{page}.py")
    for heading, below in zip(parts[1::2], parts[2::2]):
        said = plain(re.sub(r"\{[^{}]*\}\s*$", "", heading.lstrip("#").strip()))
        own = anchor(heading.lstrip("#").strip(), dict(public))
        seen[own] = seen.get(own, -1) + 1
        fragment = own + (f"-{seen[own]}" if seen[own] else "")
        rows.append({"href": f"{page}.html#{fragment}", "title": title, "section": said, "kind": "heading",
                     "text": brief(plain(below))})
    rows += [{"href": f"{page}.html#{name}", "title": title, "section": name, "kind": "name",
              "text": " ".join(said.split())} for name, said in public]
    return rows


def entries(nbs: Path, package: Path):
    "The whole index, in the order of the notebooks' names."
    rows = []
    for path in sorted(nbs.rglob("*.ipynb")):
        if ".ipynb_checkpoints" not in path.parts:
            nb = json.loads(path.read_text(encoding="utf-8"))
            rows += page_entries(path.relative_to(nbs).as_posix(), nb["cells"], package)
    return rows
