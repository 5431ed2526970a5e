"""The list of methods, and a page for each method with the options that its solver's docstrings describe."""

from __future__ import annotations

import dataclasses
import inspect
import re
from collections.abc import Iterable

import pandas as pd

from spcastat.arguments import explained, one_of
from spcastat.errors import MethodError
from spcastat.fit.method_table import CONTROLS, SOLVERS, Method
from spcastat.hints import MethodName
from spcastat.linalg.deflation import DEFLATIONS, ROW_DEFLATIONS
from spcastat.show.grid import Document, Row, Table
from spcastat.show.renderings import Summary

__all__ = ["methods"]


@explained
def methods(name: MethodName | None = None) -> Summary:
    """List the methods, or describe one of them.

    Parameters
    ----------
    name : str, optional
        The name of a method; without it, all methods are listed.

    Returns
    -------
    Summary
        Without `name`, the list of methods. The frame ``frames["methods"]`` has one row per method: ``name``,
        the value of ``method=``; ``title``; ``paper``; ``takes``, "data" or "data or covariance";
        ``controlled by``, the arguments that set its sparsity; ``options``, its further arguments; and
        ``function``, the functions that accept it. The last row is sparse principal coordinates, which have a
        separate function (``spcastat.spco``).
        With `name`, a page with the criterion of the method, when to use it, its source, an example, and
        every option with its default and meaning (as a frame in ``frames["options"]``).

    Raises
    ------
    MethodError
        If no method has that name.

    Examples
    --------
    >>> import spcastat as sp
    >>> frame = sp.methods().frames["methods"].set_index("name")
    >>> frame.loc["pmd", "paper"]
    'Witten et al. (2009)'
    >>> sp.methods("pmd").frames["options"].loc["orth", "default"]
    'False'
    """
    if name is None:
        return _list()
    if isinstance(name, str) and name == "spco":
        raise MethodError(
            "name='spco' was given; sparse principal coordinates are fitted by a separate function, see "
            "help(spcastat.spco)."
        )
    return _page(SOLVERS[one_of("name", name, SOLVERS, MethodError)])


def _page(method: Method) -> Summary:
    options = options_of(method)
    facts = (
        ("Method", goal_of(method)),
        ("Use", method.use),
        ("Paper", method.paper),
        ("Takes", "data or a covariance matrix" if method.solver.needs == "gram" else "data (rows) only"),
        ("Objective", method.solver.criterion),
        ("Example", _example(method)),
    )
    rows = tuple(Row(option.name, (option.default, option.kind)) for option in options)
    meanings: dict[str, list[str]] = {}
    for option in options:
        meanings.setdefault(option.meaning, []).append(option.name)
    notes = tuple(f"{', '.join(names)}: {meaning}" for meaning, names in meanings.items())
    table = Table("Option", ("default", "values"), rows)
    tables = (table,) if rows else ()
    document = Document(f"{method.name}: {method.title}", facts, tables, notes)
    columns = {name: [getattr(option, name) for option in options] for name in ("default", "kind", "meaning")}
    frame = pd.DataFrame(columns, index=pd.Index([option.name for option in options], name="option"))
    return Summary(document, {"options": frame})


def _example(method: Method) -> str:
    values = {"card": "5", "variance": "0.9", "penalty": "0.1", "t": "1.5", "threshold": "0.3"}
    control = next((f", {name}={values[name]}" for name in method.controls), "")
    return f'spcastat.spca(data, k=3{control}, method="{method.name}")'


def _list() -> Summary:
    """Return the list of methods, with the source and the control of sparsity of each method."""
    frame, facts = _table(), []
    for row in frame.to_dict("records"):
        rows = "; needs the rows" if row["takes"] == "data" else ""
        source = f"{row['title']}; {row['paper'].rstrip('.')}."
        facts.append((row["name"], f"{source} Sparsity set by {row['controlled by']}{rows}."))
    notes = ('Options of a method, and when to use it: sp.methods("zou"). As a frame: .frames["methods"].',)
    return Summary(Document("Methods", tuple(facts), (), notes), {"methods": frame})


def _table() -> pd.DataFrame:
    """Return a frame with one row for each method."""
    rows = []
    for method in SOLVERS.values():
        takes = (
            ("data or covariance", "spca, spca_cov") if method.solver.needs == "gram" else ("data", "spca")
        )
        controls = ", ".join(method.controls) or "nothing"
        options = ", ".join(name for name in method.options if name not in CONTROLS)
        rows.append((method.name, method.title, method.paper, takes[0], controls, options, takes[1]))
    title, paper = "Sparse principal coordinates", SOLVERS["spca-os"].paper
    rows.append(("spco", title, paper, "data", "penalty, zeros", "ridge, tol, max_iter", "spco"))
    columns = ["name", "title", "paper", "takes", "controlled by", "options", "function"]
    return pd.DataFrame(rows, columns=columns)


#: Options that are not fields of a solver: name -> (type, meaning).
FURTHER_OPTIONS = {
    "start": (
        '{"pca", "column", "ones"}, or array of shape (p, k)',
        "Starting values: the loadings of PCA, the variable with the largest remaining variance, equal "
        "loadings, or given loadings. The default is the choice of the method's authors.",
    ),
    "n_init": (
        "int",
        "Number of starts; the best fit is returned. The starts are `start`, the other named starts, "
        "rotations, columns and random directions.",
    ),
    "objective": (
        '{"pev", "adjusted", "least_squares"}',
        "The measure by which the best of several starts is chosen.",
    ),
}
#: Meanings of options that the docstrings of solvers do not explain.
_COMMON = {
    "card": "Number of nonzero loadings of each component.",
    "max_iter": "Largest number of iterations of a run.",
    "deflation": "How a component is removed before the next is computed. A name in DEFLATIONS.",
}
#: Tables of names that docstrings refer to.
_NAME_TABLES: dict[str, Iterable[str]] = {
    "ROW_DEFLATIONS": ROW_DEFLATIONS,
    "DEFLATIONS": DEFLATIONS,
}
#: Type of a solver's field, after checks -> type of the option as users give it.
_OPTION_TYPES = {
    "tuple of int": "int, or k ints",
    "tuple of float": "number, or k numbers",
    "float": "number",
    "str": "name",
}


@dataclasses.dataclass(frozen=True)
class Option:
    """An option of a method: its name, the values it takes, its default as text, and its meaning."""

    name: str
    kind: str
    default: str
    meaning: str


def options_of(method: Method) -> list[Option]:
    """Return the options of a method in the order of its fields."""
    descriptions = _descriptions(method.solver)
    options = []
    for name in method.options:
        kind, meaning = descriptions.get(name) or FURTHER_OPTIONS.get(name) or ("", "")
        text = _with_names(meaning or _COMMON[name])
        kind = kind.removesuffix(" or None")
        options.append(Option(name, _OPTION_TYPES.get(kind, kind), _default(method, name), text))
    return options


def _default(method: Method, name: str) -> str:
    """Return the default of an option as text; empty if a value must be given."""
    if name == "start":
        return repr(method.solver.first_start)
    if name == "n_init":
        return _starts(method)
    defaults = {field.name: field.default for field in dataclasses.fields(method.solver)}  # type: ignore[arg-type]
    default = defaults.get(name, "pev")  # objective, which is no field of a solver
    return "" if default is dataclasses.MISSING else repr(default)


def _starts(method: Method) -> str:
    """Return the number of starts, one for each control of sparsity if they differ."""
    starts = {name: method.build({name: ()}).n_init for name in method.controls}
    if len(set(starts.values())) < 2:
        return str(next(iter(starts.values()), 1))
    return ", ".join(f"{count} with {name}" for name, count in starts.items())


def _with_names(meaning: str) -> str:
    """Replace "A name in TABLE" by the names in that table."""
    for table, names in _NAME_TABLES.items():
        meaning = re.sub(
            rf"\bA name in {table}", "One of " + ", ".join(repr(choice) for choice in names), meaning
        )
    return meaning


def goal_of(method: Method) -> str:
    """Return what the method computes: the first paragraph of its solver's docstring."""
    text = inspect.cleandoc(method.solver.__doc__ or "")
    return " ".join(text.partition("\n\n")[0].split())


def _descriptions(solver: type) -> dict[str, tuple[str, str]]:
    """Return the type and meaning of each attribute in the docstrings of a class and its bases."""
    descriptions: dict[str, tuple[str, str]] = {}
    for base in solver.__mro__:
        text = inspect.cleandoc(base.__dict__.get("__doc__") or "")
        _, _, section = text.partition("Attributes\n----------\n")
        for entry in re.split(r"\n(?=\S)", section):
            head, _, body = entry.partition("\n")
            names, _, kind = head.partition(" : ")
            meaning = " ".join(body.split())
            if meaning.startswith("As in `"):
                continue
            for name in names.split(", "):
                if meaning or name not in descriptions:
                    descriptions.setdefault(name.strip(), (kind, meaning))
    return descriptions
