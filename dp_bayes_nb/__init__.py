"""Bayesian inference from differentially private sufficient statistics.

The public names below are loaded on first use (PEP 562), so that importing the package stays fast:
JAX, ArviZ, DuckDB and OpenDP are imported by the modules that need them.
"""

__version__ = "0.2.0"

import sys as _sys
from importlib import import_module as _import_module
from types import ModuleType as _ModuleType
from typing import Any as _Any

# Where each public name lives.
_public = {
    "Bernoulli": "families",
    "Categorical": "families",
    "Beta": "priors",
    "Dirichlet": "priors",
    "LogDensity": "priors",
    "Model": "contract",
    "Column": "contract",
    "Parameter": "priors",
    "family_class": "contract",
    "register": "contract",
    "Clip": "bounds",
    "Redact": "bounds",
    "Poisson": "rates",
    "Geometric": "rates",
    "Exponential": "rates",
    "Pareto": "rates",
    "Weibull": "rates",
    "NaiveBayes": "naive_bayes",
    "HiddenMarkov": "hmm",
    "state_probabilities": "hmm_routes",
    "relabel": "hmm_routes",
    "classify": "classification",
    "classification_scores": "classification",
    "reliability": "classification",
    "plot_reliability": "classification",
    "Normal": "normal",
    "LogNormal": "normal",
    "GammaData": "gamma",
    "LinearRegression": "regression",
    "Gamma": "conjugate_priors",
    "NormalMean": "conjugate_priors",
    "NormalInverseGamma": "conjugate_priors",
    "NormalInverseWishart": "covariates",
    "Release": "document",
    "release": "release",
    "simulate_release": "simulate",
    "Ledger": "ledger",
    "private_quantile": "quantiles",
    "fit": "fit",
    "predict": "results",
    "predictive_check": "results",
    "plot_posterior": "results",
    "plot_regression": "regression_plots",
    "plot_coefficients": "regression_plots",
    "prediction_intervals": "regression_plots",
    "calibrate": "evaluation",
    "Calibration": "ranks",
    "plot_intervals": "ranks",
    "mmd2": "ranks",
    "plan": "planning",
    "Plan": "planning",
    "plan_bounds": "bounds_planning",
    "run_experiment": "experiments",
    "Experiment": "experiments",
    "wasserstein1": "checks",
    "ks_uniform": "checks",
    "check_model": "check_model",
    "Design": "noise",
}

__all__ = list(_public)


def __getattr__(name: str) -> _Any:
    "Import the module of a public name and keep the name."
    if name not in _public:
        raise AttributeError(
            f"module {__name__!r} has no attribute {name!r}; its public names are {', '.join(sorted(_public))}"
        )
    value = getattr(_import_module(f"{__name__}.{_public[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    "The public names, loaded or not."
    return sorted({*globals(), *_public})


class _Package(_ModuleType):
    # `release` and `fit` are each a public function and the module it lives in. Importing a submodule sets it as an
    # attribute of the package; here the public function keeps its name, and `from dp_bayes_nb.fit import …` still
    # finds the module.
    def __setattr__(self, name: str, value: _Any) -> None:
        if not (name in _public and isinstance(value, _ModuleType)):
            super().__setattr__(name, value)


_sys.modules[__name__].__class__ = _Package
