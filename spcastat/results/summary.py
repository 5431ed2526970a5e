"""The summary of a fit: header, loadings and variances, in four formats and as data frames."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd

from spcastat.engine import Fit, Plan
from spcastat.results.source import Source
from spcastat.solvers import ADVICE
from spcastat.tables import Document, loadings_table, render, variance_table

#: Scores with a larger correlation are worth a note.
CORRELATED = 0.1
#: Standard deviations further apart than this factor are worth a note.
VERY_DIFFERENT = 10.0

CENTRING = {"mean": "centred", "given": "centred at given values", "none": "not centred"}
SCALING = {"sd": "scaled to unit variance", "given": "scaled by given values", "none": "not scaled"}


class Summary:
    """Header, loadings and variances of a fit; prints as text and shows as HTML in a notebook.

    Attributes
    ----------
    frames : dict of str to DataFrame
        The tables: "loadings", p x k, and "variance", k x 8.
    """

    def __init__(self, document: Document, frames: dict[str, pd.DataFrame]):
        self._document = document
        self.frames = frames

    def as_text(self, width: int = 80) -> str:
        """Return plain text in lines of at most `width` characters."""
        return render(self._document, "text", width)

    def as_html(self) -> str:
        """Return an HTML fragment without external resources; names are escaped."""
        return render(self._document, "html")

    def as_latex(self) -> str:
        """Return LaTeX that needs the package booktabs; names are escaped."""
        return render(self._document, "latex")

    def as_markdown(self) -> str:
        """Return Markdown with pipe tables."""
        return render(self._document, "markdown")

    def __repr__(self) -> str:
        return self.as_text()

    def _repr_html_(self) -> str:
        return self.as_html()


def summarise(
    source: Source,
    plan: Plan,
    fit: Fit,
    loadings: pd.DataFrame,
    variance: pd.DataFrame,
    largest_correlation: float,
    digits: int,
) -> Summary:
    """Put a summary together from the parts of a result."""
    document = Document(
        title="Sparse PCA" if plan.method.controls else "PCA",
        facts=tuple(_facts(source, plan, fit, largest_correlation)),
        tables=(loadings_table(loadings, digits=digits), variance_table(variance)),
        notes=tuple(_notes(source, largest_correlation)),
    )
    return Summary(document, {"loadings": loadings, "variance": variance})


def _facts(source: Source, plan: Plan, fit: Fit, largest_correlation: float) -> Iterator[tuple[str, str]]:
    method, solution = plan.method, fit.solution
    nonneg = ", nonnegative" if getattr(plan.solver, "nonneg", False) else ""
    yield "Method", f"{method.name}: {method.title}{nonneg}; {method.paper}"
    yield "Data", _data(source)
    if "variance" in method.controls:
        goal = getattr(plan.solver, "variance", float("nan"))
        yield "Kept", f"at least {100 * goal:g} % of the variance that PCA explains, after every component"
    value = solution.objective
    share = 100 * value / source.op.total
    yield "Objective", f"{plan.solver.criterion}: {value:.6g} ({share:.2f} % of the total variance)"
    yield "Status", _status(plan, fit)
    if len(fit.pca) > 1:
        yield "Scores", f"largest correlation between two components {largest_correlation:.3f}"


def _data(source: Source) -> str:
    p = source.op.p
    if not source.has_rows:
        rows = f", from {source.n} rows" if source.n is not None else ""
        return f"covariance matrix of {p} variables{rows}"
    standard = source.standard
    assert standard is not None
    parts = [f"{source.n} rows x {p} variables"]
    if source.dropped:
        rows = "row" if source.dropped == 1 else "rows"
        parts.append(f"{source.dropped} {rows} with missing values dropped")
    if source.spec.formula is not None:
        parts.append(f"formula {source.spec.formula}")
    parts += [CENTRING[standard.centring], SCALING[standard.scaling]]
    if source.weighted:
        parts.append("rows weighted")
    return ", ".join(parts)


def _status(plan: Plan, fit: Fit) -> str:
    solution = fit.solution
    text = ADVICE[solution.status]
    if solution.status != "exact":
        text += f" ({solution.n_iter} sweeps)"
    if plan.n_init > 1:
        near = int(np.sum(solution.objectives <= solution.objective * (1 + 1e-6)))
        text += f"; best of {plan.n_init} starts, reached by {near}"
    return text


def _notes(source: Source, largest_correlation: float) -> Iterator[str]:
    if source.has_rows and source.standard is not None and source.standard.scaling == "none":
        deviations = np.sqrt(source.op.diagonal())
        deviations = deviations[deviations > 0]
        if deviations.size and deviations.max() > VERY_DIFFERENT * deviations.min():
            yield (
                f"The standard deviations of the variables range from {deviations.min():.3g} to "
                f"{deviations.max():.3g}; scale=True gives all the same weight."
            )
    if largest_correlation > CORRELATED:
        yield (
            "The scores are correlated, so their variances overlap; the adjusted variance counts what each "
            "component adds to those before it."
        )
