"""A real Dask cluster on this machine, two processes, gives the integers of the other engines: sums, groups, margins,
and persons. Where `distributed` is not installed, Dask's own scheduler of processes stands for it.
"""

import subprocess
import sys
from importlib.util import find_spec

import numpy as np
import pytest

from dp_bayes_nb import Exponential, Grouped, LogLinear, Normal, Person, Poisson, release
from dp_bayes_nb.data_holder.sums import exact_sums

dask = pytest.importorskip("dask")
dd = pytest.importorskip("dask.dataframe")
pd = pytest.importorskip("pandas")
pytest.importorskip("pyarrow")

N, PARTS = 600, 4
rng = np.random.default_rng(0)
VISITS = pd.DataFrame({"id": rng.integers(0, 150, N), "region": rng.choice(["north", "south", "east"], N),
                       "sex": rng.choice(["f", "m"], N), "age": rng.integers(0, 4, N),
                       "spent": np.round(rng.exponential(80, N), 2)})
REGIONS = ["north", "south", "east"]
SPENT = Exponential((0, 200), "spent")
CASES = {
    "a sum": (SPENT, None), "two sums": (Normal((0, 200), column="spent"), None),
    "counts": (Poisson((0, 2), "age"), None),
    "groups": (Grouped(SPENT, "region", REGIONS), None),
    "groups of known sizes": (Grouped(SPENT, "region", REGIONS, sizes="public"), None),
    "margins": (LogLinear({"sex": ["f", "m"], "age": 4, "region": REGIONS}, margins=2), None),
    "persons, combined": (SPENT, Person("id", combine="sum")),
    "persons, two rows": (SPENT, Person("id", rows=2)),
    "persons in groups": (Grouped(SPENT, "region", REGIONS),
                          Person("id", combine={"spent": "mean", "region": REGIONS})),
    "persons in margins": (LogLinear({"sex": ["f", "m"], "age": 4}, margins=2), Person("id", rows=3)),
}


@pytest.fixture(scope="module")
def cluster():
    "Two processes of this machine, at work for all tests of this file."
    if find_spec("distributed") is None:
        with dask.config.set(scheduler="processes", num_workers=2):
            yield None
        return
    from distributed import Client, LocalCluster
    with LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0",
                      host="127.0.0.1") as started, Client(started) as client:
        yield client


@pytest.fixture(scope="module")
def visits(cluster, tmp_path_factory):
    "The table as a folder of Parquet files, read by Dask."
    folder = tmp_path_factory.mktemp("visits")
    for k, part in enumerate(np.array_split(np.arange(N), PARTS)):
        VISITS.iloc[part].to_parquet(folder / f"part-{k}.parquet")
    return dd.read_parquet(folder)


def sums(model, data, person):
    return exact_sums(model, data, grid_exponent=0 if model.integer else 20, person=person,
                      empty=person is not None and person.rows is not None)


OFTEN = ("two sums", "groups", "margins", "persons, two rows", "persons in groups")  # a query of each kind


@pytest.mark.parametrize("case", [case if case in OFTEN else pytest.param(case, marks=pytest.mark.slow)
                                  for case in CASES])
def test_a_cluster_gives_the_same_integers(case, visits):
    "As pandas on one machine, whatever piece a row stands in; a person's rows stand in several."
    model, person = CASES[case]
    assert visits.npartitions == PARTS
    found, expected = (sums(model, data, person) for data in (visits, VISITS))
    assert found == expected and found.n > 100


def test_rows_of_a_person_that_are_not_brought_together_would_be_kept_twice(visits):
    "The mutant: each piece keeps two rows of a person by itself."
    model, person = CASES["persons, two rows"]
    pieces = [sums(model, visits.partitions[k].compute(), person) for k in range(PARTS)]
    assert sum(each.n for each in pieces) > sums(model, VISITS, person).n


def test_the_work_is_done_in_the_processes_of_the_cluster(visits, cluster):
    "Each piece is read where it is: not in this process."
    if cluster is None:
        pytest.skip("without distributed, processes come and go")
    import os
    where = visits.map_partitions(lambda part: pd.DataFrame({"pid": [os.getpid()]}), meta={"pid": "int64"}).compute()
    assert os.getpid() not in set(where["pid"]) and set(where["pid"]) <= {*cluster.run(os.getpid).values()}


def test_a_release_of_a_cluster_is_the_sums_and_noise(visits):
    "The whole of `release`, at a budget that is no protection."
    model, person = CASES["persons in groups"]
    with pytest.warns(UserWarning):
        found = [release(model, data, epsilon=50.0, person=person) for data in (visits, VISITS)]
    assert found[0].names == found[1].names and found[0].person == person
    apart = np.abs(found[0].values - found[1].values) / np.asarray(found[0].noise.scale)
    assert apart.max() < 2 * 30  # beyond 30 scales once in 10^12


def test_a_partition_of_other_types_is_refused_where_it_is(visits):
    "One record of a partition must not decide how its others are read; the words come from the processes."
    def other(part, column, value):
        part = part.astype({column: object})
        part.loc[part.index[-1:], column] = value
        return part
    two, all_rows = Person("id", rows=2), Person("id", combine="sum")
    for model, person, column, value in ((CASES["margins"][0], None, "sex", 1), (SPENT, two, "id", "7"),
                                         (SPENT, all_rows, "id", 7.5)):
        mixed = visits.map_partitions(other, column, value, meta=visits._meta)
        with pytest.raises(ValueError, match="partition of Dask has columns of other types than the table"):
            sums(model, mixed, person)


def test_what_is_sent_to_a_cluster_needs_no_package(visits):
    "Processes that lack this package hold their partitions to one type all the same."
    import cloudpickle
    import narwhals as nw
    from dp_bayes_nb.data_holder.columns import spelled_out
    frame, _ = spelled_out(nw.from_native(visits).lazy(), {"spent": "number", "region": "text", "id": "owner"})
    graph = dict(frame.to_native().optimize().__dask_graph__())
    alone = ("import sys; sys.modules['dp_bayes_nb'] = None; import cloudpickle, dask.threaded as threaded; "
             "graph = cloudpickle.load(sys.stdin.buffer); print(sum(map(len, threaded.get(graph, list(graph)))))")
    done = subprocess.run([sys.executable, "-c", alone], input=cloudpickle.dumps(graph), capture_output=True,
                          timeout=300)
    assert done.stdout.split() == [str(N).encode()], done.stderr.decode()[-500:]


def test_a_cluster_does_not_quote_a_record(visits):
    "A fault in a worker comes back with a traceback; the refusal has none of it."
    def spoiled(part):
        raise RuntimeError(f"row of Mrs Smith, {part['spent'].iloc[0]}")
    bad = visits.map_partitions(spoiled, meta=visits._meta)
    with pytest.raises(ValueError) as refused:
        exact_sums(SPENT, bad, grid_exponent=20)
    error = refused.value
    assert "Smith" not in f"{error} {error!r}" and error.__cause__ is None and error.__context__ is None
