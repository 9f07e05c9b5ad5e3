"""Releases of tables on DuckDB, Dask and Spark: 10^6, 10^7 and 10^8 rows of Parquet, in seconds and memory, beside the
engine's own sum. `python benchmarks/clusters.py [ROWS or ENGINE …]` writes results/clusters.json and goes on where it
stopped; each point is a process of its own. Dask runs on a local cluster of two processes where `distributed` is
installed, else on its scheduler of processes; Spark on two cores of this machine.
"""

import json
import os
import platform
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import contextmanager
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path

import duckdb

from dp_bayes_nb.base.files import atomic_write

RESULTS = Path(__file__).resolve().parent.parent / "results" / "clusters.json"
PART, REGIONS, LIMIT = 10**6, ("north", "south", "east", "west"), 1800  # rows a file; seconds a point
PERSONS = 4  # rows a person, on average
POINTS = [(rows, what, engine)
          for rows, kinds in ((10**6, ("sum", "groups", "margins", "persons")),
                              (10**7, ("sum", "groups", "margins", "persons")), (10**8, ("sum", "groups")))
          for engine in ("DuckDB", "Dask", "Spark") for what in kinds]
OWN = {"sum": "select count(*), sum({x}) from t",
       "groups": "select region, count(*), sum({x}) from t group by region",
       "margins": "select age, sex, region, count(*) from t group by grouping sets "
                  "((age, sex), (age, region), (sex, region))",
       "persons": "select count(*), sum(least(y, 2000)) from (select sum(spent) as y from t group by id) as p"}


def write_parts(folder, rows):
    "A table of visits as files of a million rows, the same at each run: whose, where, of what age and sex, how dear."
    connection = duckdb.connect(config={"memory_limit": "2GB", "threads": 2})
    for start in range(0, rows, PART):
        path = folder / f"part-{start // PART:03}.parquet"
        if not path.exists():
            unit = lambda salt: f"(hash(i * 8 + {salt}) % 1000003 / 1000003.0)"
            levels = ", ".join(f"'{name}'" for name in REGIONS)
            connection.execute(f"""copy (select cast(hash(i) % {rows // PERSONS} as bigint) as id,
                [{levels}][1 + cast(floor(4 * {unit(1)} ** 2) as int)] as region, cast(5 * {unit(2)} - .5 as tinyint)
                as age, cast({unit(3)} > .5 as tinyint) as sex, round(-120 * ln(1 - .999 * {unit(4)}), 2) as spent
                from range({start}, {min(start + PART, rows)}) as r(i)) to '{path}.tmp' (format parquet)""")
            os.replace(f"{path}.tmp", path)


def declared(what):
    "The model of a point, and what else `release` is told."
    import dp_bayes_nb as d
    spent = d.Exponential((0, 500), "spent")
    if what == "margins":
        return d.LogLinear({"age": 6, "sex": 2, "region": list(REGIONS)}, margins=2), {}
    if what == "persons":
        return d.Exponential((0, 2000), "spent"), {"person": "id", "combine": "sum"}
    return (spent if what == "sum" else d.Grouped(spent, "region", list(REGIONS))), {}


@contextmanager
def opened(engine, paths):
    "The table on an engine, and a function that runs the engine's own sum."
    if engine == "DuckDB":
        connection = duckdb.connect(config={"memory_limit": "3GB", "threads": 2})
        t = connection.read_parquet([str(path) for path in paths])
        yield t, lambda what: t.query("t", OWN[what].format(x="least(spent, 500)")).fetchall()
    elif engine == "Spark":
        from pyspark.sql import SparkSession
        os.environ["PYSPARK_PYTHON"] = sys.executable
        settings = {"spark.driver.bindAddress": "127.0.0.1", "spark.driver.host": "127.0.0.1",
                    "spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false", "spark.driver.memory": "2g",
                    "spark.local.dir": str(paths[0].parent)}
        session = SparkSession.builder.master("local[2]").config(map=settings).getOrCreate()
        session.sparkContext.setLogLevel("OFF")
        t = session.read.parquet(*map(str, paths))
        t.createOrReplaceTempView("t")
        yield t, lambda what: session.sql(OWN[what].format(x="least(spent, 500)")).collect()
        session.stop()
    else:
        import dask
        import dask.dataframe as dd
        t = dd.read_parquet([str(path) for path in paths])
        if find_spec("distributed"):
            from distributed import Client, LocalCluster
            with LocalCluster(n_workers=2, threads_per_worker=1, memory_limit="2GiB", dashboard_address=None,
                              local_directory=str(paths[0].parent)) as cluster, Client(cluster):
                yield t, lambda what: own_of_dask(t, what)
        else:
            with dask.config.set(scheduler="processes", num_workers=2):
                yield t, lambda what: own_of_dask(t, what)


def own_of_dask(t, what):
    "The engine's own sum, as a Dask user writes it."
    import dask
    if what == "margins":
        pairs = (["age", "sex"], ["age", "region"], ["sex", "region"])
        return dask.compute(*(t.groupby(pair).size() for pair in pairs))
    if what == "persons":
        each = t.groupby("id")["spent"].sum(split_out=8)
        return dask.compute(each.size, each.clip(upper=2000).sum())
    if what == "groups":
        return t.assign(x=t["spent"].clip(upper=500)).groupby("region")["x"].agg(["count", "sum"]).compute()
    return dask.compute(t["spent"].size, t["spent"].clip(upper=500).sum())


def family_of(root):
    "The processes below one, and itself."
    parents = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parents[int(entry.name)] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            except OSError:
                continue
    found = [root]
    for each in found:
        found += [pid for pid, parent in parents.items() if parent == each]
    return found


def used(root):
    "Megabytes (shared pages counted in shares) and processor seconds of a process and of those below it."
    memory = seconds = 0.0
    for pid in family_of(root):
        try:
            pages = Path(f"/proc/{pid}/smaps_rollup").read_text()
            times = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13]
        except OSError:
            continue
        memory += int(pages.split("Pss:")[1].split()[0]) / 1024
        seconds += sum(map(int, times)) / os.sysconf("SC_CLK_TCK")
    return memory, seconds


def clocked(call):
    "Wall and processor seconds, memory before and the most while it ran, looked at five times a second."
    done, before = threading.Event(), used(os.getpid())
    most = [before[0]]
    def watch():
        while not done.wait(0.2):
            most[0] = max(most[0], used(os.getpid())[0])
    watcher, start = threading.Thread(target=watch), time.perf_counter()
    watcher.start()
    try:
        call()
    finally:
        wall, after = time.perf_counter() - start, used(os.getpid())
        done.set()
        watcher.join()
    return {"seconds": wall, "processor seconds": after[1] - before[1], "MB before": before[0],
            "peak MB": max(most[0], after[0])}


def point(rows, what, engine, folder):
    "One point, in this process: the engine's own sum, a release, and the own sum again."
    import dp_bayes_nb as d
    model, options = declared(what)
    d.release(d.Exponential((0, 500), "spent"), [1.0] * 100, epsilon=1)  # libraries are loaded
    with opened(engine, sorted(Path(folder).glob("part-*.parquet"))) as (table, own):
        first, kept = clocked(lambda: own(what)), []
        ours = clocked(lambda: kept.append(d.release(model, table, epsilon=1, **options)))
        second = clocked(lambda: own(what)) if rows < 10**8 else first
    n = sum(kept[0].n) if isinstance(kept[0].n, (tuple, list)) else kept[0].n
    return {"release": ours, "own sum": min(first, second, key=lambda each: each["processor seconds"]), "n": n,
            "load average": os.getloadavg()[0]}


def rounded(value):
    "Three significant digits of what was measured."
    if isinstance(value, dict):
        return {k: rounded(v) for k, v in value.items()}
    return float(f"{value:.3g}") if isinstance(value, float) else value


def main(words=()):
    engines = {each for each in words if each.isalpha()}
    sizes = {int(float(each)) for each in words if not each.isalpha()}
    found = json.loads(RESULTS.read_text()) if RESULTS.exists() else {"points": {}}
    with tempfile.TemporaryDirectory(prefix="clusters-") as folder:
        for rows, what, engine in POINTS:
            name = f"{engine}, {what}, {rows:.0e}"
            if name in found["points"] or sizes and rows not in sizes or engines and engine not in engines:
                continue
            place = Path(folder) / str(rows)
            place.mkdir(exist_ok=True)
            write_parts(place, rows)
            command = [sys.executable, "-W", "ignore", __file__, "--one", str(rows), what, engine, str(place)]
            try:
                done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT)
                said = json.loads(done.stdout.splitlines()[-1]) if done.returncode == 0 else {
                    "not run": (done.stderr.strip().splitlines() or [f"exit {done.returncode}"])[-1][:200]}
            except subprocess.TimeoutExpired:
                said = {"not run": f"more than {LIMIT} s"}
            found["points"][name] = {"engine": engine, "what": what, "rows": rows, **rounded(said)}
            print(name, found["points"][name], flush=True)
            write(found["points"])


def write(points):
    "The file, with what ran where."
    versions = {name: metadata.version(name) for name in ("duckdb", "dask", "distributed", "pyspark")
                if find_spec(name)}
    about = {"cores": len(os.sched_getaffinity(0)), "python": platform.python_version(), "versions": versions,
             "dask": "a local cluster of two processes" if "distributed" in versions else "the scheduler of processes",
             "epsilon": 1, "rows a file": PART, "rows a person": PERSONS,
             "note": "release: the whole of `release`, from Parquet to the noisy numbers; own sum: the same clipped "
                     "sums or counts by the engine alone, of two runs the cheaper (of 10^8 rows one); memory of all "
                     "processes of the point; a load average above the cores says that other work took part of them, "
                     "so that wall times are longer than alone"}
    atomic_write(RESULTS, json.dumps({"about": about, "points": points}, indent=1) + "\n")


if __name__ == "__main__":
    if "--one" in sys.argv:
        rows, what, engine, folder = sys.argv[sys.argv.index("--one") + 1:]
        print(json.dumps(point(int(rows), what, engine, folder)))
    else:
        main(sys.argv[1:])
