"""The base class of fits of components: labels, scores, the record, new rows, files, inference."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self, TypedDict, cast, overload

import numpy as np
import pandas as pd

from spcastat.arguments import shown
from spcastat.errors import OptionError
from spcastat.fit import frames, rows, saved_fits
from spcastat.fit.call import Call
from spcastat.fit.record import deep_copy
from spcastat.fit.state import FitState, Picklable
from spcastat.results import interpretation
from spcastat.results.proofs import Certificate
from spcastat.results.resampling import Bootstrap, LoadingTest, SplitInference, Stability
from spcastat.show.renderings import Shown

if TYPE_CHECKING:
    from spcastat import hints
    from spcastat.streams.base import ScoreChunks


class ComponentFit(Picklable, Shown):
    """Base class of fits: their state, data and call; data and call are None for a fit from a file."""

    _call: Call | None

    @property
    def k(self) -> int:
        """The number of components."""
        return int(self._state.V.shape[1])

    @property
    def components(self) -> pd.Index:
        """The labels PC1, ..., PCk, or the names that `rename` gave them."""
        return self._state.components

    @property
    def scores(self) -> pd.DataFrame:
        """Scores, n x k, in the order and with the labels of the fitted rows.

        With ``na="em"`` missing values are replaced by conditional means, so scores of sparse loadings have
        variances below one; with ``na="pairwise"`` a score is missing if one of its variables is missing. For
        rows in chunks they are :class:`~spcastat.streams.base.ScoreChunks`, which yield a frame for each
        chunk, and for dask collections a dask collection.

        Raises
        ------
        NoRowsError
            For a fit of a covariance matrix, or from a file saved without scores.
        """
        return deep_copy(self._scores)

    @cached_property
    def _scores(self) -> Any:
        """Scores of the rows of the fit, n x k, or chunk by chunk."""
        return rows.scores(self._state, self._source)

    @property
    def correlations(self) -> pd.DataFrame:
        """Correlations of the variables with the scores, p x k; NaN if either is constant."""
        return frames.correlations(self._state)

    @property
    def total_variance(self) -> float:
        """The sum of the variances of all variables, in squared units of the (scaled) data."""
        return float(self._state.moments.total)

    @property
    def call(self) -> str:
        """The call that reproduces this fit, with `data` for the data."""
        return self._state.record.call

    @property
    def options(self) -> dict[str, Any]:
        """The options of the method, including defaults; for sparse loadings, the requested sparsity."""
        return deep_copy(self._state.record.options)

    @property
    def status(self) -> hints.Status:
        """How the fit ended.

        "converged", "exact" (no iteration needed), "searched", "compared" (with all supports) or "max_iter".
        """
        return cast("hints.Status", self._state.record.status)

    @property
    def converged(self) -> bool:
        """Whether the fit converged before it reached the largest number of steps."""
        return self._state.record.converged

    def rename(self, names: Mapping[str, str] | Mapping[int, str] | list[str] | tuple[str, ...]) -> Self:
        """Return the same fit with new names of its components, which are used in all output.

        Parameters
        ----------
        names : mapping or sequence of str
            Mapping from old names or numbers (from 1) to new names, or a sequence of names for all
            components.

        Raises
        ------
        ComponentsError
            If a component does not exist, or the number of names is wrong.
        OptionError
            If a name is not text, or is empty.
        DuplicateNamesError
            If two components would have the same name.

        See Also
        --------
        components : The names.

        Examples
        --------
        >>> import spcastat as sp
        >>> fit = sp.spca_cov(sp.datasets.load_pitprops(), 2, 5).rename({"PC1": "size"})
        >>> list(fit.components)
        ['size', 'PC2']
        """
        return type(self)(interpretation.renamed(self._state, names), self._source, self._call)

    @overload
    def transform(  # type: ignore[overload-overlap]
        self, new: hints.Matrix, *, na: hints.Missing | None = None
    ) -> pd.DataFrame: ...
    @overload
    def transform(  # type: ignore[overload-overlap]
        self, new: hints.OwnT, *, na: hints.Missing | None = None
    ) -> hints.OwnT: ...
    @overload
    def transform(self, new: hints.Chunks, *, na: hints.Missing | None = None) -> ScoreChunks: ...
    def transform(self, new: Any, *, na: hints.Missing | None = None) -> Any:
        """Return the scores of new rows, using the formula, centre and scale of the fit.

        Outlying cells are downweighted first if the fit is robust; ``fit.robust.cells_of(new)`` lists them.

        Parameters
        ----------
        new : DataFrame, array, sparse matrix, polars or pyarrow table, or a source of chunks
            Components need only the variables with nonzero weights (of :func:`~spcastat.spca`, nonzero
            loadings): columns whose weights are zero in all components may have missing values, and a frame
            may lack them. Other columns of a frame are ignored. For a fit with a formula, the covariates and
            the columns in terms with nonzero weights are needed. Sources of chunks are the same as for
            :func:`spcastat.spca`.
        na : {"raise", "drop", "em", "pairwise"}, optional
            How to treat rows with missing values in columns that are needed. "raise" raises an error, and
            "drop" leaves the rows out. "em", for a fit with ``na="em"``, returns the expected scores given
            the measured values of all columns. "pairwise" returns missing scores for components with a
            missing value among their variables. The default is "em" or "pairwise" if the fit used it, and
            "raise" otherwise and for rows in chunks.

        Returns
        -------
        DataFrame of shape (m, k), or table
            A polars or Arrow table if one was given. It has no row labels; if rows were dropped, or labels of
            a data frame were stored with the table, these are in a first column ("row"). For chunks, the
            scores are returned chunk by chunk, and for dask collections as a dask collection.

        Raises
        ------
        NewDataError
            If needed columns are missing, or a factor has a level that did not occur in the fit.
        NoRowsError
            For a fit of a covariance matrix given without `mean`.
        OptionError
            For ``na="em"`` if the fit has no model of missing values.

        See Also
        --------
        scores : Scores of the rows of the fit.

        Examples
        --------
        >>> import spcastat as sp
        >>> fit = sp.spca(sp.datasets.load_judges(), 2, card=3, scale=True)
        >>> fit.transform(sp.datasets.load_judges().head(3)).shape
        (3, 2)
        """
        return rows.transform(self._state, new, na)

    def save(self, path: hints.Path, *, scores: bool | None = None) -> None:
        """Save the fit to one file, which :func:`spcastat.load` reads. The file contains no pickles and no
        code.

        Parameters
        ----------
        path : str or path
            An existing file is replaced once the new one is complete.
        scores : bool, optional
            Whether to store the scores and the labels of the rows. By default they are stored if they are in
            memory (``transform_to`` of :class:`spcastat.SpcaResult` writes others). The data themselves are
            never stored.

        Raises
        ------
        FileError
            If the file cannot be written, or the fit cannot be stored, for example because of a user's
            function in a formula.
        OptionError
            For ``scores=True`` if the scores are not in memory, and if `path` is the file that the rows of
            the fit are read from.

        See Also
        --------
        spcastat.load : Read the file.

        Notes
        -----
        The file is an npz file with the member ``manifest.json``. Labels of rows and columns that JSON
        cannot store, such as periods, intervals and times with a time zone, are converted to text, with a
        DataWarning; columns of new data for `transform` must then have the same text as names.

        Examples
        --------
        >>> import spcastat as sp
        >>> fit = sp.spca(sp.datasets.load_judges(), 2, card=3, scale=True)
        >>> fit.save("judges.spca")  # doctest: +SKIP
        >>> sp.load("judges.spca")  # doctest: +SKIP
        """
        saved_fits.save(self._state, self._source, path, scores)


# --- inference that a fit shows -------------------------------------------------------------------


#: What to do instead of setting an attribute of a fit.
FITS_INSTEAD = "refit(), rename() and with_inference() return new fits"
#: Former attributes of fits, and their replacements.
FORMER = {"resampled": "the results that a fit shows are in inference: fit.with_inference(result).inference"}


class FitInference(TypedDict, total=False):
    """The results that a fit shows, by the method that computed them; proofs are in `certificates`."""

    bootstrap: Bootstrap
    stability: Stability
    split_inference: SplitInference
    test_loadings: LoadingTest
    certificates: tuple[Certificate, ...]


#: Classes of the results that a fit shows, with the method that returns them.
RESULTS: dict[type, str] = {
    Bootstrap: "bootstrap()",
    Stability: "stability()",
    SplitInference: "split_inference()",
    LoadingTest: "test_loadings()",
    Certificate: "certify()",
}


def with_results(state: FitState, results: Iterable[Any], kinds: Mapping[type, str]) -> FitState:
    """Return a state that shows additional results; of several results of a kind it shows the last.

    Parameters
    ----------
    state : FitState
    results : iterable
    kinds : dict
        The allowed classes, with the methods that return them.

    Raises
    ------
    OptionError
        If a result is of another class, or belongs to another fit.
    """
    for result in results:
        if not isinstance(result, tuple(kinds)):
            raise OptionError(
                f"with_inference() was given {_value_text(result)}; it accepts results of "
                f"{_some_of(kinds)} of this fit."
            )
        state = _including(state, result, "with_inference()")
    return state


def showing(state: FitState, option: str, value: Any, kinds: Mapping[type, str]) -> tuple[FitState, bool]:
    """Return the state that an output shows, and whether the option `option` was given.

    Parameters
    ----------
    state : FitState
    option : str
        Name of an option that accepts True, False, or a result to show in this output only.
    value : object
    kinds : dict
        The classes that the option accepts, with the methods that return them.

    Raises
    ------
    OptionError
        If the value is something else, or the result of another fit.
    """
    if isinstance(value, tuple(kinds)):
        return _including(state, value, f"{option}="), True
    if not isinstance(value, (bool, np.bool_)):
        raise OptionError(
            f"{option}={_value_text(value)} was given; it must be True, False, or a result of "
            f"{_some_of(kinds)} of this fit."
        )
    return state, bool(value)


def _including(state: FitState, result: Any, place: str) -> FitState:
    """Return a state that also shows a result of its fit; `place` is the argument that contained it."""
    if not state.is_fit_of(result._state):
        raise OptionError(
            f"{place} was given the {type(result).__name__} of another fit, with other loadings, variables "
            "or variances; call the method of this fit, and give its result."
        )
    return replace(state, inference=state.inference.including(result._kind, result._numbers))


def _value_text(value: Any) -> str:
    """Return the text of a value for a message; for results, which print as tables, only the class."""
    return f"a {type(value).__name__}" if isinstance(value, Shown) else shown(value)


def _some_of(kinds: Mapping[type, str]) -> str:
    """Return the methods of `kinds` as "bootstrap() or stability()"."""
    *first_methods, last_method = kinds.values()
    return f"{', '.join(first_methods)} or {last_method}" if first_methods else last_method


def inference_of(state: FitState) -> FitInference:
    """Return the results that a fit shows."""
    numbers, results = state.inference, FitInference()
    if numbers.bootstrap is not None:
        results["bootstrap"] = Bootstrap(state, numbers.bootstrap)
    if numbers.stability is not None:
        results["stability"] = Stability(state, numbers.stability)
    if numbers.split is not None:
        results["split_inference"] = SplitInference(state, numbers.split)
    if numbers.tests is not None:
        results["test_loadings"] = LoadingTest(state, numbers.tests)
    if numbers.proofs:
        results["certificates"] = tuple(Certificate(state, proof) for proof in numbers.proofs)
    return results


def sheets_of(results: FitInference) -> dict[str, pd.DataFrame]:
    """Return the tables of results for a workbook, by sheet name (method and table)."""
    sheets = {}
    for name, result in results.items():
        parts: Any = result if isinstance(result, tuple) else (result,)
        for number, part in enumerate(parts, 1):
            heading = f"proof {number}" if isinstance(part, Certificate) else name.replace("_", " ")
            for key, frame in part.frames.items():
                sheets[heading if key == "proof" else f"{heading}, {key.replace('_', ' ')}"] = frame
    return sheets
