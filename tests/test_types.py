"What a type checker sees of the package in a user's file: real signatures, and errors where there are errors."

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PROGRAM = """\
from dp_bayes_nb import Bernoulli, Beta, Ledger, Release, fit, release, simulate_release
import dp_bayes_nb

model = Bernoulli()
reveal_type(model)  # line 5
made = Release.load("made.json")
reveal_type(made)  # line 7
reveal_type(release)  # line 8
fit(made, Beta(1, 1), draws=100)
fit(1)  # line 10
release(model)  # line 11
dp_bayes_nb.relase  # line 12
Ledger(epsilon="1")  # line 13
simulate_release(model, {"probability": 0.3}, n=5, epsilon=1, seed=1)
"""


# What `mypy --strict` asks of the program. The package is read as `mypy dp_bayes_nb` reads it: one cache serves both.
STRICT = """
[mypy-program]
disallow_untyped_calls = True
disallow_untyped_defs = True
check_untyped_defs = True
disallow_any_generics = True
disallow_subclassing_any = True
warn_return_any = True
strict_equality = True
"""


@pytest.fixture(scope="module")
def said(tmp_path_factory):
    "What mypy, which is strict with it, says of the program."
    folder = tmp_path_factory.mktemp("user")
    (folder / "program.py").write_text(PROGRAM)
    (folder / "mypy.cfg").write_text((ROOT / "setup.cfg").read_text() + STRICT)
    done = subprocess.run([sys.executable, "-m", "mypy", "--config-file", folder / "mypy.cfg", folder / "program.py"],
                          cwd=ROOT, capture_output=True, text=True, env={**os.environ, "MYPYPATH": str(ROOT)})
    return [line[line.index("program.py"):] for line in done.stdout.splitlines() if "program.py:" in line]


def at(said, line):
    return [text for text in said if re.match(rf"program\.py:{line}:", text)]


def test_public_names_have_their_types(said):
    assert 'Revealed type is "dp_bayes_nb.models.counts.Bernoulli"' in at(said, 5)[0]
    assert re.search(r'Revealed type is "dp_bayes_nb\.\w+\.\w+\.Release"', at(said, 7)[0])
    assert "epsilon" in at(said, 8)[0] and "Release" in at(said, 8)[0]


def test_wrong_calls_are_errors(said):
    assert "error" in at(said, 10)[0] and "Release" in at(said, 10)[0]
    assert "error" in at(said, 11)[0] and "missing" in at(said, 11)[0].lower()
    assert "error" in at(said, 12)[0] and "relase" in at(said, 12)[0]
    assert "error" in at(said, 13)[0]


def test_right_calls_are_none(said):
    assert [text for text in said if "error" in text and not re.match(r"program\.py:1[0123]:", text)] == []


def hidden(text):
    "Names that a user's strict mypy does not see: imported for types without `as` the same name."
    blocks = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.If)
              and "TYPE_CHECKING" in ast.unparse(node.test)]
    assert blocks
    return [alias.name for block in blocks for node in block.body if isinstance(node, ast.ImportFrom)
            for alias in node.names if alias.asname != alias.name]


def test_what_a_user_imports_is_exported():
    text = (ROOT / "dp_bayes_nb" / "__init__.py").read_text()
    assert hidden(text) == []
    assert hidden(text.replace("fit as fit", "fit")) == ["fit"]
