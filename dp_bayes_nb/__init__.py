"""Bayesian inference from differentially private sufficient statistics.

The public names below are loaded on first use (PEP 562), so that importing the package stays fast:
JAX, ArviZ, DuckDB and OpenDP are imported by the modules that need them. Type checkers read the imports at the end.
"""

import typing as _typing

__version__ = "1.0.0"

# Where each public name lives, by what it is for; the site's reference has a page for each job.
_jobs = {
    "Numbers that somebody published": {
        "declare": "releases.declare",
        "Laplace": "noise.statements",
        "Gaussian": "noise.statements",
        "Exact": "noise.printing",
        "Rounded": "noise.printing",
        "Suppressed": "noise.printing",
        "Clamped": "noise.printing",
        "PrintedAbove": "noise.printing",
        "Within": "noise.printing",
        "Bands": "noise.printing",
        "RandomRounded": "noise.perturbed",
        "CellKey": "noise.perturbed",
        "Noise": "noise.perturbed",
        "CanonicalNoise": "noise.perturbed",
        "combine": "releases.combine",
        "read_table": "releases.published",
        "from_census": "releases.other_tools",
        "from_opendp": "releases.other_tools",
        "from_tumult": "releases.other_tools",
        "from_mbi": "releases.other_tools",
        "Release": "releases.document",
    },
    "From a release to a posterior": {
        "fit": "posterior.fit",
        "explain": "posterior.route",
        "Route": "posterior.route",
        "fit_many": "many.fit_many",
        "fit_partitions": "many.clusters",
        "Pooled": "fields.pooled_groups",
        "Along": "fields.structures",
        "OnMap": "fields.structures",
        "Regression": "fields.structures",
        "extend": "posterior.extend",
        "log_likelihood": "posterior.log_likelihood",
    },
    "Reading a posterior": {
        "summary": "posterior.summary",
        "Summary": "posterior.summary",
        "quantity": "posterior.quantities",
        "Quantity": "posterior.quantities",
        "contrast": "posterior.contrasts",
        "ranks": "posterior.contrasts",
        "plot_groups": "posterior.contrasts",
        "plot_series": "posterior.series",
        "plot_map": "posterior.maps",
        "plot_posterior": "posterior.results",
        "predict": "posterior.results",
        "predictive_check": "posterior.results",
        "row_check": "posterior.row_check",
        "column_quantiles": "posterior.histograms",
        "column_mean": "posterior.histograms",
        "column_above": "posterior.histograms",
        "plot_regression": "regression.plots",
        "plot_coefficients": "regression.plots",
        "prediction_intervals": "regression.plots",
        "odds_ratios": "tables.coefficients",
        "rate_ratios": "tables.answers",
        "answer_probabilities": "tables.coefficients",
        "expected_counts": "tables.answers",
        "table_probabilities": "tables.margins",
        "table_effects": "tables.margins",
        "state_probabilities": "research.hmm_routes",
        "relabel": "research.hmm_routes",
        "classify": "naive_bayes.classification",
        "classification_scores": "naive_bayes.classification",
        "reliability": "naive_bayes.classification",
        "plot_reliability": "naive_bayes.classification",
        "synthesize": "tables.synthetic",
        "write_synthetic": "tables.synthetic",
        "read_synthetic": "tables.synthetic",
        "combine_synthetic": "tables.synthetic",
    },
    "Models of one column": {
        "Bernoulli": "models.counts",
        "Categorical": "models.counts",
        "Counts": "models.whole_numbers",
        "Poisson": "models.rates",
        "Geometric": "models.rates",
        "NegativeBinomial": "models.varied_counts",
        "ZeroInflatedPoisson": "models.varied_counts",
        "ZeroInflatedNegativeBinomial": "models.varied_counts",
        "TruncatedPoisson": "models.varied_counts",
        "Exponential": "models.rates",
        "Pareto": "models.rates",
        "Weibull": "models.rates",
        "GammaData": "models.gamma",
        "Normal": "models.normal",
        "LogNormal": "models.normal",
        "NormalMixture": "models.mixture",
        "RandomizedResponse": "models.reports",
        "Ratio": "models.ratios",
        "Histogram": "models.histogram",
        "DateHistogram": "models.histogram",
        "calendar_edges": "models.histogram",
        "calendar_days": "models.histogram",
        "Above": "models.above",
        "Grouped": "models.grouped",
        "Clip": "models.bounds",
        "Redact": "models.bounds",
        "WeightedRecords": "models.weighted_records",
        "ClippedCounts": "models.varied_counts",
    },
    "Models of several columns": {
        "LinearRegression": "regression.model",
        "TobitRegression": "regression.tobit",
        "MultivariateNormal": "regression.multivariate_normal",
        "LogisticRegression": "tables.logistic",
        "OrderedLogistic": "tables.answers",
        "MultinomialLogistic": "tables.answers",
        "PoissonRegression": "tables.answers",
        "NegativeBinomialRegression": "tables.answers",
        "LogLinear": "tables.log_linear",
        "NaiveBayes": "naive_bayes.model",
        "HiddenMarkov": "hidden_markov.model",
        "recommend_knots": "tables.soft_tables",
        "expected_width": "tables.soft_tables",
    },
    "Priors": {
        "Beta": "base.priors",
        "Dirichlet": "base.priors",
        "LearnedDirichlet": "base.priors",
        "Gamma": "models.conjugate_priors",
        "NormalMean": "models.conjugate_priors",
        "NormalInverseGamma": "models.conjugate_priors",
        "NormalInverseWishart": "regression.covariates",
        "LogDensity": "base.priors",
        "SharedGamma": "models.whole_numbers",
        "FlatCounts": "models.whole_numbers",
        "Overdispersion": "models.varied_counts",
        "PolyaTree": "models.histogram",
        "AtEnds": "models.histogram",
        "Shrinkage": "tables.log_linear",
        "NormalEffects": "tables.log_linear",
        "NormalCoefficients": "tables.effects",
        "InformationPrior": "tables.effects",
    },
    "Releasing a table": {
        "release": "data_holder.release",
        "Ledger": "data_holder.ledger",
        "private_quantile": "data_holder.quantiles",
        "Person": "models.promises",
        "ledger_report": "data_holder.report",
        "registry_entry": "data_holder.report",
        "examine": "releases.examine",
        "plan": "research.planning",
        "Plan": "research.planning",
        "plan_bounds": "research.bounds_planning",
        "plan_series": "research.series_planning",
        "SeriesPlan": "research.series_planning",
        "ReleaseSeries": "data_holder.series",
        "Design": "noise.design",
        "audit": "research.audit",
        "Audit": "research.audit",
    },
    "Models of your own": {
        "Model": "models.contract",
        "Column": "models.declarations",
        "Parameter": "base.supports",
        "family_class": "models.contract",
        "register": "models.registry",
        "check_model": "research.check_model",
    },
    "Calibration and experiments": {
        "simulate_release": "releases.simulate",
        "simulate_like": "releases.simulate",
        "calibrate": "research.evaluation",
        "Calibration": "research.ranks",
        "plot_intervals": "research.ranks",
        "ks_uniform": "base.checks",
        "wasserstein1": "base.checks",
        "mmd2": "research.ranks",
        "run_experiment": "papers.experiments",
        "Experiment": "papers.experiments",
    },
}
_public = {name: home for names in _jobs.values() for name, home in names.items()}

__all__ = list(_public)  # noqa: PLE0605


if not _typing.TYPE_CHECKING:  # for a type checker an unknown name stays an error

    def __getattr__(name: str) -> object:
        "Import the module of a public name and keep the name."
        if name not in _public:
            from .base.meant import meant

            asked = meant(name, _public)
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}; {f'{asked} Its' if asked else 'its'} "
                                 f"public names are {', '.join(sorted(_public))}")
        from importlib import import_module

        value = getattr(import_module(f"{__name__}.{_public[name]}"), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    "The public names, loaded or not."
    return sorted({*globals(), *_public})


if _typing.TYPE_CHECKING:
    from .base.checks import wasserstein1 as wasserstein1, ks_uniform as ks_uniform
    from .base.priors import Beta as Beta, Dirichlet as Dirichlet, LearnedDirichlet as LearnedDirichlet
    from .base.priors import LogDensity as LogDensity
    from .base.supports import Parameter as Parameter
    from .noise.design import Design as Design
    from .noise.perturbed import (
        CanonicalNoise as CanonicalNoise,
        CellKey as CellKey,
        Noise as Noise,
        RandomRounded as RandomRounded,
    )
    from .noise.printing import (
        Bands as Bands,
        Clamped as Clamped,
        Exact as Exact,
        PrintedAbove as PrintedAbove,
        Rounded as Rounded,
        Suppressed as Suppressed,
        Within as Within,
    )
    from .noise.statements import (
        Laplace as Laplace,
        Gaussian as Gaussian,
    )
    from .models.above import Above as Above
    from .models.bounds import Clip as Clip, Redact as Redact
    from .models.conjugate_priors import (
        Gamma as Gamma,
        NormalMean as NormalMean,
        NormalInverseGamma as NormalInverseGamma,
    )
    from .models.contract import Model as Model, family_class as family_class
    from .models.declarations import Column as Column
    from .models.registry import register as register
    from .models.counts import Bernoulli as Bernoulli, Categorical as Categorical
    from .models.gamma import GammaData as GammaData
    from .models.grouped import Grouped as Grouped
    from .models.histogram import (
        AtEnds as AtEnds, DateHistogram as DateHistogram, Histogram as Histogram, PolyaTree as PolyaTree,
    )
    from .models.histogram import calendar_days as calendar_days, calendar_edges as calendar_edges
    from .models.mixture import NormalMixture as NormalMixture
    from .models.varied_counts import (
        ClippedCounts as ClippedCounts,
        NegativeBinomial as NegativeBinomial,
        ZeroInflatedPoisson as ZeroInflatedPoisson,
        ZeroInflatedNegativeBinomial as ZeroInflatedNegativeBinomial,
        TruncatedPoisson as TruncatedPoisson,
        Overdispersion as Overdispersion,
    )
    from .models.weighted_records import WeightedRecords as WeightedRecords
    from .models.whole_numbers import Counts as Counts, FlatCounts as FlatCounts, SharedGamma as SharedGamma
    from .models.normal import Normal as Normal, LogNormal as LogNormal
    from .models.promises import Person as Person
    from .models.rates import (
        Poisson as Poisson,
        Geometric as Geometric,
        Exponential as Exponential,
        Pareto as Pareto,
        Weibull as Weibull,
    )
    from .releases.combine import combine as combine
    from .releases.declare import declare as declare
    from .releases.document import Release as Release
    from .releases.examine import examine as examine
    from .releases.published import read_table as read_table
    from .releases.other_tools import (
        from_opendp as from_opendp,
        from_mbi as from_mbi,
        from_tumult as from_tumult,
        from_census as from_census,
    )
    from .releases.simulate import simulate_like as simulate_like, simulate_release as simulate_release
    from .data_holder.ledger import Ledger as Ledger
    from .data_holder.quantiles import private_quantile as private_quantile
    from .data_holder.report import ledger_report as ledger_report
    from .data_holder.report import registry_entry as registry_entry
    from .data_holder.release import release as release
    from .many.clusters import fit_partitions as fit_partitions
    from .posterior.contrasts import contrast as contrast, plot_groups as plot_groups, ranks as ranks
    from .posterior.extend import extend as extend
    from .posterior.fit import fit as fit
    from .posterior.route import Route as Route, explain as explain
    from .posterior.histograms import (
        column_above as column_above,
        column_mean as column_mean,
        column_quantiles as column_quantiles,
    )
    from .posterior.log_likelihood import log_likelihood as log_likelihood
    from .posterior.maps import plot_map as plot_map
    from .posterior.series import plot_series as plot_series
    from .many.fit_many import fit_many as fit_many
    from .fields.pooled_groups import Pooled as Pooled
    from .fields.structures import Along as Along
    from .fields.structures import OnMap as OnMap
    from .fields.structures import Regression as Regression
    from .posterior.results import (
        predict as predict,
        predictive_check as predictive_check,
        plot_posterior as plot_posterior,
    )
    from .posterior.quantities import Quantity as Quantity, quantity as quantity
    from .posterior.summary import Summary as Summary, summary as summary
    from .posterior.row_check import row_check as row_check
    from .regression.covariates import NormalInverseWishart as NormalInverseWishart
    from .regression.model import LinearRegression as LinearRegression
    from .regression.multivariate_normal import MultivariateNormal as MultivariateNormal
    from .regression.tobit import TobitRegression as TobitRegression
    from .regression.plots import (
        plot_regression as plot_regression,
        plot_coefficients as plot_coefficients,
        prediction_intervals as prediction_intervals,
    )
    from .naive_bayes.classification import (
        classify as classify,
        classification_scores as classification_scores,
        reliability as reliability,
        plot_reliability as plot_reliability,
    )
    from .naive_bayes.model import NaiveBayes as NaiveBayes
    from .hidden_markov.model import HiddenMarkov as HiddenMarkov
    from .tables.coefficients import odds_ratios as odds_ratios, answer_probabilities as answer_probabilities
    from .tables.answers import (
        MultinomialLogistic as MultinomialLogistic,
        NegativeBinomialRegression as NegativeBinomialRegression,
        OrderedLogistic as OrderedLogistic,
        PoissonRegression as PoissonRegression,
        expected_counts as expected_counts,
        rate_ratios as rate_ratios,
    )
    from .tables.effects import InformationPrior as InformationPrior, NormalCoefficients as NormalCoefficients
    from .tables.logistic import LogisticRegression as LogisticRegression
    from .tables.soft_tables import recommend_knots as recommend_knots, expected_width as expected_width
    from .tables.log_linear import LogLinear as LogLinear, Shrinkage as Shrinkage, NormalEffects as NormalEffects
    from .tables.margins import table_effects as table_effects, table_probabilities as table_probabilities
    from .tables.synthetic import (
        combine_synthetic as combine_synthetic,
        read_synthetic as read_synthetic,
        synthesize as synthesize,
        write_synthetic as write_synthetic,
    )
    from .research.bounds_planning import plan_bounds as plan_bounds
    from .research.audit import Audit as Audit, audit as audit
    from .research.check_model import check_model as check_model
    from .research.evaluation import calibrate as calibrate
    from .research.hmm_routes import state_probabilities as state_probabilities, relabel as relabel
    from .research.planning import plan as plan, Plan as Plan
    from .research.series_planning import plan_series as plan_series, SeriesPlan as SeriesPlan
    from .data_holder.series import ReleaseSeries as ReleaseSeries
    from .research.ranks import Calibration as Calibration, plot_intervals as plot_intervals, mmd2 as mmd2
    from .papers.experiments import run_experiment as run_experiment, Experiment as Experiment
