"""The app says what the page says: the same words, numbers and colours for the same questions.

Each text of the app stands under its place in page/strings.js, which Node reads here. Ten declarations are answered by
both: quantiles of the app's draws are those of the page's exact posteriors, up to the error of the draws, and from the
same numbers both make the same sentences and the same lines of Python.
"""

import json
import math
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from dp_bayes_nb.app import answers as app
from dp_bayes_nb.app.published import AT_REST, PAGE_EXAMPLES, SAID, declared, python
from dp_bayes_nb.app.svg import STYLE
from dp_bayes_nb.base.style import COLORS

ROOT = Path(__file__).resolve().parent.parent
NODE = shutil.which("node") or shutil.which("nodejs")
pytestmark = pytest.mark.skipif(NODE is None, reason="Node was not found, so the page's words were not read")

PLACES = """
const { S } = await import(ROOT + "/page/strings.js");
const any = new Proxy({}, { get: (_, name) => `{${String(name)}}`, has: () => true });
const said = place => {
  const found = place.split(".").reduce((at, key) => at?.[key], S);
  if (typeof found !== "function") return found ?? null;
  const given = found.toString().match(/^\\(?([^=]*?)\\)?\\s*=>/s)[1];
  return given.trim().startsWith("{") ? found(any) : found(...given.split(",").map(each => `{${each.trim()}}`));
};
answer(given.map(said));
"""
TOLD = """
const { read } = await import(ROOT + "/page/reader/index.js");
const { answered } = await import(ROOT + "/page/view/answer.js");
const { told } = await import(ROOT + "/page/view/words.js");
const { python } = await import(ROOT + "/page/view/python.js");
answer(given.map(({ text, question, chosen, levels }) => {
  const reading = read(text, { question, chosen }), found = answered(reading.asks), said = told(reading, found);
  const ends = p => [0.025, 0.5, 0.975].map(level => p.quantile(level));
  const three = part => part && [part.interval[0], part.median, part.interval[1]], step = found.posterior.whole ? 1 : 0;
  return { ends: ends(found.posterior), cells: (found.cells ?? []).map(each => ends(each.posterior)),
    naive: three(found.naive), noise: found.noise, above: found.above ?? null, ratio: three(found.ratio) ?? null,
    none: found.posterior.none ?? 0, said, code: python(reading),
    cdf: (levels ?? []).map(v => [found.posterior.cdf(v - step), found.posterior.cdf(v)]) };
}));
"""


def node(program, given):
    "What a program of Node answers; the page's numbers are written as in English."
    head = f"const ROOT = {json.dumps((ROOT).as_uri())}, given = {json.dumps(given)};\n" \
           "Object.defineProperty(globalThis, 'navigator', { value: { languages: ['en-US'] } });\n" \
           "const answer = made => console.log(JSON.stringify(made));\n"
    done = subprocess.run([NODE, "--input-type=module", "-e", head + program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def differing(texts):
    "Places whose texts are others on the page."
    return {place: page for (place, ours), page in zip(texts.items(), node(PLACES, [*texts]), strict=True)
            if page != ours}


def test_every_text_of_the_app_is_the_page_s():
    assert differing(SAID) == {}
    wrong = {"form.noise": "Noise added", "noise.share": "{share} is noise.", "form.none": "x"}
    assert set(differing(SAID | wrong)) == set(wrong)


TWO = {"noise": "laplace", "size": "2"}
EPSILON = {"noise": "laplace", "by": "epsilon", "size": "0.5", "sensitivity": "1"}
TEN = [  # lines, what the footnote says for the page, question, and the fields of the app
    ("312 people", "Laplace noise, ε = 0.5, sensitivity 1", "count", EPSILON),
    ("1,150", "Gaussian noise on whole numbers, sd 3", "count",
     {"noise": "gaussian", "by": "sd", "size": "3", "whole": True}),
    ("Ash: <10 households", "Discrete Laplace noise of scale 2", "hidden", TWO | {"whole": True}),
    ("Ash: 45", "Discrete Laplace noise of scale 2. Rounded to 5.", "hidden",
     TWO | {"whole": True, "printed": "rounded", "step": "5"}),
    ("312 of 1150 people", "Laplace noise of scale 20", "share", TWO | {"size": "20"}),
    ("ill, 45 of 300", "± 16 at 95% Laplace noise", "share", TWO | {"by": "error", "size": "16", "n_noisy": True}),
    ("118 of 290 complaints", "Laplace noise of scale 10 in both numbers", "rate", TWO | {"size": "10"}),
    ("North, 131\nSouth, 124", "Laplace noise, ε = 0.5, sensitivity 1", "compare", EPSILON),
    ("North, 131 of 400\nSouth, 124 of 390", "Laplace noise of scale 2", "compare", TWO),
    ("Elm, 45\nOak, 20\nAsh, *\ntotal, 77", "No noise. Counts below 15 are hidden.", "table",
     {"printed": "hidden", "step": "15", "total": True}),
]


def one_comma(text):
    "A text as the app takes it."
    return text.replace("1,150", "1150")


@pytest.fixture(scope="module")
def both():
    "Ten declarations of the app with their draws, and what the page makes of the same."
    ours = [declared(one_comma(text), AT_REST | {"question": question} | fields) for text, _, question, fields in TEN]
    drawn = [app.draws_of(d, 2000) for d in ours]
    found = [app.found(d, each) for d, each in zip(ours, drawn)]
    page = node(TOLD, [{"text": f"{text}\n{note}", "question": question, "levels": each.ends,
                        "chosen": {"n_noisy": True} if "n_noisy" in fields else {}}
                       for (text, note, question, fields), each in zip(TEN, found)])
    return ours, found, page


def off(found, page):
    "By how many standard errors of 1000 draws the levels of medians and ends are off."
    return [max(low - p, p - high, 0) / math.sqrt(p * (1 - p) / 1000)
            for p, (low, high) in zip((0.025, 0.5, 0.975), page["cdf"])]


def test_examples_are_the_page_s():
    page = node("const { S } = await import(ROOT + '/page/strings.js'); answer(S.examples);", [])
    assert page.keys() == PAGE_EXAMPLES.keys()
    for question, (text, _) in PAGE_EXAMPLES.items():
        assert page[question].startswith(f"{text}\n"), question


def test_answers_agree(both):
    "Ends and medians within four standard errors, of an effective thousand of 8000 draws; a moved one is found out."
    ours, found, page = both
    errors = {k: max(off(*pair)) for k, pair in enumerate(zip(found, page))}
    print({k: round(error, 2) for k, error in errors.items()})
    assert max(errors.values()) < 4, errors
    assert max(off(found[0], page[0] | {"cdf": page[4]["cdf"][::-1]})) > 4
    for d, mine, theirs in zip(ours, found, page):
        if mine.naive is None:
            assert theirs["naive"] is None
        else:
            assert np.allclose(mine.naive, theirs["naive"], rtol=2e-3, atol=2e-4), d.question
        if mine.above is not None:
            assert abs(mine.above - theirs["above"]) < 4 * math.sqrt(0.25 / 1000)
    assert [list(map(list, each.cells)) for each in found][-1] == page[-1]["cells"]


def test_sentences_and_lines_are_the_page_s(both):
    "From the page's own numbers, word for word."
    for d, theirs in zip(both[0], both[2]):
        numbers = app.Found(*(tuple(v) if isinstance(v, list) else v for v in (
            theirs["ends"], theirs["naive"], theirs["noise"], theirs["above"], theirs["ratio"])), theirs["none"])
        said, page = app.told(d, numbers), theirs["said"]
        for name in ("label", "big", "between", "unit", "noise", "naive", "quote", "about"):
            assert said[name] == page[name], (d.question, name)
        assert [(value, words.split(",")[0]) for value, words in said["extra"]] == [
            (each["value"], each["text"]) for each in page["extra"]]
        if d.question != "shares":
            assert python(d) == theirs["code"]


def colours(text):
    "Custom properties of a style sheet: those of light mode, then those of dark mode."
    found: list = [{}, {}]
    light, *dark = text.split("prefers-color-scheme: dark", 1)
    for at, part in ((0, light), *((1, part) for part in dark)):
        for name, value in re.findall(r"--([a-z-]+): (#\w+)", part):
            found[at].setdefault(name, value.lower())
    return found


def test_colours_are_the_page_s():
    "In both modes, under the same names; and the pictures' colours of light mode are the methods'."
    template = ROOT / "app" / "voila" / "templates" / "dp_bayes_nb" / "index.html.j2"
    light, dark = colours((ROOT / "page" / "style.css").read_text(encoding="utf-8"))
    ours, ours_dark = colours(STYLE)[0], colours(template.read_text(encoding="utf-8"))[1]
    assert len(ours) >= 9 and ours.keys() == ours_dark.keys()
    assert ours.items() <= light.items() and ours_dark.items() <= dark.items()
    assert [ours[name] for name in ("ours", "naive")] == [COLORS[name].lower() for name in ("ours", "naive")]
