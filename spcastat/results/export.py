"""Methods of a fit that write reports (HTML or Word) and workbooks."""

from __future__ import annotations

from collections.abc import Callable
from os import PathLike
from typing import TYPE_CHECKING, Any

from spcastat.report.methods_text import describe
from spcastat.report.report_file import write_report
from spcastat.report.workbook import fit_sheets, write_workbook
from spcastat.results.delegation import delegated, documented
from spcastat.results.other_names import answered
from spcastat.state import FitState
from spcastat.storage.atomic import file_path

if TYPE_CHECKING:
    from spcastat.engine.inputs import Source
    from spcastat.report.chapters import Chapter
    from spcastat.report.summary import Summary


class Written:
    """Mixin with summary, report and workbook."""

    _state: FitState
    _source: Source | None
    _by_row: Callable[[Any, str], Any]

    @documented(write_report, "state", "source", "before")
    def report(
        self,
        path: str | PathLike[str],
        *,
        title: str | None = None,
        call: str | None = None,
        full_names: bool = True,
        sort: bool | None = None,
        max_rows: int | None = None,
        groups: Any = None,
        digits: int = 3,
        cut: float = 0.0,
        row_groups: Any = None,
    ) -> None:
        options = {"sort": sort, "max_rows": max_rows, "groups": groups, "digits": digits, "cut": cut}
        options["row_groups"] = self._by_row(row_groups, "row_groups")
        self._report(path, title, call, full_names, **options)

    def _report(
        self,
        path: str | PathLike[str],
        title: str | None,
        call: str | None,
        full_names: bool,
        before: tuple[Chapter, ...] = (),
        **options: Any,
    ) -> None:
        write_report(self._state, self._source, path, title, call, full_names, before, **options)

    @answered
    def to_excel(self, path: str | PathLike[str]) -> None:
        """Write a workbook with a sheet for each table of the fit, numbers in full.

        The sheets are loadings, variances, correlations, shares, means and scales, scores and distances of
        rows in memory, and results of resampling; the first sheet describes the fit. It needs the extra ``pip
        install 'spcastat[excel]'``.

        Parameters
        ----------
        path : str or path
            Ending in .xlsx.

        Raises
        ------
        ExtraError
            If openpyxl is not installed.
        FileError
            If the file cannot be written, or does not end in .xlsx.
        OptionError
            If there are more rows or variables than a sheet can hold, or the rows of the fit are read from
            this file.
        """
        if self._source is not None:
            self._source.spare(file_path(path))
        write_workbook(path, fit_sheets(self._state, self._source), self._about())

    describe = delegated(describe)
    cite = describe

    def _about(self) -> list[tuple[str, str]]:
        document = self.summary(max_rows=1).document
        record = self._state.record
        versions = ", ".join(f"{name} {version}" for name, version in record.versions.items())
        more = [("Call", record.call), ("Versions", versions)]
        return [("Fit", document.title), *document.facts, *more, *(("Note", note) for note in document.notes)]

    def summary(self, digits: int = 3, max_rows: int | None = None) -> Summary:
        """Return the tables with their header."""
        raise NotImplementedError
