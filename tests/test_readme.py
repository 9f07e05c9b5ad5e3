"The lines that the README shows are run, as they stand there."

import re
from pathlib import Path

import matplotlib
import pytest

README = Path(__file__).resolve().parent.parent / "README.md"


def blocks():
    "The README's Python blocks."
    return re.findall(r"^```python\n(.*?)^```$", README.read_text(encoding="utf-8"), re.S | re.M)


@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_readme_example(tmp_path, monkeypatch):
    matplotlib.use("Agg")
    monkeypatch.chdir(tmp_path)
    rows = ["limit,age"] + ["yes,40" if i % 7 == 0 else "no,30" for i in range(700)]
    (tmp_path / "interviews.csv").write_text("\n".join(rows) + "\n")
    *parts, code = blocks()
    published = "".join(parts)
    names: dict = {}
    exec(compile(published, "README.md", "exec"), names)
    assert names["tract"].origin == "declared" and len(published.strip().splitlines()) <= 8
    assert abs(float(names["counts"].sel(count="two or more races").mean()) - (1773.90 - 1652.04)) < 0.5
    exec(compile(code, "README.md", "exec"), names)
    first = names["received"]
    assert first.n == 700 and [str(amount) for amount in names["ledger"].spent] == ["0.01", "0"]
    exec(compile(code, "README.md", "exec"), names)  # again, in the same folder
    assert sorted(path.name for path in tmp_path.iterdir()) == ["interviews.csv", "ledger.json", "limit.json"]
    assert (tmp_path / "ledger.json").is_file()
    assert [str(amount) for amount in names["ledger"].spent] == ["0.02", "0"]
    assert names["posterior"].posterior["probability"].shape == (4, 1000)
