"""The reference: for each job a page with its public names, each with a call and its output, a table of parameters,
and what its docstring says. All of it is read from the package; `tests/test_reference_pages.py` runs the examples.
"""

import ast
import doctest
import inspect
import re
import sys
import textwrap
import tokenize
from functools import cache
from io import StringIO
from pathlib import Path

from pyproject import settings

ROOT = Path(__file__).resolve().parent.parent
LIB = settings()["lib_name"]
EMPTY = inspect.Parameter.empty
STARS = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}


def jobs():
    "Public names by job, each with the module where it lives, as the package lists them."
    tree = ast.parse((ROOT / LIB / "__init__.py").read_text(encoding="utf-8"))
    return next(ast.literal_eval(node.value) for node in tree.body
                if isinstance(node, ast.Assign) and node.targets[0].id == "_jobs")


def slug(job):
    "The name of a job's page."
    return re.sub(r"\W+", "_", job.lower())


def example(thing):
    "The call of a docstring and its output, as source and output; empty texts where there is none."
    parts = doctest.DocTestParser().parse(inspect.getdoc(thing) or "")
    calls = [part for part in parts if isinstance(part, doctest.Example)]
    return "".join(part.source for part in calls), "".join(part.want for part in calls)


def prose(thing):
    "A docstring without its example: the first paragraph, and the others."
    parts = doctest.DocTestParser().parse(inspect.getdoc(thing) or "")
    text = "".join(part for part in parts if isinstance(part, str))
    paragraphs = [part.strip() for part in re.split(r"\n\s*\n", text) if part.strip() not in ("", "Example:")]
    return (paragraphs or [""])[0], "\n\n".join(paragraphs[1:])


def shown_type(annotation):
    "A type as a reader wants it: without modules; nothing where any will do."
    text = annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)
    text = re.sub(r"\b(?:[a-z_]\w*\.)+(?=\w)", "", text)
    text = re.sub(r"InitVar\[(.*)\]", r"\1", text)
    return "" if text in ("Any", "_empty") else text


def comments(source):
    "What inline comments say of the parameters of a function or of the fields of a class: on its line, or just above."
    node = ast.parse(source).body[0]
    places = {field.target.lineno: field.target.id for field in node.body if isinstance(field, ast.AnnAssign)}
    init = node if isinstance(node, ast.FunctionDef) else next(
        (each for each in node.body if getattr(each, "name", "") == "__init__"), None)
    if init:
        args = init.args
        those = [*args.posonlyargs, *args.args, args.vararg, *args.kwonlyargs, args.kwarg]
        places |= {each.lineno: each.arg for each in those if each}
    said = {token.start[0]: (token.string.lstrip("# "), not token.line[:token.start[1]].strip())
            for token in tokenize.generate_tokens(StringIO(source).readline) if token.type == tokenize.COMMENT}
    if init and init.returns and init.returns.lineno in said:
        places[init.returns.lineno] = "return"
    found = {}
    for line, name in places.items():
        words = [said[line][0]] if line in said else []
        above = line - 1
        while line not in said and above in said and said[above][1]:  # a line that holds nothing else
            words.insert(0, said[above][0])
            above -= 1
        found[name] = " ".join(words) or found.get(name, "")
    return found


@cache
def own_comments(thing):
    "`comments` of the source of a function or class itself."
    return comments(textwrap.dedent(inspect.getsource(thing)))


def told(thing):
    "What inline comments say of the parameters of a function, or of a class, whose fields may be those of its bases."
    found = {}
    for each in reversed(thing.__mro__) if isinstance(thing, type) else [inspect.unwrap(thing)]:
        if each.__module__.startswith(f"{LIB}."):
            those = own_comments(each)
            found |= {name: words for name, words in those.items() if words or name not in found}
    return found


def parameters(thing):
    "Rows of the table of parameters: name, type, default, meaning."
    try:
        signature = inspect.signature(thing)
    except (TypeError, ValueError):
        return []
    rows, known = [], told(thing)
    for name, one in signature.parameters.items():
        if name == "self" or name == "unnamed":
            continue
        default = "needed" if one.default is EMPTY and one.kind not in STARS else "" if one.default is EMPTY else (
            f"`{one.default!r}`")
        rows.append((f"`{STARS.get(one.kind, '')}{name}`", shown_type(one.annotation), default, known.get(name, "")))
    return rows


def in_cell(text):
    "Text as a cell of a table: on one line, its bars and, outside of code, its stars and underscores escaped."
    parts = re.split(r"(`[^`]*`)", re.sub(r"\s+", " ", text).replace("|", "\\|"))
    return "".join(part if part.startswith("`") else re.sub(r"([*_<])", r"\\\1", part) for part in parts)


def entry(name, thing, home, title):
    "What a page says of one name."
    first, more = prose(thing)
    call, output = example(thing)
    path = f"../{home.replace('.', '/')}.ipynb"
    out = [f"## `{name}` {{#{name}}}", first]
    if call:
        out.append(f"```python\n{call.rstrip()}\n```")
    if output:
        out.append(f"```text\n{output.rstrip()}\n```")
    rows = parameters(thing)
    if rows:
        out.append("| parameter | type | default | meaning |\n|---|---|---|---|\n" + "\n".join(
            f"| {name} | {in_cell(f'`{kind}`') if kind else ''} | {default} | {in_cell(said)} |"
            for name, kind, default, said in rows))
    out += [more] * bool(more)
    out.append(f"Chapter: [{title}]({path}#{name}).")
    return "\n\n".join(out)


def pages(titles):
    "The text of each page by name: one a job, and `public_names` in the folder above."
    sys.path.insert(0, str(ROOT))
    package = __import__(LIB)
    found, rows = {}, []
    for job, names in jobs().items():
        things = {name: getattr(package, name) for name in names}
        head = f"---\ntitle: {job}\ndescription: {', '.join(list(names)[:4])} …\n---\n"
        listed = ", ".join(f"[`{name}`](#{name})" for name in names)
        found[slug(job)] = "\n\n".join([head, listed, *(
            entry(name, thing, names[name], titles[names[name]]) for name, thing in things.items())]) + "\n"
        rows += [(name, prose(thing)[0], job) for name, thing in things.items()]
    head = (f"---\ntitle: Public names\ndescription: Everything that `from {LIB} import …` gives\ntoc: false\n---\n\n"
            "| name | what it is | page |\n|---|---|---|\n")
    found["../public_names"] = head + "\n".join(
        f"| [`{name}`](reference/{slug(job)}.md#{name}) | {in_cell(said)} | [{job}](reference/{slug(job)}.md) |"
        for name, said, job in sorted(rows, key=lambda row: row[0].lower())) + "\n"
    return found
