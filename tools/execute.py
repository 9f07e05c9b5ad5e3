"""Run notebooks from top to bottom and save what a reader will see.

`python tools/execute.py [NAME …]` runs the named notebooks (`chains/03_collapsed`, `collapsed`
or a folder; all by default) in the Python that
runs this script, and saves their outputs: the same bytes when nothing changed. `--quick` leaves cells with the flag
`slow` and their saved outputs as they are. `--check` saves nothing and compares what the cells show with what is saved,
texts by characters and pictures by pixels, except in cells marked `# differs at each run`. Warnings on stderr are
refused, unless the cell has the tag `stderr`.
"""

import argparse
import base64
import difflib
import io
import os
import re
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
NBS = ROOT / "nbs"
FOLDERS = ("base", "noise", "models", "releases", "data_holder", "curves", "counts", "chains", "ways", "posterior",
           "many", "fields", "regression", "naive_bayes", "hidden_markov", "tables", "research", "evidence", "app",
           "papers", "command", "tutorials", "questions", "course", "recipes")
WIDGET = "application/vnd.jupyter.widget-view+json"


def environment():
    "Where caches go, for the kernel and for everything this script starts."
    os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(ROOT / ".cache" / "jax"))
    os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    os.environ.setdefault("MPLCONFIGDIR", str(ROOT / ".cache" / "matplotlib"))
    os.environ.setdefault("PYDEVD_DISABLE_FILE_VALIDATION", "1")
    os.environ["TQDM_DISABLE"] = "1"


def notebooks():
    "Every notebook, in reading order: the folders as the package's rooms stand on one another, the files by number."
    last = len(FOLDERS)
    place = {folder: rank for rank, folder in enumerate(FOLDERS)}
    found = [p for p in NBS.rglob("*.ipynb")
             if not any(part.startswith((".", "_")) for part in p.relative_to(NBS).parts)]
    return sorted(found, key=lambda p: (place.get(p.parent.name, last), p.relative_to(NBS).as_posix()))


def short(path):
    "A notebook's name for people: `chains/03_collapsed`."
    return path.relative_to(NBS).with_suffix("").as_posix()


def chosen(names):
    """The notebooks that the names mean, in reading order; all of them when there are none.

    `chains/03_collapsed`, `chains/collapsed`, `03_collapsed`, `collapsed` and `posterior` (all of a folder) are
    names.
    """
    every = notebooks()
    if not names:
        return every
    wanted = []
    for name in names:
        name = re.sub(r"^(?:.*/)?nbs/", "", name.removesuffix(".ipynb")).strip("/")
        plain = [(p, short(p), re.sub(r"(^|/)\d+_", r"\1", short(p))) for p in every]
        found = [p for p, path, bare in plain if name in (path, bare)]
        found = found or [p for p, path, _ in plain if path.startswith(f"{name}/")]
        found = found or [p for p, path, bare in plain if name in (p.stem, bare.rpartition("/")[2])]
        if not found:
            sys.exit(f"no notebook is called {name!r}; there are {', '.join(map(short, every))}")
        wanted += found
    return [p for p in every if p in wanted]


HEAVY = 30_000  # bytes; a larger picture is saved in 256 colours, which a figure of lines and areas does not show


def plain_png(data):
    "A PNG without its text chunks, which name the version of the library that drew it; a large one in 256 colours."
    raw = palette(base64.b64decode(data))
    kept, at = [raw[:8]], 8
    while at < len(raw):
        size = struct.unpack(">I", raw[at : at + 4])[0] + 12
        if raw[at + 4 : at + 8] not in (b"tEXt", b"iTXt", b"zTXt", b"tIME"):
            kept.append(raw[at : at + size])
        at += size
    return base64.b64encode(b"".join(kept)).decode()


def palette(raw):
    "The bytes of a PNG; of a large one, in the 256 colours that are nearest."
    if len(raw) <= HEAVY:
        return raw
    from PIL import Image

    picture = Image.open(io.BytesIO(raw))
    if picture.mode == "P":
        return raw
    white = Image.new("RGBA", picture.size, "white")
    flat = Image.alpha_composite(white, picture.convert("RGBA")).convert("RGB")
    small = io.BytesIO()
    flat.quantize(256, method=Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE).save(small, "PNG", optimize=True)
    return small.getvalue()


def tidy(nb):
    "Drop what differs between two runs: widget state, execution counts, metadata of pictures, files of the kernel."
    nb.metadata.pop("widgets", None)
    for cell in nb.cells:
        if cell.cell_type != "code":
            continue
        cell.execution_count = None
        kept = []
        for out in cell.outputs:
            if out.get("name") == "stderr":  # where the kernel keeps a cell is of this machine and run
                out["text"] = re.sub(r"\S*/ipykernel_\d+/\d+\.py:(\d+): ", r"line \1: ", out["text"])
            data = out.get("data", {})
            had_widget = data.pop(WIDGET, None) is not None
            if had_widget and not set(data) - {"text/plain"}:
                continue
            if "image/png" in data:
                data["image/png"] = plain_png(data["image/png"])
            if "execution_count" in out:
                out["execution_count"] = None
            if "data" in out:
                out["metadata"] = {}
            kept.append(out)
        cell.outputs = kept


def noisy(nb):
    "What cells wrote on stderr, without the tag that allows it."
    return [
        "".join(out.text)
        for cell in nb.cells
        if cell.cell_type == "code" and "stderr" not in cell.metadata.get("tags", [])
        for out in cell.outputs
        if out.output_type == "stream" and out.name == "stderr"
    ]


def run(path, quick=False):
    "The notebook at `path`, executed."
    import nbformat
    from nbclient import NotebookClient
    from nbclient.exceptions import CellExecutionError
    from traitlets.config import Config

    nb = nbformat.read(path, as_version=4)
    folder = tempfile.TemporaryDirectory()
    # sockets that are files, not ports
    local = Config({"KernelManager": {"transport": "ipc", "ip": f"{folder.name}/kernel"}})
    client = NotebookClient(nb, timeout=3600, kernel_name="python3", resources={"metadata": {"path": str(path.parent)}},
                            coalesce_streams=True, config=local)
    try:
        with client.setup_kernel():
            for index, cell in enumerate(nb.cells):
                if cell.cell_type != "code":
                    continue
                if "nbdev_export(" in cell.source or re.search(r"^#\|\s*eval:\s*false", cell.source, re.M):
                    cell.outputs = []
                    continue
                if quick and re.search(r"^#\|\s*slow", cell.source, re.M):
                    continue
                client.execute_cell(cell, index)
    except CellExecutionError as error:
        return nb, re.sub(r"\x1b\[[0-9;]*m", "", str(error))
    finally:
        folder.cleanup()
    tidy(nb)
    heard = noisy(nb)
    return nb, "it writes on stderr:\n" + "\n".join(heard) if heard else ""


VARIES = "# differs at each run"  # the mark of a cell whose output may: noise that protects people has no seed


def shown(cell):
    "Texts and pictures that a cell shows, without addresses in memory; PNGs as their pixels."
    import numpy as np
    from PIL import Image

    found = []
    for out in cell.outputs:
        data = out.get("data", {})
        for text in (out.get("text"),
                     *(data.get(kind) for kind in ("text/plain", "text/html", "text/markdown", "image/svg+xml"))):
            if text:
                found.append(re.sub(r" at 0x[0-9a-f]+", "", "".join(text)).rstrip())
        if "image/png" in data:
            picture = Image.open(io.BytesIO(palette(base64.b64decode(data["image/png"]))))
            found.append(np.asarray(picture.convert("RGB"), int))
    return found


def differences(saved, new, quick=False):
    "What a reader would see changed, cell by cell; cells with the mark `VARIES` must only show as many things."
    said = []
    cells = ((old, cell) for old, cell in zip(saved.cells, new.cells) if cell.cell_type == "code")
    for number, (old, cell) in enumerate(cells, 1):
        if quick and re.search(r"^#\|\s*slow", cell.source, re.M):
            continue
        before, after = shown(old), shown(cell)
        if len(before) != len(after):
            said.append(f"code cell {number} shows {len(after)} things, {len(before)} are saved")
            continue
        for one, two in zip(before, after):
            if VARIES in cell.source:
                continue
            if isinstance(one, str) or isinstance(two, str):
                if type(one) is not type(two) or one != two:
                    lines = list(difflib.unified_diff(str(one).splitlines(), str(two).splitlines(), "saved", "new",
                                                      lineterm="", n=0))
                    said.append("\n".join([f"code cell {number}: another text", *(line[:160] for line in lines[2:14])]))
            elif one.shape != two.shape:
                said.append(
                    f"code cell {number}: a picture of {two.shape[1]} by {two.shape[0]}, {one.shape[1]} by "
                    f"{one.shape[0]} is saved")
            elif (gap := abs(one - two)).any():
                said.append(
                    f"code cell {number}: another picture, {100 * (gap > 16).any(axis=2).mean():.2f}% of its pixels")
    return "\n".join(said)


def clean(path):
    "nbdev-clean, and the fixed point that makes a second run write the same bytes."
    subprocess.run([str(Path(sys.executable).parent / "nbdev-clean"), "--fname", str(path)], cwd=ROOT, check=True,
                   stdin=subprocess.DEVNULL)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*",
                        help="notebooks, such as chains/03_collapsed or collapsed (default: all)")
    parser.add_argument("--check", action="store_true",
                        help="save nothing; compare what the cells show with what is saved")
    parser.add_argument("--quick", action="store_true", help="leave slow cells and their saved outputs as they are")
    args = parser.parse_args()
    environment()
    import nbformat

    failed = 0
    for path in chosen(args.names):
        start, before = time.perf_counter(), path.read_bytes()
        nb, trouble = run(path, args.quick)
        if not trouble and args.check:
            trouble = differences(nbformat.read(path, as_version=4), nb, args.quick)
        elif not trouble:
            nbformat.write(nb, path)
            clean(path)
        said = "failed" if trouble else "as saved" if args.check or path.read_bytes() == before else "saved"
        print(f"{short(path)}: {said} ({time.perf_counter() - start:.0f} s)", flush=True)
        if trouble:
            failed += 1
            print(trouble, file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
