"""Build the site into _docs/ in pure Python, and check every page of it.

nbdev turns the notebooks into processed ones (API blocks, links to names), smalldocs renders those from
`_quarto.yml`, and this script does what the two leave undone: file names, relative links, the code of each chapter
beside its documentation, one page of source per module, and KaTeX from the site itself. Then it reads all pages back
and fails on an unresolved link, equation or citation, on anything loaded from outside, and on any warning.
"""

import ast
import base64
import hashlib
import html
import itertools
import json
import posixpath
import re
import shutil
import statistics
import subprocess
import sys
import tarfile
from collections import Counter
from fnmatch import fnmatch
from functools import cache
from html.parser import HTMLParser
from pathlib import Path, PurePosixPath
from urllib.parse import unquote, urlsplit
from xml.etree import ElementTree

import figures
import search
import yaml
from browse import moved
from figures import smallest
from pyproject import settings
from reference import in_cell, jobs, pages, slug  # noqa: F401

ROOT = Path(__file__).resolve().parent.parent
NBS, PROC, DOCS, CACHE = ROOT / "nbs", ROOT / "_proc", ROOT / "_docs", ROOT / ".cache"
WORK = ROOT / "build" / "nbs"
KATEX = "katex@0.16.11"
REDIRECTS = "redirects.json"  # in nbs/: pages of older sites, and their successors
ALONE = "dp_bayes.html"  # the page that needs nothing installed, with tests of its own (tests/test_page.py)
SKIP = "eval: false"  # the directive of a cell that is shown and not run

LIB = settings()["lib_name"]


class Failed(Exception):
    "A reason why the site is not good enough, for a person to read."


# ---------------------------------------------------------------- notebooks


def read_nb(path):
    return json.loads(path.read_text(encoding="utf-8"))


def write_nb(nb, path):
    path.write_text(json.dumps(nb, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def source(cell):
    return "".join(cell.get("source") or [])


def imports(code):
    "Whether a cell imports anything, and whether it does nothing else."
    try:
        tree = ast.parse(code)
    except SyntaxError:  # a magic command
        return False, False
    kinds = (ast.Import, ast.ImportFrom)
    return any(isinstance(node, kinds) for node in ast.walk(tree)), all(isinstance(node, kinds) for node in tree.body)


def copy_notebooks():
    """Copy nbs/ to build/nbs, with `#| export` turned into `#| exports`: the site shows the code that it explains.

    Returns the faults: nbdev runs every cell that imports, so a visible cell that imports and computes is one (and is
    not run here).
    """
    faults = []
    shutil.rmtree(WORK, ignore_errors=True)
    WORK.mkdir(parents=True)
    for path in sorted(NBS.rglob("*")):
        inside = path.relative_to(NBS)
        if any(part.startswith(".") for part in inside.parts) or path.is_dir() or path.suffix == ".py":
            continue
        if path.name in ("nbdev.yml", REDIRECTS):
            continue
        target = WORK / inside
        target.parent.mkdir(parents=True, exist_ok=True)
        if path.suffix == ".ipynb":
            nb = read_nb(path)
            rest = re.sub(r"\A\s*# [^\n]*\n*(>[^\n]*\n*)*", "", source(nb["cells"][0]) + "\n")
            if nb["cells"][0]["cell_type"] == "markdown" and rest.strip():
                faults.append(
                    f"{inside}: the cell of the title holds only title and subtitle; nbdev drops the rest: "
                    f"{rest.strip()[:60]}…")
            for cell in nb["cells"]:
                code = source(cell)
                if cell["cell_type"] != "code":
                    continue
                some, only = imports(code)
                if some and not only and not re.match(r"#\|\s*(export|eval)", code):
                    cell["source"] = (f"#| {SKIP}\n" + code).splitlines(keepends=True)
                    if not re.match(r"#\|\s*hide", code):
                        faults.append(f"{inside}: imports belong in cells of their own: {code.splitlines()[0]}")
                if re.match(r"#\|\s*export\s*\n", code) and not only:
                    cell["source"] = re.sub(r"\A#\|\s*export\s*\n", "#| exports\n", code).splitlines(keepends=True)
            nb["cells"] = [copy for cell in nb["cells"] for copy in shown_too(cell)]
            write_nb(nb, target)
        else:
            shutil.copyfile(path, target)
    return faults


def shown_too(cell):
    "A cell; one of inner code (`exporti`), which nbdev runs and removes, also without its directive, to be read."
    inner = cell["cell_type"] == "code" and re.match(r"#\|\s*exporti\s*\n", source(cell))
    if not inner:
        return [cell]
    text = source(cell)[inner.end():]
    return [cell, {**cell, "id": f"{cell['id']}-shown"[:64], "source": text.splitlines(keepends=True)}]


def names(folder):
    "The notebooks under a folder, by relative path."
    return {p.relative_to(folder).as_posix() for p in folder.rglob("*.ipynb")}


def process():
    "Run nbdev's processors over the copied notebooks, into _proc/; returns the faults found."
    faults = copy_notebooks()
    shutil.rmtree(PROC, ignore_errors=True)
    code = "from nbdev.serve import proc_nbs; proc_nbs(path='build/nbs', force=True, n_workers=2)"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True,
                          stdin=subprocess.DEVNULL)
    noise = done.stdout + done.stderr
    if done.returncode or "Traceback" in noise or "Error in" in noise:
        raise Failed(f"processing the notebooks failed:\n{noise}")
    missing = names(WORK) - names(PROC)
    if missing:
        raise Failed(f"notebooks were not processed: {', '.join(sorted(missing))}\n{noise}")
    return faults


# ---------------------------------------------------------------- mending the processed notebooks


def is_doc(cell):
    return cell["cell_type"] == "code" and re.search(r"^show_doc\(", source(cell), re.M) is not None


def is_shown_export(cell):
    return cell["cell_type"] == "code" and 'code-summary: "Exported source"' in source(cell)


def defined(cell):
    "Names of the functions and classes a cell defines, in order."
    code = "\n".join(line for line in source(cell).splitlines() if not line.startswith("#|"))
    return [node.name for node in ast.parse(code).body if isinstance(node, (ast.FunctionDef, ast.ClassDef))]


def frame_doc(cell, signature):
    """Frame an API block: name, source link, docstring; the signature goes when the code itself follows. Its anchor is
    the name as it is written: `audit` and `Audit` are two things of one page.
    """
    for out in cell.get("outputs", []):
        data = out.get("data", {})
        text = "".join(data.get("text/markdown", []))
        found = re.match(r"---\n+(\[source\]\([^)]*\))\{[^}]*\}\n+(#+ [^\n]*)\n+", text)
        if found is None:
            continue
        rest = text[found.end() :]
        if not signature:
            rest = re.sub(r"```python\n.*?```\n*", "", rest, count=1, flags=re.S)
        name = found[2].lstrip("#").strip()
        data["text/markdown"] = (f":::: {{.api}}\n{found[2]} {{#{name}}}\n\n{found[1]}{{.source-link}}\n\n"
                                 f"{rest.rstrip()}\n::::\n")
        data.pop("text/plain", None)


def order_docs(cells):
    "Where a cell defines several names, put their documentation in the order of definition, before the code."
    ordered, run = [], []

    def flush():
        shown = [c for c in run if is_shown_export(c)]
        docs = {re.search(r"^show_doc\(([\w.]+)", source(c), re.M).group(1): c for c in run if is_doc(c)}
        for code in shown:
            for name in defined(code):
                if name in docs:
                    frame_doc(docs[name], signature=False)
                    ordered.append(docs.pop(name))
            text = source(code).replace('code-summary: "Exported source"', 'code-summary: "Code"')
            text = re.sub(r"^#\| exports?\n", "", text, flags=re.M)
            code["source"] = text.splitlines(keepends=True)
            ordered.append(code)
        for doc in docs.values():
            frame_doc(doc, signature=True)
            ordered.append(doc)
        run.clear()

    for cell in cells:
        if is_doc(cell) or is_shown_export(cell):
            run.append(cell)
        else:
            flush()
            ordered.append(cell)
    flush()
    return ordered


def anchored(cells, module):
    """Give way to names: a heading of prose whose anchor is a name's takes another one, and a name written with
    capitals keeps its address of older sites, in small letters, where nothing else has it.
    """
    public, taken = explained(module) or set(), set()

    def own(m):
        taken.add(anchor := search.anchor(m[2], public))
        return m[0] if anchor == search.anchor(m[2]) else f"{m[1]}{m[2]} {{#{anchor}}}"

    def old(m):
        lower = m[1].lower()
        if lower in taken | public:
            return m[0]
        taken.add(lower)
        return m[0].replace("{.api}", f"{{#{lower} .api}}", 1)

    for cell in cells:
        if cell["cell_type"] == "markdown":
            cell["source"] = re.sub(r"^(#+ )(.+)$", own, source(cell), flags=re.M)
    for cell in cells:
        for out in cell.get("outputs", []):
            data = out.get("data", {})
            if "text/markdown" in data:
                data["text/markdown"] = re.sub(r"\A:::: \{\.api\}\n#+ \S+ \{#(\w+)\}$", old,
                                               "".join(data["text/markdown"]), count=1, flags=re.M)


@cache
def homes():
    "Where each public name lives, as the package says."
    return {name: home for names in jobs().values() for name, home in names.items()}


@cache
def explained(module):
    """The names with a heading of their own on the page of a module: functions and classes of its `__all__`; None for
    another page.
    """
    path = ROOT / LIB / f"{module}.py"
    if not path.exists():
        return None
    body = ast.parse(path.read_text(encoding="utf-8")).body
    public = next((set(ast.literal_eval(node.value)) for node in body
                   if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "__all__"), set())
    return public & {node.name for node in body if isinstance(node, (ast.FunctionDef, ast.ClassDef))}


@cache
def known(module):
    "The names at the top of a module that it defines, and those that it imports with the module each comes from."
    path = ROOT / LIB / f"{module}.py"
    if not path.exists():
        return set(), {}
    body, package = ast.parse(path.read_text(encoding="utf-8")).body, PurePosixPath(module).parent.parts
    own = {node.name for node in body if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
    own |= {target.id for node in body if isinstance(node, ast.Assign) for target in node.targets
            if isinstance(target, ast.Name)}
    return own, imported(body, (LIB, *package))


def imported(body, package=()):
    "Names of this package that some statements import: the module of each, without the package's name, and its name."
    found = {}
    for top in body:
        for node in ast.walk(top):
            if isinstance(node, ast.ImportFrom):
                parts = (package[:len(package) - node.level + 1] if node.level else ()) + tuple(
                    (node.module or "").split(".") if node.module else ())
                if parts[:1] == (LIB,):
                    found |= {alias.asname or alias.name: ("/".join(parts[1:]), alias.name) for alias in node.names}
    return found


def origin(module, name):
    "The module that defines a name which another one may only import."
    if not module:
        return homes()[name].replace(".", "/") if name in homes() else None
    own, others = known(module)
    return module if name in own or name not in others else origin(*others[name])


@cache
def definers(name):
    "Every module that explains a name, or only defines it."
    modules = [p.relative_to(ROOT / LIB).with_suffix("").as_posix() for p in sorted((ROOT / LIB).rglob("*.py"))
               if not p.name.startswith("_")]
    return [module for module in modules if name in known(module)[0]]


@cache
def brought(page):
    "The names that the cells of a notebook import from this package."
    found = {}
    for cell in read_nb(NBS / page)["cells"] if (NBS / page).is_file() else []:
        if cell["cell_type"] == "code":
            try:
                found |= imported(ast.parse(source(cell)).body)
            except SyntaxError:  # a magic command
                continue
    return found


def meaning(name, page, module):
    """The module whose `name` a page means, where nbdev's look-up, which knows one place for each name, found that of
    `module`: its own, else the one that it imports, else the public one; None where several remain.
    """
    first = name.split(".")[0]
    own = re.sub(r"(^|/)\d\d_", r"\1", page).removesuffix(".ipynb")
    if first in known(own)[0]:
        return own
    if first in brought(page):
        return origin(*brought(page)[first])
    if first in homes():
        return homes()[first].replace(".", "/")
    return module if len(definers(first)) < 2 else None


TEST = re.compile(r"^\s*(assert\b|(must_fail|test_\w+|assert_\w+|check_\w+)\()", re.M)
DRAWS = re.compile(r"\b(plt|axs?|axes|fig)\b[.\[]")
SHORT = 6  # lines of code that are read at a glance and are not folded


SMALLEST: dict[str, tuple] = {}  # points of the smallest text of each figure, and without exponents, by its digest


def digest(picture):
    "A short name of a picture given in base64."
    return hashlib.sha256(re.sub(r"\s", "", picture).encode()).hexdigest()[:16]


def with_fold(cell, text, summary):
    "A cell whose code is one click away, under a summary."
    code = f'#| code-fold: true\n#| code-summary: "{summary}"\n{text}'
    return {**cell, "source": code.splitlines(keepends=True)}


def arrange(cell):
    """A shown cell as a reader wants it: a figure before the code that draws it, and tests folded.

    Returns one or two cells. Code that is documented here or already folded stays as it is.
    """
    text = source(cell)
    if cell["cell_type"] != "code" or is_doc(cell) or re.search(r"^#\|\s*(code-fold|echo|include)", text, re.M):
        return [cell]
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#|")]
    figure = any("image/png" in out.get("data", {}) for out in cell.get("outputs", []))
    if figure:
        for out in cell["outputs"]:
            if "image/png" in out.get("data", {}):
                SMALLEST[digest("".join(out["data"]["image/png"]))] = smallest(text), smallest(text, exponents=False)
        before = {**cell, "id": f"{cell['id']}-figure"[:64], "source": ["#| echo: false\n", *text.splitlines(True)]}
        drawing = sum(1 for line in lines if DRAWS.search(line))
        code = {**cell, "outputs": []}
        if len(lines) > SHORT and 3 * drawing >= len(lines):
            code = with_fold(code, text, "Code of the figure")
        return [before, code]
    tests = TEST.findall(text)
    if tests and not cell.get("outputs"):
        return [with_fold(cell, text, "Test")]
    if len(tests) > 1 and len(lines) > SHORT:
        return [with_fold(cell, text, "Test, whose output follows")]
    return [cell]


def mend_text(text, page, front):
    """Links of nbdev and of the authors on a page, made into links between processed notebooks,
    which smalldocs resolves. A plain word is linked only where it is a public name, or explained on the page itself.
    """
    folder = PurePosixPath(page).parent

    def to(path):
        return posixpath.relpath(path, folder)

    def authored(m):
        old = posixpath.normpath(folder / m["path"])
        return f"]({to(front[old])}{m['rest']}" if old in front else m[0]

    def meant(m):  # `columns` of a model is no function `columns` of another chapter
        return m[0] if m[1] in homes() or f"{m[2]}.ipynb" == front[page] else f"`{m[1]}`"

    def headed(m):  # inner names are linked by nbdev too, and have no heading
        known = explained(m[2])
        return m[0] if known is None or m[3].split(".")[0] in known else f"`{m[1]}`"

    def resolved(m):  # the look-up of nbdev has one place for each name
        module = meaning(m[1], page, m[2])
        return f"[`{m[1]}`](/{module}.html#{m[1].split('.')[0]})" if module else f"`{m[1]}`"

    pages = {new.removesuffix(".ipynb") for new in front.values()}
    text = re.sub(r"\[\[(`[^`]+`)\]\(/[^)]+\)\](?=\()", r"[\1]", text)  # the author's own link of a name stays
    text = re.sub(r"\[`([\w.]+)(?:\(\))?`\]\(/([\w/]+)\.html#([\w.]+)\)", resolved, text)
    text = re.sub(r"\[`([^`\]]+)`\]\(/([\w/]+)\.html#([\w.]+)\)", headed, text)
    text = re.sub(r"\[`([a-z]+)`\]\(/([\w/]+)\.html#\1\)", meant, text)
    text = re.sub(r"\]\((?P<path>[\w./-]+\.ipynb)(?P<rest>[#)])", authored, text)
    text = re.sub(rf"/blob/\w+/{LIB}/([\w/]+)\.py(#L\d+)?", lambda m: f"{to(f'source/{m[1]}.md')}{m[2] or ''}", text)
    text = re.sub(r"(\]\(/[\w/]+\.html#\w+)\.\w+\)", r"\1)", text)  # a method is read at its class
    text = re.sub(r"\]\(/([\w/]+)\.html", lambda m: f"]({to(m[1] + '.ipynb')}" if m[1] in pages else m[0], text)
    return text.replace("jaxlib._jax.Array", "Array")


NOTEBOOKS: dict[str, str] = {}  # the notebook of each page


def mend():
    "Rename each processed notebook to its `output-file`, mend links, and expand the sidebar of _quarto.yml."
    front = {}
    for name in sorted(names(PROC)):
        head = source(read_nb(PROC / name)["cells"][0])
        found = re.search(r"^output-file: (\S+)\.html$", head, re.M)
        front[name] = str(PurePosixPath(name).with_name((found[1] if found else PurePosixPath(name).stem) + ".ipynb"))
    NOTEBOOKS.update({new.replace(".ipynb", ".html"): name for name, new in front.items()})
    twice = [new for new, count in Counter(front.values()).items() if count > 1]
    if twice:
        raise Failed(f"several notebooks would become one page: {', '.join(twice)}")
    for name, new in front.items():
        nb = read_nb(PROC / name)
        nb["cells"][0]["source"] = re.sub(r"^output-file: .*\n", "", source(nb["cells"][0]), flags=re.M)
        nb["cells"] = order_docs(nb["cells"])
        anchored(nb["cells"], new.removesuffix(".ipynb"))
        for cell in nb["cells"]:
            if cell["cell_type"] == "code":  # a directive that is no YAML, such as `slow`, would hide the others
                cell["source"] = re.sub(r"^#\|[^:\n]*\n", "", source(cell), flags=re.M)
            if cell["cell_type"] == "markdown":
                cell["source"] = mend_text(source(cell), name, front)
            for out in cell.get("outputs", []):
                if "text/markdown" in out.get("data", {}):
                    out["data"]["text/markdown"] = mend_text("".join(out["data"]["text/markdown"]), name, front)
        nb["cells"] = [part for cell in nb["cells"] for part in arrange(cell)]
        (PROC / name).unlink()
        write_nb(nb, PROC / new)
    config = yaml.safe_load((PROC / "_quarto.yml").read_text(encoding="utf-8"))
    listed = []

    def expand(entries):
        """The entries with patterns replaced by the notebooks that match and are listed nowhere before; a section's
        `href` is its opening page, and an entry with `text` and `href` lists a page a second time.
        """
        done = []
        for entry in [entries] if isinstance(entries, str) else entries:
            if isinstance(entry, dict):
                if entry.get("href") in front:
                    entry = {**entry, "href": front[entry["href"]]}
                if "contents" in entry:
                    listed.extend([entry["href"]] if "href" in entry else [])
                    entry = {**entry, "contents": expand(entry["contents"])}
                if entry.get("contents", True):
                    done.append(entry)
                continue
            found = [new for old, new in sorted(front.items()) if fnmatch(old, entry) and new not in listed]
            listed.extend(found)
            written = [f"reference/{slug(job)}.md" for job in jobs()] if entry == "reference/*.md" else [entry]
            done.extend(found or (written if entry.endswith(".md") else []))
        return done

    sidebar = config["website"]["sidebar"]
    sidebar["contents"] = expand(sidebar["contents"])
    for entry in config["website"]["navbar"]["left"]:
        entry["href"] = front.get(entry["href"], entry["href"])
    unlisted = set(front.values()) - set(listed)
    if unlisted:
        raise Failed(f"the sidebar of _quarto.yml must list each notebook; missing: {', '.join(sorted(unlisted))}")
    (PROC / "_quarto.yml").write_text(yaml.safe_dump(config, sort_keys=False), encoding="utf-8")


def reference():
    "A page of the reference for each job, and the page of all public names, which leads to them."
    (PROC / "reference").mkdir(exist_ok=True)
    for name, text in pages(titles()).items():
        (PROC / f"reference/{name}.md").write_text(text, encoding="utf-8")


def titles():
    "The title of each module's chapter."
    return {home: re.search(r"^title: (.*)$", source(read_nb(PROC / f"{home.replace('.', '/')}.ipynb")["cells"][0]),
                            re.M)[1].strip("\"'") for home in set(homes().values())}


def lean(code):
    "Highlighted code in which words of the language, texts and comments alone are marked: half a megabyte less."
    return re.sub(r'<span class="(?:dv|fl|cn|fu|im|at|dt)">([^<]*)</span>', r"\1", code)


def source_pages():
    "One page per module of the package, with an anchor at each definition for the source links."
    from smalldocs.highlight import highlight

    folder = PROC / "source"
    for path in sorted((ROOT / LIB).rglob("*.py")):
        inside = path.relative_to(ROOT / LIB)
        if path.name.startswith("_"):
            continue
        text = path.read_text(encoding="utf-8").rstrip("\n")
        linked = {line.lineno for node in ast.walk(ast.parse(text)) if hasattr(node, "decorator_list")
                  for line in (node, *node.decorator_list)}
        code = "\n".join(f'<a id="L{k}"></a>{line}' if k in linked else line
                         for k, line in enumerate(lean(highlight(text, "python")).split("\n"), 1))
        fence = "`" * 8
        body = (
            f'<pre class="sourceCode python module-source"><code class="sourceCode '
            f'python">{code}</code></pre>')
        head = f"---\ntitle: {LIB}/{inside.as_posix()}\ntoc: false\nsearch: false\n---\n\n"
        page = folder / inside.with_suffix(".md")
        page.parent.mkdir(parents=True, exist_ok=True)
        back = posixpath.relpath(inside.with_suffix(".ipynb"), (Path("source") / inside).parent)
        link = f"[The chapter that explains this code]({back})"
        page.write_text(f"{head}{link}\n\n{fence}{{=html}}\n{body}\n{fence}\n", encoding="utf-8")


def redirect(site):
    """Small pages under the addresses of older sites, which lead to their successors and keep the anchor.

    Returns the faults: a successor that is not there.
    """
    faults = []
    for old, new in json.loads((NBS / REDIRECTS).read_text(encoding="utf-8")).items():
        if not (site / new).is_file():
            faults.append(f"{REDIRECTS}: {old} leads to {new}, which is no page")
        elif not (site / old).exists():
            to = posixpath.relpath(new, PurePosixPath(old).parent)
            (site / old).parent.mkdir(parents=True, exist_ok=True)
            (site / old).write_text(f"""<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>Moved</title>
<script>location.replace({json.dumps(to)} + location.hash)</script>
<meta http-equiv="refresh" content="1; url={to}"></head>
<body><p>This page has moved to <a href="{to}">{to}</a>.</p></body></html>
""", encoding="utf-8")
    return faults


# ---------------------------------------------------------------- rendering


def render():
    "Render _proc/ with smalldocs: the site's folder, and every warning as a fault."
    done = subprocess.run([sys.executable, "-m", "smalldocs.cli", "render", "-q", str(PROC)], cwd=ROOT,
                          capture_output=True, text=True, stdin=subprocess.DEVNULL)
    said = (done.stdout + done.stderr).strip().splitlines()
    said = [line for line in said if not line.endswith(f"broken link {ALONE}")]  # it is there later, and checked then
    site = PROC / settings()["doc_path"]
    if done.returncode or not site.is_dir():
        raise Failed("smalldocs failed:\n" + "\n".join(said))
    return site, said


def katex():
    "The folder of KaTeX's distribution, fetched once by npm and kept under .cache/."
    name = KATEX.replace("@", "-")
    dist = CACHE / name / "package" / "dist"
    if not (dist / "katex.min.js").is_file():
        npm = shutil.which("npm")
        if npm is None:
            raise Failed(
                "npm is needed once, to fetch KaTeX for the equations of the site; install it (Debian: apt-get "
                "install npm)")
        CACHE.mkdir(exist_ok=True)
        done = subprocess.run([npm, "pack", "--silent", KATEX], cwd=CACHE, capture_output=True, text=True,
                              stdin=subprocess.DEVNULL)
        archive = CACHE / f"{name}.tgz"
        if done.returncode or not archive.is_file():
            raise Failed(f"npm pack {KATEX} failed:\n{done.stdout}{done.stderr}")
        with tarfile.open(archive) as tar:
            tar.extraction_filter = getattr(tarfile, "data_filter", lambda member, path: member)  # Python 3.11.4
            tar.extractall(CACHE / name)
        archive.unlink()
    return dist


def vendor_katex(site):
    "Copy KaTeX (woff2 fonts only) into the site and let the pages use that copy."
    dist, target = katex(), site / "site_libs" / "katex"
    (target / "contrib").mkdir(parents=True)
    (target / "fonts").mkdir()
    for name in ("katex.min.js", "contrib/auto-render.min.js"):
        shutil.copyfile(dist / name, target / name)
    for font in dist.glob("fonts/*.woff2"):
        shutil.copyfile(font, target / "fonts" / font.name)
    for old in site.rglob("bootstrap-icons.woff"):  # each browser of today reads woff2
        old.unlink()
        style = next(old.parent.parent.glob("bootstrap-icons*.css"))
        css = style.read_text(encoding="utf-8")
        style.write_text(re.sub(r',\s*url\("[^"]*\.woff\?\w+"\) format\("woff"\)', "", css), encoding="utf-8")
    css = (dist / "katex.min.css").read_text(encoding="utf-8")
    css = re.sub(r",url\([^)]*\.(?:woff|ttf)\) format\(\"(?:woff|truetype)\"\)", "", css)
    (target / "katex.min.css").write_text(css, encoding="utf-8")
    shutil.copyfile(dist.parent / "LICENSE", target / "LICENSE")
    for page in site.rglob("*.html"):
        offset = "../" * (len(page.relative_to(site).parts) - 1)
        text = page.read_text(encoding="utf-8")
        text = re.sub(r"https://cdn\.jsdelivr\.net/npm/katex@[\d.]+/dist", f"{offset}site_libs/katex", text)
        page.write_text(text, encoding="utf-8")


def find(site):
    """The search of the site: its index, made from the notebooks, and its ranking in place of Fuse's.

    Returns the faults: an entry that leads to no page or to no heading.
    """
    rows, ids, faults = [], {}, []
    for row in search.entries(NBS, ROOT / LIB):
        page, _, fragment = row["href"].partition("#")
        if page not in ids:
            text = (site / page).read_text(encoding="utf-8") if (site / page).is_file() else ""
            ids[page] = set(re.findall(r'\sid="([^"]+)"', html.unescape(text))) if text else None
        if ids[page] is None:
            faults.append(f"search: {page} is no page")
        elif fragment and fragment not in ids[page]:
            faults.append(f"search: {row['href']} leads to no anchor")
        rows.append(row)
    (site / "search.json").write_text(json.dumps(rows, ensure_ascii=False, separators=(",", ":")), encoding="utf-8")
    ranked = [path for path in site.rglob("fuse*.js")]
    if not ranked:
        faults.append("search: the site has no fuse.js whose place the ranking could take")
    for path in ranked:
        shutil.copyfile(ROOT / "tools" / "search.js", path)
    return faults


CODE = re.compile(r'(?<=<code class="sourceCode)([^>]*>)(.*?)(?=</code>)', re.S)
PLAIN = r'<span class="(?:op|bu|va)">([^<]*)</span>'  # whose colour is that of the text, or nearly
LIGHT = ("b", "kw|cf"), ("u", "st"), ("i", "co"), ("var", "dv|fl|cn")  # words of the language, texts, comments, numbers
PICTURE = re.compile(r'<img (?=[^>]*image/png;base64,)[^>]*>')
OUTPUT = re.compile(r'<div class="cell-output[^"]*">\s*<pre[^>]*><code[^>]*>(?P<text>.*?)</code></pre>', re.S)
COLUMN = 120  # characters of code that fit beside the sidebar of a laptop, as styles.css sets them


def lighter(m):
    "Highlighted code that looks the same with fewer and shorter tags, two megabytes less: styles.css colours them."
    text = re.sub(r'class="(?:ss|ch)"', 'class="st"', re.sub(PLAIN, r"\1", m[2]))
    text = re.sub(r'<span class="(\w+)">[^<]*</span>(?:<span class="\1">[^<]*</span>)+',
                  lambda run: f'<span class="{run[1]}">{re.sub("<[^>]*>", "", run[0])}</span>', text)
    for tag, marks in LIGHT:
        text = re.sub(f'<span class="(?:{marks})">([^<]*)</span>', rf"<{tag}>\1</{tag}>", text)
    return m[1] + text.replace("&quot;", '"').replace("&#x27;", "'")


def pictures(text, page):
    "The page with each PNG that it holds in a file, or one for each of its panels, under the page's name."
    count = itertools.count(1)

    def shown(tag):
        picture, number, pieces = re.search(r"data:image/png;base64,([^\"']+)", tag[0]), next(count), []
        for k, part in enumerate(figures.parts(base64.b64decode(picture[1]))):
            file = page.with_name(f"{page.stem}-{number}{f'-{k + 1}' * (k > 0)}.png")
            file.write_bytes(part)
            pieces.append((file.name, *figures.size(part)))
        return figures.sized(tag[0], pieces, SMALLEST.get(digest(picture[1]), (figures.SMALL,) * 2))

    return PICTURE.sub(shown, text)


def shortened(text):
    """The page with the sidebar's parts as links, of which only the open ones list their pages; a page that the sidebar
    does not list, such as one of source, has none.
    """
    found = re.search(r'<nav id="quarto-sidebar".*?</nav>', text, re.S)
    if found is None:
        return text
    bar = ElementTree.fromstring(found[0])

    def listed(entries):
        items = []
        for entry in entries:
            link, below = entry.find("div/a"), entry.find("ul")
            here = [each for each in entry.iter("a") if "active" in each.get("class", "").split()]
            first = next(each.get("href") for each in entry.iter("a") if each.get("href"))
            current = ' active" aria-current="page' if link in here else ""
            name = ElementTree.tostring(link.find("span"), "unicode", "html").strip()
            items.append(f'<li><a class="sidebar-link{current}" href="{html.escape(first)}">'
                         + re.sub("^<span[^>]*>|</span>$", "", name) + "</a>"
                         + (listed(below) if below is not None and here else "") + "</li>")
        return f'<ul class="list-unstyled">{"".join(items)}</ul>'

    if any("active" in each.get("class", "").split() for each in bar.iter("a")):
        head, rest = re.match(r"<nav[^>]*>", found[0])[0], listed(bar.find("div/ul"))
        return text.replace(found[0], f"{head}{rest}</nav>")
    text = re.sub(r'<button[^>]*aria-controls="quarto-sidebar".*?</button>', "", text.replace(found[0], ""), flags=re.S)
    return text.replace(" has-sidebar", "").replace("nav-sidebar ", "")


def wrapped(m):
    "The output of a cell, marked to be wrapped when lines are too long for the column and none is a row of columns."
    long = [line for line in html.unescape(re.sub(r"<[^>]+>", "", m["text"])).split("\n") if len(line) > COLUMN]
    wraps = long and not any(re.search(r"\S {3,}\S", line) for line in long)
    return m[0].replace('class="cell-output', 'class="cell-output wrapped', 1) if wraps else m[0]


def contents(text):
    "The page with its contents once more above the text, folded, for windows that have no room for a margin."
    found = re.search(r'<nav[^>]*id="TOC"[^>]*>.*?</nav>', text, re.S)
    if found is None:
        return text
    links = re.findall(r'<a href="(#[^"]+)"[^>]*>(.*?)</a>', found[0], re.S)
    items = "".join(f'<li><a href="{url}">{words}</a></li>' for url, words in links)
    box = f'<details class="on-this-page"><summary>On this page</summary><ul>{items}</ul></details>'
    return re.sub(
        r'(<header[^>]*id="title-block-header".*?</header>)', lambda m: m[1] + box, text, count=1, flags=re.S)


COPIED = re.compile(r'<div class="code-copy-outer-scaffold"><div class="sourceCode"[^>]*>((?:(?!</pre>).)*</pre>)</div>'
                    r'<button [^>]*class="code-copy-button">.*?</button></div>', re.S)


def slim(text):
    "The page without what `page.js` adds in the browser, buttons above all, and what nothing reads."
    text = COPIED.sub(r'<div class="sourceCode">\1</div>', text)
    text = re.sub(r'(<a href="#[^"]*") id="[^"]*" (class="nav-link") data-scroll-target="[^"]*"', r"\1 \2", text)
    return re.sub(r'(<script src="[^"]*)(smalldocs\.js" defer>)', r'\1page.js" defer></script>\1\2', text, count=1)


def finish(site):
    """What a reader feels and smalldocs leaves undone: figures, punctuation that stays with its formula, the sidebar
    at the current page, and pages that are light.
    """
    for page in site.rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        text = shortened(pictures(text, page))
        text = CODE.sub(lighter, OUTPUT.sub(wrapped, text))
        text = re.sub(r'([(\[])?(<span class="math inline">[^<]{1,40}</span>)([.,;:?!)\]’]+)?',
                      lambda m: f'<span class="together">{m[0]}</span>' if m[1] or m[3] else m[0], text)
        page.write_text(contents(slim(text)), encoding="utf-8")
    for script in site.rglob("smalldocs.js"):
        shutil.copyfile(ROOT / "tools" / "page.js", script.with_name("page.js"))


# ---------------------------------------------------------------- checks

LOADS = {("script", "src"), ("img", "src"), ("iframe", "src"), ("source", "src"), ("video", "src"), ("audio", "src"),
         ("embed", "src"), ("object", "data"), ("input", "src"), ("track", "src"), ("image", "href"), ("use", "href")}
LINK_LOADS = {"stylesheet", "icon", "preload", "modulepreload", "prefetch", "manifest", "preconnect", "dns-prefetch"}


class Page(HTMLParser):
    "What a check needs of one page: ids, links, loads, visible text, and the numbers of its equations."

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.ids, self.links, self.loads, self.text, self.prose = [], [], [], [], []
        self.tags, self.stack, self.styles = {}, [], []
        self.heads, self.codes = {}, []  # at each anchor its heading, and whether it is a name's; code in running text
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        if given.get("id"):
            self.ids.append(given["id"])
        if tag not in {"meta", "link", "img", "br", "hr", "input", "source", "path", "use", "wbr", "col", "area",
                       "embed", "track", "base"}:
            self.stack.append((tag, given.get("id") or "", given.get("class") or ""))
        for key, value in attrs:
            if value and ((tag, key) in LOADS or (key in ("srcset", "poster"))):
                self.loads.append(value)
            if key == "style" and value:
                self.styles.append(value)
        if tag == "link" and LINK_LOADS & set((given.get("rel") or "").split()):
            self.loads.append(given.get("href") or "")
        if tag == "a" and given.get("href") is not None:
            self.links.append([given["href"], ""])

    def handle_endtag(self, tag):
        while self.stack and any(entry[0] == tag for entry in self.stack):
            if self.stack.pop()[0] == tag:
                break

    def handle_data(self, data):
        names = [entry[0] for entry in self.stack]
        if "style" in names:
            self.styles.append(data)
        if "script" in names or "style" in names:
            return
        if "a" in names and self.links:
            self.links[-1][1] += data
        if names and names[-1] == "code" and "pre" not in names:
            self.codes.append(data)
        at = next((k for k, tag in enumerate(names) if re.fullmatch(r"h[1-6]", tag)), None)
        if at is not None:
            block = any("api" in entry[2].split() for entry in self.stack[:at])
            anchor = next((identity for _, identity, _ in self.stack[at::-1] if identity), "")
            self.heads[anchor] = (self.heads.get(anchor, ("", 0))[0] + data, block)
        for _, identity, _ in self.stack:
            if identity.startswith("eq-"):
                self.tags.setdefault(identity, []).extend(re.findall(r"\\tag\{([^}]*)\}", data))
        if not {"code", "pre"} & set(names) and not any("math" in entry[2].split() for entry in self.stack):
            self.prose.append(data)


LEFTOVERS = [
    (r"(?<![\w`.])@(?:fig|eq|sec|tbl|thm|lem)-\w+", "a cross-reference"),
    (r"\[-?@\w+", "a citation"),
    (r"\?@\w+|\?\?", "an unresolved reference"),
    (r"\\(?:eq)?ref\{|\\cite\w*\{", "a LaTeX reference"),
    (r"^\s*:::+", "a div fence"),
    (r"\$\$|\\begin\{|\\tag\{", "an equation that was not set"),
    (r"(?<!\w)\$[^$\d\s][^$]*\$", "an inline equation that was not set"),
    (r"\*\*\w[^*]*\*\*", "bold markup"),
    (r"\]\([\w./#-]+\)", "a link that was not set"),
]


def outside(url):
    "Whether a URL leads out of the site."
    return bool(re.match(r"(?:[a-zA-Z][\w+.-]*:|//)", url)) and not url.startswith("data:")


def check(site):
    "Every reason why the site is not good, one line each."
    pages = {path: Page(path.read_text(encoding="utf-8")) for path in sorted(site.rglob("*.html"))
             if path != site / ALONE}
    bad = []
    if not pages:
        bad.append("there is no page")

    def target(page, url):
        "The file and the fragment that a link on a page means."
        parts = urlsplit(url)
        path = (page.parent / unquote(parts.path)).resolve() if parts.path else page
        return (path / "index.html" if path.is_dir() else path), unquote(parts.fragment)

    for path, page in pages.items():
        name = path.relative_to(site).as_posix()
        for identity, count in Counter(page.ids).items():
            if count > 1:
                bad.append(f"{name}: id {identity!r} occurs {count} times")
        for url in page.loads:
            if outside(url) or url.startswith("/"):
                bad.append(f"{name}: loads {url[:120]} from outside")
            elif not url.startswith("data:") and not target(path, url)[0].is_file():
                bad.append(f"{name}: loads {url[:120]}, which does not exist")
        for style in page.styles:
            for url in re.findall(r"url\(\s*['\"]?([^'\")]+)", style) + re.findall(r"@import\s+['\"]([^'\"]+)", style):
                if outside(url) and not url.startswith("#"):
                    bad.append(f"{name}: a style loads {url[:120]} from outside")
        for url, text in page.links:
            if outside(url):
                continue
            if url.startswith("/"):
                bad.append(f"{name}: absolute link {url}")
                continue
            file, fragment = target(path, url)
            if not file.is_file() or site.resolve() not in file.resolve().parents:
                bad.append(f"{name}: link {url} leads nowhere")
                continue
            if fragment and file in pages and fragment not in pages[file].ids:
                bad.append(f"{name}: link {url} leads to no anchor")
                continue
            word = text.removesuffix("()").split(".")[0]
            there = file.relative_to(site.resolve()).with_suffix("").as_posix()
            if fragment and text in page.codes and word in (explained(there) or ()):
                said, block = pages[file].heads.get(fragment, ("", False))
                contents = file == path and said.strip() == text  # of the page, which lists a heading that is a name
                if said.strip() != word or not (block or contents):
                    bad.append(f"{name}: the link {text!r} leads to #{fragment} of {there}, where {said.strip()!r} "
                               f"stands, and not what is said of {word}")
            if fragment == text and file != path and name in NOTEBOOKS and len(definers(text)) > 1:
                meant = meaning(text, NOTEBOOKS[name], there)
                if meant != there:
                    bad.append(f"{name}: the link {text!r} leads to that of {there}, and means {meant or 'several'}")
            said = re.findall(r"\(([^()\s]+)\)", text)
            tags = pages[file].tags.get(fragment, []) if fragment.startswith("eq-") and file in pages else None
            if tags is not None and said and not set(said) & set(tags):
                bad.append(
                    f"{name}: the link {text.strip()!r} leads to equation {fragment}, numbered "
                    f"{', '.join(tags) or 'not at all'}")
        tags = [tag for identity in page.tags.values() for tag in identity]
        for identity, own in page.tags.items():
            if not own:
                bad.append(f"{name}: equation {identity} has no number")
        for tag, count in Counter(tags).items():
            if count > 1:
                bad.append(f"{name}: equation number ({tag}) is given {count} times")
        bad += [f"{name}: a backslash is left in the code {code!r}" for code in page.codes
                if re.search(r"\\[_*|`]", code)]
        prose = "".join(page.prose)
        for pattern, what in LEFTOVERS:
            for found in re.finditer(pattern, prose, re.M):
                around = re.sub(r"\s+", " ", prose[max(0, found.start() - 30) : found.end() + 30])
                bad.append(f"{name}: {what} is left in the text: …{around}…")
    for path in site.rglob("*.css"):
        css = path.read_text(encoding="utf-8")
        for url in re.findall(r"url\(\s*['\"]?([^'\")]+)", css) + re.findall(r"@import\s+['\"]([^'\"]+)", css):
            if outside(url):
                bad.append(f"{path.relative_to(site)}: loads {url[:120]} from outside")
            elif not url.startswith(("data:", "#")) and not (
                path.parent / urlsplit(url).path).is_file() and "bootstrap-icons" not in path.name:
                bad.append(f"{path.relative_to(site)}: loads {url[:120]}, which does not exist")
    return bad


SITE, PAGE = 25_000_000, 100_000  # bytes: the most of the whole site, and of a page at the median


def heavy(site):
    "Whether the site, or a page at the median, has more bytes than a reader should wait for."
    files = [path for path in site.rglob("*") if path.is_file()]
    whole = sum(path.stat().st_size for path in files)
    page = statistics.median(path.stat().st_size for path in files if path.suffix == ".html" and not moved(path))
    print(f"docs: {whole / 1e6:.1f} MB, {page / 1e3:.0f} kB a page at the median")
    return [f"{what} has {found:,.0f} bytes, more than {most:,}" for what, found, most in
            (("the site", whole, SITE), ("a page at the median", page, PAGE)) if found > most]


def keep(folder):
    "A copy of the site in a folder named after its version, and a page that leads to the newest of all that are there."
    version = settings()["version"]
    folder.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(folder / version, ignore_errors=True)
    shutil.copytree(DOCS, folder / version)
    there = [p.parent.name for p in folder.glob("*/index.html") if re.fullmatch(r"\d+(\.\d+)+", p.parent.name)]
    newest, *older = sorted(there, key=lambda name: [int(part) for part in name.split(".")], reverse=True)
    links = "".join(f'<li><a href="{each}/index.html">{each}</a></li>' for each in (newest, *older))
    (folder / "index.html").write_text(
        f'<!doctype html>\n<html lang="en"><meta charset="utf-8"><title>{LIB}</title>\n'
        f'<meta http-equiv="refresh" content="0; url={newest}/index.html">\n'
        f"<p>The documentation of {LIB}, by version:</p>\n<ul>{links}</ul>\n</html>\n", encoding="utf-8")
    print(f"docs: a copy in {folder.name}/{version}; the newest of {len(there)} versions is {newest}")


def main(versions=None):
    bad = process()
    mend()
    reference()
    source_pages()
    site, said = render()
    vendor_katex(site)
    finish(site)
    shutil.copyfile(ROOT / LIB / "page" / ALONE, site / ALONE)
    bad += said + find(site) + redirect(site) + check(site) + heavy(site)
    shutil.rmtree(DOCS, ignore_errors=True)
    shutil.move(str(site), str(DOCS))
    if bad:
        raise Failed("the site has faults:\n" + "\n".join(f"  {line}" for line in bad))
    moved = len(json.loads((NBS / REDIRECTS).read_text(encoding="utf-8")))
    count = sum(1 for path in DOCS.rglob("*.html") if path != DOCS / ALONE) - moved
    print(
        f"docs: {count} pages in {DOCS.name}/ and {moved} that lead from old addresses, every link, equation and load "
        f"checked")
    browser = subprocess.run([sys.executable, str(ROOT / "tools" / "browse.py")], cwd=ROOT, stdin=subprocess.DEVNULL)
    if browser.returncode:
        raise Failed("the browser found faults")
    if versions:
        keep(Path(versions))


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except Failed as failure:
        print(f"docs: {html.unescape(str(failure))}", file=sys.stderr)
        sys.exit(1)
