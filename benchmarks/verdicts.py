"""Verdicts on loading a tampered file: right, refused, forged, wrong, or a foreign error.

Used by ``python -m benchmarks.tamper`` and by the tests.
"""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import spcastat as sp
from benchmarks.tampering import Saved
from spcastat.errors import SpcaError, SpcaWarning
from spcastat.fit.moments import Moments

#: Numbers that are the same but for rounding, as a share of the total variance; a file may be that far off.
CLOSE = 1e-5


def verdict(path: Path, saved: Saved, sealed: bool = False) -> tuple[str, str]:
    """Load a file; return "right", "refused", "forged", "wrong" or "foreign", and why.

    Right is a fit that equals the saved one, or whose parts agree: measures and variances are computed again
    from its loadings and moments by formulas of this module. Everything a user would do with it is done.
    Where contents were changed on purpose (`sealed`), other numbers of the right kinds, shapes and sizes are
    "forged", and warnings of NumPy about them do not count; otherwise they are "wrong".
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # warnings of others are foreign, too
            if sealed:
                warnings.simplefilter("ignore", RuntimeWarning)
            warnings.simplefilter("ignore", SpcaWarning)
            fit = sp.load(path)
            used = list(_use(fit, saved))
    except SpcaError as error:
        return "refused", str(error)
    except Exception as error:
        return "foreign", f"{type(error).__name__}: {error}"
    try:
        problem = next((text for text, right in _kinds(fit, dict(used)) if not right), None)
        if problem is not None:
            return "wrong", problem
        problem = next((text for text, right in _numbers(fit, saved, dict(used)) if not right), None)
    except SpcaError as error:  # of what the file lacks, when it is asked for
        return "refused", str(error)
    except Exception as error:
        if not (sealed and isinstance(error, np.linalg.LinAlgError)):  # of the formulas of this module
            return "foreign", f"while it was judged, {type(error).__name__}: {error}"
        problem = str(error)
    return ("right", "") if problem is None else ("forged" if sealed else "wrong", problem)


def _use(fit: Any, saved: Saved) -> Iterator[tuple[str, Any]]:
    """Do what people do with a fit; what own errors refuse later on is no loss."""
    summary = fit.summary()
    for text in (
        str(fit),
        summary.as_html(),
        summary.as_latex(),
        summary.as_markdown(),
        str(fit.equations()),
    ):
        assert text
    for what in (fit.variance, fit.tidy(), fit.glance(), fit.details, fit.optima, fit.options, fit.limits()):
        repr(what)
    repr(fit.correlations), repr(fit.communalities), repr(fit.component_shares)
    sp.plots.plot_loadings_data(fit.loadings), fit.eigenvalues
    for name, one in fit.resampled.items():
        for text in (str(one), one.as_html(), one.as_latex(), one.as_markdown()):
            assert text
        yield name, one.frames
    for name in ("transform", "diagnostics", "augment"):
        try:
            yield name, getattr(fit, name)(saved.rows)
        except SpcaError:
            continue
    for name, ask in {
        "scores": lambda: fit.scores,
        "raw": lambda: fit.equations(raw=True),
        "rows": lambda: fit.inverse_transform(np.eye(fit.loadings.shape[1])),
        "biplot": lambda: fit.biplot_data(components=(1, min(2, fit.loadings.shape[1]))),
    }.items():
        try:
            found = ask()
        except SpcaError:
            continue
        repr(found)
        yield name, found
    with tempfile.TemporaryDirectory() as folder:
        again = Path(folder, "again.spca")
        fit.save(again)
        other = sp.load(again)
        assert str(other) == str(fit)


def _kinds(fit: Any, used: dict[str, Any]) -> Iterator[tuple[str, bool]]:
    """Yield whether parts have their types, shapes and sizes."""
    record, moments = fit._state.record, fit._state.moments
    p, k = shape = fit.loadings.shape
    yield "size", shape == (record.p, record.k) and shape == fit._state.V.shape
    yield "names", len(fit.loadings.index) == p and fit.loadings.index.is_unique
    shapes = {"variances": (p,), "coupling": (p, k), "scores": (k, k), "adjusted": (k,), "pca": (k,)}
    for name, expected in shapes.items():
        held = np.asarray(getattr(moments, name))
        yield name, held.shape == expected and held.dtype.kind == "f" and bool(np.isfinite(held).all())
    yield "loadings", fit._state.V.dtype.kind == "f" and bool((np.abs(fit._state.V) <= 1 + CLOSE).all())
    if "scores" in used:
        yield "scores", used["scores"].shape == (record.n, k)
    for name in ("transform", "rows"):
        if name in used:
            yield name, all(kind.kind == "f" for kind in used[name].dtypes)
    for name, frames in ((name, used[name]) for name in fit.resampled):
        yield name, all(len(frame.columns) > 0 for frame in frames.values())


def _numbers(fit: Any, saved: Saved, used: dict[str, Any]) -> Iterator[tuple[str, bool]]:
    """Yield whether numbers agree with one another."""
    V = fit.loadings.to_numpy()
    names = [name for name in Moments.ARRAYS if name != "residual_traces"]
    held = {name: np.asarray(getattr(fit._state.moments, name)) for name in names}
    total = fit.total_variance
    C, coupling = held["scores"], held["coupling"]
    with np.errstate(all="ignore"):
        lengths = np.linalg.norm(V, axis=0)
        yield "lengths", _near(lengths, 1.0, CLOSE)
        yield "total", _near(held["variances"].sum(), total, CLOSE * total)
        yield "covariances", _near(V.T @ coupling, C, CLOSE * total)
        yield "adjusted", _near(held["adjusted"], np.diag(np.linalg.cholesky(C)) ** 2, CLOSE * total)
        for j in range(1, V.shape[1] + 1):
            pev = np.trace(np.linalg.solve(V[:, :j].T @ V[:, :j], C[:j, :j])) / total
            yield f"PEV of {j}", _near(fit.variance["cumulative PEV"].iloc[j - 1], pev, CLOSE)
            share = np.trace(np.linalg.solve(C[:j, :j], coupling[:, :j].T @ coupling[:, :j])) / total
            yield f"share of {j}", _near(fit.variance["cumulative least squares"].iloc[j - 1], share, CLOSE)
        if fit.measure("rre") == fit.measure("rre"):
            yield "RRE", _near(fit.measure("rre"), np.sqrt(max(1 - fit.measure("pev"), 0)), CLOSE)
        if fit._state.standard is not None and "rows" in used:
            back = np.linalg.lstsq(V.T, np.eye(V.shape[1]), rcond=None)[0].T
            own = back * fit._state.standard.scale + fit._state.standard.mean
            yield "inverse", _near(used["rows"].to_numpy(), own, 1e-9 * (1 + np.abs(own).max()))
    if "transform" in used and saved.name != "formula":
        new = saved.rows if isinstance(saved.rows, np.ndarray) else saved.rows.to_numpy()
        own = (new - fit._state.standard.mean) / fit._state.standard.scale @ V
        yield "new scores", _near(used["transform"].to_numpy(), own, 1e-9 * (1 + np.abs(own).max()))
    if "scores" in used and fit._state.record.centring == "mean" and not fit._state.record.weighted:
        found = np.cov(used["scores"].to_numpy().T).reshape(C.shape)
        yield "covariance of scores", _near(found, C, 1e-3 * np.diag(C).max())
    if "bootstrap" in used:
        frame = used["bootstrap"]["loadings"]
        nonzero = fit.tidy().set_index(["component", "term"])["loading"]
        own = frame.set_index(["component", "term"])["estimate"]
        yield "estimates", own[own != 0].equals(nonzero.rename("estimate"))
        bounds = frame[["lower", "upper"]]
        yield "intervals", bool((bounds["lower"] <= bounds["upper"])[own.ne(0).to_numpy()].all())
        yield "no intervals of zeros", bool(bounds[own.eq(0).to_numpy()].isna().all(axis=None))
        yield "selected", bool(frame["selected"].between(0, 1).all())
        variance = used["bootstrap"]["variance"]
        yield "variances", _near(variance["estimate"], np.diag(C), CLOSE * total)
    if "stability" in used:
        frequency = used["stability"]["frequency"].to_numpy()
        yield "frequencies", bool(((frequency >= 0) & (frequency <= 1)).all())
    if "split_inference" in used:
        lengths = used["split_inference"]["loadings"].groupby("component")["loading"].apply(np.linalg.norm)
        yield "split", _near(lengths, 1.0, CLOSE)
    if "test_loadings" in used:
        frame = used["test_loadings"]["tests"].dropna()
        yield "p", bool(frame["p_value"].between(0, 1).all())
        yield "q", bool((frame["q_value"] >= frame["p_value"] - CLOSE).all())
    yield "finite", all(np.isfinite(value).all() for value in held.values())


def _near(found: Any, expected: Any, slack: float) -> bool:
    return bool(np.all(np.abs(np.asarray(found) - expected) <= slack))
