"""Sparse loadings and sparse coordinates as users see them."""

from __future__ import annotations

import io
import json
import zipfile

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.optimize import linear_sum_assignment

import spcastat as sp
from spcastat.errors import (
    DataError,
    FileError,
    NoRowsError,
    OptionError,
)
from spcastat.plots.score_panels import plot_coordinates_data

# --- Sparse loadings as users see them ------------------------------------------------------------


@pytest.fixture(autouse=True)
def _closed():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def wine() -> pd.DataFrame:
    return sp.datasets.load_wine()


@pytest.fixture(scope="module")
def fit(wine):
    return sp.sparse_loadings(wine, 3, 5, scale=True)


@pytest.mark.sweep
@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize(
    ("k", "card", "share"),
    [(3, 4, 0.54304), (3, [7, 4, 4], 0.60597), (6, [7, 4, 4, 1, 1, 1], 0.80181), (6, 3, 0.76019)],
)
def test_the_pitprops(k, card, share, seed):
    """The best known shares, of 200 starts of a separate implementation; given to five decimals."""
    fit = sp.sparse_loadings_cov(sp.datasets.load_pitprops(), k, card, n_obs=180, rng=seed)
    assert fit.variance["cumulative"].iloc[-1] == pytest.approx(share, abs=5.1e-6)
    assert fit.card.tolist() == (card if isinstance(card, list) else [card] * k)


@pytest.mark.parametrize("options", [{"card": 5}, {"card": [5, 5]}, {"total": 10}], ids=str)
def test_loadings_without_zeros_are_those_of_pca(options):
    """Every rotation explains the same: eigenvectors times roots of eigenvalues, whatever the rows' order."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 2)) @ rng.standard_normal((2, 5)) + 0.5 * rng.standard_normal((60, 5))
    X = pd.DataFrame(X, columns=list("abcde"))
    counts = 1 + np.arange(60) % 3
    repeated = X.loc[X.index.repeat(counts)].reset_index(drop=True)
    values, vectors = np.linalg.eigh(repeated.corr().to_numpy())
    expected = np.abs(vectors[:, :-3:-1] * np.sqrt(values[:-3:-1]))
    for fit in (
        sp.sparse_loadings(repeated, 2, scale=True, **options),
        sp.sparse_loadings(X, 2, scale=True, weights=counts, **options),
        sp.sparse_loadings(repeated.iloc[::-1], 2, scale=True, rng=1, **options),
    ):
        np.testing.assert_allclose(np.abs(fit.loadings), expected, atol=1e-10)  # rounding


def overlap(one: np.ndarray, other: np.ndarray) -> float:
    """Mean overlap of the supports of matched components, twice the common over the sum of sizes."""
    A, B = (one != 0).astype(float), (other != 0).astype(float)
    common = 2 * (A.T @ B) / (A.sum(axis=0)[:, None] + B.sum(axis=0))
    rows, columns = linear_sum_assignment(-common)
    return float(common[rows, columns].mean())


def test_loadings_are_recovered_where_weights_are_not():
    """21 variables on 3 components, 6 of each on a second one: the two senses are different questions."""
    weights, loadings = [], []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        P, of = np.zeros((21, 3)), np.arange(21) % 3
        P[np.arange(21), of] = rng.uniform(0.6, 0.9, 21) * rng.choice([-1, 1], 21)
        for j in range(3):
            for i in np.flatnonzero(of == j)[:6]:
                P[i, (j + 1) % 3] = rng.uniform(0.5, 0.7) * rng.choice([-1, 1])
        X = rng.standard_normal((300, 21)) @ np.linalg.cholesky(P @ P.T + np.eye(21)).T
        card = [int(count) for count in (P != 0).sum(axis=0)]
        loadings.append(overlap(sp.sparse_loadings(X, 3, card, scale=True).loadings.to_numpy(), P))
        weights.append(overlap(sp.spca(X, 3, card, scale=True, effort="quick").loadings.to_numpy(), P))
    assert np.mean(loadings) == 1.0
    assert np.mean(weights) < 0.97


def test_scores_are_uncorrelated_and_loadings_are_their_correlations(fit, wine):
    scores = fit.scores
    np.testing.assert_allclose(scores.cov(), np.eye(3), atol=1e-8)
    correlations = pd.concat([wine, scores.set_axis(wine.index)], axis=1).corr().loc[list(wine), list(scores)]
    nonzero = (fit.loadings != 0).to_numpy()
    np.testing.assert_allclose(fit.loadings.to_numpy()[nonzero], correlations.to_numpy()[nonzero], atol=1e-8)
    np.testing.assert_allclose(fit.correlations, correlations, atol=1e-8)
    np.testing.assert_allclose(fit.communalities, (fit.loadings**2).sum(axis=1), atol=1e-12)
    assert fit.variance["sum of squares"].sum() == pytest.approx((fit.loadings.to_numpy() ** 2).sum())
    largest = np.linalg.eigvalsh(wine.corr())[::-1][:3]  # PCA's, from NumPy
    np.testing.assert_allclose(fit.variance["cumulative PCA"], np.cumsum(largest) / 13, rtol=1e-10)


def test_scores_are_the_best_for_these_loadings(fit, wine):
    """Given P, no other T with T'T = (n - 1) I fits better: the orthogonal Procrustes solution by SVD."""
    Z = ((wine - wine.mean()) / wine.std()).to_numpy()
    left, _, right = np.linalg.svd(Z @ fit.loadings.to_numpy(), full_matrices=False)
    np.testing.assert_allclose(fit.scores, np.sqrt(len(Z) - 1) * left @ right, atol=1e-6)


def test_rows_sparse_rows_and_their_covariance_matrix_agree(fit, wine):
    R = wine.corr()
    for other in (
        sp.sparse_loadings_cov(R, 3, 5),
        sp.sparse_loadings_cov(wine.cov(), 3, 5, scale=True, mean=wine.mean()),
        sp.sparse_loadings(sparse.csr_array(wine.to_numpy(float)), 3, 5, scale=True),
    ):
        np.testing.assert_allclose(other.loadings, fit.loadings, atol=1e-7)
    with_mean = sp.sparse_loadings_cov(wine.cov(), 3, 5, scale=True, mean=wine.mean())
    np.testing.assert_allclose(with_mean.transform(wine), fit.scores, atol=1e-6)


@pytest.mark.parametrize("unit", [1e-100, 1e100])
def test_units_scale_loadings_and_divide_weights(wine, unit):
    scaled = wine / wine.std()
    one, other = sp.sparse_loadings(scaled, 2, 5), sp.sparse_loadings(scaled * unit, 2, 5)
    np.testing.assert_allclose(other.loadings / unit, one.loadings, atol=1e-7)
    np.testing.assert_allclose(other.scores, one.scores, atol=1e-6)
    assert other.total_variance == pytest.approx(13 * unit**2)


def test_a_formula_first_and_weights_and_names(wine):
    fit = sp.sparse_loadings("~ . - ash + log(proline)", data=wine, k=2, total=9, scale=True)
    assert "log(proline)" in fit.loadings.index
    assert "ash" not in fit.loadings.index
    assert fit.card.sum() == 9
    assert fit.call == "sparse_loadings(data, k=2, total=9, formula='~ . - ash + log(proline)', scale=True)"
    named = fit.rename({1: "phenols"})
    assert list(named.loadings) == list(named.scores) == ["phenols", "PC2"]
    twice = sp.sparse_loadings(wine, 2, 4, weights=np.full(178, 2.0), scale=True)
    doubled = sp.sparse_loadings(pd.concat([wine, wine]), 2, 4, scale=True)
    np.testing.assert_allclose(twice.loadings, doubled.loadings, atol=1e-7)


def test_by_default_ninety_percent_of_pca_are_kept(wine):
    fit = sp.sparse_loadings(wine, 2, scale=True)
    shares = fit.variance.iloc[-1]
    assert shares["cumulative"] >= 0.9 * shares["cumulative PCA"] * (1 - 1e-8)
    assert "at least 90 % of the variance that PCA explains" in " ".join(str(fit.summary()).split())
    assert sp.sparse_loadings(wine, 2, variance=0.9, scale=True).loadings.equals(fit.loadings)


@pytest.mark.parametrize("na", ["em", "pairwise", "drop"])
def test_missing_values(wine, fit, na):
    gaps = wine.astype(float).mask(np.random.default_rng(0).random(wine.shape) < 0.03)
    with_gaps = sp.sparse_loadings(gaps, 3, 5, scale=True, na=na, rng=1)
    # 3 % of the values carry little: loadings move by about two standard errors of a correlation at most
    assert np.abs(with_gaps.communalities - fit.communalities).median() < 0.15
    # na="drop" lost all incomplete rows in the fit, while scores need only the variables with a weight
    found = with_gaps.transform(gaps.dropna() if na == "drop" else gaps, na=na)
    np.testing.assert_allclose(found, with_gaps.scores, atol=1e-8)
    if na != "drop":
        assert "Missing" in str(with_gaps.summary())
        assert len(with_gaps.scores) == 178


def test_chunks_give_what_their_rows_give(wine, tmp_path):
    parts = [wine.iloc[:80].reset_index(drop=True), wine.iloc[80:].reset_index(drop=True)]
    fit, whole = (sp.sparse_loadings(data, 2, 5, scale=True) for data in (parts, wine))
    # an ascent ends within 1e-6 of its loadings
    np.testing.assert_allclose(fit.loadings, whole.loadings, atol=1e-6)
    np.testing.assert_allclose(fit.scores.to_frame(), whole.scores, atol=1e-6)
    assert fit.bootstrap(5).n == 5
    fit.report(tmp_path / "chunks.html")


def test_the_bootstrap_is_aligned(fit):
    boot = fit.bootstrap(40, rng=1)
    frame = boot.conf_int(0.9)
    shown = frame[frame["estimate"] != 0]
    assert len(shown) == 15
    # percentiles of 40 draws of strong loadings have the sign of the estimate
    strong = shown[shown["estimate"].abs() > 0.7]
    assert (np.sign(strong["lower"]) == np.sign(strong["estimate"])).all()
    assert (np.sign(strong["upper"]) == np.sign(strong["estimate"])).all()
    assert (boot.similarity > 0.8).all()
    assert frame.loc[frame["estimate"] == 0, ["lower", "upper"]].isna().all(axis=None)
    assert "In brackets: 95 % bootstrap intervals (40 draws)" in str(fit.summary(conf_int=boot))
    assert boot.n == 40
    assert not boot.interrupted
    np.testing.assert_allclose(fit.bootstrap(40, rng=1).selected, boot.selected)
    assert fit.bootstrap(4, n_jobs=2).table.equals(fit.bootstrap(4).table)


def test_the_bootstrap_of_given_variables_has_the_standard_error_of_a_correlation():
    """With all variables on one component the loadings are those of PCA, drawn again here by NumPy."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 1)) + rng.standard_normal((200, 6))
    drawn = []
    for _ in range(400):
        R = np.corrcoef(X[rng.integers(200, size=200)].T)
        values, vectors = np.linalg.eigh(R)
        drawn.append(np.abs(vectors[:, -1]) * np.sqrt(values[-1]))
    boot = sp.sparse_loadings(X, 1, 6, scale=True).bootstrap(400, select=False)
    # a standard deviation of 400 draws has a standard error of 3.5 %, a ratio of two 5 %: four of them
    np.testing.assert_allclose(boot.conf_int()["std_error"], np.std(drawn, axis=0, ddof=1), rtol=0.2)
    np.testing.assert_allclose(boot.selected, 1.0)


def test_prints_say_which_sense(fit, wine, tmp_path):
    text = " ".join(str(fit.summary()).split())
    assert "sparse loadings: X is approximately T P'" in text
    assert "spca() gives components" in text
    weights = " ".join(sp.spca(wine, 2, 3, scale=True).notes)
    assert "the weights of the variables in the scores" in weights
    fit.report(tmp_path / "fit.html", title="Wine", groups=list(wine.index))
    page = (tmp_path / "fit.html").read_text(encoding="utf-8")
    assert "<h1>Wine</h1>" in page
    assert "fit = sp.sparse_loadings(data, k=3, card=5, scale=True)" in page
    assert page.count("<figure") == 2
    frames = fit.summary().frames
    pd.testing.assert_frame_equal(frames["loadings"], fit.loadings)


def test_nothing_is_changed_and_copies_are_returned(fit):
    for copy in (fit.loadings, fit.weights, fit.scores, fit.variance):
        copy.iloc[:] = 0
    assert fit.loadings.to_numpy().any()
    assert fit.scores.to_numpy().any()


# --- files --------------------------------------------------------------------------------------


def with_gaps(wine: pd.DataFrame) -> pd.DataFrame:
    return wine.astype(float).mask(np.random.default_rng(0).random(wine.shape) < 0.03)


#: Fits of all kinds of input.
SAVED = {
    "rows": lambda wine: sp.sparse_loadings(wine, 3, 5, scale=True),
    "formula": lambda wine: sp.sparse_loadings("~ . - ash + log(hue)", data=wine, k=2, card=4, scale=True),
    "gaps": lambda wine: sp.sparse_loadings(with_gaps(wine), 2, 4, scale=True, na="em", n_init=4),
    "large": lambda wine: sp.sparse_loadings(wine * 1e100, 2, 4, scale=False, n_init=4),
    "clusters": lambda wine: sp.sparse_loadings(wine, 2, [5, 3], scale=True, clusters=np.arange(178) // 4),
    "matrix": lambda wine: sp.sparse_loadings_cov(wine.cov(), 2, 4, scale=True, mean=wine.mean(), n_obs=178),
    "total": lambda wine: sp.sparse_loadings_cov(wine.cov(), 2, total=9, n_obs=178, scale=True),
}


@pytest.mark.sweep
@pytest.mark.parametrize("kind", SAVED)
def test_a_file_gives_back_the_fit(wine, tmp_path, kind):
    fit = SAVED[kind](wine)
    fit = fit.rename({1: "first"})
    fit = fit.with_inference(fit.bootstrap(4))
    fit.save(tmp_path / "fit.spca")
    again = sp.load(tmp_path / "fit.spca")
    assert isinstance(again, sp.SparseLoadings)
    for name in ("loadings", "weights", "variance", "communalities", "correlations", "card"):
        np.testing.assert_array_equal(getattr(again, name), getattr(fit, name))
        assert getattr(again, name).index.equals(getattr(fit, name).index)
    for one in (str, repr, lambda x: x.describe(), lambda x: x.call, lambda x: x.options):
        assert str(one(again)) == str(one(fit))
    pd.testing.assert_frame_equal(again.tidy(conf_int=True), fit.tidy(conf_int=True))
    pd.testing.assert_frame_equal(again.glance(), fit.glance())
    assert str(again.summary(conf_int=True, level=0.5)) == str(fit.summary(conf_int=True, level=0.5))
    assert str(again.inference["bootstrap"]) == str(fit.inference["bootstrap"])
    if kind != "total":  # a covariance matrix without means
        data = wine * 1e100 if kind == "large" else wine
        pd.testing.assert_frame_equal(again.transform(data), fit.transform(data))
    if fit.call.startswith("sparse_loadings("):
        pd.testing.assert_frame_equal(again.scores, fit.scores)
        again.biplot()
    again.plot_loadings()
    again.report(tmp_path / "fit.html")


def test_a_fit_from_a_file_draws_what_the_fit_draws(wine, tmp_path):
    clusters = np.arange(178) // 4
    fit = sp.sparse_loadings(wine, 2, 4, scale=True, clusters=clusters)
    fit.save(tmp_path / "fit.spca", scores=False)
    again = sp.load(tmp_path / "fit.spca")
    with pytest.raises(NoRowsError, match=r"give bootstrap\(data=\.\.\.\)"):
        again.bootstrap(5)
    pd.testing.assert_frame_equal(again.bootstrap(5, data=wine).table, fit.bootstrap(5).table)
    with pytest.raises(DataError, match="different from the fit"):
        again.bootstrap(5, data=wine * 2)
    with pytest.raises(DataError, match="in another order"):
        again.bootstrap(5, data=wine.iloc[::-1])
    for needs in (lambda: again.scores, again.biplot, lambda: again.bootstrap(5)):
        with pytest.raises(NoRowsError, match="which a fit from a file does not have"):
            needs()
    R = wine.corr()
    matrix = sp.sparse_loadings_cov(R, 2, 4, n_obs=178)
    matrix.save(tmp_path / "matrix.spca")
    with pytest.raises(OptionError, match="neither rows nor scores"):
        matrix.save(tmp_path / "matrix.spca", scores=True)
    found = sp.load(tmp_path / "matrix.spca").bootstrap(5, data=R)
    pd.testing.assert_frame_equal(found.table, matrix.bootstrap(5).table)


def test_weights_of_a_file_are_not_taken_for_loadings(fit, tmp_path):
    """`spca` fits and sparse loadings are told apart by the file, whatever its name."""
    sp.spca(sp.datasets.load_wine(), 2, 3, scale=True).save(tmp_path / "fit")
    assert isinstance(sp.load(tmp_path / "fit"), sp.SpcaResult)
    fit.save(tmp_path / "fit")
    assert isinstance(sp.load(tmp_path / "fit"), sp.SparseLoadings)


#: Changes of the loadings P, or weights W, of a file, after which it cannot be right.
CHANGED = {
    "one": ("loadings", lambda P: np.where(P > 0.9, 1.01 * P, P)),
    "zeros": ("loadings", lambda P: np.where(P == 0, 0.1, P)),
    "empty": ("loadings", lambda P: P * [1, 1, 0]),
    "shape": ("loadings", lambda P: P[:, :2]),
    "nan": ("loadings", lambda P: np.where(P == 0, np.nan, P)),
    "kind": ("loadings", lambda P: (P != 0).astype(int)),
    "no loadings": ("loadings", None),
    "scale": ("weights", lambda W: 2 * W),
    "order": ("weights", lambda W: W[:, ::-1]),
    "no weights": ("weights", None),
    "coupling": ("moments.coupling", lambda A: -A),
    "method": ("joint", None),
}


def test_a_block_length_of_a_file_is_a_number(wine, tmp_path):
    path = tmp_path / "fit.spca"
    sp.sparse_loadings(wine, 1, 4, scale=True, block_length=5).save(path)
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    manifest = json.loads(members["manifest.json"])
    manifest["content"]["design"]["block_length"] = "long"
    with zipfile.ZipFile(path, "w") as archive:
        for name, part in {**members, "manifest.json": json.dumps(manifest)}.items():
            archive.writestr(name, part)
    with pytest.raises(FileError, match="block length"):
        sp.load(path)


@pytest.mark.parametrize("change", CHANGED)
def test_files_with_changed_arrays_are_refused(fit, tmp_path, change):
    name, changed = CHANGED[change]
    path = tmp_path / "fit.spca"
    fit.save(path)
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    before = members.pop(f"{name}.npy", None)
    if changed is not None:
        values = changed(np.load(io.BytesIO(before)))
        np.lib.format.write_array(held := io.BytesIO(), values, version=(1, 0))
        members[f"{name}.npy"] = held.getvalue()
    manifest = json.loads(members["manifest.json"])
    if before is None:  # a name of a method
        manifest["content"]["record"]["method"] = name
    members["manifest.json"] = json.dumps(manifest).encode()
    with zipfile.ZipFile(path, "w") as archive:
        for name, part in members.items():
            archive.writestr(name, part)
    with pytest.raises(FileError, match=r"cannot be used|not the array that was saved") as raised:
        sp.load(path)
    assert str(raised.value).count("\n") == 0


# --- draws --------------------------------------------------------------------------------------


def test_draws_take_whole_clusters(tmp_path):
    """Sixty rows, each three times: as clusters they vary like the sixty rows, as rows by sqrt(1/3)."""
    rng = np.random.default_rng(1)
    X = rng.standard_normal((60, 1)) + rng.standard_normal((60, 6))
    thrice, unit = np.repeat(X, 3, axis=0), np.repeat(np.arange(60), 3)

    def errors(data, **given):
        boot = sp.sparse_loadings(data, 1, 6, scale=True, **given).bootstrap(200, select=False)
        return boot.conf_int()["std_error"].to_numpy(), boot

    single, clustered, as_rows = errors(X), errors(thrice, clusters=unit), errors(thrice)
    # mean ratios over six loadings, from 200 draws each: their standard error is about 5 %
    assert (clustered[0] / single[0]).mean() == pytest.approx(1.0, abs=0.15)
    assert (as_rows[0] / single[0]).mean() == pytest.approx(3**-0.5, abs=0.12)
    text = " ".join(str(clustered[1]).split())
    assert "60 clusters of 3 rows" in text
    fit = sp.sparse_loadings(pd.DataFrame(thrice, columns=[*"abcdef"]).assign(who=unit), 1, 6, clusters="who")
    assert fit.loadings.shape == (6, 1)
    assert "60 clusters of 3 rows" in " ".join(str(fit.summary()).split())
    assert "(Rao, Wu and Yue, 1992)" not in fit.describe().text  # nothing was drawn
    drawn = fit.with_inference(fit.bootstrap(20, rng=0))
    assert "60 clusters of 3 rows (Rao, Wu and Yue, 1992)" in drawn.describe().text


# --- words --------------------------------------------------------------------------------------


def test_the_description_cites_the_paper_and_both_variances(fit):
    text = fit.describe().text
    assert "with sparse loadings was applied to 178 rows of 13 variables" in text
    assert "(Adachi and Trendafilov, 2016). The fit was the best of 30 starts" in text
    kept = fit.variance.iloc[-1]
    assert f"explained {100 * kept['cumulative']:.1f} % of the total variance" in text
    assert f"dense principal components explained {100 * kept['cumulative PCA']:.1f} %" in text
    assert fit.describe().references[0].startswith("Adachi, K. and Trendafilov, N. T. (2016)")


# --- Sparse coordinates along penalties, and the figures of them ----------------------------------


@pytest.fixture(scope="module")
def three() -> tuple[pd.DataFrame, list[str]]:
    """The data of Dou, Dai, Xu and Zhang, section 5.2: ten points each of three normal distributions."""
    rng = np.random.default_rng(0)
    means, sds = (10.0, -10.0, 0.0), (1.0, 3.0, np.sqrt(17.0))
    rows = [mean + sd * rng.normal(size=(10, 50)) for mean, sd in zip(means, sds, strict=True)]
    return pd.DataFrame(np.vstack(rows)), ["G1"] * 10 + ["G2"] * 10 + ["G3"] * 10


def test_the_map_of_figure_2(three):
    """Each row is drawn once in each panel, at its coordinate."""
    X, groups = three
    fit = sp.spco(X, 2, zeros=0.5)
    ax = fit.plot(groups=groups)
    assert len(ax.child_axes) == 2
    for panel, component in zip(ax.child_axes, fit.components, strict=True):
        drawn = [c.get_offsets() for c in panel.collections if hasattr(c, "get_sizes")]
        points = np.vstack([offsets for offsets in drawn if len(offsets)])
        points = points[np.argsort(points[:, 0])]
        np.testing.assert_array_equal(points[:, 0], fit.coordinates.index)
        np.testing.assert_allclose(points[:, 1], fit.coordinates[component])
    assert list(plot_coordinates_data(fit.coordinates, components=[2]).columns) == ["PC2"]


def test_a_path_is_fits_of_the_same_call(three):
    X, _ = three
    fit = sp.spco(X, 2, zeros=0.3)
    path = fit.path([0.6, 0.2])
    assert list(path) == [0.2, 0.6]
    for zeros in path:
        again = sp.spco(X, 2, zeros=zeros)
        np.testing.assert_array_equal(path[zeros].coordinates, again.coordinates)
    table = path.table
    assert table["fit"].is_monotonic_decreasing
    np.testing.assert_allclose(table["cpzc"], [0.2, 0.6], atol=1 / 60)
    by_penalty = fit.path(penalty=[path[0.6].penalty])
    assert by_penalty.table["cpzc"].item() == pytest.approx(0.6, abs=1 / 60)
    drawn = path.plot().lines[0]
    np.testing.assert_allclose(drawn.get_ydata(), 100 * path.table["cpev"])
    assert "In %: zero coordinates" in path.as_text()
    printed = " ".join(str(fit.summary()).split())
    for part in (
        "Zhang (2011)",
        "of the coordinates (CPZC)",
        "Adjusted: variance of the scores before thresholding",
    ):
        assert part in printed
