"""The columns of a formula: expressions are evaluated, factors coded, and terms multiplied by formulaic.

A test checks that terms transform each row by itself, so that new rows can be transformed alone.

formulaic evaluates expressions as Python code, with the states of their transforms. With a
:class:`spcastat.reading.formulas.Closed` context, it evaluates only expressions whose syntax tree is in the
safe language of that module.

The transforms are formulaic's. With weights, a row of weight 2 counts as two rows in the means and standard
deviations of ``center``, ``scale`` and ``standardize``; other transforms that learn are refused.
"""

from __future__ import annotations

import ast
import copy
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd

from spcastat.arguments import listed, plural, shown
from spcastat.errors import FormulaError, MissingValuesError, SpcaError
from spcastat.reading import formulas
from spcastat.reading.design import Spec
from spcastat.reading.expressions import Expression, abridged, owner_of, read_expression, shortened
from spcastat.reading.formulas import ANSI_CODES, FormulaModel, Inputs, Parsed, Part
from spcastat.reading.frames import require_unique

#: Transforms that learn from weighted rows.
WEIGHTED = ("center", "scale", "standardize")


class UnknownLevels(Exception):
    """Raised for values that are not levels of a factor."""


@dataclass(frozen=True, eq=False)
class Given:
    """The data and names for the evaluation of expressions.

    Attributes
    ----------
    data : DataFrame of n rows
    context : mapping
        Further names; if it is a :class:`Closed`, only expressions in the safe language are evaluated.
    states : dict
        Text of a call -> the state of its transform. The state of a new call is learned and added.
    weights : ndarray of shape (n,) or None
        Weights of the rows; None for equal weights.
    otherwise : mapping
        Text of a call -> the state of its transform for all rows, if the data are a subset. A transform uses
        this state if its own gives numbers that are not finite or do not vary.
    """

    data: pd.DataFrame
    context: Mapping[str, Any]
    states: dict[str, Any]
    weights: np.ndarray | None = None
    otherwise: Mapping[str, Any] = field(default_factory=dict)


def value_of(expression: Expression, given: Given) -> Any:
    """Return the value of an expression: an array of n numbers, or an object that formulaic converts.

    Raises
    ------
    FormulaError
        If the context is closed and the expression is not in the safe language, if a degree is too large, or
        if a transform learns from the rows in a way that is not defined for weights.
    Exception
        Any error that is raised by the functions in the expression.
    """
    from formulaic.utils.stateful_transforms import stateful_eval

    _require_allowed(expression, given)
    plain = _PlainTree(expression, given)
    names = {**_used_names(expression, given), **plain.functions, **plain.texts}
    pairs = zip(_calls(plain.tree), _calls(expression.tree), strict=True)
    texts = {ast.unparse(call).replace("\n", " "): expression.show(call_text) for call, call_text in pairs}
    states = {key: dict(given.states[text]) for key, text in texts.items() if given.states.get(text)}
    known_states = set(states)
    value = stateful_eval(ast.unparse(plain.tree), names, None, states, None)
    for key, state in states.items():
        text = texts[key]
        name = text.partition("(")[0]
        weighted = name in WEIGHTED and name not in given.context
        if given.weights is not None and state and key not in known_states and not weighted:
            raise FormulaError(
                f"{shortened(text, 120)} uses the rows without their weights: use center(), scale() "
                "or standardize(), make that column in the data frame first, or leave out the weights."
            )
        given.states[text] = state
    return value


class _PlainTree(ast.NodeTransformer):
    """A syntax tree for formulaic in which every name has one meaning.

    New names replace text, since formulaic turns calls into code without escaping quotes, and functions that
    have the name of a column: in ``log(log)`` the first name is a function.

    Attributes
    ----------
    tree : ast.expr
    texts : dict of str to str
        Name -> text.
    functions : dict of str to object
        New name -> a function, or a module with functions, whose own name is also the name of a value.
    """

    def __init__(self, expression: Expression, given: Given):
        self.stem = "_text"
        while self.stem in expression.text:
            self.stem += "_"
        self.texts: dict[str, str] = {}
        self.functions: dict[str, Any] = {}
        self.expression, self.context = expression, given.context
        self.known_functions = _functions(given)
        self.alike = {*given.data.columns, *expression.values}
        self.tree = self.visit(copy.deepcopy(expression.tree))

    def visit_Call(self, node: ast.Call) -> ast.expr:
        """Rename a function with the name of a column."""
        name = self.expression.name(node.func) if isinstance(node.func, ast.Name) else ""
        if name in self.expression.calls and name in self.known_functions:
            node.func = self._word(name, node.func, self.known_functions[name])
        return self.generic_visit(node)  # type: ignore[return-value]

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        """Rename a module with the name of a column."""
        if isinstance(node.value, ast.Name):
            name = self.expression.name(node.value)
            owner = owner_of(name, node.attr, self.context)
            if (name, node.attr) in self.expression.owners and owner is not None:
                node.value = self._word(name, node.value, owner)
        return self.generic_visit(node)  # type: ignore[return-value]

    def _word(self, name: str, node: ast.expr, function: Any) -> ast.expr:
        """Return a new name for a function, or its `node` if no column or value has the same name."""
        if name not in self.alike:
            return node
        word = f"{self.stem}of_{len(self.functions)}_"
        self.functions[word] = function
        return ast.Name(word, ast.Load())

    def visit_Constant(self, node: ast.Constant) -> ast.expr:
        """Replace text by a name."""
        if not isinstance(node.value, str):
            return node
        word = f"{self.stem}{len(self.texts)}_"
        self.texts[word] = node.value
        return ast.Name(word, ast.Load())

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.expr:
        """Return formatted strings, which files cannot contain, without changes."""
        return node


def _calls(tree: ast.expr) -> list[ast.Call]:
    return [node for node in ast.walk(tree) if isinstance(node, ast.Call)]


def _require_allowed(expression: Expression, given: Given) -> None:
    """Raise FormulaError for an expression that a closed context does not allow, or for a misleading name."""
    if isinstance(given.context, formulas.Closed):
        values = {name for name, value in given.context.items() if not callable(value)}
        names = {*given.data.columns, *values}
        problem = formulas.problem_of(expression, names, strings=True, context=given.context)
        if problem is not None:
            raise FormulaError(f"{shortened(expression.text, 120)} contains {problem}; it is not run.")
    for name in expression.calls:
        if name in formulas.REASONS and name not in given.context:
            raise FormulaError(f"{shortened(expression.text, 120)} calls {name!r}{formulas.REASONS[name]}.")
    formulas.require_moderate(expression)


def _functions(given: Given) -> dict[str, Any]:
    """Return the functions that expressions may call."""
    import builtins

    from formulaic.transforms import TRANSFORMS

    weighted = {} if given.weights is None else _weighted(given.weights)
    functions = {**weighted, "C": factor, "Q": given.data.__getitem__}
    callables = {name: value for name, value in given.context.items() if callable(value)}
    return {**vars(builtins), **TRANSFORMS, **functions, **callables}


def _used_names(expression: Expression, given: Given) -> dict[str, Any]:
    """Return the values and functions that an expression uses, by their names in its tree."""
    functions = {**_functions(given), **given.context}
    words = {name: word for word, name in expression.quoted.items()}
    functions_used = {name: functions[name] for name in expression.calls if name in functions}
    for name in {*expression.values, *(name for name, _ in expression.owners)}:
        if name in given.data:
            functions_used[name] = given.data[name]
        elif name in functions:
            functions_used[name] = functions[name]
    return {words.get(name, name): value for name, value in functions_used.items()}


def factor(data: Any, *, levels: Any = None, spans_intercept: bool = True) -> Any:
    """Mark values as levels of a factor: formulaic's ``C``, with an error for unknown levels.

    Whole numbers are levels without a decimal point: year[2020], not year[2020.0].

    Raises
    ------
    UnknownLevels
        If a value is not among `levels`.
    """
    from formulaic.transforms import C

    kind = getattr(getattr(data, "dtype", None), "kind", "")
    if kind == "f" and np.isfinite(data).all() and (data == np.round(data)).all():
        data = data.astype(np.int64)
    if levels is not None:
        require_levels(data, levels)
    return C(data, levels=levels, spans_intercept=spans_intercept)


def require_levels(data: Any, levels: Any) -> None:
    """Raise UnknownLevels if `data` contain values that are not among `levels`."""
    unknown = set(pd.unique(pd.Series(getattr(data, "__wrapped__", data)))).difference(levels)
    if unknown:
        raise UnknownLevels(str(unknown))


# --- weights --------------------------------------------------------------------------------------


def _weighted(w: np.ndarray) -> dict[str, Any]:
    """Return ``center``, ``scale`` and ``standardize``, which learn from rows with weights `w`."""
    from formulaic.transforms import stateful_transform

    @stateful_transform
    def center(data: Any, _state: dict[str, Any]) -> np.ndarray:
        return _scaled(data, True, False, 1, _state, w)

    @stateful_transform
    def scale(
        data: Any, center: Any = True, scale: Any = True, ddof: float = 1, *, _state: dict[str, Any]
    ) -> np.ndarray:
        return _scaled(data, center, scale, ddof, _state, w)

    @stateful_transform
    def standardize(
        x: Any, center: Any = True, rescale: Any = True, ddof: float = 0, *, _state: dict[str, Any]
    ) -> np.ndarray:
        return _scaled(x, center, rescale, ddof, _state, w)

    return {"center": center, "scale": scale, "standardize": standardize}


def _scaled(
    data: Any, center: Any, divide: Any, ddof: float, state: dict[str, Any], w: np.ndarray
) -> np.ndarray:
    """Return data centred and scaled by the weighted mean and standard deviation (divisor sum(w) - ddof).

    `center` and `divide` are True, False, or numbers. Means and scales stored in `state` are used if present.
    """
    x = np.asarray(data, dtype=float)
    if not state:
        state |= {"ddof": ddof, "center": None, "scale": None}
        if center is not False:
            state["center"] = np.average(x, axis=0, weights=w) if center is True else np.array(center)
        if divide is not False:
            centred = x if state["center"] is None else x - state["center"]
            square = np.tensordot(w, centred**2, axes=(0, 0)) / (w.sum() - ddof)
            state["scale"] = np.sqrt(square) if divide is True else np.array(divide)
    x = x if state["center"] is None else x - state["center"]
    return x if state["scale"] is None else x / state["scale"]


#: Terms are tested on subsets of at most about this many rows.
TRIAL_ROWS = 1000


def learnt(
    parsed: Parsed,
    inputs: Inputs,
    columns: pd.Index,
    index: pd.Index,
    weights: np.ndarray | None = None,
    missing: Mapping[Any, np.ndarray] | None = None,
) -> tuple[np.ndarray, Spec]:
    """Evaluate the terms of a formula, with transforms and factors that learn from these rows.

    Parameters
    ----------
    parsed : Parsed
    inputs : Inputs
        n rows, without missing values unless `missing` is given.
    columns : pandas.Index
        The labels of all columns of the data.
    index : pandas.Index of length n
        Labels of the rows for messages.
    weights : ndarray of shape (n,), optional
    missing : mapping, optional
        The result of ``inputs.missing()``; each term is then defined in the rows where all its columns are
        observed.

    Returns
    -------
    matrix : ndarray of shape (n, p)
    spec : Spec
        How new data are converted to these columns.

    Raises
    ------
    FormulaError, DuplicateNamesError
        As :func:`evaluate`; also if there is no column, if two columns have the same name, or if a term
        depends on other rows.
    """
    model, masks = parsed.model, missing or {}
    if missing:
        matrix, names, model = evaluate_with_gaps(model, inputs, missing, index, weights=weights)
    else:
        data = inputs.plain()
        matrix, names, model = evaluate(model, data, index, weights=weights)
    if not names:
        raise FormulaError(f"formula={shown(model.text)} makes no column.")
    columns_by_name = {name: columns[position] for name, position in parsed.lookups.items()}
    labels = pd.Index([columns_by_name.get(name, name) for name in names], tupleize_cols=False)
    require_unique(labels)
    if not missing:  # with missing values, the terms have been tested one by one
        require_rowwise(model, matrix, names, data, index)
    levels: dict[Any, Any] = {}
    for name, position in inputs.used.items():
        frame = inputs.rows(~masks[name] if masks else None)
        text = inputs.kinds[name] == "levels"
        levels[columns[position]] = tuple(frame.plain([name])[name].unique()) if text else None
    kept_model = replace(model, context={})  # the spec stores the context
    return matrix, Spec("formula", labels, model.text, kept_model, model.context, levels)


def evaluate(
    model: FormulaModel,
    data: pd.DataFrame,
    index: pd.Index,
    error: type[SpcaError] = FormulaError,
    weights: np.ndarray | None = None,
    otherwise: Mapping[str, Any] | None = None,
) -> tuple[np.ndarray, list[str], FormulaModel]:
    """Evaluate the terms of a formula on complete data.

    The function is thread-safe: it changes neither warning filters nor random states.

    Parameters
    ----------
    model : FormulaModel
    data : DataFrame
        n rows, as :meth:`spcastat.reading.formulas.Inputs.plain` returns them.
    index : pandas.Index of length n
        Labels of the rows for messages.
    error : type
        The type of error if the evaluation fails.
    weights : ndarray of shape (n,), optional
        Weights for transforms without a state: a row of weight 2 counts as two rows.
    otherwise : mapping, optional
        The states of transforms for all rows, if the data are a subset; see :class:`Given`.

    Raises
    ------
    FormulaError or `error`
        If a function in the formula fails, levels are unknown, there would be too many columns, or results
        are not n finite real numbers.

    Returns
    -------
    matrix : ndarray of shape (n, p), float64
    names : list of str
    model : FormulaModel
        The terms with the states of their transforms.
    """
    text = model.text
    unweighted = weights is None or bool((weights == 1).all())
    states = dict(model.states)
    encodings = {name: (kind, dict(state)) for name, (kind, state) in model.encodings.items()}
    context = Given(data, model.context, states, None if unweighted else weights, otherwise or {})
    try:
        with np.errstate(all="ignore"):
            values = _values_of(model, context, encodings)
            _require_few_columns(model, values, data)
            columns_of_model = _combine(model, values, encodings, len(data))
    except UnknownLevels as unknown:
        raise error(
            f"formula={shortened(text)} contains unknown levels: {unknown}. Allowed are the levels that "
            "occur in the fit, or that the formula names."
        ) from None
    except FormulaError as refused:
        raise FormulaError(f"formula={shortened(text)} cannot be evaluated: {refused}") from None
    except Exception as failure:
        raise error(
            f"formula={shortened(text)} cannot be evaluated: "
            f"{abridged(ANSI_CODES.sub('', str(failure)), 1000)}"
        ) from failure
    names = list(columns_of_model.model_spec.column_names)
    array = np.asarray(columns_of_model.__wrapped__)
    if array.dtype.kind not in "biuf" or array.shape != (len(data), len(names)):
        raise FormulaError(
            f"formula={shortened(text)} makes values of dtype {array.dtype} and shape {array.shape}; each "
            f"term must make real numbers, one for each of the {plural(len(data), 'row')}."
        )
    matrix = np.array(array, dtype=np.float64, order="F")
    _require_finite_terms(matrix, names, index, text)
    learnt = {
        name: (kind, state)
        for name, (kind, state) in columns_of_model.model_spec.encoder_state.items()
        if kind.value == "categorical"
    }
    widths = tuple(len(term.columns) for term in columns_of_model.model_spec.structure)
    names = [re.sub(r"`column ([0-9.]+)`", r"`\1`", name) for name in names]  # see expressions.formula_name
    return matrix, names, replace(model, states=states, encodings=learnt, widths=widths)


def _values_of(model: FormulaModel, given: Given, encodings: Mapping[str, Any]) -> dict[str, Any]:
    """Return text of a factor -> its values, for all factors except numbers."""
    values: dict[str, Any] = {}
    for part in _parts_of(model.terms):
        try:
            values[part.text] = _value_of(part, given)
        except (UnknownLevels, FormulaError):
            raise
        except Exception as failure:
            reason = f"[{type(failure).__name__}: {failure}]"
            raise ValueError(f"{abridged(part.text, 120)} fails. {reason}") from failure
        levels = encodings[part.text][1].get("categories") if part.text in encodings else None
        if levels is not None:
            require_levels(values[part.text], levels)
    return values


def _parts_of(terms: Iterable[tuple[Part, ...]]) -> list[Part]:
    """Return the distinct parts of terms, except numbers."""
    return list(dict.fromkeys(part for term in terms for part in term if part.method != "literal"))


def _value_of(part: Part, given: Given) -> Any:
    if part.method == "python":
        return _value_in_part(read_expression(part.text), given)
    if part.text not in given.data:
        return given.context[part.text]
    return given.data[part.text]


def _value_in_part(expression: Expression, given: Given) -> Any:
    """Return the value of an expression, with states from all rows if the subset does not determine it.

    A rare 0/1 variable may be zero in all rows of a subset: ``scale`` would divide by zero.
    """
    unseen = [text for text in map(expression.show, _calls(expression.tree)) if text not in given.states]
    otherwise = {text: given.otherwise[text] for text in unseen if given.otherwise.get(text)}
    if not otherwise:
        return value_of(expression, given)
    try:
        value = value_of(expression, given)
    except Exception:  # from functions in the expression; it may be raised again with the other states
        value = np.nan
    if _varies(value):
        return value
    given.states.update(otherwise)
    return value_of(expression, given)


def _varies(value: Any) -> bool:
    """Whether numbers, in one column or in several, are finite and not the same in all rows."""
    bare = getattr(value, "__wrapped__", value)
    columns = np.stack(list(bare.values())).T if isinstance(bare, dict) else np.asarray(bare)
    if columns.dtype.kind not in "biuf":
        return True
    return bool(np.isfinite(columns).all() and (columns != columns[:1]).any())


def _require_few_columns(model: FormulaModel, values: Mapping[str, Any], data: pd.DataFrame) -> None:
    """Raise FormulaError, before factors are coded, if the terms would make too many columns."""
    widths = {name: _width(value) for name, value in values.items()}
    total = 0
    for term in model.terms:
        columns = int(np.prod([widths.get(part.text, 1) for part in term], dtype=object))
        total += columns
        if total > formulas.MOST_TERMS + len(model.terms):
            raise FormulaError(
                f"it makes more than {formulas.MOST_TERMS} columns, {columns} of them from "
                f"{shortened(':'.join(part.text for part in term), 80)}; use fewer levels or terms."
            )
    # terms may make 5e8 numbers (4 GB), or 100 times as many as the data have if that is more
    limit = max(5 * 10**8, 100 * data.size)
    if len(data) * total > limit:
        raise FormulaError(f"it makes {total} columns of {len(data)} rows; {limit} numbers are allowed.")


def _width(value: Any) -> int:
    """Return the number of columns of a factor."""
    bare = getattr(value, "__wrapped__", value)
    about = getattr(value, "__formulaic_metadata__", None)
    coded = about is not None and about.kind.value == "categorical"
    if isinstance(bare, dict):
        return len(bare)
    if coded or (isinstance(bare, pd.Series) and bare.dtype.kind == "O"):
        return int(pd.Series(bare).nunique())
    return int(np.shape(bare)[1]) if np.ndim(bare) > 1 else 1


def _combine(model: FormulaModel, values: Mapping[str, Any], encodings: dict[str, Any], rows: int) -> Any:
    """Code factors and multiply terms with formulaic: full dummy coding, no intercept, no NA handling."""
    from formulaic import ModelSpec, SimpleFormula
    from formulaic.parser.types import Factor, Term

    methods = {"python": "lookup"}
    terms = [
        Term([Factor(part.text, eval_method=methods.get(part.method, part.method)) for part in term])
        for term in model.terms
    ]
    spec = ModelSpec(
        formula=SimpleFormula(terms, _ordering="none"),
        ensure_full_rank=False,
        na_action="ignore",
        output="numpy",
        encoder_state=encodings,
    )
    return spec.get_model_matrix(pd.DataFrame(index=pd.RangeIndex(rows)), context=values)


def _require_finite_terms(matrix: np.ndarray, names: list[str], index: pd.Index, text: str) -> None:
    bad = ~np.isfinite(matrix)
    if not bad.any():
        return
    columns = np.flatnonzero(bad.any(axis=0))
    first_rows = bad[:, columns[0]]
    ending = f", and so do {listed([names[j] for j in columns[1:]])}" if len(columns) > 1 else ""
    raise FormulaError(
        f"In formula={shortened(text)} the term {names[columns[0]]!r} makes missing or infinite values in "
        f"{plural(int(first_rows.sum()), 'row')}, the first of them "
        f"{shown(index[int(first_rows.argmax())])}{ending}. Check where the function is defined (log needs "
        "positive numbers), or leave these rows out."
    )


# --- terms of single rows, and missing values ------------------------------------------------------


def require_rowwise(
    model: FormulaModel, matrix: np.ndarray, names: list[str], data: pd.DataFrame, index: pd.Index
) -> None:
    """Raise FormulaError if a term has different values on a subset of the rows than on all rows.

    The values of such a term, e.g. ranks, depend on the other rows, so scores of new rows would not be
    comparable with the scores of the fit. Transforms that store what they have learned pass the test. Terms
    in the safe language of :mod:`~spcastat.reading.formulas` transform each row alone and are not tested.

    Parameters
    ----------
    model : FormulaModel
        With the states of its transforms, learned from all rows.
    matrix : ndarray of shape (n, p)
        The values of the terms on all rows.
    names : list of str
        The p names of the columns.
    data : DataFrame of n rows
    index : pandas.Index
        The n labels of the rows.
    """
    text = model.text
    proven = {part: _is_rowwise(part, model, data) for part in _parts_of(model.terms)}
    tested = [not all(proven.get(part, True) for part in term) for term in model.terms]
    columns = np.flatnonzero(np.repeat(tested, model.widths))
    if not columns.size or not len(matrix):
        return
    model = replace(
        model, terms=tuple(term for term, is_tested in zip(model.terms, tested, strict=True) if is_tested)
    )
    matrix, names = matrix[:, columns], [names[j] for j in columns]
    largest = np.maximum(matrix.max(axis=0), -matrix.min(axis=0))
    for rows in _parts(len(data)):
        part = data.iloc[rows].reset_index(drop=True)
        try:
            term_model, part_values, _ = evaluate(model, part, index[rows])
            if part_values != names:
                raise FormulaError(f"it makes the columns {listed(part_values)} in place of {listed(names)}.")
        except SpcaError as error:
            raise FormulaError(
                f"formula={shortened(text)}: it cannot be evaluated on {len(rows)} of its {len(data)} rows "
                f"alone, so new rows could not be transformed: {error}"
            ) from None
        values = matrix[rows]
        # Rounding errors depend on the number of rows, and are relative to the largest value.
        slack = 1e-9 * np.abs(values) + 1e-12 * largest
        differ = ~(np.abs(term_model - values) <= slack).all(axis=0)
        if differ.any():
            bad = listed([names[j] for j in np.flatnonzero(differ)])
            raise FormulaError(
                f"In formula={shortened(text)} the values of {bad} depend on the other rows: {len(rows)} of "
                f"the {len(data)} rows alone give other values. Use terms of single rows, such as log(a), or "
                "that store their estimates, such as scale(a); or make the column in the data first."
            )


def _is_rowwise(part: Part, model: FormulaModel, data: pd.DataFrame) -> bool:
    """Whether a part transforms each row by itself, because it is a column or in the safe language."""
    if part.method == "lookup":
        return part.text in data
    return formulas.problem_of(part.text, data.columns, strings=True, context=model.context) is None


def _parts(n: int) -> list[np.ndarray]:
    """Return subsets of n rows for the test: each half, single rows, and some rows in reverse order.

    One half is not enough: for example, the largest value of an increasing column is in the second half.
    """
    if n < 2:
        return []
    half = n // 2
    step = max(1, -(-half // TRIAL_ROWS))
    return [
        np.arange(0, half, step),
        np.arange(half, n, step),
        np.arange(1),
        np.arange(half, half + 1),
        np.arange(n - 1, -1, -max(2, step)),
    ]


def evaluate_with_gaps(
    model: FormulaModel,
    inputs: Inputs,
    missing: Mapping[Any, np.ndarray],
    index: pd.Index,
    error: type[SpcaError] = FormulaError,
    weights: np.ndarray | None = None,
    with_levels: Callable[[pd.DataFrame], pd.DataFrame] | None = None,
    otherwise: Mapping[str, Any] | None = None,
) -> tuple[np.ndarray, list[str], FormulaModel]:
    """Evaluate the terms of a formula, each on the rows in which all columns that it reads are present.

    Every factor learns (levels, means, bases) from all rows on which it can be evaluated, even if other
    columns are missing. So a term has the same values alone and in a longer formula.

    Parameters
    ----------
    model, index, error, weights, otherwise
        As for :func:`evaluate`; factors with a state in `model` do not learn.
    inputs : Inputs of n rows
    missing : mapping
        The result of ``inputs.missing()``.
    with_levels : callable, optional
        For new data: checks the columns that a term reads. Without it, the rows are those of a fit, and terms
        that do not transform each row by itself raise an error.

    Returns
    -------
    matrix : ndarray of shape (n, p)
        NaN for rows in which a term is missing.
    names : list of str
    model : FormulaModel
        The terms with the states of their factors.

    Raises
    ------
    MissingValuesError
        If no row has values in all columns that a term reads.
    """
    n = len(inputs.frame)

    def rows_of(parts: tuple[Part, ...]) -> tuple[np.ndarray, pd.DataFrame]:
        names_needed = set().union(*(formulas.names_read(part, model.context) for part in parts))
        read = [name for name in inputs.used if name in names_needed]
        keep = ~np.any([np.zeros(n, dtype=bool), *(missing[name] for name in read)], axis=0)
        if not keep.any() and (with_levels is None or not model.widths):  # earlier files have no widths
            raise MissingValuesError(
                f"The term {shortened(':'.join(part.text for part in parts))} has no value in any "
                f"{'row: leave it out of the formula' if with_levels is None else 'of the new rows'}."
            )
        data = inputs.rows(keep).plain(read)
        return np.flatnonzero(keep), data if with_levels is None else with_levels(data)

    states, encodings = dict(model.states), dict(model.encodings)
    for part in _parts_of(model.terms) if with_levels is None else ():
        rows, data = rows_of((part,))
        term_model = replace(model, terms=((part,),), states=states, encodings=encodings)
        w = None if weights is None else weights[rows]
        values_of_rows = evaluate(term_model, data, index[rows], error, w, otherwise)[2]
        states |= values_of_rows.states
        encodings |= values_of_rows.encodings
    blocks: list[np.ndarray] = []
    names: list[str] = []
    for place, term in enumerate(model.terms):
        rows, data = rows_of(term)
        if not rows.size:  # no new row has values in all columns that the term reads
            blocks.append(np.full((n, model.widths[place]), np.nan))
            continue
        term_model = replace(model, terms=(term,), states=states, encodings=encodings)
        values, matrix, term_model = evaluate(term_model, data, index[rows], error)
        if with_levels is None:
            require_rowwise(term_model, values, matrix, data, index[rows])
        blocks.append(np.full((n, len(matrix)), np.nan))
        blocks[-1][rows] = values
        names += matrix
    widths = tuple(block.shape[1] for block in blocks)
    learnt = replace(model, states=states, encodings=encodings, widths=widths)
    return np.asfortranarray(np.hstack(blocks)), names, learnt


def dependent_columns(model: FormulaModel) -> np.ndarray | None:
    """Return, for each column, the number (from 0) of its set of dependent columns, shape (p,).

    Columns depend on each other by construction if they are the indicators of a factor, the columns of a
    polynomial or spline, or columns of terms that read a common variable, such as `a` and `a:b`. None if no
    set has two columns.
    """
    if not model.widths:
        return None
    sets: list[tuple[set[str], list[int]]] = []
    for place, term in enumerate(model.terms):
        names, places = set().union(*(formulas.names_read(part, model.context) for part in term)), [place]
        for dependence in [dependence for dependence in sets if dependence[0] & names]:
            names, places = names | dependence[0], dependence[1] + places
            sets.remove(dependence)
        sets.append((names, places))
    number = np.empty(len(model.terms), dtype=np.intp)
    for i, (_, places) in enumerate(sets):
        number[places] = i
    columns = np.repeat(number, model.widths)
    return columns if len(sets) < len(columns) else None
