"""Write README.md from nbs/index.ipynb: its text, its code and its saved outputs.

`--check` writes nothing, and fails when README.md or one of its pictures is not what this script would write.
"""

import argparse
import base64
import json
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
INDEX = ROOT / "nbs" / "index.ipynb"
README = ROOT / "README.md"


def markdown(text):
    "A markdown cell of the notebook, as it reads in the top folder."
    text = re.sub(r"^:::.*\n?", "", text, flags=re.M)
    text = re.sub(r"\[([^\]]*)\]\(#eq-[^)]*\)", r"\1", text)
    text = re.sub(r"(\]\()(?![a-z]+:|#|/|\.\./)([^)]+\))", r"\1nbs/\2", text)
    text = re.sub(r"(\]\()\.\./", r"\1", text)
    text = text.replace("](nbs/dp_bayes.html)", "](dp_bayes_nb/page/dp_bayes.html)")  # before the site is built
    return re.sub(r'((?:src|href)=")(?![a-z]+:|#|/)', r"\1nbs/", text)


def code(cell, pictures):
    "A code cell and its outputs; pictures are added to `pictures`."
    source = "".join(cell["source"])
    directives = re.findall(r"^#\|\s*(.*)$", source, flags=re.M)
    if any(re.match(r"(hide|export|exporti|default_exp)\b", d) or re.match(r"include:\s*false", d) for d in directives):
        return []
    blocks = []
    body = re.sub(r"^#\|.*\n?", "", source, flags=re.M).strip()
    if body and not any(re.match(r"echo:\s*false", d) for d in directives):
        blocks.append(f"```python\n{body}\n```")
    if any(re.match(r"output:\s*false", d) for d in directives):
        return blocks
    alt = next((m[1].strip("\"'") for d in directives if (m := re.match(r"fig-alt:\s*(.*)", d))), "")
    for out in cell["outputs"]:
        data = out.get("data", {})
        if "image/png" in data:
            name = f"nbs/images/index-{len(pictures) + 1}.png"
            pictures[name] = base64.b64decode("".join(data["image/png"]))
            blocks.append(f"![{alt}]({name})")
        elif "text/markdown" in data:
            blocks.append(markdown("".join(data["text/markdown"])).strip())
        elif "text/plain" in data or "text" in out:
            text = "".join(data.get("text/plain", out.get("text", "")))
            blocks.append(f"```text\n{text.rstrip()}\n```")
    return blocks


def readme():
    """The text of README.md, and its pictures by path. Short blocks are joined: imports, which the site wants apart,
    with the code that needs them, and an output of one line, as a comment, with the code that printed it.
    """
    pictures, blocks = {}, ["<!-- Written by tools/readme.py from nbs/index.ipynb: edit the notebook. -->"]
    for cell in json.loads(INDEX.read_text(encoding="utf-8"))["cells"]:
        if cell["cell_type"] == "markdown":
            blocks.append(markdown("".join(cell["source"])).strip())
        elif cell["cell_type"] == "code":
            blocks += code(cell, pictures)
    text = "\n\n".join(block for block in blocks if block) + "\n"
    text = re.sub(r"(```python\n(?:(?:from|import) .*\n)+)```\n\n```python\n", r"\1\n", text)
    return re.sub(r"\n```\n\n```text\n(.*)\n```\n", r"\n# \1\n```\n", text), pictures


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing; fail when something would change")
    check = parser.parse_args().check
    text, pictures = readme()
    wanted = {README: text.encode(), **{ROOT / name: raw for name, raw in pictures.items()}}
    stale = [p for p, raw in wanted.items() if not p.is_file() or p.read_bytes() != raw]
    stale += [p for p in (ROOT / "nbs" / "images").glob("index-*.png") if p not in wanted]
    if check:
        for path in stale:
            print(f"{path.relative_to(ROOT)} is not what nbs/index.ipynb says; run `make readme`", file=sys.stderr)
        dead = [link for link in re.findall(r"\]\(([^)#]+)", text) if not re.match(r"[a-z]+:", link)
                and link not in pictures and not (ROOT / link).exists()]
        for link in dead:
            print(f"README.md links to {link}, which does not exist", file=sys.stderr)
        return 1 if stale or dead else 0
    for path in stale:
        if path in wanted:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(wanted[path])
        else:
            path.unlink()
    print(f"README.md: {'written' if stale else 'unchanged'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
