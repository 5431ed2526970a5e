"""Calls of the resampling, of the choices and of the tests for components that are refused."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import spcastat as sp
from spcastat.arguments import seed_of
from spcastat.errors import (
    ComponentsError,
    CovarianceError,
    DataError,
    NoComponentsError,
    NoRowsError,
    OptionError,
    TooFewRowsError,
    UnknownOptionError,
    WeightsError,
)
from spcastat.progress import workers
from tests.refusals import each, require_refusal

# `fit` has two components of four of the 12 variables of `X`, 120 rows; `boot` are four draws of it.
# fmt: off
DRAWS = [
    ("fit.bootstrap(1)", OptionError, "n=1"),
    ("fit.bootstrap(10**6)", OptionError, "n="),  # hours of work; a hundred thousand draws are exact to 0.2 %
    ("fit.bootstrap(select='no')", OptionError, "select"),
    ("fit.bootstrap(n_jobs=0)", OptionError, "n_jobs"),
    ("sp.choose_k(X, n_jobs=0)", OptionError, "n_jobs"),
    ("fit.bootstrap(progress=3)", OptionError, "progress"),
    ("fit.bootstrap(20, choice=2)", OptionError,
     r"choice=2 was given; it must be the result of choose_k\(\)"),
    *[(f"boot.{intervals}({given})", OptionError, words) for intervals in ("conf_int", "variance_ci")
      for given, words in (("1.0", "level"), ("kind='bca'", "kind='bca'"))],
    ("boot.variance_ci(kind='hull')", OptionError, "kind"),
    ("sp.spca_cov(X.cov(), 2, 4, method='greedy').bootstrap(5)", NoRowsError,
     "needs the number of rows"),
    ("sp.spca(X, 2, 4, method='greedy', weights=[1.5] * 120).bootstrap(5)", WeightsError,
     "not whole numbers"),
    # one sample of 1000 has all nine rows, and rank 8
    ("sp.spca(np.eye(9)[:, :8], 8, 1).bootstrap(5)", DataError, "could not be fitted"),
    ("sp.spca(X, 2, 4, method='rspca-l0').bootstrap(5, select=False)", OptionError,
     "select=False was given with method='rspca-l0'"),
    ("sp.spca(X.iloc[:2], 1, card=2).bootstrap(10)", TooFewRowsError, "2 are too few: it needs 3 or more"),
    ("sp.spca(X.iloc[:7], 2, 2).stability()", TooFewRowsError, "each half needs at least 4"),
    ("fit.stability(threshold=0.5)", OptionError, "threshold"),
    *[(f"fit.split_inference(5, repeats={n})", OptionError, "repeats") for n in ("0", "1.5", "10**6")],
    *[(f"fit.{method}(1_000_000)", OptionError,
       r"1000000 was given; it must be a whole number from \d+ to 100,000")
      for method in ("bootstrap", "stability", "split_inference")],
    ("sp.spca_cov(X.cov(), 2, 4, n_obs=120).test_loadings(9)", NoRowsError, "permutes rows"),
    ("sp.spca(X.iloc[:, :3], 3, 1).test_loadings(9)", ComponentsError, "without each variable"),
    ("fit.test_loadings(9, fdr='bonferroni')", OptionError, "fdr"),
    *[(f"workers({n})", OptionError, "from 1 to 256, or -1")
      for n in ("0", "-2", "1.5", "'2'", "True", "None", "257")],
    ("seed_of('a')", OptionError, "rng='a' was given"),
]

ROW_GROUPS = [
    ("sp.choose(X, 2, cards=[2, 3], clusters=np.arange(120) % 3)", TooFewRowsError,
     "folds=5 was given for 3 clusters"),
    *[(f"sp.spca([X.iloc[:50], X.iloc[50:]], 2, 3, {name}={value})", OptionError, f"{name}=.* in chunks")
      for name, value in (("clusters", "[0] * 120"), ("strata", "[0] * 120"), ("block_length", "5"))],
]

CHOICES = [
    ("sp.choose_k(X.iloc[:2])", TooFewRowsError, "give three rows or more"),
    ("sp.choose_k(X.iloc[:2], clusters=[0, 1])", TooFewRowsError, "give three rows or more"),
    ("sp.choose(X, 2, cards=[2], folds=200)", TooFewRowsError, "folds=200 .* 120 rows"),
    ("sp.choose(X, 12, cards=[2])", ComponentsError, "at most 11"),
    ("sp.choose(X, 2, cards=[2], by='aic')", OptionError, "by='aic'"),
    ("sp.choose(X, 2, cards=[2], rule='2se')", OptionError, "rule='2se'"),
    ("sp.choose(X, 2, rule='paired', by='ebic')", OptionError, "rule='paired' was given with by='ebic'"),
    ("sp.choose(X, 2, share=0.9)", OptionError, "share=0.9 was given without a rule .* add rule='keep' "),
    ("sp.choose(X, 2, rule='keep', by='ebic')", OptionError, "rule='keep' was given with by='ebic'"),
    ("sp.choose(X, 2, cards=[2], family='partition')", OptionError, "family='partition' .* cards="),
    ("sp.choose(X, 2, family='rotated', by='is')", OptionError, "family='rotated' was given with by='is'"),
    ("sp.choose(X, 2, kmax=4)", OptionError, "kmax=4 was given with k=2"),
    ("sp.choose(X, 2, least=0.1)", OptionError, "least=0.1 was given with k=2"),
    ("sp.choose_k(X, least=-1)", OptionError, "least=-1"),
    ("sp.choose_k(X, kmax=50)", ComponentsError, "from 1 to 11, one less than the number of variables"),
    ("sp.choose_k(X, na='omit')", OptionError, "Did you mean 'drop'"),
    ("sp.choose_k(X, scale='std')", OptionError, "True scales to unit variance"),
    ("sp.choose(X, 2, card=3)", UnknownOptionError, "cards="),
    ("sp.choose(X, 2, cards=[2], weights=[1.0] * 3 + [0.0] * 117, folds=4)", WeightsError, "positive weight"),
    ("sp.choose(X, scael=True)", OptionError, "Did you mean 'scale'"),
    ("sp.choose(X.cov(), k=2)", OptionError, "n_obs"),
    ("sp.choose(X.cov(), k=2, by='cv', n_obs=120)", NoRowsError, "by='cv'"),
    ("sp.choose(noise).fit", NoComponentsError, "No component is chosen: none predicts held-out rows"),
    *[(f"sp.choose(X.iloc[:3], k=1, cards=[1, 2], folds={n})", TooFewRowsError,
       "3 rows; .* 1 component needs 4 or more") for n in (2, 3, 5)],
    # 12 columns and 7 rows outside a fold
    ("sp.choose(X, k=2, cards=[2], na='em', method='spcagrid')", OptionError, "needs the rows themselves"),
    ("sp.choose_k(X, alpha=0.01, n_draws=49)", OptionError, "99 draws"),
    ("sp.choose_k(X, method='bcd-l0')", UnknownOptionError, "method"),
    ("sp.choose_k(R)", OptionError, "n_obs"),
    ("sp.choose_k(R, n_obs=10)", CovarianceError, "rank 13"),
]
# fmt: on


@pytest.fixture(scope="module")
def names(planted):
    """What the tables name, made once: no refused call changes it."""
    X = planted.set_axis([f"v{j + 1}" for j in range(12)], axis=1)
    fit = sp.spca(X, 2, 4, method="greedy")
    return {
        **{"sp": sp, "np": np, "workers": workers, "seed_of": seed_of},
        **{"X": X, "fit": fit, "boot": fit.bootstrap(4)},
        "noise": pd.DataFrame(np.random.default_rng(5).standard_normal((80, 10))).add_prefix("v"),
        "R": sp.datasets.load_pitprops(),
    }


@each(DRAWS, ROW_GROUPS, CHOICES)
def test_refusals(refused, names):
    require_refusal(refused, names)
