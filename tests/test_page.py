"""The page `dp_bayes.html`: what it reads, what it answers, and what it does not do.

Readers run in Node, against the package: the same seals, the same sizes of noise. In Chromium, with the network shut off,
each question is answered by keyboard alone, hostile texts and files are tried in every place that takes one, and the lines
of Python that the page prints are run.
"""

import json
import math
import random
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "dp_bayes_nb" / "page" / "dp_bayes.html"
sys.path.insert(0, str(ROOT / "tools"))
from browse import FLAGS, chromium  # noqa: E402

CALLS = """
let text = "";
for await (const part of process.stdin) text += part;
const { root, calls } = JSON.parse(text), out = [];
for (const [file, name, ...given] of calls) {
  const module = await import(root + "/" + file);
  try { out.push({ value: await module[name](...given) ?? null }); } catch (error) { out.push({ code: error.code ?? String(error) }); }
}
console.log(JSON.stringify(out));
"""


def node(calls, root=ROOT / "page"):
    "What functions of the page's modules return, [(file, name, *given), ...], in one process of Node; of refusals the code."
    program = shutil.which("node") or shutil.which("nodejs")
    if program is None:
        pytest.skip("Node was not found, so the modules of the page were not run")
    done = subprocess.run([program, "--input-type=module", "-e", CALLS], text=True, capture_output=True,
                          input=json.dumps({"root": f"file://{root}", "calls": calls}))
    assert done.returncode == 0, done.stderr
    return [each.get("value", each.get("code")) for each in json.loads(done.stdout)]


def read(*texts, **options):
    return node([("reader/index.js", "read", text, options) for text in texts])


# ---- texts and footnotes ----

LAPLACE2 = {"law": "laplace", "size": 2, "whole": False}
FOOTNOTES = {
    "Laplace, scale 10": ("laplace", 10, False, []),
    "Laplace(10)": ("laplace", 10, False, []),
    "ε = 0.5, sensitivity 1": ("laplace", 2, False, []),
    "Laplace noise (epsilon 0.5, L1 sensitivity 2)": ("laplace", 4, False, []),
    "ε = 0,5, sensitivity 1": ("laplace", 2, False, []),
    "± 16 at 95%": ("gaussian", 16 / 1.9599639845400545, False, []),
    "Laplace noise, 95% within ± 16": ("laplace", 16 / math.log(20), False, []),
    "Gaussian noise, ±12 (90% confidence)": ("gaussian", 12 / 1.6448536269514722, False, []),
    "rounded to 5": ("none", 0, False, [{"how": "rounded", "step": 5}]),
    "rounded to the nearest ten": ("none", 0, False, [{"how": "rounded", "step": 10}]),
    "randomly rounded to base 3": ("none", 0, False, [{"how": "random", "base": 3}]),
    "Gaussian, sd 3": ("gaussian", 3, False, []),
    "Gaussian, variance 9": ("gaussian", 3, False, []),
    "N(0, 9) noise": ("gaussian", 3, False, []),
    "ρ = 0.5, sensitivity 2": ("gaussian", 2, False, []),
    "discrete Laplace noise of scale 2": ("laplace", 2, True, []),
    "geometric noise, ε = 1, sensitivity 1": ("laplace", 1, True, []),
    "Laplace noise of scale 2 was added; negative counts were set to 0": ("laplace", 2, False,
                                                                          [{"how": "cut", "low": 0, "high": None}]),
    "counts below 10 are hidden": ("none", 0, False, [{"how": "hidden", "below": 10}]),
    "cells with fewer than 5 people are suppressed": ("none", 0, False, [{"how": "hidden", "below": 5}]),
    "cells of 4 or fewer are not shown": ("none", 0, False, [{"how": "hidden", "below": 5}]),
    "no noise": ("none", 0, False, []),
}


def test_footnotes_are_read():
    wrong = {}
    for (said, (law, size, whole, printed)), found in zip(FOOTNOTES.items(), read(*(f"312\n{said}" for said in FOOTNOTES))):
        cell = found["asks"] and found["asks"]["cell"]
        fine = (cell and cell["value"] == 312 and (cell["noise"]["law"], cell["noise"]["whole"]) == (law, whole)
                and math.isclose(cell["noise"]["size"], size, rel_tol=1e-12, abs_tol=1e-12) and cell["printed"] == printed)
        if not fine:
            wrong[said] = found["asks"], [note["code"] for note in found["notes"]]
    assert not wrong, wrong


SETTLED = {  # texts and what they ask, and what is said of them
    "312 people, Laplace noise, ε = 0.5, sensitivity 1": ("count", [312], []),
    "The published count is 312. Laplace, scale 2": ("count", [312], []),
    "312 of 1150 people\nLaplace, scale 2": ("share", [312, 1150], ["n_exact"]),
    "312 of 1,150 people\nLaplace, scale 2": ("share", [312, 1150], ["n_exact"]),  # n is whole, so these are thousands
    "118 of 290 complaints\nLaplace noise of scale 10 in both numbers": ("rate", [118, 290], []),
    "upheld, 118\ntotal, 290\nLaplace, scale 10": ("rate", [118, 290], []),
    "North, 131\nSouth, 124\nLaplace, scale 2": ("compare", [131, 124], []),
    "131 vs 124; Laplace, scale 2": ("compare", [131, 124], []),
    "North 131, South 124, Laplace noise of scale 2": ("compare", [131, 124], []),
    "Elm, 45\nOak, 20\nAsh, *\nFir, 310\ntotal, 385\nbelow 10 hidden": ("table", [45, 20, None, 310, 385], ["no_noise", "total"]),
    "area,count\nElm,45\nOak,20\nFir,310\nLaplace scale 2": ("table", [45, 20, 310], ["no_total"]),
    'area;count\n"Elm; west";45\nOak;20\nFir;310\nLaplace scale 2': ("table", [45, 20, 310], ["no_total"]),
    "<10\ngeometric noise of scale 2": ("hidden", [None], []),
    "5-9": ("hidden", [None], ["no_noise"]),
    "312\n±16": ("count", [312], ["confidence", "law"]),
    "312\nε = 0.5": ("count", [312], ["sensitivity", "law"]),
    "312\nGaussian noise of scale 3": ("count", [312], ["gaussian_scale"]),
    "45\nrounded to 5, then hidden below 10; no noise": ("hidden", [45], ["order"]),
    "312\nLaplace, scale 2\nSource: city office, table 3": ("count", [312], []),
    "312\nLaplace, scale 2\nThe mayor was pleased": ("count", [312], ["left"]),
}
ASKED = {  # texts that are not answered before something is settled, and what is asked
    "312": "no_footnote", "1,204\nLaplace, scale 2": "either", "1.204\nGaussian, sd 3": "either", "312\nLaplace noise of 10": "bare",
    "312\nLaplace noise": "no_size", "312\nGaussian noise, ε = 1, δ = 1e-6": "epsilon_gaussian",
    "312\nLaplace, scale 2, ε = 2, sensitivity 1": "disagree", "312\nLaplace or Gaussian noise of scale 2": "two_laws",
    "Ash, *\nLaplace, scale 2": "mark", "312\nuniform noise": "beyond_law", "27%\nLaplace, scale 2": "beyond_percent",
    "312\nrounded down to 5": "beyond_rounded_up", "312\nrounded, Laplace scale 2": "lacks_rounded", "hello": "no_number",
    "312 of 1150.5\nLaplace, scale 2": "n_whole",
}


def numbers(asks):
    cells = [asks[key] for key in ("cell", "part", "whole", "a", "b") if key in asks] + asks.get("cells", [])
    values = [cell["value"] for cell in cells]
    values += [asks["n"]] if isinstance(asks.get("n"), int) else []
    return values + ([asks["total"]["value"]] if asks.get("total") else [])


def test_texts_are_read_and_what_was_taken_is_said():
    wrong = {}
    for (text, (question, values, said)), found in zip(SETTLED.items(), read(*SETTLED)):
        codes = sorted(note["code"] for note in found["notes"])
        if not found["asks"] or (found["question"], numbers(found["asks"]), codes) != (question, values, sorted(said)):
            wrong[text] = found["question"], found["asks"], codes
    for (text, code), found in zip(ASKED.items(), read(*ASKED)):
        asked = [note["code"] for note in found["notes"] if note["kind"] == "asked"]
        if code not in asked:
            wrong[text] = found["question"], found["asks"], asked
    assert not wrong, wrong


def test_a_choice_settles_what_was_asked():
    for text, key, value, size, printed in (("1,204\nLaplace, scale 2", "decimal", ".", 2, 1204), ("1,204\nLaplace, scale 2", "decimal", ",", 2, 1.204),
                                            ("312\nLaplace noise of 10", "bare", "scale", 10, 312), ("312\nLaplace noise of 10", "bare", "sd", 10 / math.sqrt(2), 312),
                                            ("312\n± 16 at 95%", "law", "laplace", 16 / math.log(20), 312)):
        (before,), (after,) = read(text), read(text, chosen={key: value})
        assert any(choice == {"key": key, "value": value} or (choice["key"], choice["value"]) == (key, value)
                   for note in before["notes"] for choice in note["choices"]), (text, before["notes"])
        cell = after["asks"]["cell"]
        assert math.isclose(cell["noise"]["size"], size) and cell["value"] == printed, (text, after)


def test_each_number_may_have_a_footnote_of_its_own():
    both, table = read("118 (Laplace, scale 10) of 290 (Laplace, scale 4)", "name,count,scale\na,45,2\nb,20,3\nc,9,4")
    assert both["question"] == "rate"
    assert [both["asks"][key]["noise"]["size"] for key in ("part", "whole")] == [10, 4]
    assert [cell["noise"]["size"] for cell in table["asks"]["cells"]] == [2, 3, 4]


def test_sizes_of_noise_are_those_of_the_package():
    from dp_bayes_nb import Gaussian, Laplace
    calls, sizes = [], []
    for discrete in (False, True):
        for v in (0.4, 1.7, 12.5, 300.0):
            made = [("laplace", {"by": "scale", "scale": v}, Laplace(scale=v, discrete=discrete).scale),
                    ("laplace", {"by": "sd", "sd": v}, Laplace(sd=v, discrete=discrete).scale),
                    ("laplace", {"by": "variance", "variance": v}, Laplace(variance=v, discrete=discrete).scale),
                    ("laplace", {"by": "epsilon", "epsilon": v, "sensitivity": 2}, Laplace.from_epsilon(v, 2, discrete).scale),
                    ("gaussian", {"by": "sd", "sd": v}, Gaussian(sd=v, discrete=discrete).sd),
                    ("gaussian", {"by": "variance", "variance": v}, Gaussian(variance=v, discrete=discrete).sd),
                    ("gaussian", {"by": "rho", "rho": v, "sensitivity": 3}, Gaussian.from_rho(v, 3, discrete).sd)]
            for sure in (0.5, 0.9, 0.95, 0.999):
                error = {"by": "error", "error": v, "confidence": sure}
                made.append(("laplace", error, Laplace.from_error(v, sure, discrete).scale))
                if v >= 1 or not discrete:
                    made.append(("gaussian", error, Gaussian.from_error(v, sure, discrete).sd))
            calls += [("reader/noise.js", "sized", {"law": law, "whole": discrete, "said": said}) for law, said, _ in made]
            sizes += [size for *_, size in made]
    found = [each["size"] for each in node(calls)]
    wrong = [(call[2], size, wanted) for call, size, wanted in zip(calls, found, sizes) if not abs(size / wanted - 1) < 1e-9]
    assert not wrong, wrong


# ---- release files ----

def random_json(rng, depth=0):
    "A value that JSON can hold, with numbers and texts that are written in several ways."
    kind = rng.randrange(9 if depth < 3 else 7)
    if kind == 0:
        return rng.choice([0.0, -0.0, 1.0, 100.0, 1e15, 1e16, 1e22, 123456789012345.6, 1e-4, 1e-5, 1.5e-7, 5e-324, 1.7976931348623157e308])
    if kind == 1:
        return rng.uniform(-1, 1) * 10.0 ** rng.randrange(-20, 25)
    if kind == 2:
        return rng.choice([0, 1, -7, 2**53 + 1, 10**30, rng.randrange(-10**6, 10**6)])
    if kind in (3, 4):
        return "".join(rng.choice(["a", "é", "\"", "\\", "\n", "\x7f", "\u2028", "𝒳", "/", "\x01", "日", "'"]) for _ in range(rng.randrange(6)))
    if kind in (5, 6):
        return rng.choice([True, False, None])
    if kind == 7:
        return [random_json(rng, depth + 1) for _ in range(rng.randrange(4))]
    return {random_json_key(rng): random_json(rng, depth + 1) for _ in range(rng.randrange(4))}


def random_json_key(rng):
    return "".join(rng.choice(["a", "b", "Z", "𝒳", "\uffee", "é", "_"]) for _ in range(rng.randrange(1, 4)))


SEALS = """
import { parse, canonical } from "ROOT/reader/json.js";
import { sha256 } from "ROOT/reader/sha256.js";
export const seals = texts => texts.map(text => sha256(canonical(parse(text))));
"""


def seals(folder, texts, change=("", "")):
    shutil.copytree(ROOT / "page" / "reader", folder / "reader")
    (folder / "package.json").write_text('{"type": "module"}')
    path = folder / "reader" / "json.js"
    source = path.read_text(encoding="utf-8")
    assert change[0] in source
    path.write_text(source.replace(*change, 1), encoding="utf-8")
    (folder / "seals.js").write_text(SEALS.replace("ROOT", f"file://{folder}"))
    return node([("seals.js", "seals", texts)], folder)[0]


def test_seals_are_those_of_the_package(tmp_path):
    from dp_bayes_nb.releases.files import _seal
    rng = random.Random(44)
    documents = [{random_json_key(rng): random_json(rng) for _ in range(5)} for _ in range(400)]
    texts = [json.dumps(each, indent=rng.choice([None, 1]), ensure_ascii=rng.random() < 0.5) for each in documents]
    wanted = [_seal(json.loads(text)) for text in texts]
    assert seals(tmp_path / "right", texts) == wanted
    for name, change in {"floats": ('typeof value === "number") return float(value)', 'typeof value === "number") return String(value)'),
                         "order": (".sort(byCharacters)", ".sort()")}.items():
        assert seals(tmp_path / name, texts, change) != wanted, name  # a page that seals otherwise is found out


def test_release_files_are_opened_as_the_package_opens_them(tmp_path):
    from dp_bayes_nb import Bernoulli, Counts, Laplace, Release, Rounded, Suppressed, declare
    good = {path.name: path.read_text() for path in sorted((ROOT / "nbs" / "releases").glob("*.json"))}
    good["share"] = declare(Bernoulli("ill"), 312, n=1150, noise=Laplace(scale=2), source="an office").to_json()
    good["table"] = declare(Counts(["Elm", "Oak", "Ash"]), {"Elm": 45, "Oak": 20, "Ash": None, "all": 75}, noise=Laplace(scale=2, discrete=True),
                            matrix=[[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 1]], printed=Suppressed(10) & Rounded(5), source="an office").to_json()
    text = good["health_limit.json"]
    bad = {"a digit": (text.replace("1215", "1216"), "broken_seal"), "a float": (text.replace("100.0", "100"), "broken_seal"),
           "the noise": (text.replace('"laplace"', '"gaussian"'), "broken_seal"), "a seal": (text.replace("43379b", "43379c"), "broken_seal"),
           "cut": (text[:300], "not_valid_json"), "twice": (text.replace('"n": 8802', '"n": 8802, "n": 8802'), "key_twice"),
           "not a number": (text.replace("8802", "NaN"), "not_valid_json"), "too large": (text.replace("8802", "1e999"), "not_valid_json"),
           "another key": (text.replace('"n": 8802', '"n": 8802, "x": 1'), "other_keys"), "schema": (text.replace('"schema": 1', '"schema": 9'), "another_schema"),
           "deep": ('{"a": ' + "[" * 60 + "]" * 60 + "}", "too_deep"), "other": ('{"a": 1}', "not_ours"), "ledger": ('{"entries": [], "epsilon": 1}', "a_ledger")}
    opened = read(*good.values(), *(each for each, _ in bad.values()))
    for name, found in zip(good, opened):
        assert found["kind"] == "file" and any(note["code"] == "seal" for note in found["notes"]), (name, found["notes"])
        Release.from_json(good[name])
    for (name, (changed, code)), found in zip(bad.items(), opened[len(good):]):
        assert (found["kind"], found["asks"], [note["code"] for note in found["notes"]]) == ("refused", None, [code]), name
        with pytest.raises(ValueError):
            Release.from_json(changed)
    by = dict(zip(good, opened))
    assert by["health_limit.json"]["asks"] == {"kind": "share", "n": 8802, "cell": {
        "value": 1215, "noise": {"law": "laplace", "size": 100, "whole": True}, "printed": []}}
    assert by["share"]["asks"]["cell"]["noise"] == LAPLACE2
    assert by["education.json"]["asks"]["kind"] == "table" and numbers(by["education.json"]["asks"])[-1] == 8802
    assert numbers(by["table"]["asks"]) == [45, 20, None, 75]
    assert by["table"]["asks"]["total"]["printed"] == [{"how": "hidden", "below": 10}, {"how": "rounded", "step": 5}]
    assert [note["code"] for note in by["wages_1.json"]["notes"]] == ["seal", "cannot_model"]


# ---- one file ----

def test_the_page_is_what_its_sources_give():
    import page
    text = page.build()
    assert PAGE.read_text(encoding="utf-8") == text, "make page"
    assert len(text.encode()) <= 300_000
    asked = [link for link in re.findall(r"(?:https?:)?//[\w.-]+\.\w+[^\s\"'`]*", text) if "www.w3.org/2000/svg" not in link]
    assert not asked and not re.search(r"innerHTML|outerHTML|insertAdjacent|document\.write|\beval\(|new Function|fetch\(|XMLHttpRequest|WebSocket|sendBeacon|import\(", text)
    assert "default-src 'none'" in text and "unsafe" not in text and not re.search(r"\son\w+=\"", text.split("<script>")[0])


def test_a_source_that_cannot_be_joined_is_refused(tmp_path, monkeypatch):
    import page
    monkeypatch.setattr(page, "SOURCES", tmp_path)
    monkeypatch.setattr(page, "ROOT", tmp_path)
    (tmp_path / "b.js").write_text('export const x = 1;\n')
    (tmp_path / "a.js").write_text('import { x as y } from "./b.js";\nexport function z() { return y; }\n')
    assert "const { x: y } = $b;" in page.script(tmp_path / "a.js")
    for wrong in ('import x from "./b.js";', 'export default 1;', 'import "./b.js";', 'export let x = 1;'):
        (tmp_path / "a.js").write_text(wrong + "\n")
        with pytest.raises(ValueError, match="by name only"):
            page.script(tmp_path / "a.js")
    (tmp_path / "a.js").write_text('import { x } from "./b.js";\n')
    (tmp_path / "b.js").write_text('import { z } from "./a.js";\nexport const x = 1;\n')
    with pytest.raises(ValueError, match="import each other"):
        page.script(tmp_path / "a.js")


def test_every_code_has_words():
    "What readers note and what the engine refuses stands in strings.js, and nothing else does."
    strings = (ROOT / "page" / "strings.js").read_text(encoding="utf-8")
    said = {name: {*re.findall(r"^    (\w+): \(", strings.split(f"\n  {name}: {{")[1].split("\n  },")[0], re.M)} for name in ("notes", "refused")}
    source = "\n".join(path.read_text(encoding="utf-8") for path in sorted((ROOT / "page" / "reader").glob("*.js")))
    codes = {*re.findall(r'(?:asked|assumed)\("(\w+)"', source), *re.findall(r'code: "(\w+)"', source), *re.findall(r'Damaged\("(\w+)"', source),
             *re.findall(r'misfit\("(\w+)"', source), *(f"cannot_{code}" for code in re.findall(r'cannot\("(\w+)"', source)),
             *re.findall(r'stopped\("refused", "(\w+)"', source), *(f"lacks_{code}" for code in re.findall(r'lacks\.push\("(\w+)"', source)),
             *(f"beyond_{code}" for code in re.findall(r'beyond\.push\("(\w+)"', source))}
    codes |= {"beyond_law", "beyond_percent", "beyond_units", "two_numbers", "two_noisy_numbers", "unreadable", "categories"}
    codes -= {"one_sd"}  # the name of a choice
    assert codes == said["notes"], codes ^ said["notes"]
    engine = "\n".join(path.read_text(encoding="utf-8") for path in sorted((ROOT / "page" / "engine").glob("*.js")))
    refused = {*re.findall(r'refuse\("(\w+)"', engine)}
    assert refused <= said["refused"], refused - said["refused"]
