"""Queries of Tumult Analytics on made-up tables, with the noise that its session states: into tumult.json.

`make peers` runs this where Tumult is installed and this package is not; tests/peers/reads.py reads the file elsewhere.
"""

import json
import os
import sys

os.environ["PYSPARK_PYTHON"] = sys.executable

import pandas as pd  # noqa: E402
from pyspark.sql import SparkSession  # noqa: E402
from tmlt.analytics import AddOneRow, KeySet, PureDPBudget, QueryBuilder, RhoZCDPBudget, Session  # noqa: E402
from tmlt.analytics._noise_info import _inverse_cdf  # noqa: E402

GROUPS = [f"g{k}" for k in range(400)]
settings = {"spark.ui.enabled": "false", "spark.sql.shuffle.partitions": "1", "spark.driver.host": "localhost",
            "spark.driver.bindAddress": "127.0.0.1"}
builder = SparkSession.builder.master("local[1]")
for name, value in settings.items():
    builder = builder.config(name, value)
spark = builder.getOrCreate()
spark.sparkContext.setLogLevel("ERROR")

# 20 people in each group; 6 of them smoke, and each spent 3.0 hours.
people = pd.DataFrame({"region": GROUPS * 20, "smokes": [1] * 2400 + [0] * 5600, "hours": 3.0})
by_region = QueryBuilder("people").groupby(KeySet.from_dict({"region": GROUPS}))
queries = {
    "counts, pure": (PureDPBudget(1 / 3), by_region.count(name="people"), "people", 20),
    "counts, zCDP": (RhoZCDPBudget(1 / 18), by_region.count(name="people"), "people", 20),
    "whole sums, pure": (PureDPBudget(1 / 3), by_region.sum("smokes", 0, 1, name="smokers"), "smokers", 6),
    "sums of fractions, pure": (PureDPBudget(1), by_region.sum("hours", 0, 8, name="hours"), "hours", 60),
    "sums of fractions, zCDP": (RhoZCDPBudget(1), by_region.sum("hours", 0, 8, name="hours"), "hours", 60),
    "a mean": (PureDPBudget(1), QueryBuilder("people").average("hours", 0, 8, name="hours"), "hours", None),
    "a quantile": (PureDPBudget(1), QueryBuilder("people").quantile("hours", 0.5, 0, 8, name="hours"), "hours", None),
}
found = {}
for name, (budget, query, column, truth) in queries.items():
    session = Session.from_dataframe(budget, "people", spark.createDataFrame(people), AddOneRow())
    info = session._noise_info(query, budget)
    told = [{"noise_mechanism": each["noise_mechanism"].name, "noise_parameter": float(each["noise_parameter"])}
            for each in info]
    found[name] = {"info": told, "column": column, "truth": truth}
    if truth is not None:
        found[name] |= {"table": session.evaluate(query, budget).toPandas().to_dict("list"), "upper": None}
        if info[0]["noise_mechanism"].name != "GAUSSIAN":  # tmlt.core has no quantile of it
            found[name]["upper"] = float(_inverse_cdf(info[0], 0.975))
with open("tumult.json", "w", encoding="utf-8") as file:
    json.dump(found, file)
spark.stop()
