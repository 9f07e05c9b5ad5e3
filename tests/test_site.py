"""The site's plan, checked without building it: every chapter in the sidebar once, opened by a page that
names it, under a title of its own; every old address leads to a chapter. `make docs` checks the links
of the pages as built.
"""

import base64
import io
import json
import posixpath
import re
import sys
from fnmatch import fnmatch
from functools import cache
from pathlib import Path

import pytest
import yaml
from PIL import Image, ImageDraw

import dp_bayes_nb as dpb

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tools"))
import structure  # noqa: E402
import tasks  # noqa: E402

NBS = ROOT / "nbs"
CHAPTERS = sorted(p.relative_to(NBS).as_posix() for p in NBS.rglob("*.ipynb") if ".ipynb_checkpoints" not in p.parts)
OPENINGS = [name for name in CHAPTERS if name.endswith("/00_index.ipynb")]
OLD = re.compile(r"\b[Cc]hapters? (?:\d|[A-Z]\b)|\b[Nn]otebooks? \d\d|(?<![:>\w.])\d\d[a-z]\b")


@cache
def cells(name):
    return json.loads((NBS / name).read_text(encoding="utf-8"))["cells"]


def head(name):
    "Title and subtitle of a chapter."
    found = re.match(r"# (.+)\n+> (.+)", "".join(cells(name)[0]["source"]))
    assert found, f"{name}: the first cell is title and subtitle"
    return found[1].strip(), found[2].strip()


def page(name):
    "The address of a chapter."
    return re.sub(r"(^|/)\d\d_", r"\1", name).replace(".ipynb", ".html")


def planned(entries):
    "Every chapter that the sidebar lists, in its order; a page that is only linked once more is left out."
    done = []
    for entry in [entries] if isinstance(entries, str) else entries:
        if isinstance(entry, dict):
            done += [entry["href"]] if "href" in entry and "contents" in entry else []
            done += planned(entry.get("contents", []))
        else:
            done += [name for name in CHAPTERS if fnmatch(name, entry)]
    return list(dict.fromkeys(done))


def sidebar():
    return yaml.safe_load((NBS / "_quarto.yml").read_text(encoding="utf-8"))["website"]["sidebar"]["contents"]


def test_every_chapter_is_in_the_sidebar():
    assert sorted(planned(sidebar())) == CHAPTERS


def test_parts_come_in_the_readers_order():
    "What to learn, what to do, what to look up, what was measured; and the house, in the order of its imports."
    parts = {entry["section"]: entry["contents"] for entry in sidebar() if isinstance(entry, dict)}
    assert list(parts) == ["Learn", "Do", "Reference", "Evidence", "Inside"]
    rooms = [entry["href"].split("/")[0] for entry in parts["Inside"]]
    assert rooms == [name for name in structure.FOLDERS if name not in ("papers", "command")] + ["command"]
    written = [name for part in list(parts)[:4] for name in planned(parts[part])]
    assert len(written) + 12 <= 110  # with the home page, the start, and the reference
    assert planned(sidebar())[2] == "course/00_index.ipynb"


def test_every_folder_is_opened_by_a_page_that_names_its_chapters():
    folders = {name.split("/")[0] for name in CHAPTERS if "/" in name}
    assert folders == {name.split("/")[0] for name in OPENINGS}
    for opening in OPENINGS:
        folder = opening.split("/")[0]
        text = "\n".join("".join(cell["source"]) for cell in cells(opening))
        assert "```text\n" in text or "![" in text, f"{opening}: no picture"
        said = re.findall(r"^- \[(.+?)\]\(([\w.]+)\): (.+)$", text, re.M)
        rest = [name for name in CHAPTERS if name.startswith(f"{folder}/") and name != opening]
        assert [f"{folder}/{link}" for _, link, _ in said] == rest, f"{opening}: not the chapters in their order"
        for title, link, words in said:
            wanted = head(f"{folder}/{link}")
            subtitle = wanted[1].removeprefix("Tutorial: ").rstrip(".")
            assert (title, words.lower()) == (wanted[0], subtitle.lower()), f"{opening}: {link}"


def test_titles_differ():
    titles = [head(name)[0].lower() for name in CHAPTERS]
    assert sorted({title for title in titles if titles.count(title) > 1}) == []


def test_old_addresses_lead_to_chapters():
    pages = {page(name) for name in CHAPTERS}
    sources = {"source/" + p.relative_to(ROOT / "dp_bayes_nb").with_suffix(".html").as_posix()
               for p in (ROOT / "dp_bayes_nb").rglob("*.py")}
    moved = json.loads((NBS / "redirects.json").read_text(encoding="utf-8"))
    assert {new for new in moved.values() if new not in pages | sources} == set()
    assert set(moved) & (pages | sources) <= {"source/cli.html"}


TASKS = {  # what somebody came for: the page with the answer, and the call that gives it
    **{name: (task.notebook, task.call) for name, task in tasks.TASKS.items()},
    "a table with hidden counts and a total": ("tutorials/21_deaths_by_county.ipynb", "Suppressed("),
    "a table rounded at random": ("tutorials/22_rounded_census.ipynb", "RandomRounded("),
    "a table with cell keys": ("tutorials/23_cell_keys.ipynb", "CellKey("),
    "answers that were randomised": ("tutorials/24_sensitive_question.ipynb", "RandomizedResponse."),
    "overlapping percentages": ("tutorials/25_three_media.ipynb", "examine("),
    "weekly counts, smoothed": ("tutorials/26_weekly_deaths.ipynb", "Along("),
    "a map with hidden counts": ("tutorials/27_county_map.ipynb", "OnMap("),
    "an A/B test with noisy counts": ("tutorials/28_ab_test.ipynb", "Regression("),
}


def clicks(goal, start="index.ipynb", linked=None):
    "The least number of links between two pages, in their text; None where there is no way."
    linked = linked or (lambda name: {posixpath.normpath(posixpath.join(posixpath.dirname(name), link)) for cell in
                                      cells(name) if cell["cell_type"] == "markdown" for link in
                                      re.findall(r"\]\(([\w./]+\.ipynb)", "".join(cell["source"]))})
    seen, edge, count = {start}, {start}, 0
    while edge and goal not in edge:
        edge, count = {link for name in edge for link in linked(name)} - seen, count + 1
        seen |= edge
    return count if edge else None


@pytest.mark.parametrize("task", TASKS)
def test_tasks_are_few_clicks_from_the_home_page(task):
    goal, call = TASKS[task]
    assert clicks(goal) <= 3
    shown = [cell for cell in cells(goal) if cell["cell_type"] == "code"
             and not re.match(r"#\| *(hide|export)", "".join(cell["source"]))]
    assert any(call in "".join(cell["source"]) for cell in shown), f"{goal} does not show {call}"


def test_tasks_were_walked_in_a_browser():
    "By links alone and by search alone; a data holder's answers are as near as an analyst's."
    found = json.loads((ROOT / "results/tasks.json").read_text(encoding="utf-8"))
    assert {name: (row["who"], row["page"], row["query"]) for name, row in found.items()} == {
        name: (task.who, page(task.notebook), task.query) for name, task in tasks.TASKS.items()}
    most = {who: max(max(row["links"], row["search"]) for row in found.values() if row["who"] == who)
            for who in ("analyst", "data holder")}
    assert most["data holder"] <= most["analyst"] <= 3
    assert [sum(task.who == who for task in tasks.TASKS.values()) for who in most] == [5, 4]


def test_clicks_are_counted():
    ways = {"index.ipynb": {"a"}, "a": {"b", "index.ipynb"}, "b": {"a"}, "c": {"b"}}
    goals = "index.ipynb", "a", "b", "c"
    assert [clicks(goal, linked=ways.get) for goal in goals] == [0, 1, 2, None]
    assert [tasks.path_to(goal, ways.get, "index.ipynb") for goal in goals] == [[], ["a"], ["a", "b"], None]


def unseen(cells):
    "Figures of a page that have no words for those who do not see them, and captions without a figure."
    found = []
    for cell in cells:
        text = "".join(cell["source"])
        if cell["cell_type"] == "code" and not re.match(r"#\| *hide", text):
            drawn = any("image/png" in out.get("data", {}) for out in cell["outputs"])
            said = {which: re.search(rf"^#\| fig-{which}: *\S", text, re.M) for which in ("alt", "cap")}
            if drawn and not said["alt"] or said["cap"] and not drawn:
                found.append(text.splitlines()[-1])
        found += re.findall(r"!\[\]\([^)]*\)", text) if cell["cell_type"] == "markdown" else []
    return found


def test_each_figure_of_learn_and_do_is_told_in_words():
    parts = {entry["section"]: entry["contents"] for entry in sidebar() if isinstance(entry, dict)}
    pages = ["index.ipynb", "start.ipynb", *planned(parts["Learn"]), *planned(parts["Do"])]
    assert {name: found for name in pages if (found := unseen(cells(name)))} == {}


@pytest.mark.parametrize("text, drawn, faults", [
    ("#| fig-cap: a\n#| fig-alt: b\nplot(x)", True, 0), ("plot(x)", True, 1), ("#| fig-cap: a\nplot(x)", True, 1),
    ("#| fig-alt:\nplot(x)", True, 1), ("#| fig-cap: a\n#| fig-alt: b\nplot(x)", False, 1), ("print(x)", False, 0)])
def test_a_figure_without_words_and_words_without_a_figure_are_found(text, drawn, faults):
    outputs = [{"output_type": "display_data", "data": {"image/png": "iVBORw0KGgo="}}] * drawn
    assert len(unseen([{"cell_type": "code", "source": [text], "outputs": outputs}])) == faults


@pytest.mark.parametrize("text, stale", [
    ("as chapter 06c shows", True), ("Chapter B", True), ("see notebook 12", True), ("see 06c", True),
    ("13a, equation (4)", True), ("f'{name:>12s}'", False),
    ("this chapter shows 12 of them", False), ("Chapter and verse", False), ("f'{month:02d}'", False)])
def test_what_an_old_reference_looks_like(text, stale):
    assert bool(OLD.search(text)) is stale


def test_no_chapter_is_named_by_number():
    for name in CHAPTERS:
        for cell in cells(name):
            found = OLD.search("".join(cell["source"]))
            assert not found, f"{name}: {found[0]!r}"


def test_a_plain_word_links_only_to_what_it_means(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "tools")
    mend = pytest.importorskip("docs").mend_text
    front = {"models/06_contract.ipynb": "models/contract.ipynb", "posterior/04_fit.ipynb": "posterior/fit.ipynb",
             "regression/05_model.ipynb": "regression/model.ipynb"}
    word, name = "[`units`](/regression/model.html#units)", "[`fit`](/posterior/fit.html#fit)"
    page = "models/06_contract.ipynb"
    assert mend(word, page, front) == "`units`"
    assert mend(word, "regression/05_model.ipynb", front) == "[`units`](model.ipynb#units)"
    assert mend(name, page, front) == "[`fit`](../posterior/fit.ipynb#fit)"


@pytest.mark.parametrize("page, name, module", [
    ("counts/05_exact_counts.ipynb", "Cells", "counts/exact_counts"),  # its own
    ("hidden_markov/02_sampler.ipynb", "row_log_density", "chains/rows"),  # what it imports
    ("tutorials/01_first_release.ipynb", "Release", "releases/document"),  # what it imports from the package
    ("tutorials/01_first_release.ipynb", "Cells.sums", None),  # nothing, and there are several
    ("tutorials/01_first_release.ipynb", "no_such_name", "as/found")])
def test_a_name_of_several_modules_links_to_the_one_that_the_page_means(monkeypatch, page, name, module):
    monkeypatch.syspath_prepend(ROOT / "tools")
    docs = pytest.importorskip("docs")
    assert docs.meaning(name, page, "as/found") == module
    if module is None:
        assert docs.mend_text(f"[`{name}`](/as/found.html#cells)", page, {page: "own.ipynb"}) == f"`{name}`"


def test_a_link_to_the_same_name_of_another_module_is_found_out(monkeypatch, tmp_path):
    monkeypatch.syspath_prepend(ROOT / "tools")
    docs = pytest.importorskip("docs")
    monkeypatch.setattr(docs, "NOTEBOOKS", {"hidden_markov/sampler.html": "hidden_markov/02_sampler.ipynb"})
    pages = "curves/grid", "chains/rows"
    for page in pages:
        (tmp_path / page).parent.mkdir()
        (tmp_path / f"{page}.html").write_text(
            '<div class="api"><h3 id="row_log_density">row_log_density</h3></div>')
    (tmp_path / "hidden_markov").mkdir()
    links = [f'<a href="../{page}.html#row_log_density"><code>row_log_density</code></a>' for page in pages]
    (tmp_path / "hidden_markov/sampler.html").write_text(" ".join(links))
    fault, = docs.check(tmp_path)
    assert "of curves/grid, and means chains/rows" in fault


def test_each_place_of_a_page_has_an_address_of_its_own(monkeypatch):
    "A name that is explained is not at the address of a heading, nor of a name that differs in capitals only."
    monkeypatch.syspath_prepend(ROOT / "tools")
    search = pytest.importorskip("search")
    places = [row["href"] for row in search.entries(NBS, ROOT / "dp_bayes_nb")]
    assert sorted({href for href in places if places.count(href) > 1}) == []
    public = dict(dpb._public.items())
    assert {name: f"{home.replace('.', '/')}.html#{name}" for name, home in public.items()
            if f"{home.replace('.', '/')}.html#{name}" not in places} == {}


def test_names_and_headings_do_not_share_an_anchor(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "tools")
    docs = pytest.importorskip("docs")
    monkeypatch.setattr(docs, "explained", lambda module: {"audit", "Audit", "Plan"})
    source = {"output_type": "display_data", "data": {"text/markdown": ""}}
    texts = {name: f"---\n\n[source](x){{target=_blank}}\n\n### {name}\n\nsaid" for name in ("audit", "Audit", "Plan")}
    cells = [{"cell_type": "markdown", "source": "## Audit\n\ntext"}, *(
        {"cell_type": "code", "source": "", "outputs": [{**source, "data": {"text/markdown": text}}]}
        for text in texts.values())]
    for cell in cells[1:]:
        docs.frame_doc(cell, signature=True)
    docs.anchored(cells, "research/audit")
    assert cells[0]["source"].startswith("## Audit {#audit-section}")
    said = [cell["outputs"][0]["data"]["text/markdown"] for cell in cells[1:]]
    assert [re.findall(r"\{#(\w+)[^}]*\}", text) for text in said] == [["audit"], ["Audit"], ["plan", "Plan"]]


@pytest.mark.parametrize("there, faults", [
    ('<div class="api"><h3 id="fit">fit</h3></div>', 0), ('<section id="fit"><h2>fit</h2></section>', 1),
    ('<section id="fit"><h2>How to fit</h2></section>', 1), ('<div class="api"><h3 id="fit">Fit</h3></div>', 1)])
def test_a_link_of_a_name_leads_to_what_is_said_of_it(monkeypatch, tmp_path, there, faults):
    "A heading with the same words, or the same name in other letters, is another thing."
    monkeypatch.syspath_prepend(ROOT / "tools")
    docs = pytest.importorskip("docs")
    (tmp_path / "posterior").mkdir()
    (tmp_path / "posterior/fit.html").write_text(there)
    (tmp_path / "public_names.html").write_text('<a href="posterior/fit.html#fit"><code>fit</code></a>')
    found = docs.check(tmp_path)
    assert len(found) == faults and all("not what is said of fit" in fault for fault in found)


def test_code_keeps_no_backslash(monkeypatch, tmp_path):
    monkeypatch.syspath_prepend(ROOT / "tools")
    docs = pytest.importorskip("docs")
    assert docs.in_cell("a_b `lower_bound | x`\nof *c*") == r"a\_b `lower_bound \| x` of \*c\*"
    page = tmp_path / "index.html"
    page.write_text("<code>lower_bound</code><pre><code>\\_</code></pre>")
    assert docs.check(tmp_path) == []
    page.write_text(r"<p><code>lower\_bound</code></p>")
    fault, = docs.check(tmp_path)
    assert "a backslash is left in the code" in fault


def test_a_broken_site_is_found_out(monkeypatch, tmp_path):
    monkeypatch.syspath_prepend(ROOT / "tools")
    docs = pytest.importorskip("docs")
    site, nbs = tmp_path / "site", tmp_path / "nbs"
    (site / "models").mkdir(parents=True)
    nbs.mkdir()
    monkeypatch.setattr(docs, "NBS", nbs)
    page = site / "models" / "own.html"
    page.write_text('<h2 id="here">Here</h2><a href="#here">a</a> <a href="../index.html">b</a>')
    (site / "index.html").write_text('<a href="models/own.html#here">c</a>')
    (nbs / docs.REDIRECTS).write_text('{"own.html": "models/own.html"}')
    assert docs.redirect(site) + docs.check(site) == []
    assert '"models/own.html" + location.hash' in (site / "own.html").read_text()
    (site / "index.html").write_text('<a href="models/own.html#there">c</a> <a href="models/gone.html">d</a>')
    (nbs / docs.REDIRECTS).write_text('{"old.html": "models/gone.html"}')
    found = docs.redirect(site) + docs.check(site)
    assert [said for said in ("which is no page", "leads to no anchor", "leads nowhere")
            if not any(said in fault for fault in found)] == []
    assert len(found) == 3


def test_a_heavy_site_is_found_out(monkeypatch, tmp_path):
    monkeypatch.syspath_prepend(ROOT / "tools")
    docs = pytest.importorskip("docs")
    for k in range(3):
        (tmp_path / f"{k}.html").write_text("x" * docs.PAGE)
    assert docs.heavy(tmp_path) == []
    for k in range(2):
        (tmp_path / f"{k}.html").write_text("x" * (docs.PAGE + 1))
    (tmp_path / "search.json").write_text("x" * (docs.SITE - 3 * docs.PAGE))
    assert [fault[:9] for fault in docs.heavy(tmp_path)] == ["the site ", "a page at"]
    assert (docs.SITE, docs.PAGE) == (25_000_000, 100_000)


def test_a_sidebar_lists_the_pages_of_the_open_part_only(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "tools")
    docs = pytest.importorskip("docs")

    def item(name, active="", below=""):
        link = f'<a class="sidebar-link{active}" href="{name}.html"><span>{name}</span></a>'
        return f"<li><div>{link}</div>{f'<ul>{below}</ul>' if below else ''}</li>"

    def page(active):
        entries = item("home") + item("learn", below=item("gibbs", active)) + item("do", below=item("rate"))
        return ('<body class="nav-sidebar floating"><button aria-controls="quarto-sidebar">b</button>'
                f'<nav id="quarto-sidebar"><div><ul>{entries}</ul></div></nav></body>')

    listed = docs.shortened(page(" active"))
    assert re.findall(r'href="(\w+)', listed) == ["home", "learn", "gibbs", "do"]
    assert listed.count('aria-current="page"') == 1 and "button" in listed
    assert docs.shortened(page("")) == '<body class="floating"></body>', "a page that it does not list has none"


def test_code_looks_the_same_with_fewer_tags(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "tools")
    docs = pytest.importorskip("docs")
    line = ('<code class="sourceCode python"><span class="kw">def</span> <span class="fu">f</span>(x): a '
            '<span class="op">=</span> <span class="st">&quot;</span><span class="st">b</span><span class="ss">c</span>'
            '<span class="dv">4</span> <span class="co"># s</span></code>')
    said = docs.CODE.sub(docs.lighter, line).removeprefix('<code class="sourceCode python">')
    assert said == '<b>def</b> <span class="fu">f</span>(x): a = <u>"bc</u><var>4</var> <i># s</i></code>'


def drawn(panels=1, legend=False, width=640, height=300):
    "A PNG of framed panels side by side, with a word at each axis, and a legend across all of them or none."
    image = Image.new("RGB", (width, height), "white")
    draw, each = ImageDraw.Draw(image), width // panels
    for k in range(panels):
        draw.rectangle((k * each + 40, 10, (k + 1) * each - 12, height - 50), outline="black")
        draw.rectangle((k * each + 8, 100, k * each + 18, 160), fill="black")
    if legend:
        draw.rectangle((30, height - 20, width - 30, height - 10), fill="blue")
    out = io.BytesIO()
    image.save(out, "PNG")
    return out.getvalue()


def test_figures_are_files_of_their_page(monkeypatch, tmp_path):
    monkeypatch.syspath_prepend(ROOT / "tools")
    docs = pytest.importorskip("docs")
    tag = f'<img src="data:image/png;base64,{base64.b64encode(drawn()).decode()}" class="img-fluid" alt="a">'
    shown = docs.pictures(tag * 2, tmp_path / "fit.html")
    image = Image.open(tmp_path / "fit-2.png").convert("RGB")
    assert image.tobytes() == Image.open(io.BytesIO(drawn())).tobytes() and 'src="fit-1.png"' in shown
    assert 'width="640" height="300"' in shown and "data:" not in shown and shown.count("figure-scroll") == 2


def test_panels_are_pictures_that_a_phone_stacks(monkeypatch, tmp_path):
    monkeypatch.syspath_prepend(ROOT / "tools")
    docs, figures = pytest.importorskip("docs"), pytest.importorskip("figures")
    pieces = figures.parts(drawn(2))
    assert [figures.size(piece)[1] for piece in pieces] == [300, 300]
    whole = Image.new("RGB", (640, 300))
    for piece, left in zip(pieces, (0, figures.size(pieces[0])[0])):
        whole.paste(Image.open(io.BytesIO(piece)).convert("RGB"), (left, 0))
    assert whole.tobytes() == Image.open(io.BytesIO(drawn(2))).tobytes(), "put together they are the picture"
    assert [len(figures.parts(drawn(*each))) for each in ((1,), (3,), (2, True), (2, False, 500))] == [1, 3, 1, 1]
    tag = f'<img src="data:image/png;base64,{base64.b64encode(drawn(2)).decode()}" class="img-fluid" alt="a">'
    shown = docs.pictures(tag, tmp_path / "fit.html")
    assert re.findall(r'src="([^"]+)"[^>]*alt="([^"]*)"', shown) == [("fit-1.png", "a"), ("fit-1-2.png", "panel 2")]
    assert sum(map(float, re.findall(r"--share: ([\d.]+)", shown))) == pytest.approx(100, abs=0.02)


def pictures():
    "The figures of all chapters that a page shows: chapter and cell, code, and the PNG in base64."
    return [(f"{name}: {cell['id']}", text, "".join(out["data"]["image/png"])) for name in CHAPTERS
            for cell in cells(name) if cell["cell_type"] == "code"
            and not re.match(r"#\| *hide\s", text := "".join(cell["source"]))
            for out in cell["outputs"] if "image/png" in out.get("data", {})]


def test_no_figure_scrolls_on_a_phone():
    "As it is saved; `tools/browse.py` looks at the pages. Panels go below one another, or get a box, a gap and labels."
    import figures
    assert [where for where, text, picture in pictures() if figures.scrolls(
        base64.b64decode(picture), figures.smallest(text, exponents=False))] == []


IN_CODE = re.compile(r'(?:label|title)=[rf]?"[^"{$]*\w_\w|\.__name__')


def test_legends_and_titles_are_words():
    "Not the names of classes or variables."
    assert [where for where, text, _ in pictures() if IN_CODE.search(text)] == []
    assert [bool(IN_CODE.search(f"ax.plot(x, y, {text})")) for text in (
        'label=type(b).__name__', 'label="non_private"', 'label=WORDS["non_private"]', 'xlabel=r"$s_y$"')
            ] == [True, True, False, False]


@pytest.mark.parametrize("panels, legend, width, scrolls", [
    (1, False, 700, True), (1, False, 490, False), (2, False, 980, False), (2, True, 980, True),
    (2, False, 1400, True)])
def test_a_figure_that_scrolls_is_found_out(panels, legend, width, scrolls):
    "With the text of 8 points that stands in many legends; what is drawn across all panels cannot be stacked."
    import figures
    assert figures.scrolls(drawn(panels, legend, width), figures.SMALL) is scrolls


def test_buttons_and_unread_marks_are_left_to_the_browser(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "tools")
    docs = pytest.importorskip("docs")
    code = ('<div class="code-copy-outer-scaffold"><div class="sourceCode" id="cb1"><pre class="a"><code>x</code></pre>'
            '</div><button title="Copy" class="code-copy-button"><i class="bi"></i></button></div>')
    links = '<a href="#b" id="toc-b" class="nav-link" data-scroll-target="#b">B</a>'
    script = '<script src="../site_libs/smalldocs.js" defer></script>'
    assert docs.slim(code * 2 + links + script) == (
        '<div class="sourceCode"><pre class="a"><code>x</code></pre></div>' * 2 + '<a href="#b" class="nav-link">B</a>'
        + script.replace("smalldocs", "page") + script)


def test_figures_come_before_their_code_and_tests_are_folded(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "tools")
    docs = pytest.importorskip("docs")
    picture = {"output_type": "display_data", "data": {"image/png": "iVBORw0KGgo="}}

    def cell(text, *outputs):
        return {"cell_type": "code", "id": "a", "source": [text], "outputs": list(outputs)}

    long = cell("fig, ax = plt.subplots()\n" + "ax.plot(x, y)\n" * 8 + "plt.show()", picture)
    figure, code = docs.arrange(long)
    assert figure["outputs"] and docs.source(figure).startswith("#| echo: false")
    assert not code["outputs"] and "code-fold: true" in docs.source(code)
    assert "code-fold" not in docs.source(docs.arrange(cell("plot_posterior(idata)", picture))[1])
    assert "code-fold" in docs.source(docs.arrange(cell("assert 1 < 2"))[0])
    example = cell("print(fit(release))", {"output_type": "stream", "text": ["x"]})
    assert docs.arrange(example) == [example]


@pytest.mark.parametrize("line, wraps", [
    ("epsilon must be positive, got 0; " * 5, True), ("short", False), ("n =  10     0.95     0.94   " * 5, False)])
def test_long_sentences_are_wrapped_and_rows_of_columns_are_not(monkeypatch, line, wraps):
    monkeypatch.syspath_prepend(ROOT / "tools")
    docs = pytest.importorskip("docs")
    page = f'<div class="cell-output cell-output-stdout">\n<pre><code>first\n{line}</code></pre></div>'
    assert ("wrapped" in docs.OUTPUT.sub(docs.wrapped, page)) == wraps


@pytest.mark.parametrize("code, points", [
    ("fig, ax = plt.subplots()\nax.plot(x, y)", 10), ("fig.text(0, 0, 'a', fontsize=8)", 8),
    ("fig.text(0, 0, 'a')\nax.errorbar(x, y, e, capsize=2)", 10),
    ("fig.suptitle(t)\nax.set(xscale='log')", 7), ("plot_anything(x)", 8), ("front(x)\nplt.show()", 15),
    ("def plot_own(ax):\n    ax.plot(x)\nplot_own(plt.gca())", 10), ("plot_series(fitted)", 9)])
def test_the_smallest_text_of_a_figure(monkeypatch, code, points):
    monkeypatch.syspath_prepend(ROOT / "tools")
    assert pytest.importorskip("docs").smallest(code) == pytest.approx(points)


def test_a_search_entry_without_a_place_is_found_out(monkeypatch, tmp_path):
    monkeypatch.syspath_prepend(ROOT / "tools")
    docs = pytest.importorskip("docs")
    (tmp_path / "fuse.min.js").write_text("old")
    (tmp_path / "own.html").write_text('<h2 id="here">Here</h2>')
    monkeypatch.setattr(docs.search, "entries", lambda *_: [{"href": href} for href in (
        "own.html", "own.html#here", "own.html#there", "gone.html")])
    assert docs.find(tmp_path) == ["search: own.html#there leads to no anchor", "search: gone.html is no page"]
    assert "class Search" in (tmp_path / "fuse.min.js").read_text()


def test_versions_of_the_site_lie_side_by_side(monkeypatch, tmp_path):
    "Each in a folder of its own; the page above leads to the newest, which is not the last by letters."
    import docs
    site, into = tmp_path / "site", tmp_path / "all"
    site.mkdir()
    (site / "index.html").write_text('<a href="start.html">')
    monkeypatch.setattr(docs, "DOCS", site)
    for version in ("0.9.0", "0.10.0", "0.10.0"):
        monkeypatch.setattr(docs, "settings", lambda said={"version": version}: said)
        docs.keep(into)
    (into / "drafts").mkdir()
    assert sorted(p.name for p in into.iterdir()) == ["0.10.0", "0.9.0", "drafts", "index.html"]
    assert {p.read_text() for p in into.glob("0.*/index.html")} == {'<a href="start.html">'}
    page = (into / "index.html").read_text()
    assert 'url=0.10.0/index.html"' in page and page.index("0.10.0</a>") < page.index("0.9.0</a>")
