"""What is public stays: names, arguments, defaults, methods and the command's options of the last version are there.

`python tests/test_surface.py` writes the surface of a new version, a line each, into `fixtures/surface.txt`.
"""

import argparse
import inspect
import re
from pathlib import Path

import dp_bayes_nb as dpb
from dp_bayes_nb.cli import build_parser

KEPT = Path(__file__).parent / "fixtures" / "surface.txt"


def of_call(name, function):
    "A line for each argument of a function: its name, and its default where that is a number, a text or None."
    try:
        arguments = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return []
    plain = (bool, int, float, str, type(None))
    said = {p.name: "" if p.default is p.empty else f"={p.default!r}" if isinstance(p.default, plain) else "=…"
            for p in arguments if p.name not in ("self", "cls")}
    return [f"{name}({each}{default})" for each, default in said.items()]


def of_class(name, cls):
    "Lines for public methods and attributes, each of the first of the class's ancestors that has it."
    found, ours = of_call(name, cls), [base for base in cls.__mro__ if base.__module__.startswith("dp_bayes_nb")]
    for place, base in enumerate(ours):
        for part, what in vars(base).items():
            if not part.startswith("_") and not any(hasattr(other, part) for other in ours[place + 1:]):
                what, said = getattr(what, "__func__", what), f"{base.__name__}.{part}"
                found += [said, *(of_call(said, what) if inspect.isfunction(what) else [])]
    return found


def of_parser(parser):
    "Lines for the command's commands and options."
    found = []
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            found += [line for each in action.choices.values() for line in (each.prog, *of_parser(each))]
        else:
            found += [f"{parser.prog} {word}" for word in action.option_strings or [str(action.dest).upper()]]
    return found


def surface(names, command):
    "All that is public, a line each."
    found = []
    for name, what in names.items():
        found += [name, *(of_class(name, what) if inspect.isclass(what) else of_call(name, what))]
    return sorted({*found, *of_parser(command)})


def today():
    return surface({name: getattr(dpb, name) for name in dpb.__all__}, build_parser())


def gone(before, now):
    "What was public and is no longer; an argument whose default changed is gone too."
    return sorted({*before} - {*now})


def test_nothing_public_is_gone():
    assert gone(KEPT.read_text(encoding="utf-8").splitlines(), today()) == []


def test_what_goes_is_seen():
    def before(x, y=1, *, z=None): ...
    def after(x, y=2): ...
    class Before:
        def part(self, a): ...
    class After:
        def part(self, b): ...
    Before.__module__ = After.__module__ = "dp_bayes_nb"
    old, new = argparse.ArgumentParser("c"), argparse.ArgumentParser("c")
    old.add_argument("--much")
    new.add_argument("--more")
    Before.__name__ = After.__name__ = "C"
    found = gone(surface({"f": before, "C": Before, "g": before}, old), surface({"f": after, "C": After}, new))
    assert {"f(y=1)", "f(z=None)", "C.part(a)", "g", "c --much"} <= {*found}
    assert not [line for line in found if re.match(r"f\(x|C$", line)]


if __name__ == "__main__":
    KEPT.write_text("\n".join(today()) + "\n", encoding="utf-8")
