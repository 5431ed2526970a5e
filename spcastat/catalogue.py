"""The list of methods, and a page for each."""

from __future__ import annotations

from typing import Any

import pandas as pd

from spcastat.config import one_of
from spcastat.errors import MethodError
from spcastat.registry import CONTROLS, SOLVERS, Method
from spcastat.registry.method_pages import Option, goal_of, options_of
from spcastat.report.summary import Summary
from spcastat.tables import Document, Row, Table

__all__ = ["methods"]


def methods(name: str | None = None) -> Any:
    """List the methods, or describe one of them.

    Parameters
    ----------
    name : str, optional
        A name in the list.

    Returns
    -------
    DataFrame
        Without `name`, one row per method: ``name``, the value of ``method=``; ``title``; ``paper``;
        ``takes``, "data" or "data or covariance"; ``controlled by``, the arguments that set its sparsity;
        ``options``, its further arguments; and ``function``, the function that has it. The last row is sparse
        principal coordinates, which have a separate function (``spcastat.spco``).
    Summary
        With `name`, a page with the criterion of the method, when to use it, its source, an example, and
        every option with its default and meaning (as a frame in ``frames["options"]``).

    Raises
    ------
    MethodError
        If no method has that name.

    Examples
    --------
    >>> import spcastat as sp
    >>> sp.methods("pmd").frames["options"].loc["orth", "default"]
    'False'
    """
    if name is None:
        return _table()
    if isinstance(name, str) and name == "spco":
        raise MethodError("name='spco' is a function of its own; see help(spcastat.spco).")
    return _page(SOLVERS[one_of("name", name, SOLVERS, MethodError)])


def _page(method: Method) -> Summary:
    options = options_of(method)
    facts = (
        ("Optimises", goal_of(method)),
        ("Use", method.use),
        ("Paper", method.paper),
        ("Takes", "data or a covariance matrix" if method.solver.needs == "gram" else "data (rows) only"),
        ("Objective", method.solver.criterion),
        ("Example", _example(method)),
    )
    rows = tuple(Row(one.name, (one.default, one.kind)) for one in options)
    notes = tuple(f"{one.name}: {one.meaning}" for one in options)
    table = Table("Option", ("default", "values"), rows)
    tables = (table,) if rows else ()
    document = Document(f"{method.name}: {method.title}", facts, tables, notes)
    return Summary(document, {"options": _frame(options)})


def _example(method: Method) -> str:
    values = {"card": "5", "variance": "0.9", "penalty": "0.1", "t": "1.5", "threshold": "0.3"}
    control = next((f", {name}={values[name]}" for name in method.controls), "")
    return f'spcastat.spca(data, k=3{control}, method="{method.name}")'


def _frame(options: list[Option]) -> pd.DataFrame:
    columns = {name: [getattr(one, name) for one in options] for name in ("default", "kind", "meaning")}
    return pd.DataFrame(columns, index=pd.Index([one.name for one in options], name="option"))


def _table() -> pd.DataFrame:
    rows = [
        {
            "name": method.name,
            "title": method.title,
            "paper": method.paper,
            "takes": "data or covariance" if method.solver.needs == "gram" else "data",
            "controlled by": ", ".join(method.controls) or "nothing",
            "options": ", ".join(name for name in method.options if name not in CONTROLS),
            "function": "spca, spca_cov" if method.solver.needs == "gram" else "spca",
        }
        for method in SOLVERS.values()
    ]
    rows.append(
        {
            "name": "spco",
            "title": "Sparse principal coordinates",
            "paper": SOLVERS["spca-os"].paper,
            "takes": "data",
            "controlled by": "penalty, zeros",
            "options": "ridge, tol, max_iter",
            "function": "spco",
        }
    )
    return pd.DataFrame(rows)
