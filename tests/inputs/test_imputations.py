"""Imputations of one table are refused as chunks of rows, and pooled if they are given as such."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest

import spcastat as sp
from benchmarks.trust import imputations
from spcastat.arguments import whole_percent
from spcastat.errors import DataError, FormulaError, MissingValuesError, NoRowsError, OptionError, SpcaError
from spcastat.fit.frames import Pooled


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    return sp.datasets.load_wine().reset_index(drop=True)


def imputed(table: pd.DataFrame, missing: float, count: int = 3) -> list[pd.DataFrame]:
    """The table with random values of their columns in the same random cells of each imputation."""
    rng = np.random.default_rng(0)
    holes = rng.random(table.shape) < missing
    drawn = (table.sample(frac=1.0, random_state=seed).to_numpy() for seed in range(count))
    return [table.mask(holes, values) for values in drawn]


@pytest.mark.parametrize("missing", [0.0, 0.05, 0.3])
@pytest.mark.parametrize("kind", [list, tuple])
@pytest.mark.parametrize(
    "call",
    [
        lambda frames: sp.spca(frames, 2, 4, scale=True),
        lambda frames: sp.choose(frames, scale=True),
        lambda frames: sp.rows(frames, scale=True),
        lambda frames: sp.principal_variables(frames, 3, scale=True),
    ],
    ids=["spca", "choose", "rows", "principal_variables"],
)
def test_imputations_are_not_rows(table, missing, kind, call):
    """Stacked, 178 rows would count as 534, and standard errors would be too small by the root of three."""
    with pytest.raises(DataError, match="178 row labels") as raised:
        call(kind(imputed(table, missing)))
    assert "534 rows" in str(raised.value)


def test_cells_of_which_few_differ_are_not_all_equal(table):
    """3 of 178 x 13 cells: 99.87 % are equal, which is no whole 100."""
    with pytest.raises(DataError, match="and 99 % equal cells"):
        sp.spca(imputed(table, 0.0012, 2), 2, 4, scale=True)
    shares = [whole_percent(share) for share in (0.0, 0.001, 0.5, 0.9999, 1.0)]
    assert shares == ["0 %", "1 %", "50 %", "99 %", "100 %"]


def test_the_advice_is_accepted(table):
    """imputations= pools the frames as 178 rows, and a function gives rows one after another."""
    frames = imputed(table, 0.1)
    with pytest.raises(DataError, match=r"Give imputations=frames.*give lambda: frames"):
        sp.spca(frames, 2, 4, scale=True)
    assert sp.spca(imputations=frames, k=2, card=4, scale=True).glance()["n"].tolist() == [178]
    assert sp.spca(lambda: frames, 2, 4, scale=True).glance()["n"].tolist() == [534]


@pytest.mark.parametrize("values", ["numbers", "binary", "counts", "constant"])
def test_chunks_of_rows_are_read(values):
    """Chunks of one length with labels 0, 1, ... share labels and by chance cells, but not rows."""
    rng = np.random.default_rng(1)
    X = rng.standard_normal((300, 6))
    X = {"binary": (X > 1.0) * 1.0, "counts": rng.poisson(0.3, X.shape) * 1.0, "numbers": X}.get(values, X)
    if values == "constant":  # all columns but one equal in all rows
        X = np.where(np.arange(6) == 0, X, 3.0)
    chunks = [pd.DataFrame(X[a : a + 100], columns=list("abcdef")) for a in (0, 100, 200)]
    assert sp.rows(chunks).n == 300
    copies = [chunks[0], chunks[0].set_axis(range(100, 200))]
    assert sp.rows(copies).n == 200


# --- pooled ----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def frames(table) -> list[pd.DataFrame]:
    return imputed(table, 0.15)


@pytest.fixture(scope="module")
def fit(frames):
    return sp.spca(imputations=frames, k=2, card=4, scale=True)


@pytest.mark.parametrize("scale", [False, True])
def test_covariances_are_averaged(frames, scale):
    """The fit is that of the mean of the matrices, each of its own scaling; n is that of one imputation."""
    S = np.mean([frame.corr() if scale else frame.cov() for frame in frames], axis=0)
    expected = sp.spca_cov(S, 2, 4, scale=False)
    fit = sp.spca(imputations=frames, k=2, card=4, scale=scale)
    np.testing.assert_allclose(fit.loadings, expected.loadings, atol=1e-9)  # sums in another order
    np.testing.assert_allclose(fit.variance, expected.variance, rtol=1e-9)
    assert fit.glance()["n"].tolist() == [178]


def test_any_order_and_the_long_format_are_the_same(table, frames, fit):
    """mice's long format has the table with gaps as number 0, which is left out."""
    long = pd.concat([f.assign(**{".imp": i, ".id": f.index}) for i, f in enumerate([table, *frames])])
    for given in (frames[::-1], long, long.drop(columns=".id")):
        again = sp.spca(imputations=given, k=2, card=4, scale=True)
        np.testing.assert_allclose(again.loadings, fit.loadings, atol=1e-12)  # a sum in another order


@pytest.mark.parametrize("how", ["rows", "imputations"])
def test_draws_do_not_depend_on_the_order(table, frames, how):
    rows = np.random.default_rng(0).permutation(len(table))
    reordered = [frame.iloc[rows] for frame in frames] if how == "rows" else frames[::-1]
    found, other = (
        sp.spca(imputations=tables, k=2, card=4, scale=True).bootstrap(39).conf_int()
        for tables in (frames, reordered)
    )
    pd.testing.assert_frame_equal(found, other, rtol=1e-9, atol=1e-9)  # sums of rows in another order


def test_equal_imputations_are_one_table(table):
    """No variance between imputations: the plain fit, and no missing information."""
    plain = sp.spca(table, 2, 4, scale=True)
    fit = sp.spca(imputations=[table] * 3, k=2, card=4, scale=True)
    # The mean of three has a rounding error, which moves loadings at a maximum by its root at most.
    np.testing.assert_allclose(fit.loadings, plain.loadings, atol=1e-6)
    intervals = fit.bootstrap(12, search="near").table
    intervals = intervals[intervals["estimate"] != 0]
    # A ratio of variances: errors of 1e-6 over a standard error of .05, squared.
    assert intervals["fmi"].max() < 1e-9
    assert (intervals["imputations"] == 1).all()


def test_rubins_rules_of_a_mean():
    """T, its degrees of freedom and the interval as Barnard and Rubin (1999) give them, for one estimate."""
    estimates, variances, n = np.array([1.2, 1.5, 0.9, 1.4]), np.array([0.20, 0.25, 0.22, 0.21]), 30
    W, B, m = variances.mean(), estimates.var(ddof=1), 4
    gamma = (1 + 1 / m) * B / (W + (1 + 1 / m) * B)
    old, observed = (m - 1) / gamma**2, (n / (n + 2)) * (n - 1) * (1 - gamma)
    pooled = Pooled.of(np.array([W]), estimates[:, None], n)
    np.testing.assert_allclose(pooled.error**2, W + 1.25 * B, rtol=1e-14)
    np.testing.assert_allclose(pooled.missing, gamma, rtol=1e-14)
    np.testing.assert_allclose(pooled.freedom, old * observed / (old + observed), rtol=1e-14)


def test_intervals_of_fixed_supports_follow_rubins_rules(frames, fit):
    """W from the draws of each imputation, and B from its fit on the same supports, both by hand."""
    boot = fit.bootstrap(30, select=False)
    numbers, V = boot._numbers, fit.loadings.to_numpy()
    estimates = []
    for frame in frames:
        supports = {name: list(v.index[v != 0]) for name, v in fit.loadings.items()}
        alone = sp.spca_cov(frame.corr(), 2, 4, include=supports)
        loadings = alone.loadings.to_numpy()
        estimates.append((loadings * np.sign((loadings * V).sum(axis=0))).T.ravel()[numbers.places])
    ordered, expected = (sorted(map(tuple, values)) for values in (numbers.imputed, estimates))
    np.testing.assert_allclose(ordered, expected, atol=1e-6)  # searches stop at 1e-10 of variance
    within = np.mean([numbers.values[m::3].var(axis=0, ddof=1) for m in range(3)], axis=0)
    between = np.var(estimates, axis=0, ddof=1)
    table = boot.table
    shown = (table["estimate"] != 0).to_numpy()
    expected = np.sqrt(within + 4 / 3 * between)[shown]
    np.testing.assert_allclose(table["std_error"][shown], expected, rtol=1e-4)


def test_shares_of_imputations_are_those_of_their_own_fits(frames, fit):
    """A variable that one of three imputations selects in its own fit has a third."""
    table = fit.bootstrap(6).table.set_index(["component", "term"])["imputations"]
    V, counts = fit.loadings, 0.0 * fit.loadings
    for frame in frames:
        own = sp.spca(frame, 2, 4, scale=True).loadings
        order = abs(own.T @ V).to_numpy().argmax(axis=0)  # components may change places
        counts += (own.iloc[:, order] != 0).to_numpy() / 3
    for (component, term), share in table.items():
        assert share == pytest.approx(counts.loc[term, component])


def test_scores_are_means_with_deviations(frames, fit):
    """Scores with the common centre and scale; a row without gaps has the same score everywhere."""
    centre, scale = (np.mean([getattr(f, what)() for f in frames], axis=0) for what in ("mean", "std"))
    scores = np.array([(frame - centre) / scale @ fit.loadings.to_numpy() for frame in frames])
    np.testing.assert_allclose(fit.scores, scores.mean(axis=0), atol=1e-10)  # sums in another order
    np.testing.assert_allclose(fit.scores_sd, scores.std(axis=0, ddof=1), atol=1e-10)
    np.testing.assert_allclose(fit.transform(frames[1]), scores[1], atol=1e-10)
    with pytest.raises(SpcaError, match="imputations="):
        _ = sp.spca(frames[0], 2, 4, scale=True).scores_sd


def test_what_is_said_and_saved(frames, fit, tmp_path):
    """Header, call, methods section, print, table and file; a file's bootstrap needs the imputations."""
    boot = fit.bootstrap(12, search="near")
    assert "178 rows and 13 variables, 3 imputations pooled" in " ".join(str(fit).split())
    assert fit.call == "spca(imputations=imputations, k=2, card=4, scale=True)"
    assert "covariance matrices of 3 imputations of the missing values were averaged (Rubin, 1987)" in str(
        fit.describe()
    )
    assert "imputations: the share of 3 that select" in " ".join(str(boot).split())
    assert "Rubin's rules" in " ".join(str(boot.summary()).split())
    shown = fit.with_inference(boot)
    shown.save(tmp_path / "fit.spca")
    loaded = sp.load(tmp_path / "fit.spca")
    pd.testing.assert_frame_equal(loaded.inference["bootstrap"].table, boot.table)
    pd.testing.assert_frame_equal(pickle.loads(pickle.dumps(fit)).loadings, fit.loadings)
    with pytest.raises(DataError, match="needs the 3 imputations of the fit"):
        loaded.bootstrap(12, data=frames[0])
    again = loaded.bootstrap(12, search="near", data=sp.rows(imputations=frames, scale=True))
    pd.testing.assert_frame_equal(again.table, boot.table)


def test_choose_and_paths_take_imputations(frames):
    choice = sp.choose(imputations=frames, k=2, cards=[3, 5], scale=True)
    assert choice.by == "ebic"
    assert choice.fit.call.startswith("spca(imputations=imputations, k=2")
    path = sp.spca_path(imputations=frames, k=2, cards=[3, 4], scale=True)
    assert path[4].refit(card=3).card.tolist() == [3, 3]


CALLS = {
    "one": (lambda f: {"imputations": f[:1]}, DataError, "one data frame, and .* give more"),
    "none": (lambda f: {"imputations": []}, DataError, "no data frame"),
    "a frame": (lambda f: {"imputations": f[0]}, DataError, "without a column '.imp'"),
    "a dict": (lambda f: {"imputations": dict(enumerate(f))}, DataError, "data of type dict"),
    "arrays": (lambda f: {"imputations": [g.to_numpy() for g in f]}, DataError, "1 is of type ndarray"),
    "rows": (lambda f: {"imputations": [f[0], f[1][1:]]}, DataError, "2 has 177 rows"),
    "labels": (lambda f: {"imputations": [f[0], f[1][::-1]]}, DataError, "2 has other row labels"),
    "columns": (lambda f: {"imputations": [f[0], f[1].iloc[:, 1:]]}, DataError, "such as 'alcohol'"),
    "order": (lambda f: {"imputations": [f[0], f[1].iloc[:, ::-1]]}, DataError, "in another order"),
    "matrices": (
        lambda f: {"imputations": [f[0].corr(), f[1].corr()]},
        DataError,
        r"sum\(imputations\) / len\(imputations\)",
    ),
    "gaps": (lambda f: {"imputations": [f[0], f[1].mask(f[1] > 3)]}, MissingValuesError, "Imputation 2 has"),
    "data": (lambda f: {"data": f[0], "imputations": f}, OptionError, "data and imputations="),
    "na": (lambda f: {"imputations": f, "na": "em"}, OptionError, "leave na out"),
    "robust": (lambda f: {"imputations": f, "robust": True}, OptionError, "clean the table before"),
    "weights": (
        lambda f: {"imputations": [g.assign(w=i + 1) for i, g in enumerate(f)], "weights": "w"},
        DataError,
        "2 has other weights",
    ),
    "covariates": (lambda f: {"imputations": f, "formula": "~ . | ash"}, FormulaError, "make these columns"),
    "method": (lambda f: {"imputations": f, "method": "spcagrid"}, SpcaError, "spcagrid.*one table"),
}


@pytest.mark.parametrize("case", CALLS)
def test_what_cannot_be_pooled_is_refused(frames, case):
    options, error, message = CALLS[case]
    with pytest.raises(error, match=message):
        sp.spca(k=2, card=4, scale=True, **options(frames))


def test_analyses_of_one_table_are_refused(frames, fit):
    for analysis in (fit.split_inference, fit.test_loadings):
        with pytest.raises(NoRowsError, match="rows of one table"):
            analysis(9)
    with pytest.raises(NoRowsError, match="omit by="):
        sp.choose(imputations=frames, by="cv", scale=True)
    with pytest.raises(OptionError, match="n=6 or more"):
        fit.bootstrap(5)


# --- coverage --------------------------------------------------------------------------------------


@pytest.mark.slow
def test_coverage_of_intervals():
    """100 sets of 100 normal rows with a fifth of the cells missing at random; 20 proper imputations.

    The loadings of the population are known, and so is their support. The standard error of a share of
    coverage, of eight loadings in 100 sets, is below .01.
    """
    covered = [imputations.covered(0.2, seed)["loadings"] for seed in range(1000, 1100)]
    assert 0.93 <= np.mean(covered) <= 0.97


def long_table() -> pd.DataFrame:
    """Two imputations of 20 rows as mice stores them."""
    rows = pd.DataFrame(np.random.default_rng(0).standard_normal((20, 4)), columns=list("abcd"))
    return pd.concat([rows.assign(**{".imp": i, ".id": range(20)}) for i in (1, 2)], ignore_index=True)


@pytest.mark.parametrize("source", ["frame", "file", "chunks", "arrow", "formula"])
def test_a_long_table_of_imputations_is_not_taken_for_rows(source, tmp_path):
    """Its rows would count twice."""
    long, options = long_table(), {}
    data = long
    if source == "file":
        data = tmp_path / "long.csv"
        long.to_csv(data, index=False)
    if source == "chunks":
        data = [long.iloc[:15], long.iloc[15:]]
    if source == "arrow":
        data = pytest.importorskip("pyarrow").Table.from_pandas(long)
    if source == "formula":
        options = {"formula": "~ a + b + c"}
    with pytest.raises(sp.errors.DataError, match="imputations=data"):
        sp.spca(data, 2, 2, **options)
    if source in ("frame", "file", "arrow"):
        with pytest.raises(sp.errors.DataError, match="imputations=data"):
            sp.correlation(data, "pearson")
    assert sp.rows(long[long[".imp"] == 1].drop(columns=[".imp", ".id"])).n == 20
    numbered = long.drop(columns=".id")  # with the row numbers as index, say
    with pytest.raises(sp.errors.DataError, match=r"drop\(columns=\['.imp'\]\)"):
        sp.spca(numbered, 2, 2)
    assert sp.rows(numbered[numbered[".imp"] == 1].drop(columns=[".imp"])).n == 20


@pytest.mark.parametrize(
    "call",
    [
        lambda frames: sp.spca_cov(k=2, card=2, imputations=frames),
        lambda frames: sp.spca_cov(frames[0].cov(), 2, 2, imputations=frames),
        lambda frames: sp.choose_k(imputations=frames),
        lambda frames: sp.principal_variables(m=2, imputations=frames),
        lambda frames: sp.sparse_loadings(k=2, total=4, imputations=frames),
        lambda frames: sp.spco(k=2, zeros=0.5, imputations=frames),
        lambda frames: sp.compare_groups(groups=["a", "b"] * 10, k=2, card=2, imputations=frames),
    ],
)
def test_functions_without_imputations_name_those_that_have_them(call):
    frames = [group.drop(columns=[".imp", ".id"]) for _, group in long_table().groupby(".imp")]
    with pytest.raises(sp.errors.UnknownOptionError, match=r"pooled by spca\(imputations=frames\)"):
        call(frames)


def test_what_the_message_on_imputations_advises_works(table):
    """Imputations that are all equal have the covariance matrix of the one table: results are its own."""
    frames = [table.copy() for _ in range(2)]
    with pytest.raises(sp.errors.UnknownOptionError) as error:
        sp.principal_variables(imputations=frames, m=3, k=2, scale=True)
    calls = {
        "choose_k()": lambda data, **options: sp.choose_k(data, rng=0, **options).k,
        "sparse_loadings()": lambda data, **options: sp.sparse_loadings(data, 2, **options).loadings,
        "principal_variables()": lambda data, **options: (
            sp.principal_variables(data, 3, k=2, **options).share
        ),
    }
    pooled = sp.rows(imputations=frames, scale=True)
    for name, call in calls.items():
        assert name in str(error.value)
        assert np.asarray(call(pooled)) == pytest.approx(np.asarray(call(table, scale=True)), abs=1e-9)
