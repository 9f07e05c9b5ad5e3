"""A real Spark on this machine gives the integers of the other engines, byte by byte, and its errors show no record."""

import os
import shutil
import sys
from decimal import Decimal

import numpy as np
import pytest

from dp_bayes_nb import DateHistogram, Grouped, HiddenMarkov, LinearRegression, LogLinear, NaiveBayes, Person, release
from dp_bayes_nb.models.bounds import Clip, Redact
from dp_bayes_nb.models.counts import Bernoulli, Categorical
from dp_bayes_nb.models.gamma import GammaData
from dp_bayes_nb.models.normal import LogNormal, Normal
from dp_bayes_nb.models.rates import Exponential, Geometric, Pareto, Poisson, Weibull
from dp_bayes_nb.data_holder.sums import exact_sums, run_query

pyspark = pytest.importorskip("pyspark.sql", reason="Spark: pip install pyspark")
pl = pytest.importorskip("polars")
if shutil.which("java") is None:
    pytest.skip("Spark needs Java: install a JRE of version 17 or newer", allow_module_level=True)

rng = np.random.default_rng(0)
N = 400
COLUMNS = {
    "text": [None, *rng.choice(["a", "A", "ä", "Ä", "it's", "a "], N - 1).tolist()],
    "yes": rng.choice(["yes", "no"], N).tolist(),
    "region": rng.choice(["north", "south"], N).tolist(),
    "code": rng.integers(0, 3, N).tolist(),
    "count": rng.integers(0, 9, N).tolist(),
    "x.y": [None, float("nan"), float("inf"), -1.0, *rng.gamma(2.0, 1.5, N - 4).tolist()],
    "wage": rng.normal(30, 12, N).tolist(),
}
TYPES = "text string, yes string, region string, code tinyint, count bigint, `x.y` double, wage double"
TEXTS = ("a", "A", "ä", "Ä", "it's", "a ")
FAMILIES = [
    Bernoulli("yes", "yes"), Bernoulli("text", "a"), Bernoulli("text", "A", [t for t in TEXTS if t != "A"]),
    Bernoulli("code"), Bernoulli("code", 2, [0, 1]), Categorical(TEXTS, "text"),
    Categorical(3, "code"), Poisson((1, 5), "count"), Geometric(Redact(1, 5), "count"),
    Exponential(Redact(0.5, 6.0), "x.y"), Normal((0.5, 6.0), column="x.y"),
    Pareto((0.5, 6.0), 0.25, "x.y"), Weibull(Redact(0.5, 6.0), 1.7, "x.y"), LogNormal((0.5, 6.0), column="x.y"),
    GammaData(Clip(0.5, 6.0), column="x.y"),
    NaiveBayes(("text", list(TEXTS)), {"yes": ["yes", "no"], "code": 3}),
    LinearRegression(covariates={"count": (0, 9), "region": ["north", "south"]}, response={"wage": (0, 60)}),
    HiddenMarkov(states=2, chain=("region", ["north", "south"]), step=("code", [0, 1, 2]),
                 features={"text": list(TEXTS)}),
]  # fmt: skip
ROUNDED = (Pareto, Weibull, LogNormal, GammaData)  # a logarithm or a power: one step of the grid a record


@pytest.fixture(scope="module")
def spark():
    "Spark on two cores of this machine, bound to it alone."
    os.environ["PYSPARK_PYTHON"] = sys.executable
    settings = {"spark.driver.bindAddress": "127.0.0.1", "spark.driver.host": "127.0.0.1", "spark.ui.enabled": "false",
                "spark.sql.shuffle.partitions": "2",
                "spark.ui.showConsoleProgress": "false"}  # fmt: skip
    session = pyspark.SparkSession.builder.master("local[2]").appName("tests").config(map=settings).getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()


def table(spark, types=TYPES):
    "The columns as a Spark frame."
    return spark.createDataFrame(list(zip(*COLUMNS.values())), types)


def row(family, data):
    "The query's row, without the texts that have no name."
    return run_query(family, data, 0 if family.integer else 20)


@pytest.fixture(scope="module")
def expected():
    "The rows on polars."
    frame = pl.DataFrame(COLUMNS)
    return {family: row(family, frame) for family in FAMILIES}


OFTEN = (1, 5, 7, 9, 13, 15, 16, 17)  # a query of each kind: texts, whole numbers, reals, logarithms, several columns


@pytest.mark.parametrize("family", [family if k in OFTEN else pytest.param(family, marks=pytest.mark.slow)
                                    for k, family in enumerate(FAMILIES)],
                         ids=lambda family: f"{FAMILIES.index(family)} {type(family).__name__}")
def test_spark_gives_the_same_integers(family, spark, expected):
    found = row(family, table(spark))
    assert found.keys() == expected[family].keys()
    apart = N if isinstance(family, ROUNDED) else 0
    assert {name: value for name, value in found.items()
            if abs(value - expected[family][name]) > (apart if name.startswith("sum_") else 0)} == {}


def test_a_collation_of_spark_does_not_make_levels_overlap(spark, expected):
    collated = table(spark, TYPES.replace("text string", "text string collate UNICODE_CI_AI"))
    collated.createOrReplaceTempView("collated")
    # it is at work
    assert spark.sql("select sum(cast(text = 'a' as int)) from collated").first()[0] > COLUMNS["text"].count("a")
    for family in (FAMILIES[2], FAMILIES[5], FAMILIES[15]):
        assert row(family, collated) == expected[family]


def test_spark_counts_dates_as_other_engines_do_and_refuses_times_of_its_own_zone(spark):
    days = spark.sql("select explode(sequence(date'2023-11-15', date'2024-05-15')) as day")
    family = DateHistogram("2024-01", "2024-04", column="day")
    assert exact_sums(family, days).integers == (47, 31, 29, 31, 30, 15)
    at_night = days.selectExpr("cast(day as timestamp_ntz) + interval 23 hours as day")
    assert exact_sums(family, at_night).integers == (47, 31, 29, 31, 30, 15)
    with pytest.raises(ValueError, match="dates without time zone, got 'Datetime with a time zone'"):
        exact_sums(family, days.selectExpr("cast(day as timestamp) as day"))


def test_spark_does_not_quote_a_record(spark, capfd):
    word = "Qzmarker"
    texts = spark.createDataFrame([(word, Decimal("1.5"), [word])], "x string, d decimal(9,2), a array<string>")
    fails = [texts.selectExpr("cast(x as int) as x"), texts.selectExpr("raise_error(x) as x"),
             texts.selectExpr("a as x"), texts.selectExpr("x", "x as X"), texts,
             # fmt: skip
             texts.selectExpr("to_date(x) as x"), texts.selectExpr("cast(assert_true(x = '1') as int) as x")]
    for frame in fails:
        with pytest.raises(ValueError) as refused:
            run_query(Bernoulli("x"), frame, 0)
        error = refused.value
        assert word not in f"{error} {error!r} {vars(error)}" and error.__cause__ is None and error.__context__ is None
    assert word not in "".join(capfd.readouterr())


@pytest.mark.parametrize("person", [
    pytest.param(Person("count", combine={"wage": "sum", "region": "first"}), marks=pytest.mark.slow),
    Person("text", combine={"wage": "mean", "region": ["south", "north"]}),
    Person("count", rows=3), pytest.param(Person("text", rows=2), marks=pytest.mark.slow)], ids=str)
def test_spark_gives_the_same_integers_of_persons(person, spark):
    "A person is not a row: a column of few values says here whose a row is."
    family = Grouped(Exponential((0.0, 300.0), "wage"), "region", ["north", "south"])
    kept = [k for k, text in enumerate(COLUMNS["text"]) if text is not None and COLUMNS["wage"][k] >= 0]
    columns = {name: [values[k] for k in kept] for name, values in COLUMNS.items()}
    frame = spark.createDataFrame(list(zip(*columns.values())), TYPES)
    found, expected = (exact_sums(family, data, grid_exponent=20, person=person, empty=True)
                       for data in (frame, pl.DataFrame(columns)))
    assert found == expected and found.n > 5
    if person.column == "text":
        with pytest.raises(ValueError, match="got rows without a value"):
            exact_sums(family, table(spark), grid_exponent=20, person=person)


SOME = {"yes": ["yes", "no"], "region": ["north", "south"], "code": 3}
OF_SEVERAL = {"groups": Grouped(Poisson((1, 5), "count"), "region", ["north", "south"]),
              "groups of known sizes": Grouped(Bernoulli("code"), "region", ["north", "south"], sizes="public"),
              "groups by two columns": Grouped(Categorical(3, "code"), ("region", "yes"),
                                               {"region": ["north", "south"], "yes": ["yes", "no"]}),
              "margins of pairs": LogLinear(SOME, margins=2),
              "margins, the text too": LogLinear({"text": list(TEXTS), **SOME}, margins=[("text", "yes"), ("region",),
                                                                                        ("code", "yes")])}


@pytest.mark.parametrize("what", [pytest.param(what, marks=pytest.mark.slow) if what == "groups" else what
                                  for what in OF_SEVERAL])
def test_spark_gives_the_same_integers_of_groups_and_margins(what, spark):
    "One query for all groups, and for all tables; a text that is missing stands for a level."
    model = OF_SEVERAL[what]
    options = {"missing_as": {"text": "a"}} if "text" in what else {}
    columns = COLUMNS if "code" not in [c.name for c in model.columns] or "margins" in what else {
        **COLUMNS, "code": [min(value, 1) for value in COLUMNS["code"]]}
    frame = spark.createDataFrame(list(zip(*columns.values())), TYPES)
    found, expected = (exact_sums(model, data, **options) for data in (frame, pl.DataFrame(columns)))
    assert found == expected and sum(found.sizes or (found.n,)) == N
    if what == "margins of pairs":  # by hand, from the columns
        counts = [sum(a == y and b == r for a, b in zip(COLUMNS["yes"], COLUMNS["region"]))
                  for y in SOME["yes"] for r in SOME["region"]]
        assert list(found.integers[:4]) == counts


@pytest.mark.parametrize("what", [
    pytest.param("groups", marks=pytest.mark.slow), "margins of pairs", "persons"])
def test_a_release_of_a_spark_table_is_the_sums_and_noise(what, spark):
    "The whole of `release`: at a budget that is no protection, the numbers are the sums to a few parts."
    options = dict(person="count", combine={"wage": "sum"}) if what == "persons" else {}
    model = Exponential((0.0, 1000.0), "wage") if what == "persons" else OF_SEVERAL[what]
    columns = {**COLUMNS, "wage": [abs(value) for value in COLUMNS["wage"]]}
    frame = spark.createDataFrame(list(zip(*columns.values())), TYPES)
    with pytest.warns(UserWarning):
        found = [release(model, data, epsilon=50.0, **options) for data in (frame, pl.DataFrame(columns))]
    assert found[0].n == found[1].n and found[0].names == found[1].names
    apart = np.abs(found[0].values - found[1].values) / np.asarray(found[0].noise.scale)
    assert apart.max() < 2 * 30  # two draws of Laplace noise: beyond 30 scales once in 10^12
    assert found[0].noise.scale[0] == found[1].noise.scale[0] and found[0].person == found[1].person
