"""How a fit came about, in plain numbers and text: what the header prints and a file keeps."""

from __future__ import annotations

import dataclasses
import platform
import sys
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from spcastat.engine import Fit, Plan
from spcastat.engine.inputs import Source
from spcastat.solvers import ADVICE

#: The packages whose versions are recorded, if they were imported.
PACKAGES = ("spcastat", "numpy", "scipy", "pandas", "formulaic", "matplotlib")

#: What is said of centre and scale, by `Standardisation.centring` and `Standardisation.scaling`.
CENTRING = {"mean": "centred", "given": "centred at given values", "none": "not centred"}
SCALING = {
    "sd": "scaled to unit variance",
    "blocks": "scaled to unit variance and by blocks",
    "raw blocks": "scaled by blocks",
    "mixed": "scaled as mixed data",
    "given": "scaled by given values",
    "none": "not scaled",
}

#: Starts whose objective lies within this share of the best have reached it.
SAME = 1e-6


@dataclass(frozen=True, eq=False)
class Record:
    """The story of a fit.

    Attributes
    ----------
    method, title, paper, criterion : str
        Name of the method, what it is, where it is from, what its objective measures.
    sparse : bool
        Whether the method has a control of sparsity.
    options : dict
        The options of the solver, those left at their defaults too.
    n, p, k : int
        Rows (None where a covariance matrix came without their number), variables, components.
    from_rows : bool
        Whether rows were fitted, rather than a covariance matrix.
    dropped : int
        Rows left out because of missing values.
    weighted : bool
    effective_n : float or None
        The sum of the weights, or n.
    formula : str or None
    centring, scaling : str or None
        See `Standardisation`.
    status, advice : str
    n_iter : int
    objective, objective_share : float
        The value, and as a share of the total variance where it is a variance.
    optima : list of [float, int]
        Distinct values of the objective that starts or a joint search met, as shares of the total variance,
        and how often.
    n_init, reached : int
        Starts, and how many of them reached the best objective.
    details : dict of str to list
        What the method reports of each component.
    screening : dict of str to int, or None
        Where the search ran on some of the variables: how many were ``searched``, of how many ``variables``,
        in how many ``rounds``, and how many of the others are ``unexcluded``: a swap with them may improve
        the fit.
    evidence : dict, or None
        How a search over supports went: the fields of :class:`spcastat.solvers.Searched`.
    call : str
        The call that makes the fit again, with `data` for the data.
    versions : dict of str to str
        Of Python and of the packages that took part.
    missing : dict, or None
        With ``na="em"`` or ``"pairwise"``: ``how``, the numbers of missing ``cells`` and of such ``rows``,
        and how the moments were found; see :func:`spcastat.engine.missing_values.prepare_with_gaps`.
    names : list of str, or None
        Names of the components where they are others than PC1, ..., PCk.
    title_of_data : str or None
        What the rows came from where they were not in memory, such as "Parquet file trips.parquet".
    passes : int or None
        Passes over rows that were never all in memory, until the fit was found.
    anew : bool
        Whether a scheduler computes these rows anew in each pass.
    pca_errors : list of float, or None
        By how much the variances of dense PCA may be too small, as shares of the total variance, where few
        passes were made for them; estimates, where the variances themselves are lower bounds.
    chosen : list of str, or None
        How the numbers of components and of loadings were chosen, in sentences, for a fit by `choose`.
    matrix : dict, or None
        What is known of a covariance matrix; see :class:`spcastat.intake.Covariance`.
    groups : dict, or None
        Groups of variables by which these were scaled; see :class:`spcastat.operators.ScalingGroups`.
    """

    method: str
    title: str
    paper: str
    criterion: str
    sparse: bool
    options: dict[str, Any]
    n: int | None
    p: int
    k: int
    from_rows: bool
    dropped: int
    weighted: bool
    effective_n: float | None
    formula: str | None
    centring: str | None
    scaling: str | None
    status: str
    advice: str
    n_iter: int
    objective: float
    objective_share: float | None
    optima: list[list[Any]] = field(default_factory=list)
    n_init: int = 1
    reached: int = 1
    details: dict[str, list[Any]] = field(default_factory=dict)
    screening: dict[str, int] | None = None
    call: str = ""
    versions: dict[str, str] = field(default_factory=dict)
    title_of_data: str | None = None
    evidence: dict[str, Any] | None = None
    missing: dict[str, Any] | None = None
    names: list[str] | None = None
    passes: int | None = None
    anew: bool = False
    pca_errors: list[float] | None = None
    chosen: list[str] | None = None
    matrix: dict[str, Any] | None = None
    groups: dict[str, Any] | None = None

    @property
    def converged(self) -> bool:
        """Whether the fit ended before `max_iter` was reached."""
        return self.status != "max_iter"


def make_record(source: Source, plan: Plan, fit: Fit, call: str) -> Record:
    """Put together the record of a fit."""
    method, solution, standard = plan.method, fit.solution, source.standard
    return Record(
        method=method.name,
        title=method.title,
        paper=method.paper,
        criterion=solution.criterion or plan.solver.criterion,
        sparse=bool(method.controls),
        options={
            **_ordered(options_of(plan.solver), fit.order),
            "n_init": plan.n_init,
            **({"start": _start_told(plan)} if plan.solver.uses_starts else {}),
            **({} if plan.aim is None else dataclasses.asdict(plan.aim)),
        },
        n=source.n,
        p=source.op.p,
        k=solution.V.shape[1],
        from_rows=source.from_rows,
        dropped=source.dropped,
        weighted=source.weighted,
        effective_n=source.weight if source.from_rows else source.n,
        title_of_data=source.title,
        formula=source.spec.formula,
        centring=None if standard is None else standard.centring,
        scaling=None if standard is None else standard.scaling,
        status=solution.status,
        advice=(ADVICE[solution.status] if solution.search is None else solution.search.told(source.op.p)),
        n_iter=solution.n_iter,
        objective=solution.objective,
        objective_share=(
            solution.objective / (source.op.total * source.op.unit**2)
            if plan.solver.in_variance_units
            else None
        ),
        optima=[[float(value), int(hits)] for value, hits in fit.optima],
        n_init=plan.n_init,
        reached=_reached(solution.objectives, solution.objective),
        details={name: [_plain(value) for value in values] for name, values in solution.details.items()},
        screening=None if fit.screening is None else dataclasses.asdict(fit.screening),
        call=call,
        versions=versions(),
        evidence=None if solution.search is None else dataclasses.asdict(solution.search),
        missing=None if source.gaps is None else source.gaps.told,
        passes=None if source.stream is None else 1 + getattr(source.op, "passes", 0),
        anew=source.stream is not None and source.stream.anew,
        pca_errors=None if fit.pca_errors is None else (fit.pca_errors / source.op.total).tolist(),
        matrix=dict(source.about) or None,
        groups=None if source.groups is None else source.groups.told,
    )


def _start_told(plan: Plan) -> str:
    return plan.start if isinstance(plan.start, str) else "given"


def options_of(solver: Any) -> dict[str, Any]:
    """Return the fields of a solver, arrays as lists."""
    return {one.name: _plain(getattr(solver, one.name)) for one in dataclasses.fields(solver)}


def _ordered(options: dict[str, Any], order: np.ndarray) -> dict[str, Any]:
    """Put the options that differ between components in the order that these have now."""
    k = len(order)
    several = {name: value for name, value in options.items() if isinstance(value, list) and len(value) == k}
    return {**options, **{name: [value[j] for j in order] for name, value in several.items()}}


def versions() -> dict[str, str]:
    """Return the versions of Python and of the packages that take part: those that are imported by now."""
    found = {"python": platform.python_version()}
    for name in PACKAGES:
        version = getattr(sys.modules.get(name), "__version__", None)
        if version is not None:
            found[name] = str(version)
    return found


def _reached(objectives: np.ndarray, best: float) -> int:
    return int(np.sum(np.abs(objectives - best) <= SAME * abs(best)))


def _plain(value: Any) -> Any:
    """Return a number, text, or nested lists of them."""
    if isinstance(value, (np.ndarray, np.generic)):
        return value.tolist()
    if isinstance(value, (tuple, list)):
        return [_plain(one) for one in value]
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    return str(value)
