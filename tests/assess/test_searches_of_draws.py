"""Draws and halves are fitted as well as a separate fit would be, and halves without knowledge of the fit."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest

import spcastat as sp
from spcastat.assess.draws import draw_generator
from spcastat.errors import OptionError
from spcastat.measures import adjusted_variances
from spcastat.results.resampling import Drawing, _halved

#: Resamples that are compared with separate fits.
DRAWS = 30


def drawing(fit):
    """Return a fit as what is drawn from, with the seed 0 in one process."""
    return Drawing(fit._state, fit._source, fit._call, None, 0, 1, None)


def plain(text):
    """Return a text with single spaces."""
    return " ".join(text.split())


@pytest.fixture(scope="module")
def wine():
    return sp.spca(sp.datasets.load_wine(), 3, 5, scale=True)


def best_order(V, op):
    """Return the largest adjusted variance over the orders of the components."""
    return max(adjusted_variances(V[:, list(order)], op).sum() for order in permutations(range(V.shape[1])))


def losses(fits, ops):
    """Return by how much each fit is worse than a separate fit with effort="quick", as a share of it."""
    found = []
    for V, op in zip(fits, ops, strict=True):
        S = op.block(np.arange(op.p)) * op.unit**2
        quick = best_order(sp.spca_cov(S, 3, 5, effort="quick").loadings.to_numpy(), op)
        found.append(1.0 - best_order(V, op) / quick)
    return np.array(found)


def resampled(fit, search, rng):
    """Return the loadings of bootstrap draws, and the covariance matrices of the draws."""
    n = fit.scores.shape[0]
    weights = np.array([np.bincount(rng.integers(0, n, n), minlength=n) for _ in range(DRAWS)], dtype=float).T
    found = fit.bootstrap(replicate_weights=weights, search=search)._found
    p, k = fit.loadings.shape
    fits = np.zeros((DRAWS, k * p))
    fits[:, found.places] = found.values
    sampler = _halved(drawing(fit), "a test").sampler
    return fits.reshape(DRAWS, k, p).transpose(0, 2, 1), [sampler.replicate(one) for one in weights.T]


def test_draws_are_as_good_as_separate_quick_fits(wine):
    worse = {}
    for search in ("near", "quick"):
        lost = losses(*resampled(wine, search, np.random.default_rng(3)))
        worse[search] = (lost > 1e-6).mean()
    # 60 other draws of these wines: 25 % and 2 %. The binomial quantiles of 30 draws at 99 % are 13 %
    # (of .02, rounded up) and, at 1 %, 7 % (of .25)
    assert worse["quick"] <= 0.13
    assert worse["near"] >= 0.07


def test_halves_are_as_good_as_separate_quick_fits(wine):
    given = _halved(drawing(wine), "a test")
    rngs = [draw_generator(5, number) for number in range(DRAWS)]
    halves = [given.sampler.halves(rng)[0].whole() for rng in rngs]
    starts = [given.refit.begun(op, rng) for op, rng in zip(halves, rngs, strict=True)]
    fits = given.refit.ended(halves, starts)
    # 60 other halves: 5 %; the 99 % quantile of 30 is 17 %
    assert (losses(fits, halves) > 1e-6).mean() <= 0.17


@pytest.mark.parametrize(
    "options",
    [
        {"card": 4},
        {"variance": 0.8},
        {"card": 4, "objective": "pev"},
        {"card": 4, "disjoint": True},
        {"disjoint": True},
        {"card": 4, "method": "bcd-l0"},
        {"card": 4, "method": "greedy"},
    ],
)
def test_the_selection_in_a_half_depends_on_this_half_alone(planted, options):
    """The theorem of Shah and Samworth (2013) needs it; numbers of nonzeros are those of the fit."""
    fit = sp.spca(planted, 2, **options)
    given = _halved(drawing(fit), "a test")
    other = replace(given.refit, V=np.roll(given.refit.V, 3, axis=0))
    half = given.sampler.halves(np.random.default_rng(0))[0].whole()
    one, two = (refit(half, np.random.default_rng(1)) for refit in (given.refit, other))
    np.testing.assert_array_equal(one, two)


def test_the_search_of_draws_is_refused_where_it_has_no_meaning(planted):
    with pytest.raises(OptionError, match="search='quick' was given with select=False"):
        sp.spca(planted, 2, 4).bootstrap(9, select=False, search="quick")
    with pytest.raises(OptionError, match="search='near' was given for a fit by method='greedy'"):
        sp.spca(planted, 2, 4, method="greedy").bootstrap(9, search="near")
    with pytest.raises(OptionError, match="search='full' is not known"):
        sp.spca(planted, 2, 4).bootstrap(9, search="full")
    groups = sp.spca(planted, 2, disjoint=True)
    with pytest.raises(OptionError, match="whose components are groups of all variables"):
        groups.bootstrap(9, search="quick")
    assert groups.bootstrap(3)._found.search == "near"
    wide = sp.spca(np.random.default_rng(0).normal(size=(30, 1001)), 2, 4, effort="quick")
    with pytest.raises(OptionError, match="given for 1001 variables, and it is for at most 1000"):
        wide.bootstrap(3, search="quick")
    assert wide.bootstrap(3)._found.search == "near"


def test_a_local_search_of_draws_is_named(planted, tmp_path):
    fit = sp.spca(planted, 2, 4)
    said = "Each draw was fitted by a local search from the loadings of this fit"
    assert said not in plain(fit.bootstrap(9).as_text())
    assert "local search" not in fit.describe().text
    assert said in plain(fit.bootstrap(9, search="near").as_text())
    assert said in plain(fit.summary().as_text())
    assert said in plain(fit.summary(conf_int=True).as_text())
    assert "by a local search that starts from the fit" in fit.describe().text
    fit.save(tmp_path / "near.spca")
    assert said in plain(sp.load(tmp_path / "near.spca").resampled["bootstrap"].as_text())
    assert said not in plain(fit.bootstrap(9, select=False).as_text())


# --- the variance of new rows -----------------------------------------------------------------------


def test_intervals_of_variances_are_in_units_of_the_population():
    """One factor of .8 on 5 of 12 variables, so that the population has the standard deviations 1."""
    S = np.eye(12)
    S[:5, :5] = 0.64 + 0.36 * np.eye(5)
    root, inside = np.linalg.cholesky(S), []
    for seed in range(30):
        fit = sp.spca(np.random.default_rng(seed).normal(size=(60, 12)) @ root.T, 1, 5, scale=True)
        v, scale = fit.loadings.to_numpy()[:, 0], fit._source.standard.scale
        row = fit.bootstrap(60, rng=seed).variance_ci().iloc[0]
        new = [v @ S @ v, (v / scale) @ S @ (v / scale)]
        inside.append([row["lower"] <= one <= row["upper"] for one in new])
    population, transformed = np.mean(inside, axis=0)
    # nominal .95, less three standard errors of 30 sets; scores by transform were inside for 58 of 100 sets
    assert population >= 0.95 - 3 * np.sqrt(0.95 * 0.05 / 30)
    assert transformed <= 0.58 + 3 * np.sqrt(0.58 * 0.42 / 30)


def test_the_print_names_the_units_of_the_variance_of_new_rows(planted):
    said = "expected variance in new rows in units of the population's standard deviations"
    scaled, raw = sp.spca(planted, 2, 4, scale=True), sp.spca(planted, 2, 4)
    correlations = sp.spca_cov(planted.corr(), 2, 4, n_obs=120)
    assert said in plain(scaled.bootstrap(9).as_text())
    assert said in plain(correlations.bootstrap(9).as_text())
    assert "expected variance in new rows: PC1" in plain(raw.bootstrap(9).as_text())
