"""Print what the house is made of: modules, folders, towers of classes, questions put to models, arrows, long cells.

    python tools/structure.py                  the working tree
    python tools/structure.py --commit 27a60d6 a commit, beside the working tree

Everything is read from the modules' syntax trees, so the modules need not import.
"""

import argparse
import ast
import io
import json
import re
import subprocess
import tarfile
import tempfile
from collections import Counter
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LIB = "dp_bayes_nb"
# A folder imports only folders before it. The papers, the app and the command may import anything.
FOLDERS = ("base", "noise", "models", "releases", "data_holder", "curves", "counts", "chains", "ways", "posterior",
           "many", "fields", "regression", "naive_bayes", "hidden_markov", "tables", "research", "app", "papers",
           "command")
FREE = ("app", "papers", "command", "cli")
# Of the contract of a model: they stand side by side, and no other class derives from them.
ROLES = {(f"models.{name.lower()}", name) for name in ("Released", "Fitted", "Spoken")}
# The rooms of one large model each; in all others, what is asked of a model is in the contract.
OWN = ("models", "regression", "naive_bayes", "hidden_markov", "tables")
WIDTH, LONG = 120, 40


def documented(tree):
    "Lines of the docstrings of functions and classes."
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    texts = [node.body[0].value for node in ast.walk(tree) if isinstance(node, kinds) and ast.get_docstring(node)]
    return sum(text.end_lineno - text.lineno + 1 for text in texts)


class House:
    "The package under a folder, by syntax trees: `modules[name]` is the tree of `chains.collapsed`."

    def __init__(self, root=ROOT):
        self.root = Path(root)
        self.modules, self.texts = {}, {}
        for path in sorted((self.root / LIB).rglob("*.py")):
            if not path.name.startswith("_"):
                name = ".".join(path.relative_to(self.root / LIB).with_suffix("").parts)
                self.texts[name] = path.read_text(encoding="utf-8")
                self.modules[name] = ast.parse(self.texts[name])

    @cache  # noqa: B019 (a house lives as long as the program)
    def imports(self, name, inside=True):
        "The modules of the package that a module imports: (module, names); without `inside`, at its top only."
        return tuple(self._imports(name, inside))

    def _imports(self, name, inside):
        tree = self.modules[name]
        for node in ast.walk(tree) if inside else at_top(tree):
            if isinstance(node, ast.ImportFrom):
                package = name.split(".")[:-1]
                if node.level:
                    base = package[: len(package) - node.level + 1]
                    target = ".".join([*base, *(node.module or "").split(".")]).strip(".")
                elif (node.module or "").split(".")[0] == LIB:
                    target = (node.module or "").removeprefix(LIB).strip(".")
                else:
                    continue
                names = [alias.name for alias in node.names]
                if target in self.modules:
                    yield target, names
                else:  # `from . import module`
                    yield from ((module, []) for each in names
                                if (module := f"{target}.{each}".strip(".")) in self.modules)
            elif isinstance(node, ast.Import):
                yield from ((target, []) for alias in node.names
                            if (target := alias.name.removeprefix(f"{LIB}.")) in self.modules)

    def outside(self, name, inside=True):
        "The other packages that a module imports."
        for node in ast.walk(self.modules[name]) if inside else at_top(self.modules[name]):
            if isinstance(node, ast.Import):
                yield from (alias.name.split(".")[0] for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and not node.level:
                yield (node.module or "").split(".")[0]

    @cache  # noqa: B019
    def closure(self, name):
        "Every module that importing a module imports."
        seen, queue = set(), [name]
        while queue:
            at = queue.pop()
            if at not in seen:
                seen.add(at)
                queue += [target for target, _ in self.imports(at, inside=False)]
        return seen

    def arrows(self):
        "Imports between folders: (from, to) -> how many imported names and modules."
        found = Counter()
        for name in self.modules:
            for target, _ in self.imports(name):
                if folder(name) != folder(target):
                    found[folder(name), folder(target)] += 1
        return found

    def upward(self):
        "Imports of a folder further down the table, each as a line."
        return sorted({f"{name} imports {target}" for name in self.modules if folder(name) in FOLDERS
                       and folder(name) not in FREE
                       for target, _ in self.imports(name) if rank(target) > rank(name)})

    def circles(self):
        "Modules that import one another at their top, by any road."
        return sorted(name for name in self.modules
                      if any(name in self.closure(target) for target, _ in self.imports(name, inside=False)
                             if target != name))

    def towers(self):
        "The project's classes above each class, the contract and its roles as one: \"module.Class\" -> number."
        classes, homes = {}, {}
        for name, tree in self.modules.items():
            known = {each: (target, each) for target, names in self.imports(name) for each in names}
            for node in tree.body:
                if isinstance(node, ast.ClassDef):
                    known[node.name] = (name, node.name)
                    classes[name, node.name] = node
            homes[name] = known

        def above(key, seen):
            for base in classes[key].bases:
                word = base.value if isinstance(base, ast.Subscript) else base
                found = homes[key[0]].get(getattr(word, "id", None))
                while found and found not in classes and found[1] in homes.get(found[0],
                    {}) and homes[found[0]][found[1]] != found:
                    found = homes[found[0]][found[1]]
                if found in classes and found not in seen and found not in ROLES:
                    seen.add(found)
                    above(found, seen)
            return seen

        return {f"{module}.{name}": len(above((module, name), set())) for module, name in classes}

    def asked(self):
        "Lines that ask a family or a model whether it has something: \"module:line text\"."
        found = []
        for name, tree in self.modules.items():
            lines = self.texts[name].splitlines()
            for node in ast.walk(tree):
                if isinstance(node, ast.Call) and getattr(node.func, "id", "") in ("hasattr", "getattr") and node.args:
                    if re.search(r"\b(family|families|model|law|declared|declaration)\b", ast.unparse(node.args[0])):
                        found.append(f"{name}:{node.lineno} {lines[node.lineno - 1].strip()}")
        return found

    def public(self):
        "How many names the modules' `__all__` hold."
        return sum(len(ast.literal_eval(node.value)) for tree in self.modules.values() for node in tree.body
                   if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "__all__")

    def cells(self):
        "Lines of each exported cell, without its directives and docstrings: (notebook, first line, lines)."
        for path in notebooks(self.root):
            for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
                text = "".join(cell["source"])
                if cell["cell_type"] == "code" and re.match(r"#\|\s*export", text):
                    body = [line for line in text.strip().splitlines() if not line.startswith("#|")]
                    first = next((line for line in body if line and not line.startswith("#")), "")
                    lines = len(body) - documented(ast.parse("\n".join(body)))
                    yield path.relative_to(self.root / "nbs").with_suffix("").as_posix(), first, lines

    def wide(self):
        "Lines of modules that are too long; the first line and `__all__` are nbdev's."
        found = []
        for name, tree in self.modules.items():
            spared = {1} | {row for node in tree.body
                            if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "__all__"
                            for row in range(node.lineno, node.end_lineno + 1)}
            found += [f"{name}:{row} {line.strip()}" for row, line in enumerate(self.texts[name].splitlines(), 1)
                      if len(line) > WIDTH and row not in spared]
        return found

    def lengths(self):
        """Lines of each module: those that are not blank, less nbdev's marks of cells and its warning.

        Docstrings, comments and `__all__` count.
        """
        return {name: sum(bool(line.strip()) and not line.startswith(("# %%", "# AUTOGENERATED"))
                          for line in text.splitlines())
                for name, text in self.texts.items()}


def at_top(tree):
    "The statements that run when a module is imported, at any depth but in no function or class."
    for node in tree.body:
        if isinstance(node, (ast.If, ast.Try, ast.With)):
            yield from (inner for inner in ast.walk(node))
        else:
            yield node


def folder(name):
    "The folder of a module; a module of the package itself is its own."
    return name.split(".")[0]


def rank(name):
    "The place of a module's folder in the table; what stands outside of it is last."
    return FOLDERS.index(folder(name)) if folder(name) in FOLDERS else len(FOLDERS)


def notebooks(root=ROOT):
    "Every notebook under nbs/."
    return sorted(p for p in (Path(root) / "nbs").rglob("*.ipynb") if ".ipynb_checkpoints" not in p.parts)


def figures(root=ROOT):
    "The figures of a checkout, by name."
    house = House(root)
    towers, cells, lengths = house.towers(), list(house.cells()), house.lengths()
    deepest = max(towers, key=towers.get)
    longest, cell = max(lengths, key=lengths.get), max(cells, key=lambda row: row[2])
    asked, arrows = house.asked(), house.arrows()
    folders = {folder(name) for name in house.modules if "." in name}
    generic = [line for line in asked if folder(line.split(":")[0]) not in OWN]
    return {
        "notebooks": len(notebooks(root)),
        "modules": len(house.modules),
        "folders": len(folders),
        "deepest tower": f"{towers[deepest]} classes above {deepest}",
        "hasattr or getattr on a family or model": f"{len(asked)}" + (f", {len(generic)} in generic rooms" if folders
                                                                      else ""),
        "public names (in all `__all__`)": house.public(),
        "arrows between folders": f"{len(arrows)} pairs, {len(house.upward())} upward" if folders else "no folders",
        "modules in a circle": len(house.circles()),
        "longest module": f"{lengths[longest]} lines that are not blank, {longest}",
        "longest cell": f"{cell[2]} lines, {cell[0]}: {cell[1][:50]}",
        f"cells over {LONG} lines": sum(lines > LONG for *_, lines in cells),
        f"lines of modules over {WIDTH} characters": len(house.wide()),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--commit", help="a commit to compare with, such as 27a60d6")
    args = parser.parse_args()
    now, before = figures(), {}
    if args.commit:
        with tempfile.TemporaryDirectory() as where:
            packed = subprocess.run(["git", "archive", args.commit, LIB, "nbs"], cwd=ROOT, capture_output=True,
                                    check=True).stdout
            with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
                archive.extraction_filter = getattr(tarfile, "data_filter", lambda member, path: member)
                archive.extractall(where)
            before = figures(where)
    print(f"| | {args.commit + ' | ' if before else ''}now |\n|---|---|{'---|' if before else ''}")
    for name, value in now.items():
        print(f"| {name} | {str(before[name]) + ' | ' if before else ''}{value} |")


if __name__ == "__main__":
    main()
