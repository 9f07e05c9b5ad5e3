"""The one query of a release against the engine's own sums: a regression with ten covariates."""

import tempfile
import time
import warnings
from pathlib import Path

import dask.dataframe as dd
import duckdb
import narwhals as nw
import numpy as np
import polars as pl
from table import record

from dp_bayes_nb.regression.model import LinearRegression
from dp_bayes_nb.data_holder.sums import exact_sums, run_query

K, G, ROUNDS, TARGET = 10, 20, 2, 6.0
warnings.filterwarnings("ignore", "Dask support is moving", FutureWarning)
COLUMNS = [*(f"x{j}" for j in range(K)), "y"]
FAMILY = LinearRegression({name: (-1, 1) for name in COLUMNS[:-1]}, {"y": (-1, 1)})


class InPlace(LinearRegression):
    "The query of version 0.1.0: clipped columns written out in every sum, integers and faults in one query."

    def staged(self, x):
        return list(self.statistic(x))

    def combined(self, v):
        return tuple(v)

    def statistic(self, x):
        return LinearRegression.combined(self, LinearRegression.staged(self, x))


IN_PLACE = InPlace(FAMILY.covariates, FAMILY.response)


def own(data):
    "The engine's own sums of the columns and of their products."
    v = [nw.col(name) for name in COLUMNS]
    sums = v + [v[i] * v[j] for i in range(K + 1) for j in range(i, K + 1)]
    asked = nw.from_native(data).lazy().select(*[t.sum().alias(f"sum_{j}") for j, t in enumerate(sums)])
    if isinstance(data, duckdb.DuckDBPyRelation):
        return asked.to_native().fetchall()
    return asked.collect(**({"engine": "streaming"} if isinstance(data, pl.LazyFrame) else {}))


def measure(data, rounds):
    "Seconds of each way, in turn, the least of the rounds; the integers are checked to be the same."
    ways = {
        "old": lambda: run_query(IN_PLACE, data, G),
        "new": lambda: exact_sums(FAMILY, data, grid_exponent=G),
        "own": lambda: own(data),
    }
    seconds = {name: [] for name in ways}
    for _ in range(rounds):
        for name, way in ways.items():
            start = time.perf_counter()
            found = way()
            seconds[name].append(time.perf_counter() - start)
            if name == "old":
                integers = tuple(found[f"sum_{j}"] for j in range(len(FAMILY.names)))
            elif name == "new":
                assert found.integers == integers
    return {name: float(np.min(values)) for name, values in seconds.items()}


def main():
    rows = {}
    with tempfile.TemporaryDirectory() as folder:
        for n, rounds in ((10**6, ROUNDS), (10**7, 1)):
            path, connection = Path(folder) / f"{n}.parquet", duckdb.connect()
            drawn = ", ".join(f"2 * random() - 1 as {name}" for name in COLUMNS)
            connection.execute(
                f"select setseed(0.5); copy (select {drawn} from range({n})) to '{path}' (format parquet)"
            )
            engines = {"DuckDB": connection.read_parquet(str(path))}
            if n == 10**6:
                memory = pl.read_parquet(path)
                engines |= {
                    "polars": pl.scan_parquet(path),
                    "polars, in memory": memory.lazy(),
                    "Dask": dd.from_pandas(memory.to_pandas(), npartitions=4),
                }
            for name, data in engines.items():
                s = measure(data, rounds)
                rows[f"{name}, n = {n:.0e}"] = {
                    "old / new": s["old"] / s["new"],
                    "new / own": s["new"] / s["own"],
                    "old / own": s["old"] / s["own"],
                    "target, new / own": TARGET,
                }
    record(
        "sums",
        rows,
        f"{len(FAMILY.names)} sums of a regression with {K} covariates: the query of a release (new), that of version "
        f"0.1.0 (old), "
        "and the engine's own sums of columns and products; the same integers; least of the rounds, in turn",
    )


if __name__ == "__main__":
    main()
