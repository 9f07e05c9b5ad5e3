"""pyproject.toml from settings.ini, where the package is described: metadata for setuptools and settings for nbdev.

The version goes into the package and the citation too. setuptools and nbdev read what this writes, and a test holds
them together.
"""

import json
import re
from configparser import ConfigParser
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# Each extra, and those that it contains.
EXTRAS = {"readers": [], "release": ["readers"], "demo": ["release"], "app": ["demo"], "formula": [],
          "dev": ["app", "formula"]}
STATUS = {"3": "3 - Alpha", "4": "4 - Beta", "5": "5 - Production/Stable"}
LICENSES = {"apache2": "Apache-2.0"}
OF_NBDEV = ("title", "lib_path", "nbs_path", "doc_path", "custom_sidebar", "readme_nb", "recursive", "tst_flags",
            "clean_ids", "clear_all", "jupyter_hooks", "put_version_in_init", "update_pyproject", "branch")


def settings(root: Path = ROOT):
    "settings.ini as a mapping of texts."
    parser = ConfigParser(delimiters=["="], interpolation=None)
    parser.read(root / "settings.ini", encoding="utf-8")
    return parser["DEFAULT"]


def requirements(cfg, extra: str) -> list[str]:
    "What an extra installs beside the package's own requirements."
    return cfg[f"{extra}_requirements"].split() + [each for inner in EXTRAS[extra] for each in requirements(cfg, inner)]


def table(name: str, entries: dict) -> str:
    "A table of TOML; texts, lists of texts and truth values are written as in JSON."
    def shown(value):
        if isinstance(value, list) and len(value) > 1:
            return "[\n" + "".join(f"    {json.dumps(each)},\n" for each in value) + "]"
        return json.dumps(value, ensure_ascii=False)
    return "\n".join([f"[{name}]", *(f"{key} = {shown(value)}" for key, value in entries.items())])


def pyproject(root: Path = ROOT) -> str:
    "The text of pyproject.toml."
    cfg = settings(root)
    lib, urls = cfg["lib_name"], {"Repository": cfg["git_url"], "Documentation": cfg["doc_host"]}
    classifiers = [f"Development Status :: {STATUS[cfg['status']]}", f"Intended Audience :: {cfg['audience']}",
                   "Operating System :: POSIX", "Programming Language :: Python :: 3",
                   *(f"Programming Language :: Python :: {each}" for each in cfg["pythons"].split()),
                   "Topic :: Scientific/Engineering", "Typing :: Typed"]
    plain = lambda text: text == "True" if text in ("True", "False") else text
    script, _, called = cfg["console_scripts"].partition("=")
    parts = [
        "# Written by tools/pyproject.py from settings.ini, where changes are made.",
        table("build-system", {"requires": ["setuptools>=77"], "build-backend": "setuptools.build_meta"}),
        table("project", {
            "name": lib, "version": cfg["version"], "description": cfg["description"], "readme": "README.md",
            "requires-python": f">={cfg['min_python']}", "license": LICENSES[cfg["license"]],
            "license-files": ["LICENSE"], "keywords": cfg["keywords"].split(), "classifiers": classifiers,
            "dependencies": cfg["requirements"].split()}) + f"\nauthors = [{{name = {json.dumps(cfg['author'])}}}]",
        table("project.optional-dependencies", {extra: requirements(cfg, extra) for extra in EXTRAS}),
        table("project.scripts", {script: called}),
        table("project.entry-points.nbdev", {lib: f"{lib}._modidx:d"}),
        *([table("project.urls", found)] if (found := {k: v for k, v in urls.items() if v}) else []),
        table("tool.setuptools.packages.find", {"include": [lib, f"{lib}.*"]}),
        table("tool.setuptools.package-data", {lib: ["py.typed", "page/*.html"]}),
        table("tool.nbdev", {key: plain(cfg[key]) for key in OF_NBDEV} | {
            key: cfg[key].split() for key in ("allowed_metadata_keys", "allowed_cell_metadata_keys")})]
    return "\n\n".join(parts) + "\n"


def main() -> None:
    (ROOT / "pyproject.toml").write_text(pyproject(), encoding="utf-8")
    for name, before in (("dp_bayes_nb/__init__.py", '__version__ = "'), ("CITATION.cff", "version: ")):
        text = (ROOT / name).read_text(encoding="utf-8")
        text = re.sub(f'(?m)^({before})[^"\\n]+', rf"\g<1>{settings()['version']}", text)
        (ROOT / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
