"The lines that the README shows are run, twice, as they stand there; it is short, and its table says what it says."

import re
from configparser import ConfigParser
from pathlib import Path

import matplotlib
import pytest

README = Path(__file__).resolve().parent.parent / "README.md"
WORDS = 900


def blocks():
    "The README's Python blocks."
    return re.findall(r"^```python\n(.*?)^```$", README.read_text(encoding="utf-8"), re.S | re.M)


def words(text):
    "Words of a Markdown text, code and tables included; comments, addresses of links and rules of tables are not read."
    text = re.sub(r"<!--.*?-->|\]\([^)]*\)|\|[-:|]+\|", " ", text, flags=re.S)
    return re.findall(r"[^\s|]*\w[^\s|]*", text)


def intervals(text):
    "Rows of the table of both methods: name, intervals as pairs, a star or none, the share."
    number = r"(\d+\.\d)"
    row = rf"^\| ([\w ]+) \| {number} to {number} \| {number} to {number}( \\\*)? \| {number} \|$"
    return [(m[1], *(float(x) for x in m.group(2, 3, 4, 5)), bool(m[6]), float(m[7]))
            for m in re.finditer(row, text, re.M)]


def test_readme_is_short():
    assert len(words(README.read_text(encoding="utf-8"))) <= WORDS


def opening(text):
    "What stands before the tasks: comments, title and subtitle are not counted."
    before, _, _ = text.partition("\n## What do you want to do?\n")
    return "\n".join(line for line in before.splitlines() if not line.startswith(("<!--", "# ", "> ")))


def test_the_tasks_are_on_the_first_screen():
    "At 1280 by 800 there is room for three lines above them, and for no figure."
    text = README.read_text(encoding="utf-8")
    assert len(words(opening(text))) <= 60 and "![" not in opening(text)
    assert len(words(opening(text.replace("## What do you want", "## What do they want")))) > 60


def test_it_is_installed_from_the_checkout_on_the_pythons_that_were_tried():
    settings = ConfigParser(delimiters=["="], interpolation=None)
    settings.read(README.parent / "settings.ini", encoding="utf-8")
    text, own = README.read_text(encoding="utf-8"), settings["DEFAULT"]
    assert re.findall(r"^pip (.*?) *#", text, re.M) == ["install .", "install '.[release]'", "install '.[formula]'"]
    first, *_, last = own["pythons"].split()
    assert f"Python {first} to {last}" in text


def test_what_counts_as_a_word():
    text = "<!-- a b -->\n| a | **b** – |\n|---|--:|\n[c d](e/f.md) `g = 1`"
    assert words(text) == ["a", "**b**", "[c", "d", "`g", "1`"]


def test_stars_stand_where_the_naive_interval_misses():
    rows = intervals(README.read_text(encoding="utf-8"))
    assert len(rows) == 8 and sum(star for *_, star, _ in rows) >= 1
    for name, low, high, naive_low, naive_high, star, share in rows:
        assert low <= share <= high, name
        assert star != (naive_low <= share <= naive_high), name


@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_readme_example(tmp_path, monkeypatch):
    matplotlib.use("Agg")
    monkeypatch.chdir(tmp_path)
    *parts, code = blocks()
    published = "".join(parts)
    for time in range(2):  # the second time in the same folder, as in a new session
        names: dict = {}
        exec(compile(published, "README.md", "exec"), names)
        assert names["tract"].origin == "declared" and len(published.strip().splitlines()) <= 8
        assert abs(float(names["counts"].sel(count="two or more races").mean()) - (1773.90 - 1652.04)) < 0.5
        exec(compile(code, "README.md", "exec"), names)
        assert names["received"].n == 880 and ("ledger" in names) == (time == 0)
        assert names["posterior"].posterior["probability"].shape == (4, 1000)
        assert sorted(path.name for path in tmp_path.iterdir()) == ["interviews.csv", "ledger.json", "limit.json"]
        spent = names["Ledger"](tmp_path / "ledger.json").spent
        assert [str(amount) for amount in spent] == ["0.1", "0"], "run twice, spent once"
