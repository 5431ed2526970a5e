"""Sparse PCA as a scikit-learn transformer; needs the extra ``sklearn`` and is imported on demand only.

>>> from spcastat.sklearn import SparsePCA                      # doctest: +SKIP
>>> SparsePCA(n_components=3, card=5).fit_transform(X)          # doctest: +SKIP
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
import pandas as pd

from spcastat.api import spca
from spcastat.arguments import (
    GAPS,
    Explained,
    explained,
    is_whole,
    listed,
    one_line,
    one_of,
    shown,
    whole_number,
)
from spcastat.errors import (
    ColumnTypeError,
    ComponentsError,
    DataError,
    MissingValuesError,
    OptionError,
    RowGroupsError,
)
from spcastat.hints import (
    ByRow,
    Card,
    Effort,
    EstimatorOptions,
    Labels,
    Matrix,
    MethodName,
    Objective,
    Robust,
    Rule,
    Scale,
    Table,
    Vector,
    WeightsAre,
)
from spcastat.inputs.constructors import rows
from spcastat.linalg.accumulate import is_sparse
from spcastat.reading.checks import frame_values, read_weights, vector
from spcastat.reading.frames import array_labels
from spcastat.reading.read import refuse_covariance
from spcastat.selection import principal_variables

try:
    from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
    from sklearn.feature_selection import SelectorMixin
    from sklearn.utils.validation import check_is_fitted, validate_data
except ImportError as error:
    raise ImportError(
        "spcastat.sklearn needs scikit-learn 1.6 or newer, which could not be imported; install it with "
        "pip install 'spcastat[sklearn]'. spcastat.spca() does not need it."
    ) from error

if TYPE_CHECKING:
    from spcastat.results.fit import SpcaResult
    from spcastat.results.principal_variables import PrincipalVariablesResult

__all__ = ["PrincipalVariables", "SparsePCA"]


class SparsePCA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator, Explained):
    """Sparse principal components for pipelines and grid searches.

    Parameters
    ----------
    n_components : int
        Number of components.
    card : int or sequence of ints, optional
        Number of nonzero loadings: one number for all components, or one for each.
    variance : float in (0, 1], optional
        Share of dense PCA's explained variance to keep; an alternative to `card`. If neither is given, 0.9
        is used.
    method : str, optional
        A name that :func:`spcastat.methods` lists; "joint" by default.
    objective : {"adjusted", "pev", "least_squares"}, optional
        The measure that is maximised, for methods with this option.
    effort : {"quick", "auto", "thorough"}, optional
        How long "joint" searches; "auto" by default.
    constraint : {"uncorrelated", "orthogonal"}, optional
        For "joint" with `card`: exactly uncorrelated scores, or exactly orthogonal loadings.
    include, exclude : list of names, or mapping, optional
        For "joint": features that every component must contain, or must not contain; a mapping gives them by
        component (``{"PC1": ["age"]}``). Features of an array are called "x1", "x2", ...
    disjoint : bool
        For "joint": whether every feature is in at most one component.
    together : dict, optional
        For "joint": groups of features that enter a component together, by name; see :func:`spcastat.spca`.
    scale : bool, {"blocks", "raw blocks"}, or array-like of shape (n_features,), optional
        Whether to divide features by their standard deviations. By default features are not scaled, with a
        warning if their variances differ by a factor of more than 10,000; ``scale=False`` gives no warning.
        See :func:`spcastat.spca`.
    center : bool or array-like of shape (n_features,)
        Whether to subtract the means of the features; an array gives other centres.
    blocks : dict, optional
        The features of each block, by name, for ``scale="blocks"``; see :func:`spcastat.spca`.
    nonneg : bool
        Whether loadings must be nonnegative, for methods with this option.
    n_init : int, optional
        Number of starts; by default, the default of the method.
    random_state : None, int or RandomState
        Seed of random starts. None uses a fixed seed, so repeated fits give identical results.
    tol : float, optional
        Convergence tolerance of published methods that iterate.
    max_iter : int, optional
        Largest number of iterations of these methods.
    na : {"raise", "em", "pairwise"}
        How to treat missing values (NaN) in `fit` and `transform`: raise an error; use the covariances and
        scores expected given the measured values; or compute each covariance from the rows in which both
        variables are measured, and return NaN for a score if a variable of its component is missing. See
        :func:`spcastat.spca`.
    k_em : int, optional
        Rank of the EM model; `n_components` by default.
    weights_are : {"frequency", "sampling"}
        Whether `sample_weight` in `fit` is the number of equal rows, or the weights of a survey. See
        :func:`spcastat.spca`.
    block_length : int or "auto", optional
        Length of blocks of dependent rows in the order of time, for the resampling methods of `result_`. See
        :func:`spcastat.spca`.
    robust : {False, True, "cells", "rows"}
        Whether outlying cells are downweighted, also in `transform`, and outlying rows have weight zero in
        `fit`; see :func:`spcastat.rows`.
    options : dict, optional
        Further options of the method, such as ``{"order": "best"}``; see :func:`spcastat.methods`.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        Loadings, of unit length; zeros are exact.
    mean_, scale_ : ndarray of shape (n_features,)
        The value subtracted from each feature, and the value by which it is then divided.
    explained_variance_ : ndarray of shape (n_components,)
        Adjusted variance: the variance of each score that earlier scores do not explain, with divisor n - 1.
    explained_variance_ratio_ : ndarray of shape (n_components,)
        Adjusted variance as a share of the total variance.
    n_components_ : int
    n_iter_ : int
        Number of iterations; 1 for a method that does not iterate.
    result_ : SpcaResult
        The fit itself, with its tables and plots. In a pickled or copied estimator it has no data, like a fit
        that was loaded from a file.
    n_features_in_, feature_names_in_
        As in all scikit-learn estimators.

    Notes
    -----
    `transform` is the plain projection of the centred and scaled rows, as in ``SpcaResult.transform``: the
    score of a component with four nonzeros depends on four features. As scikit-learn demands, the estimator
    gets all features, without missing values unless `na` allows them; ``result_.transform`` needs only the
    features with nonzero loadings. (In `transform`, the ``SparsePCA`` of scikit-learn solves a ridge
    regression.)

    Examples
    --------
    >>> import spcastat as sp
    >>> from spcastat.sklearn import SparsePCA
    >>> model = SparsePCA(n_components=2, card=4).fit(sp.datasets.make_hastie())
    >>> (model.components_ != 0).sum(axis=1).tolist()
    [4, 4]
    """

    components_: np.ndarray
    mean_: np.ndarray
    scale_: np.ndarray
    explained_variance_: np.ndarray
    explained_variance_ratio_: np.ndarray
    n_components_: int
    n_iter_: int
    n_features_in_: int
    feature_names_in_: np.ndarray
    result_: SpcaResult

    @explained
    def __init__(
        self,
        n_components: int = 2,
        *,
        card: Card | None = None,
        variance: float | None = None,
        method: MethodName | None = None,
        objective: Objective | None = None,
        effort: Effort | None = None,
        constraint: Literal["uncorrelated", "orthogonal"] | None = None,
        include: Rule | None = None,
        exclude: Rule | None = None,
        disjoint: bool = False,
        together: Mapping[str, Labels] | None = None,
        scale: Scale | None = None,
        center: bool | Vector = True,
        blocks: Mapping[str, Labels] | None = None,
        nonneg: bool = False,
        n_init: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        tol: float | None = None,
        max_iter: int | None = None,
        na: Literal["raise", "em", "pairwise"] = "raise",
        k_em: int | None = None,
        weights_are: WeightsAre = "frequency",
        block_length: int | Literal["auto"] | None = None,
        robust: Robust = False,
        options: EstimatorOptions | None = None,
    ) -> None:
        self.n_components = n_components
        self.card = card
        self.variance = variance
        self.method = method
        self.objective = objective
        self.effort = effort
        self.constraint = constraint
        self.include = include
        self.exclude = exclude
        self.disjoint = disjoint
        self.together = together
        self.scale = scale
        self.center = center
        self.blocks = blocks
        self.nonneg = nonneg
        self.n_init = n_init
        self.random_state = random_state
        self.tol = tol
        self.max_iter = max_iter
        self.na = na
        self.k_em = k_em
        self.weights_are = weights_are
        self.block_length = block_length
        self.robust = robust
        self.options = options

    def fit(
        self,
        X: Table,
        y: object = None,
        sample_weight: Vector | None = None,
        groups: ByRow | None = None,
        strata: ByRow | None = None,
        imputations: Sequence[Table] | None = None,
    ) -> Self:
        """Fit the components.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            With `imputations`, the table before imputation or one of the imputed tables, which defines the
            features.
        y : ignored
        sample_weight : array-like of shape (n_samples,), optional
            Nonnegative weights, as for `weights` of :func:`spcastat.spca`: by default a row of weight 2
            counts as two rows. The name of a column of `X` is not accepted.
        groups, strata : array-like of shape (n_samples,), optional
            Labels of the samples that belong together (`clusters` of :func:`spcastat.spca`), and of the
            strata of the sample, for the resampling methods of `result_`. The name of a column of `X` is not
            accepted.
        imputations : list of array-like of shape (n_samples, n_features), optional
            Multiple imputations of `X`, to which the components are fitted; see `imputations` of
            :func:`spcastat.spca`.

        Returns
        -------
        SparsePCA
            The fitted estimator.
        """
        if isinstance(self.na, str) and self.na == "drop":
            raise OptionError(
                "na='drop' was given to SparsePCA, and a transformer returns one row for each row of X: "
                "leave incomplete rows out first, X[~np.isnan(X).any(axis=1)], or give na='em'."
            )
        one_of("na", self.na, ("raise", *GAPS))
        # the EM model needs a rank of at least 1, which must be below the number of features
        minima = {"ensure_min_samples": 2, "ensure_min_features": 2 if self.na == "em" else 1}
        rows = self._validated(X, self.na in GAPS or imputations is not None, **minima)
        k = whole_number("n_components", self.n_components, 1, error=ComponentsError)
        if k > rows.shape[1]:
            raise ComponentsError(
                f"n_components={k} was given; it must be at most the number of features, "
                f"n_features={rows.shape[1]}."
            )
        given = self.get_params(deep=False)
        for name in ("n_components", "options", "random_state"):
            del given[name]
        if sample_weight is not None:
            given["weights"] = vector(sample_weight, rows.shape[0], "sample_weight", "rows")
        for name, option, labels in (("groups", "clusters", groups), ("strata", "strata", strata)):
            if isinstance(labels, str):
                raise RowGroupsError(
                    f"{name}={shown(labels)} was given to fit(); give one label for each row, not a name."
                )
            if labels is not None:  # the index of a Series is ignored, as in scikit-learn
                given[option] = labels.to_numpy() if isinstance(labels, pd.Series | pd.Index) else labels
        table = self._rows(X, rows) if imputations is None else None
        if imputations is not None:
            given["imputations"] = [self._imputation(part) for part in _parts(imputations)]
        self.result_ = spca(table, k=k, rng=self._seed(), **given, **self._further())
        standard = self.result_._state.standard
        assert standard is not None
        self.components_ = self.result_._state.V.T.copy()
        self.mean_ = np.array(standard.mean, dtype=float)
        self.scale_ = np.array(standard.scale, dtype=float)
        self.explained_variance_ = self.result_.variance["adjusted variance"].to_numpy().copy()
        self.explained_variance_ratio_ = self.result_.variance["share of total"].to_numpy().copy()
        self.n_components_ = k
        self.n_iter_ = max(self.result_._state.record.n_iter, 1)
        return self

    def transform(self, X: Table) -> np.ndarray:
        """Return the scores of rows, shape (n_samples, n_components): the projection on the loadings.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        """
        rows = self._checked(X)
        return self.result_.transform(rows, na=self.na).to_numpy()

    def inverse_transform(self, X: Matrix) -> np.ndarray:
        """Return the rows with given scores in the span of the loadings, shape (n_samples, n_features).

        Parameters
        ----------
        X : array-like of shape (n_samples, n_components)
            Scores.
        """
        check_is_fitted(self)
        if isinstance(X, pd.DataFrame):
            X = frame_values(X, "scores")
        return self.result_.inverse_transform(X).to_numpy()

    def score(self, X: Table, y: object = None, sample_weight: Vector | None = None) -> float:
        """Return the PEV of rows: the share of their squared distances from the mean that is reproduced.

        With ``na="em"`` missing values are replaced by their conditional means; with "pairwise" incomplete
        rows are left out. For complete rows of the fit the score is ``result_.measure("pev")``. Grid searches
        use it by default; it tends to increase with the number of nonzeros, even for new rows.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        y : ignored
        sample_weight : array-like of shape (n_samples,), optional
            Nonnegative weights, as in `fit`: a row of weight 2 counts as two rows.
        """
        rows = self._checked(X)
        weights, index = np.ones(rows.shape[0]), pd.RangeIndex(rows.shape[0])
        if sample_weight is not None:
            given = vector(sample_weight, rows.shape[0], "sample_weight", "rows")
            weights = read_weights(given, index, labelled=False)
        scores = self.result_.transform(rows, na=self.na).to_numpy()
        distances = self.result_.diagnostics(rows, na=self.na)["Q"].to_numpy()
        known = np.isfinite(distances)  # with na="pairwise", rows with missing values have no distances
        scores, weights, lost = scores[known], weights[known], float(distances[known] @ weights[known])
        V = self.components_.T
        kept = float(weights @ np.sum(scores @ np.linalg.pinv(V.T @ V) * scores, axis=1))
        return kept / (kept + lost) if kept + lost > 0 else float("nan")

    _n_features_out = property(attrgetter("n_components_"))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.na not in GAPS
        tags.input_tags.allow_nan = self.na in GAPS
        return tags

    def __getstate__(self) -> Any:
        """Leave out the data and the call; the scores are kept."""
        state = super().__getstate__()
        if "result_" in state:
            state = {**state, "result_": state["result_"]._without_data()}
        return state

    def _checked(self, X: Any) -> Any:
        check_is_fitted(self)
        return self._named(self._validated(X, self.na in GAPS, reset=False))

    def _validated(self, X: Any, gaps: bool, **how: Any) -> Any:
        """Return checked rows; with `gaps`, values may be missing."""
        how["accept_sparse"] = False if gaps else ("csr", "csc")
        remedy = (
            "SparsePCA accepts with na='em' (expected values given the measured ones) or na='pairwise'; or "
            "leave these rows out"
        )
        return _validated(self, X, gaps, remedy, **how)

    def _rows(self, X: Any, rows: Any) -> Any:
        """Return checked rows as data for spca(); a square table keeps the row labels of its frame.

        Raises
        ------
        DataError
            If a square frame looks like a matrix of correlations or distances.
        """
        table = self._named(rows)
        if isinstance(X, np.ndarray) or is_sparse(X) or rows.shape[0] != rows.shape[1]:
            return table
        refuse_covariance(X, advice="SparsePCA accepts rows; spca_cov(S, ...) accepts the matrix")
        if not isinstance(X, pd.DataFrame):
            return table
        names = table.columns if isinstance(table, pd.DataFrame) else array_labels(rows.shape[1])
        if is_sparse(rows):
            sparse: Any = pd.DataFrame.sparse
            return sparse.from_spmatrix(rows, index=X.index, columns=names)
        return pd.DataFrame(np.asarray(table), index=X.index, columns=names)

    def _imputation(self, part: Any) -> pd.DataFrame:
        """Return a checked imputation as a frame."""
        table = self._named(self._validated(part, False, reset=False))
        names = None if isinstance(table, pd.DataFrame) else array_labels(table.shape[1])
        return pd.DataFrame(table, columns=names)

    def _named(self, X: Any) -> Any:
        """Return the matrix `X`, as a frame if the features have names."""
        names = getattr(self, "feature_names_in_", None)
        if names is None:
            # as an array in memory, since an array in a file would be read in chunks
            return X if is_sparse(X) else np.asarray(memoryview(X))
        labels = pd.Index(names, dtype=object)  # keeps the type of the names
        if is_sparse(X):
            sparse: Any = pd.DataFrame.sparse
            return sparse.from_spmatrix(X, columns=labels)
        return pd.DataFrame(X, columns=labels, copy=False)

    def _further(self) -> dict[str, Any]:
        options = {} if self.options is None else self.options
        if not isinstance(options, Mapping) or not all(isinstance(name, str) for name in options):
            raise OptionError(
                f"options={shown(options)} was given; it must be a dictionary of options by their names."
            )
        twice = [name for name in options if name in self.get_params() or name == "rng"]
        if twice:
            raise OptionError(
                f"options names {listed(twice)}, which "
                f"{'is a parameter' if len(twice) == 1 else 'are parameters'} "
                "of the estimator (rng is random_state there): give it by name."
            )
        return dict(options)

    def _seed(self) -> Any:
        return _seed(self.random_state)


def _seed(random_state: Any) -> Any:
    """Return a seed for spcastat: None, a whole number, or one drawn from a RandomState."""
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(np.iinfo(np.int32).max))
    if random_state is None or is_whole(random_state):
        return random_state
    raise OptionError(
        f"random_state={shown(random_state)} was given; it must be None, a whole number or a "
        "numpy.random.RandomState."
    )


def _validated(estimator: Any, X: Any, gaps: bool, remedy: str, **how: Any) -> Any:
    """Validate rows with scikit-learn and return them; with `gaps`, values may be missing.

    An error of scikit-learn is raised as ColumnTypeError or DataError, with the same message on one line; the
    error of missing values names a `remedy`.
    """
    if isinstance(X, np.ma.MaskedArray):  # scikit-learn would use the masked values
        X = np.ma.filled(X.astype(float), np.nan)
    try:
        X = validate_data(estimator, X, dtype=np.float64, ensure_all_finite="allow-nan", **how)
    except Exception as error:
        reason = one_line(" ".join(str(error).split()), 1000) or type(error).__name__
        raise (ColumnTypeError if isinstance(error, TypeError) else DataError)(reason) from error
    if not gaps and np.isnan(X.data if is_sparse(X) else X).any():
        raise MissingValuesError(f"X contains NaN, missing values, which {remedy}.")
    return X


def _parts(imputations: Any) -> Sequence[Any]:
    """Return the imputations.

    Raises
    ------
    DataError
        If `imputations` is not a list of tables.
    """
    if isinstance(imputations, list | tuple):
        return imputations
    raise DataError(
        f"imputations of type {type(imputations).__name__} was given to fit(); give a list of "
        "tables, one for each imputation."
    )


class PrincipalVariables(SelectorMixin, BaseEstimator, Explained):
    """Selection of the features that reproduce all features best, for pipelines and grid searches.

    Parameters
    ----------
    m : int, optional
        Number of features to keep.
    k : int, optional
        Number of scores by which all features are reproduced; by default each feature is predicted by
        regression on the features kept.
    share : float in (0, 1], optional
        Instead of `m`: the share of the variance of held-out rows explained by `k` principal components that
        the features kept must explain.
    budget : float, optional
        Instead of `m`: the largest total cost of the features kept.
    cost : dict, optional
        Costs of features by name; other features cost 1. Features of an array are called x1, x2, ...
    include, exclude : list of names, optional
        Features that are always kept, and features that are never kept.
    together : dict of str to list of names, optional
        Groups of features that are kept or left out as a whole.
    scale : bool or array-like, optional
        Whether to divide features by their standard deviations. See :func:`spcastat.spca`.
    effort : {"quick", "auto", "thorough"}, optional
        Number of starts of the search.
    random_state : None, int or RandomState
        Seed of random starts and folds. None uses a fixed seed.

    Attributes
    ----------
    support_ : ndarray of bool, shape (n_features,)
        Which features are kept; also ``get_support()``.
    share_ : float
        The share of the variance of all features that the features kept reproduce.
    result_ : spcastat.PrincipalVariablesResult
        The choice itself, with its tables and plots, without held-out shares and frequencies.
    n_features_in_, feature_names_in_
        As in all scikit-learn estimators.

    See Also
    --------
    spcastat.principal_variables : The function, which documents the criteria.

    Examples
    --------
    >>> import spcastat as sp
    >>> from spcastat.sklearn import PrincipalVariables
    >>> model = PrincipalVariables(m=2, scale=True).fit(sp.datasets.load_wine())
    >>> int(model.get_support().sum())
    2
    """

    support_: np.ndarray
    share_: float
    result_: PrincipalVariablesResult
    n_features_in_: int
    feature_names_in_: np.ndarray

    @explained
    def __init__(
        self,
        m: int | None = 1,
        *,
        k: int | None = None,
        share: float | None = None,
        budget: float | None = None,
        cost: Mapping[Any, float] | None = None,
        include: Labels | None = None,
        exclude: Labels | None = None,
        together: Mapping[str, Labels] | None = None,
        scale: Scale | None = None,
        effort: Effort | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.m = m
        self.k = k
        self.share = share
        self.budget = budget
        self.cost = cost
        self.include = include
        self.exclude = exclude
        self.together = together
        self.scale = scale
        self.effort = effort
        self.random_state = random_state

    def fit(
        self,
        X: Table,
        y: object = None,
        sample_weight: Vector | None = None,
        imputations: Sequence[Table] | None = None,
    ) -> Self:
        """Choose the features.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            With `imputations`, the table before imputation or one of the imputed tables, which defines the
            features.
        y : ignored
        sample_weight : array-like of shape (n_samples,), optional
            Nonnegative weights, as for `weights` of :func:`spcastat.principal_variables`.
        imputations : list of array-like of shape (n_samples, n_features), optional
            Multiple imputations of `X`, from which features are chosen; see `imputations` of
            :func:`spcastat.rows`.
        """
        table = self._table(X, imputations is not None, ensure_min_samples=2)
        options = self.get_params(deep=False)
        options["rng"] = _seed(options.pop("random_state"))
        if sample_weight is not None:
            options["weights"] = vector(sample_weight, table.shape[0], "sample_weight", "rows")
        if self.share is None:
            options["folds"] = 0
        data: Any = table
        if imputations is not None:
            parts = [pd.DataFrame(self._table(part, False, reset=False)) for part in _parts(imputations)]
            of_rows = {name: options.pop(name) for name in ("scale", "weights") if name in options}
            data = rows(imputations=parts, **of_rows)
        self.result_ = principal_variables(data, n_resamples=0, **options)
        self.support_ = self.result_._state.spec.columns.isin(self.result_.kept)
        self.share_ = self.result_.share
        return self

    def _table(self, X: Any, gaps: bool, **how: Any) -> Any:
        """Return checked rows, as a frame unless they are sparse without names."""
        remedy = (
            "PrincipalVariables does not accept: impute them first, or give multiple imputations of X, "
            "fit(X, imputations=frames)"
        )
        values = _validated(self, X, gaps, remedy, accept_sparse=("csr", "csc"), **how)
        names = getattr(self, "feature_names_in_", None)
        if is_sparse(values) and names is None:
            return values
        index = X.index if isinstance(X, pd.DataFrame) else pd.RangeIndex(values.shape[0])
        columns = array_labels(values.shape[1]) if names is None else pd.Index(names, dtype=object)
        if is_sparse(values):
            sparse: Any = pd.DataFrame.sparse
            return sparse.from_spmatrix(values, index=index, columns=columns)
        return pd.DataFrame(values, index=index, columns=columns)

    def inverse_transform(self, X: Table) -> np.ndarray:
        """Return all features, reproduced from the features kept, shape (n_samples, n_features).

        Parameters
        ----------
        X : array-like of shape (n_samples, number of features kept)
            What `transform` returned.
        """
        check_is_fitted(self)
        state, places = self.result_._state, np.flatnonzero(self.support_)
        values = frame_values(X, "X") if isinstance(X, pd.DataFrame) else np.asarray(X, dtype=float)
        if values.ndim != 2 or values.shape[1] != len(places):
            raise DataError(
                f"X has shape {values.shape}; inverse_transform() takes the {len(places)} features kept, as "
                "transform() returns them."
            )
        standard = state.need_centre("inverse_transform()")
        scores = (values - standard.mean[places]) / standard.scale[places] @ state.V[places]
        return np.asarray(standard.restore(scores @ state.moments.coupling.T))

    def _get_support_mask(self) -> np.ndarray:
        check_is_fitted(self)
        return self.support_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def __getstate__(self) -> Any:
        """Leave out the data and the call."""
        state = super().__getstate__()
        if "result_" in state:
            state = {**state, "result_": state["result_"]._without_data()}
        return state
