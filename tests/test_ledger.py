"""The ledger under fire: processes that race, processes that are killed, files that are damaged.

Children are forked from one process that has imported everything, so that a test of many processes takes a second.
They run in a fresh interpreter (`in_fresh_process`): forking a process in which JAX has started threads is unsafe.
"""

import json
import os
import subprocess
import sys
import textwrap
from decimal import Decimal

import pytest

from dp_bayes_nb.data_holder.ledger import Ledger

UNITS = pytest.mark.parametrize("unit", ["epsilon", "rho"])  # what keeps a ledger whole does not depend on its unit

FORK = """
import os, signal, sys, time
from pathlib import Path

def forked(job):
    "Run a job in a child; its pid."
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            job(); code = 0
        finally:
            os._exit(code)
    return pid

def late(room):
    "Writes come some time after reading, so that processes that are both inside do lose one another's spends."
    write = room.atomic_write
    room.atomic_write = lambda *asked: (time.sleep(0.01), write(*asked))[1]

def ended(pid):
    "Exit code of a child; minus the signal that killed it."
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
"""


def in_fresh_process(code, *arguments):
    "Run code in a new interpreter and return what it prints."
    script = FORK + textwrap.dedent(code)
    done = subprocess.run([sys.executable, "-c", script, *map(str, arguments)], capture_output=True, text=True,
                          timeout=120)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


RACE = """
from contextlib import contextmanager
import dp_bayes_nb.data_holder.ledger as room

path, mutant, unit = Path(sys.argv[1]), sys.argv[2] == "unlocked", sys.argv[3]
if mutant:
    @contextmanager
    def locked(path, timeout): yield
    room.locked, room._remove_strays = locked, lambda path, folder: None
    late(room)
room.Ledger(path, **{unit: "0.5"})
granted = path.parent / "granted"
granted.mkdir()

def spender(number):
    def job():
        ledger = room.Ledger(path)
        for wish in range(5):
            try:
                ledger.spend(**{unit: 0.01}, data="table", release=f"{number}-{wish}", mechanism="laplace")
            except ValueError as error:
                assert "nothing was spent" in str(error), error
            else:
                (granted / f"{number}-{wish}").touch()     # from here on, noise would be drawn
    return job

codes = [ended(pid) for pid in [forked(spender(number)) for number in range(20)]]
ledger = room.Ledger(path)
print(codes.count(0), len(list(granted.iterdir())), len(ledger.entries), ledger.spent[0],
      {e.release for e in ledger.entries} == {p.name for p in granted.iterdir()})
"""


def race(folder, kind, unit):
    "20 processes want 100 times 0.01 of 0.5."
    folder.mkdir()
    finished, granted, entries, spent, same = in_fresh_process(RACE, folder / "ledger.json", kind, unit).split()
    assert (finished, granted, entries, Decimal(spent), same) == ("20", "50", "50", Decimal("0.5"), "True")


@UNITS
def test_twenty_processes_never_overspend(tmp_path, unit):
    race(tmp_path / "a", "locked", unit)


@UNITS
def test_the_race_notices_a_ledger_without_a_lock(tmp_path, unit):
    with pytest.raises(AssertionError):
        race(tmp_path / "a", "unlocked", unit)


DELETER = """
# Processes spend while another deletes what it finds beside the ledger: every lock, and some of the temporary files.
import fcntl
from contextlib import contextmanager
import dp_bayes_nb.data_holder.ledger as room

path, mutant, unit = Path(sys.argv[1]), sys.argv[2] == "file", sys.argv[3]
if mutant:
    @contextmanager
    def locked(path, timeout):  # a lock file, whose identity is checked when the lock is there
        while True:
            descriptor = os.open(f"{path}.lock", os.O_RDWR | os.O_CREAT, 0o666)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX)
                try: same = os.path.samestat(os.fstat(descriptor), os.stat(f"{path}.lock"))
                except FileNotFoundError: same = False
                if same:
                    yield None
                    return
            finally:
                os.close(descriptor)
    room.locked = locked
    late(room)
room.Ledger(path, **{unit: 1000})
granted, stop = path.parent.parent / "granted", path.parent.parent / "stop"
granted.mkdir()

def deleter():
    turn = 0
    while not stop.exists():
        turn += 1
        for name in os.listdir(path.parent):
            if name.endswith(".lock") or (name != path.name and turn % 100 == 0):
                try: os.unlink(path.parent / name)
                except FileNotFoundError: pass

def spender(number):
    def job():
        ledger, had = room.Ledger(path), 0
        for wish in range(5000):
            try:
                ledger.spend(**{unit: 1}, data="table", release=f"{number}-{wish}")
            except FileNotFoundError:                     # its temporary file was deleted: nothing is granted
                continue
            (granted / f"{number}-{wish}").touch()
            had += 1
            if had == 15: return
    return job

tidy = forked(deleter)
codes = [ended(pid) for pid in [forked(spender(number)) for number in range(6)]]
stop.touch()
ended(tidy)
written = {e.release for e in room.Ledger(path).entries}
print(codes.count(0), len(list(granted.iterdir())), len({p.name for p in granted.iterdir()} - written))
"""


def deleted_beside(folder, kind, unit):
    (folder / "account").mkdir(parents=True)
    finished, granted, lost = map(int, in_fresh_process(DELETER, folder / "account" / "ledger.json", kind,
                                                          unit).split())
    assert finished == 6 and granted == 90, (finished, granted)
    assert lost == 0, f"{lost} of {granted} spends were granted and are not in the account"


@UNITS
def test_nothing_beside_the_ledger_guards_it(tmp_path, unit):
    deleted_beside(tmp_path / "a", "folder", unit)


def test_the_deleter_finds_a_lock_that_can_be_deleted(tmp_path):
    with pytest.raises(AssertionError, match="granted and are not in the account"):
        deleted_beside(tmp_path / "a", "file", "epsilon")


@UNITS
def test_a_folder_that_is_moved_takes_its_account_along(tmp_path, unit):
    "While one process holds the lock, the folder is moved and another made in its place: two accounts, each right."
    code = """
    import dp_bayes_nb.data_holder.ledger as room
    path, unit = Path(sys.argv[1]) / "a" / "ledger.json", sys.argv[2]
    path.parent.mkdir()
    room.Ledger(path, **{unit: 1})
    real = room.write_state
    def write(where, state, folder=None):                 # between judging and replacing
        os.rename(path.parent, path.parent.with_name("moved"))
        path.parent.mkdir()
        room.write_state = real
        other = room.Ledger(path, **{unit: 1})
        other.spend(**{unit: 0.25}, data="a", release="in the new folder")
        real(where, state, folder)
    ledger, room.write_state = room.Ledger(path), write
    ledger.spend(**{unit: 0.5}, data="a", release="in the old folder")
    print(room.Ledger(path).spent[0], room.Ledger(path.parent.with_name("moved") / "ledger.json").spent[0])
    """
    assert in_fresh_process(code, tmp_path, unit).split() == ["0.25", "0.5"]


def test_labels_cannot_forge_an_entry(tmp_path, capsys):
    "The command line shows one printable line an entry, whatever the names are."
    from dp_bayes_nb.cli import main

    path = tmp_path / "ledger.json"
    forged = "x\n2026-01-01T00:00:00+00:00  epsilon 0  delta 0  laplace  table  nothing\x1b[2K\x1b[1A\u202e\x9b31m"
    Ledger(path, epsilon=1).spend(epsilon=0.5, data=forged, release=forged, mechanism=forged)
    assert main(["ledger", str(path)]) == 0
    out = capsys.readouterr().out
    assert len(out.splitlines()) == 2 and all(line.isprintable() for line in out.splitlines())
    assert main(["ledger", str(tmp_path / forged)]) == 2  # a name in a refusal
    err = capsys.readouterr().err
    assert len(err.splitlines()) == 1 and err.rstrip("\n").isprintable()


@pytest.mark.parametrize("what", ["fifo", "device", "folder", "link", "dangling"])
def test_only_a_regular_file_is_replaced(tmp_path, what):
    """Neither a ledger nor a release takes the place of a pipe, a device or a link;
    a ledger follows the link it is opened by.
    """
    from dp_bayes_nb import Bernoulli, Release, simulate_release

    path, real = tmp_path / "target.json", tmp_path / "real.json"
    real.write_text("real")
    if what == "fifo":
        os.mkfifo(path)
    elif what == "folder":
        path.mkdir()
    elif what == "device":
        path = tmp_path.__class__("/dev/null")
    else:
        os.symlink(real if what == "link" else tmp_path / "new.json", path)
    made = simulate_release(Bernoulli(), {"probability": 0.5}, 10, 1.0)
    for options in ({}, {"overwrite": True}):
        with pytest.raises(ValueError, match="path must be"):
            made.save(path, **options)
    assert what not in ("link", "dangling") or Release.load(tmp_path / "target-2.json") == made  # it is paid for
    assert real.read_text() == "real" and (what == "device" or os.lstat(path).st_mode)
    assert what not in ("link", "dangling") or os.path.islink(path)
    if what == "dangling":
        Ledger(path, epsilon=1).spend(epsilon=0.5, data="a", release="b")
        assert path.is_symlink() and Ledger(tmp_path / "new.json").spent[0] == Decimal("0.5")
    else:
        with pytest.raises(ValueError):
            Ledger(path, epsilon=1)


BAD_NAMES = ["a/b", "", " a", "a ", "a\x00b", "a\nb", "..", ".", "x" * 300, "\ud800"]


@pytest.mark.parametrize("name", BAD_NAMES, ids=repr)
def test_a_model_whose_posterior_cannot_be_saved_is_not_paid_for(tmp_path, name):
    "A feature, a label, a chain or a step that netCDF cannot take as a name; a level that it cannot take as a value."
    import pandas as pd

    from dp_bayes_nb import HiddenMarkov, NaiveBayes, release

    ledger, table = Ledger(tmp_path / "b.json",
                           epsilon=1), pd.DataFrame({"y": [0, 1] * 5, "t": [0, 1] * 5, "x": [1, 0] * 5})
    makers = [lambda: NaiveBayes(("y", 2), {name: 2}), lambda: NaiveBayes((name, 2), {"y": 2}),
              lambda: HiddenMarkov(("y", 2), ("t", 2), {name: 2}, 1).counted(table),
              lambda: HiddenMarkov((name, 2), ("t", 2), {"x": 2}, 1).counted(table),
              lambda: HiddenMarkov(("y", 2), (name, 2), {"x": 2}, 1).counted(table)]
    makers += [lambda: NaiveBayes(("y", 2), {"x": [name, "b"]})] if set(name) & {"\x00", "\ud800"} else []
    for make in makers:
        with pytest.raises(ValueError) as caught:
            release(make(), table, epsilon=0.5, ledger=ledger)
        assert str(caught.value).isprintable()
    assert ledger.entries == ()


def test_a_model_that_is_paid_for_can_be_saved(tmp_path):
    "Odd names and odd levels that are allowed come back from the file as they were."
    import arviz
    import pandas as pd

    from dp_bayes_nb import NaiveBayes, fit, release

    odd = ["a b", "日本", "x" * 249, "#(a\\b)", "posterior"]
    table = pd.DataFrame({name: ["u/v", " w\n"] * 10 for name in odd} | {"the class": ["", "\x1b[2J"] * 10})
    family = NaiveBayes(("the class", ["", "\x1b[2J"]), {name: ["u/v", " w\n"] for name in odd})
    made = fit(release(family, table, epsilon=1.0), method="naive", draws=5, chains=2, progress=False)
    made.to_netcdf(str(tmp_path / "p.nc"))
    again = arviz.from_netcdf(str(tmp_path / "p.nc"))
    assert again.posterior.equals(made.posterior) and set(odd) < set(again.posterior.data_vars)


KILL = """
# Kill a release at its k-th system call, for every k: before the call is made, or right after it.
import json
import dp_bayes_nb.data_holder.release
room = sys.modules["dp_bayes_nb.data_holder.release"]  # the package's attribute of this name is the function
from dp_bayes_nb.models.counts import Bernoulli
from dp_bayes_nb.data_holder.ledger import Ledger

folder, mutant, unit = Path(sys.argv[1]), sys.argv[2], sys.argv[3]
real_draw, marker = room._draw, folder / "drawn"

def draw(mechanism, sums):
    integers = real_draw(mechanism, sums)
    marker.touch()                                        # noise exists from here on
    return integers

def release(path, kill_at, when):
    room._draw, calls = draw, 0
    def guard(function):
        def call(*arguments, **options):
            nonlocal calls
            calls += 1
            if calls == kill_at and when == "before": os.kill(os.getpid(), signal.SIGKILL)
            out = function(*arguments, **options)
            if calls == kill_at: os.kill(os.getpid(), signal.SIGKILL)
            return out
        return call
    ledger = Ledger(path)
    if mutant == "late":                                  # spends after the noise
        spend = ledger.spend
        ledger.spend = lambda **entry: None
    import fcntl
    for module, names in ((os, ("open", "fsync", "replace", "close", "fchmod", "fdopen", "listdir", "unlink")),
                      (fcntl, ("flock",)), (room, ("_draw",))):
        for name in names: setattr(module, name, guard(getattr(module, name)))
    room.release(Bernoulli(), [0, 1, 1], **{unit: 0.1}, ledger=ledger, name="table")
    if mutant == "late": spend(**{unit: 0.1}, data="table", release="late")

room.release(Bernoulli(), [0, 1], **{unit: 0.1})   # imports OpenDP once
lost = killed = never_drawn = 0
for when in ("before", "after"):
    kill_at = 0
    while True:
        kill_at += 1
        path = folder / f"{when}{kill_at}.json"
        Ledger(path, **{unit: 0.2})
        marker.unlink(missing_ok=True)
        code = ended(forked(lambda: release(path, kill_at, when)))
        ledger, drawn = Ledger(path), marker.exists()      # opens: the file is never damaged
        spent = len(ledger.entries)
        assert spent <= 1
        lost += drawn and not spent
        never_drawn += spent and not drawn
        ledger.spend(**{unit: 0.1}, data="table", release="the next one")  # no lock is left behind
        assert len(ledger.entries) == spent + 1
        assert not list(folder.glob(f".{path.name}.*")), "a stray file was not cleared away"
        if code == 0: break
        assert code == -signal.SIGKILL, code
        killed += 1
print(killed, lost, never_drawn)
"""


def kills(folder, mutant, unit="epsilon"):
    killed, lost, never_drawn = map(int, in_fresh_process(KILL, folder, mutant, unit).split())
    assert lost == 0, f"{lost} of {killed} kills drew noise that the ledger does not know of"
    assert killed >= 20, f"only {killed} kills: the system calls are no longer seen"
    return never_drawn


@pytest.mark.parametrize("unit", ["epsilon", pytest.param("rho", marks=pytest.mark.slow)])
def test_a_kill_at_any_system_call_loses_no_spend(tmp_path, unit):
    # some kills fall between spending and noise: over-counted, never under-counted
    assert kills(tmp_path, "none", unit) > 0


def test_the_kills_notice_a_release_that_spends_late(tmp_path):
    with pytest.raises(AssertionError, match="drew noise that the ledger does not know of"):
        kills(tmp_path, "late")


@UNITS
def test_the_lock_of_a_dead_process_blocks_nobody_and_a_live_one_does(tmp_path, unit):
    code = """
    import dp_bayes_nb.data_holder.ledger as room
    path, unit = Path(sys.argv[1]), sys.argv[2]
    ledger = room.Ledger(path, **{unit: 1})
    ready = path.with_suffix(".ready")
    def hold():
        with room.locked(path, 1.0):
            ready.touch()
            time.sleep(60)
    pid = forked(hold)
    while not ready.exists(): time.sleep(0.005)
    ledger.timeout = 0.1
    try: ledger.spend(**{unit: 0.1}, data="a", release="b")
    except TimeoutError as error: print("waited" in str(error) and "nothing was spent" in str(error))
    os.kill(pid, signal.SIGKILL)
    ended(pid)
    ledger.spend(**{unit: 0.1}, data="a", release="b")
    print(ledger.spent[0])
    """
    assert in_fresh_process(code, tmp_path / "ledger.json", unit).split() == ["True", "0.1"]


@UNITS
@pytest.mark.parametrize("damage", ["empty", "cut", "binary", "digit", "schema", "extra", "entry", "list", "duplicate"])
def test_a_damaged_ledger_is_refused_and_left_alone(tmp_path, damage, unit):
    path = tmp_path / "ledger.json"
    ledger = Ledger(path, **{unit: 1})
    ledger.spend(**{unit: 0.25}, data="table", release="a")
    good = path.read_text()
    document = json.loads(good)
    document["entries"][0].pop("data")
    bad = {"empty": "", "cut": good[: len(good) // 2], "binary": "\udcff", "digit": good.replace("0.25", "0.24"),
           "schema": good.replace('"schema": ', '"schema": 9'),
           "extra": good.replace('"epsilon"', '"x": 1, "epsilon"', 1),
           "entry": json.dumps(document), "list": "[]",
           "duplicate": good.replace('"delta"', '"schema": 1, "delta"', 1)}[damage]
    path.write_text(bad, errors="surrogateescape")
    before = path.read_bytes()
    for attempt in (lambda: Ledger(path), lambda: ledger.spend(**{unit: 0.1}, data="table", release="b"),
                    lambda: ledger.left,
                    lambda: Ledger(path, **{unit: 1})):
        with pytest.raises(ValueError, match="ledger"):
            attempt()
    assert path.read_bytes() == before


@UNITS
def test_symbolic_links_lead_to_one_account(tmp_path, unit):
    ledger = Ledger(tmp_path / "ledger.json", **{unit: 1})
    os.symlink(tmp_path / "ledger.json", tmp_path / "link.json")
    Ledger(tmp_path / "link.json").spend(**{unit: 0.5}, data="a", release="b")
    assert ledger.spent[0] == Decimal("0.5") and (tmp_path / "link.json").is_symlink()


def test_a_private_quantile_is_paid_for_and_near(tmp_path):
    "The rank error stays below its bound, but with probability 1e-9; a refusal costs nothing."
    import math

    import numpy as np

    from dp_bayes_nb import private_quantile

    path, ledger = tmp_path / "wages.csv", Ledger(tmp_path / "budget.json", epsilon=1)
    wages = np.random.default_rng(0).uniform(0, 100, 2000).round(3)
    path.write_text("id,wage\n" + "".join(f"{i},{w}\n" for i, w in enumerate(wages)))
    answer = private_quantile(path, 0.9, epsilon=0.5, lower=0, upper=100, column="wage", candidates=101, ledger=ledger)
    assert isinstance(answer, float) and answer in np.linspace(0, 100, 101)
    best = min(abs((wages <= c).sum() - 1800) for c in np.linspace(0, 100, 101))
    assert abs((wages <= answer).sum() - 1800) <= best + 2 / 0.5 * math.log(101 / 1e-9)
    (entry,) = ledger.entries
    assert (str(entry.epsilon), entry.mechanism, entry.data) == ("0.5", "noisy max", str(path))
    for options in (dict(q=1), dict(epsilon=0.6), dict(column="age"), dict(upper=0), dict(candidates=1),
                    dict(column=None)):
        with pytest.raises(ValueError):
            private_quantile(path, **{"q": 0.9, "epsilon": 0.1, "lower": 0, "upper": 100, "column": "wage",
                                      "ledger": ledger, **options})
    assert len(ledger.entries) == 1


def test_the_command_refuses_pipes_and_links_before_it_spends(tmp_path, capsys):
    from dp_bayes_nb.cli import main

    (tmp_path / "t.csv").write_text("x\n" + "1\n0\n" * 50)
    (tmp_path / "f.toml").write_text('family = "Bernoulli"\ncolumn = "x"\n')
    ledger = Ledger(tmp_path / "b.json", epsilon=1)
    os.mkfifo(tmp_path / "pipe")
    os.symlink(tmp_path / "elsewhere.json", tmp_path / "link")
    for output in ("/dev/null", tmp_path / "pipe", tmp_path / "link"):
        assert main(["release", str(tmp_path / "t.csv"), "--family", str(tmp_path / "f.toml"), "--epsilon", "0.5",
                     "--ledger",
                     str(tmp_path / "b.json"), "--force", "-o", str(output)]) == 2
        assert "-o must be a regular file, or a new one" in capsys.readouterr().err
    assert ledger.entries == () and not (tmp_path / "elsewhere.json").exists()


@UNITS
def test_a_ledger_with_two_names_is_refused(tmp_path, unit):
    "A rename gives each name of a hard link an account of its own."
    ledger = Ledger(tmp_path / "a.json", **{unit: 1})
    (tmp_path / "elsewhere").mkdir()
    os.link(tmp_path / "a.json", tmp_path / "elsewhere" / "b.json")
    with pytest.raises(ValueError, match="one name"):
        ledger.spend(**{unit: 1}, data="a", release="b")
    with pytest.raises(ValueError, match="one name"):
        Ledger(tmp_path / "elsewhere" / "b.json").spend(**{unit: 1}, data="a", release="b")
    (tmp_path / "elsewhere" / "b.json").unlink()
    ledger.spend(**{unit: 1}, data="a", release="b")
    assert str(ledger.left[0]) in ("0", "0.0")


def test_a_long_name_can_be_written_after_the_budget_is_spent(tmp_path):
    ledger = Ledger(tmp_path / f"{'x' * 250}.json", 1)
    ledger.spend(epsilon=1, data="a", release="b")


@UNITS
def test_a_folder_that_is_removed_meanwhile_is_a_value_error(tmp_path, monkeypatch, unit):
    "Removed before the lock, while it is awaited or held, and while the account is read."
    import fcntl
    import shutil

    from dp_bayes_nb.data_holder import ledger as module

    def removing(function, folder):
        asked = []  # removing opens folders too

        def first(*args, **options):
            if not asked:
                asked.append(args)
                shutil.rmtree(folder, ignore_errors=True)
            return function(*args, **options)
        return first

    spend = {unit: 0.1, "data": "d", "release": "r"}
    for name, target, attribute in (("a", module.os, "open"), ("b", fcntl, "flock"), ("c", module, "write_state"),
                                    ("d", module, "_remove_strays")):
        folder = tmp_path / name
        folder.mkdir()
        account = Ledger(folder / "l.json", **{unit: 1})
        with monkeypatch.context() as patch:
            patch.setattr(target, attribute, removing(getattr(target, attribute), folder))
            with pytest.raises(ValueError, match="does not exist"):
                account.spend(**spend)
        with pytest.raises(ValueError, match="does not exist"):
            account.spend(**spend)
    folder = tmp_path / "e"
    folder.mkdir()
    account = Ledger(folder / "l.json", **{unit: 1})
    with monkeypatch.context() as patch:
        patch.setattr(module.os, "stat", removing(os.stat, folder))
        with pytest.raises(ValueError, match="removed while it was read"):
            account.left  # noqa: B018
    with pytest.raises(ValueError, match="path must be a path"):
        Ledger(3)


def spend_beside_others(folder):
    "Spend in a folder with a file that a dead writer left, and with files that only look like it; what is there then."
    from dp_bayes_nb.base.files import temporary_name

    folder.mkdir()
    account = Ledger(folder / "c.json", 1)
    others = [".c.json.20240101", ".c.json.deadbeef", ".c.json.backup~~", temporary_name("c.json") + "x",
              temporary_name("other.json"), "c.json.20240101"]
    for name in [*others, temporary_name("c.json")]:
        (folder / name).write_text("a file")
    account.spend(epsilon=0.5, data="d", release="r")
    assert sorted(os.listdir(folder)) == sorted([*others, "c.json"])


def test_only_its_own_temporary_files_are_removed(tmp_path, monkeypatch):
    "A spend removes what a writer that died left behind, and no file that looks like it; the rule of 0.6.0 does."
    from dp_bayes_nb.data_holder import ledger as module

    spend_beside_others(tmp_path / "a")
    monkeypatch.setattr(module, "is_temporary", lambda found, name: found.startswith(f".{name}.")
                        and len(found) == len(name) + 10)
    with pytest.raises(AssertionError):
        spend_beside_others(tmp_path / "b")
