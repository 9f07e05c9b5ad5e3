"""Studies that go on where their file ends: sections of rows, a line of the file each, and what is said of them."""
import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np


def mean_of(values):
    "A mean and its standard error, rows being the units."
    v = np.array([value for value in values if value is not None], float)
    return [round(float(v.mean()), 4), round(float(v.std(ddof=1) / np.sqrt(len(v))), 4)] if len(v) > 1 else None


def flat(text):
    "Lists of numbers on one line."
    return re.sub(r"\[[-\d.,\s\[\]]*\]", lambda found: re.sub(r"\s+", " ", found[0]), text)


class Study(NamedTuple):
    "A file of sections, how a row of one is made, and what is said of its rows."
    file: str  # of results/
    tried: dict  # {section: rows}, in the order of the file
    row: Callable  # (section, number)
    said: Callable  # (section, rows)
    every: int = 1  # rows between two states of the file

    def read(self) -> dict:
        "Sections and their rows as the file has them."
        path = Path(__file__).parents[1] / "results" / self.file
        there = json.loads(path.read_text()) if path.exists() else {}
        return {name: [dict(zip(part["columns"], row)) for row in part["rows"]] for name, part in there.items()}

    def text(self, sections: dict) -> str:
        "The file: every section in numbers, and its rows."
        parts = []
        for name, rows in sections.items():
            columns = list(dict.fromkeys(key for row in rows for key in row))
            lines = ",\n".join("  " + json.dumps([row.get(key) for key in columns]) for row in rows)
            said = {"said": self.said(name, rows), "columns": columns}
            head = flat(json.dumps(said, ensure_ascii=False, indent=1)[2:-2])
            parts.append(f'"{name}": {{\n{head},\n "rows": [\n{lines}\n ]\n}}')
        return "{\n" + ",\n".join(parts) + "\n}\n"

    def go_on(self, section: str, size: int) -> None:
        "A section up to so many rows."
        sections = self.read()
        rows = sections.setdefault(section, [])
        while len(rows) < size:
            rows.append(self.row(section, len(rows)))
            if len(rows) % self.every == 0 or len(rows) == size:
                now = self.read() | {section: rows}
                path = Path(__file__).parents[1] / "results" / self.file
                path.write_text(self.text({name: now[name] for name in self.tried if now.get(name)}))

    def main(self) -> None:
        "The section and size of the command line, or all."
        for section, size in [(sys.argv[1], int(sys.argv[2]))] if sys.argv[1:] else self.tried.items():
            self.go_on(section, size)
