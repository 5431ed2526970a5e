"""The result of a choice of principal variables."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pandas as pd

from spcastat import plots
from spcastat.arguments import real_number, seed_of, text, whole_number
from spcastat.fit import principal_variables as principal
from spcastat.fit import rows, saved_fits
from spcastat.fit.call import Call
from spcastat.fit.principal_variables import KeepRequest, set_of
from spcastat.fit.record import deep_copy
from spcastat.fit.state import FitState, Picklable
from spcastat.inputs.data import Data
from spcastat.progress import listening
from spcastat.results.component_fit import FITS_INSTEAD
from spcastat.search.principal_variables import Selection
from spcastat.show import principal_variables as show
from spcastat.show.methods_text import Description
from spcastat.show.renderings import Screen, Shown, Summary
from spcastat.show.report import write_chapters

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from spcastat import hints

#: Sets whose share is smaller by at most this fraction of the share are alternatives.
ALTERNATIVE_SHARE = 0.01


class PrincipalVariablesResult(Picklable, Shown):
    """Variables that were kept because they reproduce all variables best.

    Returned by :func:`spcastat.principal_variables` and :func:`spcastat.principal_variables_cov`. Shares are
    relative to the variance of all (scaled) variables.

    Parameters
    ----------
    state : FitState
        The state of the choice, in which V contains the weights of the scores.
    source : Data or None
        The data; None for a choice from a file.
    call : Call or None
    request : KeepRequest or None
        The checked arguments; None for a choice from a file.
    """

    _instead = FITS_INSTEAD

    def __init__(
        self,
        state: FitState,
        source: Data | None = None,
        call: Call | None = None,
        request: KeepRequest | None = None,
    ) -> None:
        super().__init__(state, source, call)
        self._base_request = request

    # --- numbers --------------------------------------------------------------------------------

    @property
    def kept(self) -> pd.Index:
        """The names of the variables kept, the most needed first, including all members of groups."""
        return self._state.spec.columns[principal.variables_of(self._state)].copy()

    @property
    def k(self) -> int:
        """The number of scores: `k`, by default the number of variables kept."""
        return int(self._state.V.shape[1])

    @property
    def share(self) -> float:
        """The share of the variance of all variables that the variables kept reproduce."""
        return set_of(self._state).share

    @property
    def pca_share(self) -> float:
        """The share explained by as many principal components as there are scores."""
        return set_of(self._state).pca_share

    @property
    def bound(self) -> float:
        """An upper bound on the share of any set of the same size (or within the budget); see `certify`."""
        return set_of(self._state).bound

    @property
    def proven(self) -> bool:
        """Whether it is proven that no other set reproduces more variance than this set."""
        return set_of(self._state).is_proven

    @property
    def variables(self) -> pd.DataFrame:
        """One row for each variable kept (or group, by its name), the most needed first.

        "without" is the share without the variable, "instead" the best substitute if the variable cannot be
        measured, and "with_instead" the share with the substitute. "cost" is included with a budget.
        "frequency" is the share of resamples of the rows in which the variable was chosen.
        """
        return principal.kept_table(self._state)

    @property
    def represented(self) -> pd.DataFrame:
        """One row for each other variable, in decreasing order of R2.

        "R2" is the share of the variance of the variable that the scores reproduce, "most_by" the kept
        variable with which it correlates most, and "r" this correlation. "frequency" is the share of
        resamples in which the variable was chosen.
        """
        return principal.represented_table(self._state)

    @property
    def path(self) -> pd.DataFrame:
        """One row for each number of variables compared.

        The columns are "variables", "share", "of_pca" (the share relative to PCA) and the coefficients "RM"
        and "GCD". With folds there are also the shares in held-out rows: "held_out", its standard error
        "held_out_se", and "held_out_pca".
        """
        return principal.path_table(self._state)

    @property
    def criteria(self) -> pd.Series:
        """The coefficients RM, RV and GCD for all variables (Cadima and Jolliffe 2001), as in R's subselect.

        GCD compares the kept variables with the same number of principal components, and also with k
        components if k is smaller.
        """
        return pd.Series(set_of(self._state).criteria, name="criteria")

    @property
    def weights(self) -> pd.DataFrame:
        """Weights of the (scaled) variables kept in the k scores, which are uncorrelated with variance 1."""
        variables = principal.variables_of(self._state)
        return self._state.by_variable(self._state.V).iloc[variables]

    @property
    def coefficients(self) -> pd.DataFrame:
        """Covariances of scores and (scaled) variables, k x p, which predict variables from scores."""
        return principal.coefficients_table(self._state)

    @property
    def call(self) -> str:
        """The call that reproduces this choice, with `data` for the data."""
        return self._state.record.call

    @property
    def options(self) -> dict[str, Any]:
        """The numbers of variables and scores, the budget, and the effort of the search."""
        record = self._state.record.options
        return deep_copy({name: record[name] for name in ("m", "k", "share", "budget", "effort")})

    # --- rows -----------------------------------------------------------------------------------

    def transform(self, new: Any, *, na: hints.Missing | None = None) -> Any:
        """Return the k scores of new rows, which need only the variables kept.

        Parameters
        ----------
        new : DataFrame, array, sparse matrix, polars or pyarrow table, or a source of chunks
            Rows with the variables kept, which are found by name, or an array of all columns.
        na : {"raise", "drop", "em", "pairwise"}, optional
            How to treat rows with missing values, as in ``SpcaResult.transform``.

        Returns
        -------
        DataFrame of shape (n, k), or a table of the same kind as `new`

        Raises
        ------
        NewDataError
            If columns are missing.
        NoRowsError
            For a choice from a covariance matrix given without `mean`.
        """
        return rows.transform(self._state, new, na)

    def reconstruct(self, new: Any, *, na: hints.Missing | None = None) -> pd.DataFrame:
        """Predict all p variables of new rows, in their units, from the kept variables.

        Parameters
        ----------
        new, na
            As for `transform`.

        Returns
        -------
        DataFrame of shape (n, p)
        """
        standard = self._state.need_centre("reconstruct()")
        scores = rows.scores_of_new(self._state, new, na)
        fitted = standard.restore(scores.to_numpy() @ self._state.moments.coupling.T)
        return pd.DataFrame(fitted, scores.index, deep_copy(self._state.spec.columns))

    # --- alternatives, stability, bounds ----------------------------------------------------------

    def alternatives(self, n: hints.Whole = 5) -> pd.DataFrame:
        """Return sets that differ from this set in one variable and reach 99 % of its share, best first.

        Parameters
        ----------
        n : int
            Largest number of sets.

        Returns
        -------
        DataFrame
            "leave" and "take", the variables (or groups) exchanged, and the "share" of the set.
        """
        n = whole_number("n", n, 1)
        problem, groups = self._problem("alternatives()"), set_of(self._state).chosen.tolist()
        return principal.alternatives(self._state, problem, groups, n, ALTERNATIVE_SHARE)

    def stability(
        self, n_resamples: hints.Whole = 200, *, rng: hints.Rng = None, progress: hints.Progress = None
    ) -> PrincipalVariablesResult:
        """Return the same choice with the frequencies of variables in more resamples of the rows.

        Parameters
        ----------
        n_resamples : int
        rng : None, int or numpy Generator
            Seed of the resamples. None uses a fixed seed.
        progress : None, bool or callable

        Returns
        -------
        PrincipalVariablesResult
            The choice with new columns "frequency" in `variables` and `represented`.

        Raises
        ------
        NoRowsError
            For a covariance matrix without `n_obs`, and a choice from a file.
        """
        from spcastat.assess.principal_variables import with_frequencies

        draws = whole_number("n_resamples", n_resamples, 1, 100_000)
        data, seed = self._need_data("stability()"), seed_of(rng)
        with listening(progress):
            state = with_frequencies(self._state, data, self._request, draws, seed, "stability()")
        return self._with_state(state)

    def certify(
        self, time_limit: float = 10.0, *, progress: hints.Progress = None
    ) -> PrincipalVariablesResult:
        """Return the same choice with a tighter bound on other sets, or a better set if one is found.

        Parameters
        ----------
        time_limit : float
            Seconds of processor time.
        progress : None, bool or callable

        Returns
        -------
        PrincipalVariablesResult
            The same choice with new values of `bound` and `proven`, or a better set if one was found.

        Raises
        ------
        OptionError
            If variables have different costs or form groups; the only bounds are then the shares of PCA and
            of all candidates.
        """
        from spcastat.proofs.principal_variables import certified

        limit = real_number("time_limit", time_limit, 0.0, 1e6)
        problem = self._problem("certify()")
        about = set_of(self._state)
        with listening(progress):
            result = certified(problem, about.chosen.tolist(), limit)
        if set(result.groups) == set(about.chosen.tolist()):
            bound = min(about.bound, result.bound / problem.total)
            return self._with(replace(about, bound=max(bound, about.share), nodes=about.nodes + result.nodes))
        assert self._source is not None
        groups_and_bound = (list(result.groups), result.bound, result.nodes)
        state = principal.with_groups(self._state, self._source, self._request, problem, groups_and_bound)
        return PrincipalVariablesResult(state, self._source, self._call, self._base_request)

    # --- tables and files -----------------------------------------------------------------------

    def summary(self, digits: int = show.DECIMALS, max_rows: int = show.MOST_ROWS) -> Summary:
        """Return the header and tables, as text, HTML, LaTeX, Markdown or for Word.

        Parameters
        ----------
        digits : int
            Decimals of the shares in percent, 0 to 10.
        max_rows : int
            The largest number of rows of each table. The printed output has fewer, because it is limited to
            25 lines.
        """
        return show.summarise(self._state, digits, max_rows)

    def describe(self) -> Description:
        """Return a paragraph that describes this choice for a methods section, with its references."""
        return show.describe(self._state)

    def save(self, path: hints.Path) -> None:
        """Save the choice, without the data, to one file that :func:`spcastat.load` reads.

        Parameters
        ----------
        path : str or path
            An existing file is replaced once the new one is complete.

        Raises
        ------
        FileError
            If the file cannot be written.
        """
        saved_fits.save(self._state, self._source, path, False)

    def report(
        self, path: hints.Path, *, title: str | None = None, call: str | None = None, full_names: bool = True
    ) -> None:
        """Write a report with tables, plots, the call and the versions, as one HTML page or a Word file.

        Parameters
        ----------
        path : str or path
            A name with the extension .html or .htm for a page, or .docx for Word.
        title : str, optional
        call : str, optional
            The code that reproduces the choice, if it is not the recorded `call`.
        full_names : bool
            Whether the tables show long names in full; otherwise names are shortened, and a key lists them.

        Raises
        ------
        FileError
            If the file cannot be written, or its name has another extension.
        ExtraError
            If a Word file is requested and python-docx is not installed.
        """
        pictures = {
            "path": lambda ax: self.plot(ax=ax),
            "represented": lambda ax: self.plot_represented(ax=ax),
        }
        parts = show.chapters(self._state, self.call if call is None else text("call", call), pictures)
        heading = "Principal variables" if title is None else text("title", title)
        write_chapters(path, heading, self._state.record.versions, self._source, parts, full_names)

    # --- plots ----------------------------------------------------------------------------------

    def plot(self, *, ax: Axes | None = None) -> Axes:
        """Draw the share of the variance against the number of variables, in the data and held out.

        Parameters
        ----------
        ax : Axes, optional
            By default a new figure is created.

        Returns
        -------
        Axes
            A dashed line marks PCA, and a vertical line the number of variables kept.
        """
        return plots.plot_kept(self.path, m=len(set_of(self._state).chosen), ax=ax)

    def plot_represented(self, *, max_rows: int | None = 40, ax: Axes | None = None) -> Axes:
        """Draw R2 of the variables not kept, grouped under the kept variable that represents them best.

        Parameters
        ----------
        max_rows : int, optional
            The largest number of variables to draw: those with the largest R2.
        ax : Axes, optional
            By default a new figure is created.

        Returns
        -------
        Axes
        """
        return plots.plot_represented(self.represented, kept=list(self.kept), max_rows=max_rows, ax=ax)

    # --- helpers --------------------------------------------------------------------------------

    def _screen(self) -> Screen:
        return show.print_of(self._state, self.notes)

    def _tables(self, notebook: bool) -> Summary:
        return self.summary()

    def _need_data(self, analysis: str) -> Data:
        if self._source is None:
            raise self._state.no_data(analysis)
        return self._source

    @property
    def _request(self) -> KeepRequest:
        assert self._base_request is not None
        about = set_of(self._state)
        return replace(self._base_request, m=None if about.budget is not None else len(about.chosen))

    def _problem(self, analysis: str) -> Selection:
        data = self._need_data(analysis)
        return self._request.problem(principal.matrix_of(data.op))

    def _without_data(self) -> PrincipalVariablesResult:
        """Return the choice as if it had been saved and loaded."""
        moments = self._state.moments.without_data()
        return PrincipalVariablesResult(replace(self._state, moments=moments))

    def _with(self, about: Any) -> PrincipalVariablesResult:
        return self._with_state(replace(self._state, principal=about))
