"""Loadings, printed by themselves."""

from __future__ import annotations

from spcastat.state import FitState, frames


def print_loadings(
    state: FitState,
    digits: int = 3,
    cutoff: float = 0.0,
    sort: bool = False,
    contributions: bool = False,
    max_rows: int = 40,
) -> None:
    """Print the loadings; a blank is exactly zero.

    Parameters
    ----------
    state : FitState
    digits : int
        Decimals. A nonzero that rounds to zero prints as ``<.001``.
    cutoff : float
        Loadings below it in absolute value are hidden behind a mark, and counted.
    sort : bool
        Group the variables by the component on which they load most.
    contributions : bool
        Squared loadings in percent instead.
    max_rows : int
        The most variables to show.
    """
    from spcastat.tables import Document, loadings_table, render

    table = loadings_table(
        frames.loadings(state),
        digits=digits,
        cutoff=cutoff,
        sort=sort,
        contributions=contributions,
        max_rows=max_rows,
    )
    print(render(Document(title="", facts=(), tables=(table,), notes=()), "text"))
