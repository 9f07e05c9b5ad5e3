"""The figure of the paper, from `results/fig1a.json`: `python paper/figure.py` writes `coverage.png`."""

import json
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

HERE = Path(__file__).resolve().parent
MODELS = {"binomial": "share", "multinomial": "three categories", "exponential, clipped": "rate of a clipped sum"}
SIZES, EPSILON = [10, 100, 1000, 10_000, 100_000], 0.1


def found(what, method, model):
    "Coverage or width by number of records, averaged over the model's parameters."
    cells = json.loads((HERE.parent / "results" / "fig1a.json").read_text())["cells"]
    return np.array([np.mean(cells[f"{model}, n = {n}, epsilon = {EPSILON}"][method][what]) for n in SIZES])


def draw():
    "Both panels."
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.3), layout="constrained")
    for (model, name), color in zip(MODELS.items(), ("#0072b2", "#d55e00", "#009e73")):
        left.plot(SIZES, found("coverage", "ours", model), "o-", color=color, label=name)
        left.plot(SIZES, found("coverage", "naive", model), "o--", color=color, mfc="white")
        right.plot(SIZES, found("width", "ours", model) / found("width", "non_private", model), "o-", color=color)
    left.plot([], [], "k-", label="noise accounted for")
    left.plot([], [], "k--", label="noise ignored")
    left.axhline(0.95, color="0.6", lw=0.8, zorder=0)
    left.set(xscale="log", ylim=(0, 1.02), xlabel="records", ylabel="coverage of 95% intervals")
    left.legend(frameon=False, fontsize=8, loc="lower left")
    right.axhline(1, color="0.6", lw=0.8, zorder=0)
    right.set(xscale="log", yscale="log", xlabel="records", ylabel="width ÷ width from the data", ylim=(0.93, 4),
              yticks=[1, 2, 3, 4], yticklabels=["1", "2", "3", "4"])
    for axes in (left, right):
        axes.minorticks_off()
        axes.spines[["top", "right"]].set_visible(False)
    return figure


if __name__ == "__main__":
    draw().savefig(HERE / "coverage.png", dpi=160)
