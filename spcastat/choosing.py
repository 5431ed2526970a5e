"""What users call to choose: the number of components, and their cardinalities."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from spcastat.api import spca, spca_cov
from spcastat.config import GAPS, flag, one_of, real_number, shown, whole_number
from spcastat.engine import Request, make_plan
from spcastat.engine.inputs import Opened, Source, open_covariance, open_rows
from spcastat.errors import ComponentsError, DataError, NoRowsError, OptionError, UnknownOptionError
from spcastat.intake import ReadOptions, looks_like_covariance
from spcastat.kernels.sparsity import is_sparse
from spcastat.operators import GRAM_ORDER, Gram
from spcastat.progress import listening
from spcastat.registry import CONTROLS
from spcastat.resample import seed_of, workers
from spcastat.resample.folds import (
    Folds,
    FoldSums,
    MomentFolds,
    RowFolds,
    TermFolds,
    random_labels,
    require_folds,
)
from spcastat.resample.gaps import GapFolds, GapRules, PlainRows
from spcastat.results.call import call_text
from spcastat.results.choices import Choice, ComponentChoice
from spcastat.select import chosen
from spcastat.select.components import default_card, standing
from spcastat.select.noise import MomentNoise, Noise, RowNoise, of_covariance
from spcastat.select.path import path_cards
from spcastat.select.quick import Fitter

if TYPE_CHECKING:
    import pandas as pd

    from spcastat.streams.base import Stream

__all__ = ["choose", "choose_k"]

#: Arguments that describe rows, and those that describe a covariance matrix.
ROWS = (*(one.name for one in fields(ReadOptions)), "center", "scale")
COVARIANCE = ("n_obs", "mean", "scale")
#: Cardinalities that are tried by default.
GRID = (1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 15, 20, 30, 50)
#: Up to so many variables folds are held by their moments.
MOMENTS = 1000
#: Components that are looked at by default.
KMAX = 8
#: Cells whose signs are flipped, at most.
MOST_CELLS = 20_000_000
#: Draws and folds, at most.
MOST_DRAWS, MOST_FOLDS = 100_000, 1000


def choose_k(
    data: Any,
    kmax: int | None = None,
    card: int | None = None,
    alpha: float = 0.05,
    n_resample: int = 199,
    rng: Any = None,
    *,
    covariance: bool | None = None,
    progress: Any = False,
    **described: Any,
) -> ComponentChoice:
    """Say how many components stand out of noise.

    Parameters
    ----------
    data : as for :func:`spcastat.spca`, or a covariance matrix as for :func:`spcastat.spca_cov`
    kmax : int, optional
        Components that are looked at: 8, or as many as there can be.
    card : int, optional
        Variables in a component of the sequential sparse test; 1.5 log(p) by default.
    alpha : float
        Level of both tests.
    n_resample : int
        Draws.
    rng : None, int or numpy Generator
        Seed of the draws; None is a fixed one.
    covariance : bool, optional
        Whether `data` is a covariance matrix. By default it is taken for one if it is a symmetric frame
        with equal row and column labels.
    progress : bool or callable
        As for :func:`spcastat.spca`.
    **described
        `formula`, `center`, `scale`, `weights`, `na`, `context`, `categorical` for rows, and `n_obs`, which
        is needed, for a covariance matrix.

    Returns
    -------
    ComponentChoice
        ``.k`` (parallel analysis), ``.sequential``, ``.table``, ``.reason``, ``.spectrum``, ``.plot()``.

    Raises
    ------
    OptionError
        For a covariance matrix without `n_obs`, and values that are not allowed.

    Notes
    -----
    Noise is what the data become when the signs of their centred (and scaled) cells are flipped at random:
    that keeps the sizes of rows and of columns and takes away their correlation (Hong, Sheng and Dobriban).
    Parallel analysis keeps the leading components whose eigenvalue is as large in a share `alpha` of the
    draws at most, each compared with that of its rank. The sequential test fits one sparse component
    after another to what those before it leave, and compares its variance with that in flips of what is left,
    brought to the variances that it had; p-values end early once they are settled.

    A covariance matrix stands for normal rows that have exactly it. Of rows that are never all in memory, of
    more than 20 million cells, and of rows with gaps that stay (``na="em"``), the covariance matrix and the
    central limit theorem take their place. A weighted row is flipped as one. Noise that is correlated, such
    as that of neighbours in time or space, is no noise here: both tests find components in it.

    Examples
    --------
    >>> import spcastat as sp
    >>> sp.choose_k(sp.datasets.load_pitprops(), n_obs=180).k
    3
    """
    with listening(progress):
        alpha, n_resample = _level(alpha, n_resample)
        seed = seed_of(rng)
        opened, covariance, described = _opened(data, covariance, described, choose_k)
        _require_few(opened)
        filled = described.get("na", "")
        return _standing(opened.source(""), covariance, kmax, card, alpha, n_resample, seed, filled)


def choose(
    data: Any,
    k: int | None = None,
    cards: Any = None,
    *,
    by: str | None = None,
    rule: str = "1se",
    each: str = "equal",
    folds: int = 5,
    repeats: int = 1,
    share: float = 0.9,
    kmax: int | None = None,
    alpha: float = 0.05,
    n_resample: int = 199,
    n_jobs: int = 1,
    rng: Any = None,
    covariance: bool | None = None,
    progress: Any = False,
    **options: Any,
) -> Choice:
    """Choose the cardinalities of sparse components, and their number where that is not given.

    Parameters
    ----------
    data : as for :func:`spcastat.spca`, or a covariance matrix as for :func:`spcastat.spca_cov`
    k : int, optional
        Number of components, below the number of variables; by default that of :func:`spcastat.choose_k`.
    cards : int or sequence of ints, optional
        Cardinalities to choose from; an int stands for 1, 2, ..., cards. By default 1 to 8, 10, 12, 15, 20,
        30, 50 as far as there are variables, and all variables where these are 20 or fewer.
    by : {"cv", "ebic", "bic", "is", "variance"}, optional
        Cross-validation, the default with rows; the extended BIC, the default for a covariance matrix with
        `n_obs`; the BIC of Allen and Maletic-Savatic; the index of sparseness; or the sparsest fit that keeps
        the `share` of dense PCA's variance.
    rule : {"1se", "min"}
        The sparsest fit whose error is within one standard error of the smallest error (for "ebic": whose
        value exceeds the smallest by less than 2); or the best value.
    each : {"equal", "free"}
        One cardinality for all components, or one for each, by "cv" or "ebic": components change theirs in
        turn, the others held, until none changes; here one standard error is that of the difference of
        errors, paired by fold.
    folds, repeats : int
        Parts of the rows, and how often they are drawn anew.
    share : float
        For "variance".
    kmax, alpha, n_resample
        As for :func:`spcastat.choose_k`, where `k` is not given.
    n_jobs : int
        Processes among which folds are shared; -1 for all processors. Results are the same for any number.
    rng : None, int or numpy Generator
        Seed of folds and draws; None is a fixed one.
    covariance : bool, optional
        Whether `data` is a covariance matrix; see :func:`spcastat.choose_k`.
    progress : bool or callable
    **options
        What describes the data (`formula`, `center`, `scale`, `weights`, `na`, `context`, `categorical`; or
        `n_obs`, `mean`, `scale`) and how they are fitted (`method`, `nonneg` and its options), as for
        :func:`spcastat.spca`.

    Returns
    -------
    Choice
        ``.card``, ``.k``, ``.table``, ``.reason``, ``.fit``, ``.components``, ``.plot()``, ``.report()``.

    Raises
    ------
    TooFewRowsError
        For fewer rows than folds, or too few outside a fold.
    ConstantColumnError
        With ``scale=True`` or gaps that stay, where a column is constant outside a fold.
    MissingValuesError
        Where a column has no value outside a fold.
    ComponentsError
        For as many components as variables, and where no component stands out of noise.
    OptionError
        For a covariance matrix without `n_obs` where a criterion needs it.
    NoRowsError
        For cross-validation of a covariance matrix.

    Notes
    -----
    The fit stands for the covariance matrix Sigma = V L V' + s2 I. By element-wise cross-validation each cell
    of a held-out row is predicted from the *other* cells of that row, with the model of the other rows: the
    error is (Omega x)_j / Omega_jj with Omega = Sigma^-1, and is told as a share of that of the column means.
    Centring, scaling and formulas that learn from rows are done anew without each fold. A weighted row is in
    one fold with all of its weight. Rows in pieces go to folds by their numbers, equal rows to the same, and
    one pass serves all folds.

    With ``na="em"`` or ``na="pairwise"`` means and covariances are estimated anew without each fold, from
    what was measured in the other rows; a held-out cell is predicted from the other *measured* cells of its
    row, with their part of Sigma; cells that were not measured have no error. The model behind the EM has
    rank `k_em`, or k.

    Fits in the search are cheap ones from several starts, unless `method` names another; ``.fit`` is what
    ``spca(data, k, card)`` gives with the same options.

    On data that are not exactly sparse, prediction prefers many loadings; the rule trades some of it for
    sparsity, and with few rows (n = 50, say) tends to select too few.

    Examples
    --------
    >>> import spcastat as sp
    >>> choice = sp.choose(sp.datasets.make_hastie(), k=2, cards=[2, 4, 6])
    >>> choice.card
    4
    """
    with listening(progress):
        one_of("rule", rule, ("1se", "min"))
        one_of("each", each, ("equal", "free"))
        share = real_number("share", share, 0.0, 1.0, open_low=True)
        folds = whole_number("folds", folds, 2, MOST_FOLDS)
        repeats = whole_number("repeats", repeats, 1, MOST_FOLDS)
        jobs, seed = workers(n_jobs), seed_of(rng)
        alpha, n_resample = _level(alpha, n_resample)
        if kmax is not None:
            kmax = whole_number("kmax", kmax, 1, error=ComponentsError)
        for name in CONTROLS:
            if options.get(name) is not None:
                raise UnknownOptionError(
                    f"{name}= was given to choose(), which chooses the sparsity: give cards=, or use spca() "
                    f"or spca_cov() with {name}=."
                )
        if k is not None:
            k = whole_number("k", k, 1, error=ComponentsError)
        opened, covariance, described = _opened(data, covariance, options, None, k or 1)
        fitting = {name: value for name, value in options.items() if name not in described}
        by = _criterion(by, each, covariance, described)
        if k is not None:
            _require_room(k, opened.p)
        if by == "cv":
            _require_foldable(opened.stream, opened.p)
        if k is None:
            _require_few(opened)
        components = None
        source = opened.source(_rows_for(fitting, k or 1, opened.p))
        if not source.op.total > 0:
            raise DataError("The data have no variance: every column is constant.")
        if k is None:
            filled = described.get("na", "")
            components = _standing(source, covariance, kmax, None, alpha, n_resample, seed, filled)
            k = components.k
            if k == 0:
                raise ComponentsError(
                    f"No component stands out of noise: {components.reason} Give k= to choose cardinalities "
                    "all the same."
                )
            if source.gaps is not None and k > 1:  # the model of what is missing has the rank of the fit
                source = _opened(data, covariance, described, None, k)[0].source("")
        keys, wanted = path_cards(_grid(opened.p) if cards is None else cards, k, opened.p)
        if each == "free" and any(isinstance(key, tuple) for key in keys):
            raise OptionError("cards holds sequences; with each='free' give numbers, for every component.")
        parts = _folds(source, data, described, folds, repeats, seed, k, fitting) if by == "cv" else None
        n = source.weight if source.from_rows else source.n
        found = chosen.Candidates(source.op, _fitter(fitting, k, opened.p, seed), n, parts, jobs)
        found.add(wanted)
        place, best = chosen.choose(found, wanted, by, rule, share)
        card: Any = keys[place]
        if each == "free":
            card = chosen.free(found, wanted[place], [one[0] for one in wanted], by, rule)
            if card not in wanted:
                keys, wanted = [*keys, card], [*wanted, card]
            place, best = wanted.index(card), chosen.choose(found, wanted, by, "min", share)[0]
        card = list(card) if isinstance(card, tuple) else card
        arguments = {**described, **fitting}
        fit = (spca_cov if covariance else spca)(data, k, card, **arguments, progress=False)
        told = {"k": k, "card": card, **described, **fitting}
        return Choice(
            table=chosen.table(found, wanted, keys).assign(chosen=np.arange(len(keys)) == place),
            fit=fit,
            card=card,
            by=by,
            rule=rule,
            share=share,
            folds=folds,
            repeats=repeats,
            best=best,
            dense=float(found.errors(wanted).error[-1]) if by == "cv" else None,
            free=each == "free",
            components=components,
            call=call_text(spca_cov if covariance else spca, told),
        )


# --- the data -------------------------------------------------------------------------------------


def _opened(
    data: Any, covariance: bool | None, options: Mapping[str, Any], function: Any, k: int = 1
) -> tuple[Opened, bool, dict[str, Any]]:
    """Open data; return also whether they are a covariance matrix, and the options that describe them."""
    if covariance is None:
        covariance = options.get("formula") is None and looks_like_covariance(data)
    names = COVARIANCE if flag("covariance", covariance) else ROWS
    described = {name: value for name, value in options.items() if name in names}
    further = [name for name in options if name not in names]
    if function is not None and further:
        raise UnknownOptionError(
            f"{function.__name__}() has no option {further[0]}; it takes {', '.join(names)}"
            f"{' for a covariance matrix' if covariance else ' for rows'}, beside its own."
        )
    if covariance:
        return open_covariance(data, **described), True, described
    reading = ReadOptions(**{name: described[name] for name in described if name not in ("center", "scale")})
    opened = open_rows(data, reading, described.get("center", True), described.get("scale", False), k)
    if opened.context is not None:
        described["context"] = opened.context
    return opened, False, described


def _grid(p: int) -> list[int]:
    """Return the cardinalities that are tried by default."""
    return sorted({card for card in GRID if card <= p} | ({p} if p <= 20 else set()))


def _require_room(k: int, p: int) -> None:
    """Raise ComponentsError where components leave no variance for noise."""
    if k + 1 > p:
        raise ComponentsError(
            f"k={shown(k)} was given for {p} variables; the choice compares components with what they leave, "
            f"so give at most {max(p - 1, 0)}."
        )


def _criterion(by: str | None, each: str, covariance: bool, described: Mapping[str, Any]) -> str:
    """Return the checked criterion, or the default one for the data."""
    by = ("ebic" if covariance else "cv") if by is None else one_of("by", by, chosen.CRITERIA)
    if covariance and by == "cv":
        raise NoRowsError(
            "by='cv' was given with a covariance matrix, whose rows cannot be held out; use by='ebic' with "
            "n_obs=, or give the rows."
        )
    if covariance and by in ("ebic", "bic") and described.get("n_obs") is None:
        raise OptionError(
            f"by={by!r} compares fit and number of rows, and n_obs is not given; give n_obs=, the number of "
            "rows behind the matrix, or use by='is' or by='variance'."
        )
    if each == "free" and by not in ("cv", "ebic"):
        raise OptionError(f"each='free' was given with by={by!r}; it goes with by='cv' and by='ebic'.")
    return by


# --- the number of components ---------------------------------------------------------------------


def _level(alpha: float, n_resample: int) -> tuple[float, int]:
    """Return the checked level of the tests, and the number of draws, which must be able to reach it."""
    alpha = real_number("alpha", alpha, 1.0 / (MOST_DRAWS + 1), 0.5)
    n_resample = whole_number("n_resample", n_resample, 19, MOST_DRAWS)
    if n_resample + 1 < 1.0 / alpha:
        raise OptionError(
            f"n_resample={n_resample} was given with alpha={alpha:g}; p-values are 1 / "
            f"{n_resample + 1} at least. Give {int(np.ceil(1.0 / alpha)) - 1} draws or more."
        )
    return alpha, n_resample


def _standing(
    source: Source,
    covariance: bool,
    kmax: Any,
    card: Any,
    alpha: float,
    n_resample: int,
    seed: int,
    filled: str,
) -> ComponentChoice:
    """Test the components of opened data."""
    p = source.op.p
    if p < 2:
        raise ComponentsError("The data have one variable; a number of components is chosen among several.")
    most = min(p - 1, max(source.op.rank_limit, 1))
    kmax = min(KMAX, most) if kmax is None else whole_number("kmax", kmax, 1, most, ComponentsError)
    card = default_card(p) if card is None else whole_number("card", card, 1, p)
    noise = _noise(source, covariance, seed, filled)
    if not source.op.total > 0:
        raise DataError("The data have no variance: every column is constant.")
    found = standing(noise, kmax, card, alpha, n_resample, seed)
    unit = source.op.unit**2 if isinstance(noise, MomentNoise) and not covariance else 1.0
    return ComponentChoice(found, p=p, card=card, alpha=alpha, n_resample=n_resample, unit=unit, most=most)


def _noise(source: Source, covariance: bool, seed: int, filled: str) -> Noise:
    """Return the data as the tests need them."""
    op, n = source.op, source.n
    if covariance:
        if n is None:
            raise OptionError(
                "n_obs is not given; how large eigenvalues of noise are depends on the number of rows behind "
                "the covariance matrix. Give n_obs=."
            )
        S = op.block(np.arange(op.p)) * op.unit**2
        return of_covariance(S, n, np.random.default_rng([seed, 1]))
    complete = filled not in GAPS
    if complete and source.matrix is not None and source.matrix.shape[0] * op.p <= MOST_CELLS:
        assert source.standard is not None
        X = source.matrix.toarray() if is_sparse(source.matrix) else np.asarray(source.matrix, dtype=float)
        Z = (X - source.standard.mean) / source.standard.scale
        root = np.ones(len(Z)) if source.weights is None else np.sqrt(source.weights)
        return RowNoise(Z * (root / np.sqrt(source.weight - 1.0))[:, None])
    if not isinstance(op, Gram):
        raise _too_many(f"{op.p} variables and {source.n} rows")
    return MomentNoise(op.block(np.arange(op.p)), source.weight)


def _require_few(opened: Opened) -> None:
    """Raise DataError, before a row is read, for rows in pieces whose covariance matrix is not formed."""
    if opened.stream is not None and opened.p > GRAM_ORDER:
        raise _too_many(f"{opened.p} variables and rows that are never all in memory")


def _too_many(size: str) -> DataError:
    return DataError(
        f"The data have {size}, too many for random signs of every cell; give k=, or a sample of the rows in "
        "memory."
    )


# --- the folds ------------------------------------------------------------------------------------


def _rows_for(fitting: Mapping[str, Any], k: int, p: int) -> str:
    """Return the name of the method where it needs rows."""
    if not fitting:
        return ""
    return make_plan(_request(fitting, k), p).rows_for


def _request(fitting: Mapping[str, Any], k: int) -> Request:
    known = {one.name for one in fields(Request)} - {"k", "card", "variance", "rng", "further"}
    own = {name: value for name, value in fitting.items() if name in known}
    return Request(k, 1, further={n: v for n, v in fitting.items() if n not in known}, **own)


def _fitter(fitting: Mapping[str, Any], k: int, p: int, seed: int) -> Fitter:
    """Return how candidates are fitted: by the method that was named, or cheaply in the default's stead."""
    plan = make_plan(_request(fitting, k), p)
    named = fitting.get("method") is not None or fitting.get("nonneg")
    if plan.method.name == "joint":
        return Fitter(k, None, getattr(plan.solver, "objective", "adjusted"), seed)
    if named or set(fitting) - {"n_init", "order", "tol", "max_iter"}:
        return Fitter(k, plan, seed=seed)
    return Fitter(k, seed=seed)


def _require_foldable(stream: Stream | None, p: int) -> None:
    """Raise NoRowsError, before a row is read, for rows in pieces with too many variables for folds."""
    if stream is not None and p > MOMENTS:
        raise NoRowsError(
            f"The rows of {stream.title} are never all in memory, and folds of {p} variables take too much; "
            f"at most {MOMENTS} will do. Use by='ebic', or a sample of the rows."
        )


def _folds(
    source: Source,
    data: Any,
    described: Mapping[str, Any],
    folds: int,
    repeats: int,
    seed: int,
    k: int,
    fitting: Mapping[str, Any],
) -> Folds:
    """Divide the rows of a source."""
    names: pd.Index = source.spec.columns
    center, scale = described.get("center", True), described.get("scale", False)
    given = [center, scale]
    for i, option in enumerate(("mean", "scale")):  # as checked: one number a column
        if not isinstance(given[i], (bool, np.bool_)):
            given[i] = getattr(source.standard, option)
    if source.stream is not None:
        begin = partial(FoldSums, len(names), folds, repeats, seed)
        sums = source.stream.reduce(begin, "means and cross-products of the folds").result
        require_folds(sums.rows, folds, k, source.weighted)
        return MomentFolds(sums, given[0], given[1], names)
    X, w = source.matrix, source.weights
    n = X.shape[0]
    labels = random_labels(n, min(folds, n), repeats, np.random.default_rng([seed, 2]))
    kept = np.ones(n, dtype=bool) if w is None else w > 0
    counts = [int(np.sum(kept & (one == fold))) for one in labels for fold in range(min(folds, n))]
    require_folds(counts, folds, k, source.weighted)
    learning = source.spec.model_spec
    terms: Any = None
    if learning is not None and learning.states:
        from spcastat.intake.folded import FoldedTerms

        terms = FoldedTerms(
            data,
            ReadOptions(
                **{name: value for name, value in described.items() if name not in ("center", "scale")}
            ),
        )
    if source.gaps is not None:
        rules = GapRules(source.gaps.how, described.get("k_em"), k)
        columns = PlainRows(source.measured) if terms is None else terms
        return GapFolds(columns, w, labels, given[0], given[1], names, rules)
    rows_for = _rows_for(fitting, k, len(names))
    if terms is not None:
        return TermFolds(terms, w, labels, given[0], given[1], names, bool(rows_for))
    if rows_for or len(names) > MOMENTS:
        return RowFolds(X, w, labels, given[0], given[1], names, bool(rows_for))
    sums = FoldSums(len(names), folds, repeats, seed)
    for repeat, one in enumerate(labels):
        sums.add_to(repeat, one, X, w)
    return MomentFolds(sums, given[0], given[1], names)
