"""A marker in every cell of every kind of table: no refusal, warning, log or output of the command shows it."""

import contextlib
import csv
import gzip
import io
import logging
import random
import warnings
from decimal import Decimal

import numpy as np
import pytest

from dp_bayes_nb import LinearRegression, NaiveBayes, release
from dp_bayes_nb.cli import main
from dp_bayes_nb.app.counter import Session
from dp_bayes_nb.models.counts import Bernoulli, Categorical
from dp_bayes_nb.data_holder.sums import UnitMean, exact_sums

dd = pytest.importorskip("dask.dataframe")
ibis = pytest.importorskip("ibis")
pa = pytest.importorskip("pyarrow")
pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")
duckdb = pytest.importorskip("duckdb")

WORD, DIGITS = "Qzmarker", "98765"
SECRETS = {
    "word": [f"{WORD} {i}" for i in range(4)],
    "words and levels": ["a", f"{WORD}", "b", "yes"],
    "surrogate": ["a", f"{WORD}\udcff", "b", "a"],
    "number": [int(f"{DIGITS}{i}") for i in range(4)],
    "huge": [0, int(DIGITS * 20), 1, -int(DIGITS * 9)],
    "real": [float(f"0.{DIGITS}{i}1") for i in range(4)],
    "infinite": [float(f"{DIGITS}.5"), float("inf"), float("nan"), 1.0],
    "mixed": [1, f"{WORD}", None, 2.5],
    "bytes": [b"a", WORD.encode(), b"\xff" + WORD.encode(), None],
    "nested": [[WORD], [f"{WORD}2"], [], None],
    "records": [{"name": WORD}, {"name": DIGITS}, {}, None],
    "dates": [np.datetime64(f"{DIGITS[:4]}-01-0{i + 1}") for i in range(4)],
    "decimals": [Decimal(f"{DIGITS}.{i}") for i in range(4)],
    "objects": [type(WORD, (), {"__repr__": lambda self: WORD, "__str__": lambda self: WORD,
                                "__float__": lambda self: float(WORD)})() for _ in range(4)],
    "missing": [None, WORD, None, None],
    "flags": [True, f"{WORD}", False, None],
}  # fmt: skip


def failing(frame):
    "A step of a lazy plan whose error quotes a record."
    raise ValueError(f"cannot convert {frame!r} {WORD}")


def lazy_duckdb(frame):
    "A relation with a conversion that fails and quotes when it runs."
    relation = duckdb.connect().from_arrow(pa.table({"x": [f"{WORD}", "1"], "y": [f"{WORD}", "2"]}))
    return relation.project("x::int as x, y::int as y")


def ibis_failing(frame):
    "The same with Ibis."
    table = ibis.memtable(pa.table({"x": [f"{WORD}", "1"], "y": [f"{WORD}", "2"]}))
    return table.mutate(x=table.x.cast("int"), y=table.y.cast("int"))


KINDS = {
    "pandas": lambda v: pd.DataFrame({"x": v, "y": v}),
    "pandas object": lambda v: pd.DataFrame({"x": pd.Series(v, dtype=object), "y": pd.Series(v, dtype=object)}),
    "pandas string": lambda v: pd.DataFrame({"x": v, "y": v}).astype("string"),
    "pandas category": lambda v: pd.DataFrame({"x": v, "y": v}).astype("category"),
    "pandas nullable": lambda v: pd.DataFrame({"x": v, "y": v}).convert_dtypes(),
    "pandas twice": lambda v: pd.DataFrame([[a, a] for a in v], columns=["x", "x"]),
    "pandas other names": lambda v: pd.DataFrame({"u": v, "w": v}),
    "pandas series": lambda v: pd.Series(v, name="x"),
    "polars": lambda v: pl.DataFrame({"x": v, "y": v}, strict=False),
    "polars object": lambda v: pl.DataFrame({"x": pl.Series(v, dtype=pl.Object), "y": pl.Series(v, dtype=pl.Object)}),
    "polars lazy": lambda v: pl.LazyFrame({"x": v, "y": v}, strict=False),
    "polars fails": lambda v: pl.LazyFrame({"x": list(map(repr, v)),
                                            "y": list(map(repr, v))}).select(pl.all().cast(pl.Int64)),
    "polars python": lambda v: pl.LazyFrame({"x": list(map(repr, v)), "y": list(map(repr, v))}).map_batches(failing),
    "polars series": lambda v: pl.Series("x", v, strict=False),
    "pyarrow": lambda v: pa.table({"x": pa.array(v), "y": pa.array(v)}),
    "pyarrow twice": lambda v: pa.Table.from_arrays([pa.array(v)] * 2, names=["x", "x"]),
    "pyarrow chunked": lambda v: pa.chunked_array([pa.array(v)]),
    "duckdb": lambda v: duckdb.connect().from_arrow(pa.table({"x": pa.array(v), "y": pa.array(v)})),
    "duckdb fails": lazy_duckdb,
    "ibis": lambda v: ibis.memtable(pa.table({"x": pa.array(v), "y": pa.array(v)})),
    "ibis fails": ibis_failing,
    "ibis polars": lambda v: ibis.polars.connect({"t": pl.DataFrame({"x": v, "y": v}, strict=False)}).table("t"),
    "dask": lambda v: dd.from_pandas(pd.DataFrame({"x": pd.Series(v, dtype=object), "y": pd.Series(v, dtype=object)}),
                                     npartitions=2),
    "dask fails": lambda v: dd.from_pandas(pd.DataFrame({"x": v, "y": v}), npartitions=2).map_partitions(failing,
    meta={"x": "f8", "y": "f8"}),
    "numpy": lambda v: np.array(v),
    "numpy object": lambda v: np.array(v + [None], dtype=object)[:-1],
    "numpy columns": lambda v: np.array([[a, a] for a in v], dtype=object),
    "numpy structured": lambda v: np.array([(WORD, 1.0)], dtype=[("x", "U20"), ("y", float)]),
    "masked": lambda v: np.ma.masked_array(np.array([0.5, 98765.0]), [False, True]),
    "list": lambda v: list(v),
    "tuple": lambda v: tuple(v),
    "pairs": lambda v: [(a, a) for a in v],
    "ragged": lambda v: [[a] * (i + 1) for i, a in enumerate(v)],
    "dict": lambda v: {"x": v, "y": v},
    "generator": lambda v: (a for a in v),
    "a value": lambda v: v[1],
    "the text of a file": lambda v: "x,y\n" + "".join(f"{a!r:.50},{a!r:.50}\n" for a in v),
    "the bytes of a file": lambda v: ("x,y\n" + "".join(f"{a!r:.50},{a!r:.50}\n" for a in v)).encode(),
}
FAMILIES = [Bernoulli("x"), Bernoulli("x", "yes"), Bernoulli("x", "yes", "no"), Bernoulli(),
            Categorical(("a", "b"), "x"), Categorical(3, "x"), Categorical(("a", "b")),
            UnitMean("x"), UnitMean("elsewhere"), NaiveBayes(("x", ["a", "b"]), {"y": ["u", "v"]}),
            NaiveBayes(("x", 2), {"y": 3}),
            LinearRegression(covariates={"x": (0, 1)}, response={"y": (0, 1)})]  # fmt: skip


def said(error, seen=None):
    "All that an exception carries: words, arguments, attributes, and the exceptions behind it."
    seen = seen if seen is not None else set()
    if error is None or id(error) in seen:
        return ""
    seen.add(id(error))
    parts = [str(error), repr(error), repr(error.args), repr(vars(error))]
    for name in dir(error):
        if not name.startswith("__") or name == "__notes__":
            value = getattr(error, name, None)
            parts.append("" if callable(value) else repr(value))
    behind = [error.__cause__, error.__context__, *getattr(error, "exceptions", ())]
    return " ".join(parts + [said(other, seen) for other in behind])


def secret_in(text):
    "Does a text show a record?"
    return WORD in text or DIGITS in text


@contextlib.contextmanager
def everything_heard():
    "Warnings, logs and printed output, as one text."
    heard, log = [], io.StringIO()
    handler = logging.StreamHandler(log)
    logging.getLogger().addHandler(handler)
    out = io.StringIO()
    try:
        with warnings.catch_warnings(record=True) as caught, contextlib.redirect_stdout(
            out), contextlib.redirect_stderr(out):
            warnings.simplefilter("always")
            yield heard
    finally:
        logging.getLogger().removeHandler(handler)
        heard.append(" ".join([log.getvalue(), out.getvalue(), *(str(w.message) for w in caught)]))


def attempt(call):
    "What a call lets out: exception, warnings, logs, output; and whether it refused."
    error = None
    with everything_heard() as heard:
        try:
            result = repr(call())
        except Exception as caught:
            error, result = caught, ""
    if error is not None:
        assert isinstance(error, ValueError), (type(error), str(error)[:200])
    return result + heard[0] + said(error), error is not None


def leaks(cases):
    "The cases that show a record, and how many refused."
    found, refused = [], 0
    for name, call in cases:
        text, no = attempt(call)
        refused += no
        if secret_in(text):
            found.append((name, text[:300]))
    return found, refused


def frames(rng, families):
    "Every kind of table with every kind of cell, some families each."
    for kind, make in KINDS.items():
        for secret, values in SECRETS.items():
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                try:
                    data = make(values)
                except Exception:  # this kind cannot hold that
                    continue
            for family in rng.sample(FAMILIES, families):
                missing = rng.choice(["error", "drop"])
                yield (kind, secret, family), lambda data=data, family=family, missing=missing: exact_sums(family, data,
                    missing=missing)


@pytest.mark.parametrize("families", [1, pytest.param(12, marks=pytest.mark.slow)])
def test_no_table_in_memory_leaks(families):
    found, refused = leaks(frames(random.Random(0), families))
    print(f"\n{refused} refusals")
    assert refused > 250 * families
    assert found == []


def texts_of_files(rng):
    "Contents of CSV files with a fault, the marker in every cell."
    row = [WORD, f"{WORD} 2", DIGITS]
    rows = [row] * 3
    out = io.StringIO()
    csv.writer(out).writerows(rows)
    plain = "x,y,z\n" + "".join(",".join(r) + "\n" for r in rows)
    yield from {"good": plain, "no header": out.getvalue(), "no header, crlf": plain.split("\n", 1)[1],
                "ragged": plain + f"{WORD}\n", "wide": plain + f"{WORD},1,2,{DIGITS}\n",
                "quote": plain + f'"{WORD},1,2\n', "inner quote": plain + f'{WORD}"s,1,2\n',
                "after": plain + f'"{WORD}"s,1,2\n', "escape": plain + f'"{WORD}\\"",1,2\n',
                "CR": plain + f"{WORD}\r{DIGITS},1,2\n", "NUL": plain + f"{WORD}\0,1,2\n",
                "blank": plain + "\n" + plain, "twice": f"{WORD},{WORD},x\n1,2,3\n",
                "folded": f'"{WORD}\n2",x,y\n1,2,3\n', "semicolons": plain.replace(",", ";"),
                "semicolon names": f"{WORD};{DIGITS}\n1;2\n", "tabs": plain.replace(",", "\t"),
                "one column": f"x\n{WORD}\n{DIGITS}\n", "one column, no header": f"{WORD}\n{WORD} 2\n{WORD}\n",
                "numbers first": f"{DIGITS},{DIGITS}1\n{DIGITS}2,{DIGITS}3\n",
                "near": f"X,{WORD},{DIGITS}\n1,2,3\n", "near, blank": f" x,{WORD},y\n1,2,3\n",
                "partly": f"x,{WORD},{DIGITS}\na,b,c\n", "first only": f"{WORD},{DIGITS}",
                # fmt: skip
                "long": plain + WORD * 40_000 + ",1,2\n", "numbers": f"x,y\n1,{DIGITS}\n{WORD},2\n",
                "a third": f"x,y\nyes,u\nno,{WORD}\n{WORD},v\n"}.items()


def files(folder, rng, families):
    "Files with a fault, as CSV in several encodings, compressed, cut short, and as Parquet."
    for name, text in texts_of_files(rng):
        raw = text.encode()
        packed = gzip.compress(raw)
        shapes = {"t.csv": raw, "bom.csv": b"\xef\xbb\xbf" + raw,
                  "latin.csv": raw + f"{WORD}\xe9,1,2\n".encode("latin-1"), "t16.csv": text.encode("utf-16"),
                  # fmt: skip
                  "t.csv.gz": packed, "cut.csv.gz": packed[:-9], "none.csv.gz": raw, "tail.csv.gz": packed + raw,
                  "t.parquet": raw}
        for shape, content in shapes.items():
            path = folder / f"{name.replace(' ', '_')}_{shape}"
            path.write_bytes(content)
            yield from ((name, shape, family, path) for family in rng.sample(FAMILIES, families))
    for secret in ("word", "words and levels", "number", "real", "nested", "dates", "mixed", "bytes"):
        path = folder / f"{secret.replace(' ', '_')}.parquet"
        try:
            pl.DataFrame({"x": SECRETS[secret], "y": SECRETS[secret]}, strict=False).write_parquet(path)
        except Exception:
            continue
        whole = path.read_bytes()
        for end in (len(whole), len(whole) - 5, len(whole) // 2, 8):
            part = path.with_name(f"{end}_{path.name}")
            part.write_bytes(whole[:end])
            damaged = path.with_name(f"damaged_{part.name}")
            damaged.write_bytes(whole[: end // 2] + b"\xff" * 20 + whole[end // 2 + 20 :])
            yield from ((secret, kind.name, family, kind) for kind in (part, damaged)
                        for family in rng.sample(FAMILIES, families))


@pytest.mark.parametrize("families", [1, pytest.param(12, marks=pytest.mark.slow)])
def test_no_file_leaks(families, tmp_path):
    cases = (((name, shape, family), lambda family=family, path=path: exact_sums(family, path))
             for name, shape, family, path in files(tmp_path, random.Random(1), families))
    found, refused = leaks(cases)
    print(f"\n{refused} refusals")
    assert refused > 200 * families
    assert found == []


def test_no_upload_leaks(tmp_path):
    session, cases = Session(), []
    for name, text in texts_of_files(random.Random(2)):
        for content in (text.encode(), text.encode() + f"{WORD}\xff".encode("latin-1"), text.encode("utf-16"),
                        gzip.compress(text.encode())):
            cases.append((name, lambda content=content: session.upload(content).n))
    found, refused = leaks(cases)
    assert refused > 60 and found == []
    session.close()


def test_no_output_of_the_command_leaks(tmp_path):
    toml = {'family = "Bernoulli"\ncolumn = "x"\nsuccess = "yes"\n', 'family = "Bernoulli"\n',
            'family = "Categorical"\ncolumn = "y"\nk = 3\n'}
    cases = []
    for j, declared in enumerate(sorted(toml)):
        (tmp_path / f"{j}.toml").write_text(declared)
    for j, (name, shape, _, path) in enumerate(files(tmp_path, random.Random(3), 1)):
        words = ["release", path, "--family", tmp_path / f"{j % 3}.toml", "--epsilon", "1", "--output",
                 tmp_path / f"{j}.json"]
        cases.append(((name, shape), lambda words=words: main([str(w).replace(WORD, "") for w in words])))
    found, _ = leaks(cases[::3])
    assert found == []



class Quoting(UnitMean):
    "A family of one's own whose error quotes what it sees."

    def valid(self, x):
        raise TypeError(f"{WORD}: {x}")


def test_a_release_and_a_family_of_ones_own_do_not_leak():
    frame = pd.DataFrame({"x": pd.Series(SECRETS["surrogate"], dtype=object)})
    found, refused = leaks([("release", lambda: release(Categorical(("a", "b"), "x"), frame, epsilon=1.0)),
                            ("own", lambda: exact_sums(Quoting("x"), [0.5]))])
    assert found == [] and refused == 2


def test_the_check_sees_a_leak():
    "The mutant: the engine's own exception, as it is and as the context of a harmless one."
    def chained():
        try:
            "a\udcff".join([WORD, WORD]).encode()
        except UnicodeEncodeError:
            raise ValueError("harmless") from None

    for call in (lambda: duckdb.connect().execute(f"select cast('{WORD}' as int)").fetchall(), lambda: failing("x"),
                 chained):
        with pytest.raises((AssertionError, ValueError)):
            assert not leaks([("mutant", lambda call=call: call())])[0]
            raise RuntimeError("not seen")


# Error reporters walk the frames of a traceback and show local variables.
SECRET, HELD = 31_337, 40_009  # the exact sum, and how many records there are
BAD = 7_919  # records of them that are bad


def numbers_in(value, depth=6):
    "Whole numbers in a variable: in what it holds, in arrays, tables and fields."
    if isinstance(value, (bool, str, bytes, type(None))) or depth == 0:
        return
    if isinstance(value, (int, float, np.number)):
        yield float(value)
    elif isinstance(value, np.ndarray) and value.ndim and value.dtype.kind in "iufO":
        yield from (float(v) for v in value.ravel() if isinstance(v, (int, float)))
    elif isinstance(value, (pd.DataFrame, pd.Series)):
        yield from numbers_in(value.to_numpy().ravel(), depth)
    elif isinstance(value, dict):
        for each in list(value.items()):
            yield from numbers_in(each, depth - 1)
    elif isinstance(value, (list, tuple, set, frozenset)):
        for each in value:
            yield from numbers_in(each, depth - 1)
    elif callable(value) and getattr(value, "__closure__", None):
        for cell in value.__closure__:
            yield from numbers_in(cell.cell_contents, depth - 1)
    elif hasattr(value, "__dict__") and not isinstance(value, (type, type(np))):
        yield from numbers_in({k: v for k, v in vars(value).items() if not k.startswith("__")}, depth - 1)


def frames_of(error, seen=None):
    "The frames of an exception and of those behind it, that are this package's."
    seen = seen if seen is not None else set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        step = error.__traceback__
        while step is not None:
            if step.tb_frame.f_globals.get("__name__", "").startswith("dp_bayes_nb."):
                yield step.tb_frame
            step = step.tb_next
        yield from frames_of(error.__cause__, seen)
        error = error.__context__


def confidential(error):
    "Where a frame of the package holds the sum, the number of records or that of bad ones."
    return [(frame.f_code.co_name, name) for frame in frames_of(error) for name, value in list(frame.f_locals.items())
            if {SECRET, HELD, BAD, HELD - BAD, HELD - SECRET} & set(map(abs, numbers_in(value)))]


class Refusing(Bernoulli):
    "A share whose check refuses what it sees."

    def check(self, n, sums):
        raise ValueError("no such sums")


class Spent:
    "A ledger that has nothing left, or one that fails in another way."

    def __init__(self, error):
        self.error = error

    def spend(self, **entry):
        raise self.error


def planted():
    "By name, calls that are refused or fail, and what of the package is broken for it."
    from dp_bayes_nb import private_quantile
    from dp_bayes_nb.data_holder import quantiles
    from dp_bayes_nb.data_holder import release as room
    from dp_bayes_nb.data_holder import sums

    def broken(*args, **options):
        raise KeyError(f"cannot digest {args!r:.50}")

    good = (np.arange(HELD) < SECRET).astype(float)
    bad = {name: np.where(np.arange(HELD) < HELD - BAD, good, value) for name, value in
           {"missing": np.nan, "infinite": np.inf, "outside": 5.0}.items()}
    third = pd.DataFrame({"x": ["yes"] * SECRET + ["no"] * 10 + ["other"] * (HELD - SECRET - 10)})
    ask = {"share": lambda data=good, **how: release(Bernoulli(), data, epsilon=1.0, **how),
           "private": lambda data=good, **how: release(Bernoulli(), data, epsilon=1.0, neighbours="add_remove",
                                                       **{"n_max": 10**6, **how}),
           "quantile": lambda data=good, **how: private_quantile(data, 0.5, epsilon=1.0, lower=-0.5, upper=1.5,
                                                                 candidates=3, **how),
           "sums": lambda data=good, **how: exact_sums(Bernoulli(), data, **how)}
    for door, (kind, data) in ((door, case) for door in ask for case in bad.items()):
        if (door, kind) != ("quantile", "outside"):
            yield f"{door}, {kind}", lambda call=ask[door], data=data: call(data), None
    yield "a third value", lambda: release(Bernoulli("x", "yes"), third, epsilon=1.0), None
    yield "n_max", lambda: ask["private"](n_max=HELD - 1), None
    for door in ("share", "private", "quantile"):
        for error in (ValueError("nothing left"), OSError("the disk is full"), KeyError("a defect")):
            yield f"{door}, ledger {type(error).__name__}", lambda d=door, e=error: ask[d](ledger=Spent(e)), None
    yield "check", lambda: release(Refusing(), good, epsilon=1.0), None
    yield "size", ask["share"], (room, "TAIL", 2.0**60)
    yield "OpenDP", ask["share"], (room, "measurement", lambda d, *rest: (broken, d.scale))
    yield "OpenDP, n private", ask["private"], (room, "measurement", lambda d, *rest: (broken, d.scale))
    yield "the noise", ask["share"], (room, "_draw", broken)
    yield "the rows", ask["private"], (room, "_rows_of", broken)
    yield "OpenDP's choice", ask["quantile"], (quantiles, "_selector", lambda epsilon: broken)
    yield "after the sums", ask["sums"], (sums, "ExactSums", broken)
    yield "64 bits", ask["sums"], (sums, "_largest", lambda family, g: 2**60)


def held_in_frames(monkeypatch):
    "Of each planted failure, where a frame holds what is confidential; and how many frames are left."
    found, frames = {}, 0
    for name, call, broken in planted():
        with monkeypatch.context() as patch:
            if broken:
                patch.setattr(*broken, raising=True)
            with pytest.raises(Exception) as raised:
                call()
        found[name] = confidential(raised.value)
        names = [frame.f_code.co_name for frame in frames_of(raised.value)]
        outer = names[names[0] == "call":]  # of `hinting`, which lets go of its arguments
        assert outer[:1] in (["release"], ["private_quantile"], ["exact_sums"]), (name, names)
        frames += len(names)
    return found, frames


def test_no_frame_of_an_exception_holds_what_is_confidential(monkeypatch):
    "Whatever fails: the sums, counts and scores are in no local variable, and the public function is in the traceback."
    found, frames = held_in_frames(monkeypatch)
    assert {name: held for name, held in found.items() if held} == {} and frames >= len(found) > 25


def test_the_search_of_frames_finds_what_is_in_them(monkeypatch):
    "Without `discreet`, as in 0.6.0, all but a few of them are found."
    from dp_bayes_nb.data_holder import quantiles, sums
    from dp_bayes_nb.data_holder import release as room

    for module in (quantiles, sums, room):
        monkeypatch.setattr(module, "discreet", lambda call, arguments: call(**arguments))
    found, _ = held_in_frames(monkeypatch)
    assert sum(map(bool, found.values())) > len(found) - 3, [name for name, held in found.items() if not held]


def test_a_defect_keeps_the_lines_where_it_was(monkeypatch):
    "As a note, without a value."
    from dp_bayes_nb.data_holder import release as room

    def broken(*args):
        raise KeyError("a defect")

    monkeypatch.setattr(room, "_draw", broken)
    with pytest.raises(KeyError) as raised:
        release(Bernoulli(), [1, 0, 1], epsilon=1.0)
    (note,) = raised.value.__notes__
    assert "in _released" in note and "in broken" in note and WORD not in note
