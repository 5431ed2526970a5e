"""Too few draws: there are no intervals, and prints say what more draws would change."""

import numpy as np
import pandas as pd
import pytest

import spcastat as sp
from spcastat.fit.frames import least_draws


def planted():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 6))
    X[:, :3] += 1.5 * rng.normal(size=(60, 1))
    return pd.DataFrame(X, columns=list("abcdef"))


DATA = planted()


@pytest.fixture(scope="module")
def fit():
    return sp.spca(DATA, 1, 3)


def said(result):
    return " ".join(str(result).split())


@pytest.mark.parametrize(
    ("level", "least"), [(0.5, 3), (0.8, 9), (0.9, 19), (0.95, 39), (0.98, 99), (0.99, 199)]
)
def test_the_outermost_draws_leave_out_no_more_than_the_level_allows(level, least):
    # Efron and Tibshirani (1993), 12.5: with (n + 1) (1 - level) / 2 = 1 the bounds are the extreme draws.
    assert least_draws(level) == least
    assert (least + 1) * (1.0 - level) / 2.0 == pytest.approx(1.0)


@pytest.mark.parametrize("kind", ["hull", "percentile"])
@pytest.mark.parametrize(("n", "level", "lower"), [(3, 0.51, 0.5), (38, 0.95, 0.94), (39, 0.96, 0.95)])
def test_outputs_of_intervals_are_refused_with_too_few_draws_and_name_a_level_that_is_not(
    fit, kind, n, level, lower
):
    few = fit.bootstrap(n, rng=0)
    words = f"Intervals of {100 * level:g} % need {least_draws(level)} .* has {n}: .*level={lower} or"
    for numbers in (few.table, few.frames["variance"]):  # what the message names instead
        assert numbers["std_error"].notna().all()
    assert few.conf_int(lower, kind=kind)["lower"].notna().any()
    assert few.variance_ci(lower)["lower"].notna().any()
    shown = fit.with_inference(few)
    for call in (
        lambda: few.conf_int(level, kind=kind),
        lambda: few.variance_ci(level),
        lambda: few.plot(level=level, kind=kind),
        lambda: shown.summary(conf_int=True, level=level),
        lambda: fit.summary(conf_int=few, level=level),
        lambda: fit.plot_loadings(conf_int=few, level=level),
    ):
        with pytest.raises(sp.errors.OptionError, match=words):
            call()
    loadings = sp.sparse_loadings(DATA, 1, 3)
    draws = loadings.bootstrap(n)
    assert draws.table["std_error"].notna().all()
    for call in (
        lambda: draws.conf_int(level),
        lambda: draws.plot(level=level),
        lambda: loadings.summary(conf_int=draws, level=level),
        lambda: loadings.with_inference(draws).summary(conf_int=True, level=level),
    ):
        with pytest.raises(sp.errors.OptionError, match=words):
            call()


def test_two_draws_have_no_interval_and_are_refused(fit):
    for drawing in (fit, sp.sparse_loadings(DATA, 1, 3)):
        with pytest.raises(sp.errors.OptionError, match="n=2 was given; it must be a whole number from 3"):
            drawing.bootstrap(2)


def test_what_a_fit_shows_of_too_few_draws_is_their_shares(fit, tmp_path):
    few = fit.bootstrap(20, rng=0)
    shown = fit.with_inference(few)
    assert "shares of bootstrap draws (20 draws)" in said(shown)
    for text in (str(shown.summary()), str(few.summary()), str(shown.describe()), str(shown)):
        text = " ".join(text.split())
        assert not {"lower", "NA"} & set(text.split())
        assert "bootstrap intervals" not in text
    assert "selected" in str(shown.summary())
    shown.report(tmp_path / "report.html")
    assert "bootstrap intervals" not in (tmp_path / "report.html").read_text()
    assert "lower" not in str(sp.sparse_loadings(DATA, 1, 3).bootstrap(20).summary())


def test_prints_of_too_few_draws_have_shares_and_no_intervals(fit):
    few = fit.bootstrap(9, rng=0)
    assert "no intervals" in said(few)
    assert "95 % intervals need 39 draws" in said(few)
    assert few.table[["lower", "upper"]].isna().all(axis=None)
    assert few.frames["variance"][["lower", "upper"]].isna().all(axis=None)
    assert few.selected.to_numpy().max() == 1.0
    loadings = sp.sparse_loadings(DATA, 1, 3).bootstrap(9)
    assert "no intervals" in said(loadings)
    assert loadings.frames["loadings"]["lower"].isna().all()


def test_below_199_draws_a_sentence_says_what_more_would_change(fit):
    # The standard error of a standard deviation of n normal draws is 1 / sqrt(2 (n - 1)) of it.
    few = " ".join(fit.bootstrap(39).notes)
    assert "by about 11 %, and a share by up to 0.08; with 999 draws by 2 % and 0.02" in few
    assert "999 draws" not in " ".join(fit.bootstrap(199).notes)
    assert "error of 25 %; with 999 draws, 2 %" in " ".join(fit.split_inference(9).notes)
    halves = " ".join(fit.stability(1).notes)
    assert "A share of 2 halves has a standard error of up to 0.35; with n=50" in halves
    assert "standard error of up to" not in " ".join(fit.stability(50).notes)


def test_the_length_of_intervals_varies_between_seeds_as_the_sentence_says(fit):
    # 39 draws: 11 %; over 30 seeds the estimate of this ratio has a relative error of 1 / sqrt(58), 13 %, and
    # bounds near one make the distribution of the draws less spread than the normal one
    errors = [fit.bootstrap(39, rng=seed, select=False).table["std_error"].iloc[0] for seed in range(30)]
    assert np.std(errors, ddof=1) / np.mean(errors) == pytest.approx(0.115, abs=0.05)


def test_tests_that_cannot_be_significant_say_so(fit):
    assert "no q is below" in said(fit.test_loadings(5))
    data = DATA.assign(group=np.repeat(["u", "v"], 30))
    few = sp.compare_groups(data, "group", k=1, card=3, n_draws=9)
    assert "no p can be below 0.1; give n_draws=19 or more" in said(few)
    enough = sp.compare_groups(data, "group", k=1, card=3, n_draws=19)
    assert "no p can be below" not in said(enough)
    with pytest.raises(sp.errors.OptionError, match="19 to"):
        sp.choose_k(DATA, n_draws=2)
    assert "A share of 2 halves" in said(sp.choose(DATA, k=1, repeats=1).stability(2))
