"""A fit from a file."""

from __future__ import annotations

from os import PathLike

from spcastat.results.result import SpcaResult
from spcastat.storage.fits import read_state


def load(path: str | PathLike[str]) -> SpcaResult:
    """Read a fit from a file that ``fit.save(path)`` wrote.

    Nothing in a file is run: it holds numbers and text, and a formula only of known functions.

    Parameters
    ----------
    path : str or path

    Returns
    -------
    SpcaResult
        With the same loadings, variances, measures, printed summary and plots; `transform` and `diagnostics`
        take data as before. What needs the rows of the fit, such as `refit` and `residuals`, raises
        NoRowsError, and so do `scores` and `biplot` if it was saved without scores.

    Raises
    ------
    FileError
        Where the file does not exist, does not hold a fit, is damaged, truncated or of a newer layout, or
        contradicts itself.
    OptionError
        For anything but a path.
    """
    return SpcaResult(read_state(path))
