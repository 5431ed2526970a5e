"""The result of a fit: labelled loadings, scores and variances, and what can be done with them."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from os import PathLike
from typing import Any

import pandas as pd

from spcastat.config import real_number, whole_number
from spcastat.engine import Fit, Plan
from spcastat.errors import NoRowsError
from spcastat.progress import listening
from spcastat.results.described import Described
from spcastat.results.moments import Moments
from spcastat.results.record import make_record
from spcastat.results.source import Source


class SpcaResult(Described):
    """A fitted sparse PCA.

    Results are made by :func:`spcastat.spca`, :func:`spcastat.spca_cov` and :func:`spcastat.load`, not by
    hand. Everything is labelled with the user's own names; components are PC1, ..., PCk. Variances have the
    divisor n - 1 (the sum of the weights less one).

    What a result gives can be changed without changing the result. Results can be pickled and copied: pickles
    carry data in memory, so that `refit` works where they are opened, and leave rows in chunks behind.
    `save` writes a file without data that later versions read, too.
    """

    @classmethod
    def of(
        cls, source: Source, plan: Plan, fit: Fit, again: Callable[..., SpcaResult], call: str = ""
    ) -> SpcaResult:
        """Return the result of `fit`.

        Parameters
        ----------
        source : Source
            The data.
        plan : Plan
            The method with its options.
        fit : Fit
        again : callable
            Repeats the call with changes.
        call : str
            The call as text.
        """
        V = fit.solution.V
        return cls(
            V,
            make_record(source, plan, fit, call),
            Moments(V, source.op, fit.pca),
            source.spec,
            source.standard,
            source=source,
            again=again,
        )

    def refit(self, **changes: Any) -> SpcaResult:
        """Fit again with some arguments changed; a new `card`, `variance` or `t` replaces the old control.

        Parameters
        ----------
        **changes
            Arguments of the call that made this fit, such as ``card=5`` or ``scale=True``.

        Raises
        ------
        NoRowsError
            For a fit from a file, which has no data.
        """
        if self._again is None:
            raise NoRowsError(
                f"refit() needs the data, and a fit from a file does not have them; fit again: {self.call}."
            )
        return self._again(**changes)

    def certify(
        self, *, time_limit: float = 60.0, max_nodes: int | None = None, progress: Any = False
    ) -> pd.DataFrame:
        """Prove how far each component can be from the best with as many nonzeros.

        Each component is compared with the best for what the components before it leave (Schur complement, in
        the order shown), whatever method found it. A bound may be loose, never wrong. For nonnegative
        loadings it is the bound without that constraint.

        Parameters
        ----------
        time_limit : float
            Seconds for all components together; Ctrl-C also ends the search with the bounds so far.
        max_nodes : int, optional
            Nodes of the branch and bound of each component, at most.
        progress : bool or callable
            As for :func:`spcastat.spca`.

        Returns
        -------
        DataFrame
            One row a component: ``cardinality``, ``value`` and proven ``upper_bound`` in variance units,
            ``gap`` in percent of the value, ``optimal`` (True only where it is proven, to 1e-9 relative),
            ``proof`` (what proved the bound), ``nodes``, ``seconds``, ``best_known`` and its ``support``,
            the best that was met on the way.

        Raises
        ------
        NoRowsError
            For a fit from a file, which has no data.
        """
        if self._source is None:
            raise NoRowsError(
                f"certify() needs the data, and a fit from a file does not have them; fit again: {self.call}."
            )
        limit = real_number("time_limit", time_limit, 0.0, float("inf"), open_low=True)
        nodes = None if max_nodes is None else whole_number("max_nodes", max_nodes, 1)
        from spcastat.certify import certify  # only who proves imports the proofs

        with listening(progress):
            found = certify(self._source.op, self._V, time_limit=limit, max_nodes=nodes)
        table = pd.DataFrame([dataclasses.asdict(one) for one in found], index=self.components)
        table[["value", "upper_bound", "best_known"]] *= self._source.op.unit**2
        table["support"] = [list(self._spec.columns[one.support]) for one in found]
        return table

    def save(self, path: str | PathLike[str], *, scores: bool | None = None) -> None:
        """Write the fit to one file, which :func:`spcastat.load` reads: no pickle, nothing that runs.

        Parameters
        ----------
        path : str or path
            What was there before is replaced once all is written.
        scores : bool, optional
            Keep the scores, and with them the labels of the rows. By default they are kept where they are in
            memory (`transform_to` writes others). The data themselves are never kept.

        Raises
        ------
        FileError
            Where the file cannot be written, or something has no form in it: a function of the user's in
            a formula, or labels of unusual types.
        OptionError
            For ``scores=True`` where the scores are not in memory, and for the file that the rows of the fit
            are read from.
        """
        from spcastat.results.files import save

        save(self, self._target(path), scores)

    def report(self, path: str | PathLike[str], *, title: str | None = None, call: str | None = None) -> None:
        """Write one HTML page with the tables, the plots, the call and the versions.

        It needs nothing beside itself, reads on a phone and prints.

        Parameters
        ----------
        path : str or path
        title : str, optional
        call : str, optional
            What remakes the fit, instead of `call`.

        Raises
        ------
        FileError
            Where the file cannot be written.
        OptionError
            For the file that the rows of the fit are read from.
        """
        from spcastat.results.report import write_report

        write_report(self, self._target(path), title, call)
