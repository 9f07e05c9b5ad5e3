"Figures of the site: lighter pictures, panels that a telephone stacks, and the sizes at which text is legible."

import io
import re

import numpy as np
from PIL import Image

WIDE = 320  # pixels; a wider figure is shown at a legible size
COLUMN = 356  # pixels of the text's column on a telephone that is 390 wide: no figure scrolls there
LEGIBLE, PHONE = 9, 6  # pixels: the smallest text of a figure as displayed; on a telephone, whose dots are fine
WHOLE = 500  # pixels; a picture no wider is not cut: text of 9 points is 9 pixels high on a telephone
SMALL = 8  # points of the smallest text of a figure whose code does not say
DRAWN = {"plot_posterior": 9, "plot_series": 9, "plot_map": 9, "plot_groups": 9, "plot_coefficients": 9,
         "plot_regression": 9, "front": 15}  # of what a function draws
COLOURS = 256
INK, DARK = 250, 110  # shades of grey: below the first it is no paper, below the second it is the frame of a panel
GAP, NEAR, TALL, BROAD = 3, 22, 0.22, 0.12  # pixels of blank paper, and from a frame; shares of height and width


def smallest(text, exponents=True):
    "Points of the smallest text that a cell draws: exponents of a logarithmic axis are .7 of its numbers."
    points = [float(size) for size in re.findall(r"\b(?:fontsize|labelsize|size)=([\d.]+)", text)]
    called = {*re.findall(r"\b(plot_\w+|front)\(", text)} - {*re.findall(r"\bdef (plot_\w+)\(", text)}
    points += [DRAWN.get(name, SMALL) for name in called]
    if not called and not re.search(r"\b(plt|fig)\.", text):
        points.append(SMALL)
    numbers = min([10, *(float(size) for size in re.findall(r"labelsize=([\d.]+)", text))])
    if exponents and re.search(r"""scale=["']log|(?:x|y)scale\(["']log|loglog|semilog""", text):
        points.append(0.7 * numbers)
    return min(points) if called == {"front"} else min([10, *points])


def size(picture):
    "Width and height of a PNG."
    return tuple(int.from_bytes(picture[k:k + 4], "big") for k in (16, 20))


def runs(mask):
    "Starts and ends of runs of True."
    edges = np.flatnonzero(np.diff(np.r_[0, mask.astype(int), 0]))
    return list(zip(edges[::2], edges[1::2]))


def cuts(shades):
    """Columns at which a picture, (height, width) shades of grey, can be cut between panels that stand side by side:
    in blank paper after the right end of a frame, where a broad frame follows.
    """
    height, width = shades.shape
    dark = shades < DARK
    frames = np.array([x for x in range(width) if dark[:, x].sum() > TALL * height
                       and max(end - start for start, end in runs(dark[:, x])) > TALL * height])
    blank = [(a + b) // 2 for a, b in runs((shades >= INK).all(axis=0)) if b - a >= GAP and 0 < a and b < width
             and len(frames) and ((frames < a) & (frames > a - NEAR)).any()]
    found, last = [], 0
    for k, at in enumerate(blank):
        after = (*blank, width)[k + 1]
        if all(len(part) > 1 and np.ptp(part) >= BROAD * width for part in (
                frames[(frames > last) & (frames < at)], frames[(frames > at) & (frames < after)])):
            found.append(int(at))
            last = at
    return found


def lighter(image, least):
    "A picture of few colours as PNG, or `least` where that has fewer bytes."
    out = io.BytesIO()
    image.quantize(COLOURS, method=Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE).save(out, "PNG", optimize=True)
    return min(out.getvalue(), least, key=len) if least else out.getvalue()


def edges_of(image):
    "The columns between which the panels of a picture stand side by side, from 0 to its width."
    return [0, *(cuts(np.asarray(image.convert("L"))) if image.width > WHOLE else ()), image.width]


def parts(picture):
    "The panels of a PNG that stand side by side, as PNGs from left to right; all of it where they cannot be cut."
    image = Image.open(io.BytesIO(picture)).convert("RGB")
    edges = edges_of(image)
    if len(edges) == 2:
        return [lighter(image, picture)]
    return [lighter(image.crop((a, 0, b, image.height)), b"") for a, b in zip(edges, edges[1:])]


def least_width(width, points, pixels):
    "The width at which text of some points, drawn at 100 dots an inch, is so many pixels high."
    return min(width, round(width * pixels * 72 / 100 / points))


def scrolls(picture, points):
    "Whether a PNG, or a panel of it, has to be wider than a telephone's column for its smallest text to be legible."
    def wide(width):
        return least_width(width, points, PHONE) > COLUMN
    if not wide(size(picture)[0]):
        return False
    edges = edges_of(Image.open(io.BytesIO(picture)).convert("RGB"))
    return any(wide(b - a) for a, b in zip(edges, edges[1:]))


def sized(tag, pieces, points):
    """An <img> of one or several PNGs, each as (name, width, height), with its size, which keeps its place until it is
    loaded. A wide one leads to its file, and stands in a box that scrolls, with the width at which its smallest text
    is LEGIBLE pixels high; on a telephone panels are stacked, and text is PHONE pixels high.
    """
    tags, whole = [], sum(width for _, width, _ in pieces)
    for k, (name, width, height) in enumerate(pieces):
        least, phone = (least_width(width, point, pixels) for pixels, point in zip((LEGIBLE, PHONE), points))
        one = re.sub(r'src="[^"]*"', f'src="{name}" width="{width}" height="{height}"', tag, count=1)
        if k:
            one = re.sub(r'\balt="[^"]*"', f'alt="panel {k + 1}"', one, count=1)
        style = f"--natural: {width}px; --least: {least}px; --phone: {phone}px"
        if len(pieces) > 1:  # on a telephone all panels have one scale
            widest = max(width for _, width, _ in pieces)
            style += f"; --share: {100 * width / whole:.2f}%; --of-widest: {100 * width / widest:.2f}%"
        tags.append(one if whole <= WIDE else f'<a href="{name}">' + one.replace(
            'class="img-fluid"', f'class="img-fluid wide" style="{style}"', 1) + "</a>")
    if whole <= WIDE:
        return tags[0]
    inner = f'<div class="panels" style="--natural: {whole}px">{"".join(tags)}</div>' if len(tags) > 1 else tags[0]
    return f'<div class="figure-scroll" tabindex="0" role="group" aria-label="Figure">{inner}</div>'
