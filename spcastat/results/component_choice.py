"""What users hold after choosing the number of components: its table, its plot and its reasons."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from spcastat import plots
from spcastat.config import plural
from spcastat.errors import OptionError
from spcastat.report.summary import Summary
from spcastat.select.components import Standing, broken_stick, kaiser
from spcastat.state.copies import own
from spcastat.tables import Document, Row, Table
from spcastat.tables.cells import alike, fixed, percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True)
class Tested:
    """What was tested of large data.

    Attributes
    ----------
    variables : int
        All variables, of which some were tested.
    rows : int
        The rows that tested them; others chose them.
    """

    variables: int
    rows: int


class ComponentChoice(Summary):
    """How many components stand out from noise, by two tests.

    `frames` holds the table under "components" and the whole spectrum under "spectrum".
    """

    def __init__(
        self,
        found: Standing,
        *,
        p: int,
        card: int,
        alpha: float,
        n_resample: int,
        unit: float,
        most: int,
        tested: Tested | None = None,
    ):
        self._found, self._most, self._p, self._tested = found, most, p, tested
        self.alpha, self.n_resample, self.sparse_card = alpha, n_resample, card
        values = found.values * unit
        shares = values / values.sum()
        index = pd.Index([f"PC{j + 1}" for j in range(len(values))], name="component")
        m = len(found.p_values)
        self._table = pd.DataFrame(
            {
                "observed": values[:m],
                "noise": found.bound * unit,
                "p": found.p_values,
                "sparse_observed": found.sparse_variances * unit,
                "sparse_p": found.sparse_p_values,
                "share": shares[:m],
                "cumulative": np.cumsum(shares)[:m],
            },
            index=index[:m],
        )
        self._spectrum = pd.DataFrame(
            {
                "eigenvalue": values,
                "share": shares,
                "cumulative": np.cumsum(shares),
                "broken_stick": broken_stick(p)[: len(values)],
            },
            index=index,
        )
        self.kaiser: int | None = None
        self.broken_stick: int | None = None
        if tested is None:
            above = self._spectrum["share"] > self._spectrum["broken_stick"]
            self.kaiser = kaiser(found.values, p)
            self.broken_stick = len(above) if above.all() else int(np.argmin(above))
        super().__init__(self._made(), {"components": self._table, "spectrum": self._spectrum})

    @property
    def k(self) -> int:
        """The number of components that parallel analysis keeps."""
        return self._found.parallel

    @property
    def sequential(self) -> int:
        """The number that the sequential sparse test keeps."""
        return self._found.sequential

    @property
    def table(self) -> pd.DataFrame:
        """One row a component: eigenvalue, noise and p; variance and p of the sparse one; shares.

        "noise" is the point that a share alpha of the draws exceeds. The sparse test ends with the first
        component that is not significant.
        """
        return own(self._table)

    @property
    def spectrum(self) -> pd.DataFrame:
        """All eigenvalues (of the variables that were tested), their shares, and those of a broken stick."""
        return own(self._spectrum)

    @property
    def reason(self) -> str:
        """Why so many, in words."""
        return " ".join(self._reasons())

    def _noise_for(self, spectrum: np.ndarray) -> np.ndarray:
        """Return the thresholds of parallel analysis for a fit, given all eigenvalues of its data.

        Raises
        ------
        OptionError
            The analysis was of other data, or of another scale.
        """
        if self._tested is not None:
            raise OptionError(
                f"parallel= is an analysis of {self._p} of {self._tested.variables} variables, and the "
                "eigenvalues of the fit are of all of them; leave it out, or analyse a sample of the rows."
            )
        own_values = self._spectrum["eigenvalue"].to_numpy()
        both = min(len(own_values), len(spectrum))
        if not np.allclose(own_values[:both], spectrum[:both], rtol=1e-6, atol=1e-9 * own_values[0]):
            raise OptionError(
                "parallel= is an analysis of other data, or of another scale, than those of the fit (its "
                f"largest eigenvalue is {own_values[0]:.6g}, that of the fit {spectrum[0]:.6g}); give "
                "choose_k() the data and the scale= of the fit."
            )
        return self._table["noise"].to_numpy(dtype=float)

    def plot(self, *, ax: Axes | None = None) -> Axes:
        """Draw the eigenvalues and those of noise; see :func:`spcastat.plots.plot_components`."""
        return plots.plot_components(self.spectrum, self.table, alpha=self.alpha, ax=ax)

    def plot_data(self) -> pd.DataFrame:
        """Return what `plot` draws."""
        return plots.plot_components_data(self.spectrum, self.table)

    def _reasons(self) -> Iterator[str]:
        table, k, m = self._table, self.k, len(self._table)
        if k == m:
            where = "give a larger kmax to see where this ends" if m < self._most else "no more can be tested"
            lead = "The one component that was" if m == 1 else f"All {m} components that were"
            yield f"{lead} looked at {'exceeds' if m == 1 else 'exceed'} what noise gives; {where}."
        else:
            line = table.iloc[k]
            value, bound = alike([line["observed"], line["noise"]])
            fails = f"that of PC{k + 1} is {value}, and {percent(self.alpha, 0)} % of noise exceed {bound}"
            lead = "No eigenvalue exceeds" if k == 0 else f"The first {k} exceed" if k > 1 else "One exceeds"
            yield f"{lead} what noise gives; {fails}."
        if self._tested is not None:
            yield (
                f"Tested were {self._p:,} of {self._tested.variables:,} variables in {self._tested.rows:,} "
                "rows, about half; the other rows chose the variables, by a sparse fit. Weak components show "
                "less in half of the rows, and what is spread over many more variables may be missed."
            )
        more = self.sequential - k
        if more > 0:
            yield (
                f"The sequential sparse test finds {self.sequential}: beyond the first {k} it detects weak "
                "signals that strong components shadow, or what is left of blocks of many weak variables, of "
                f"which it knows {self.sparse_card} at first; a larger card= tells."
            )
        elif more < 0:
            yield (
                f"The sequential sparse test ends at {self.sequential}: further on no component of "
                f"{plural(self.sparse_card, 'variable')} stands out of noise, so the others are weak or "
                "spread over many variables."
            )

    def _made(self) -> Document:
        lines = []
        values = alike([*self._table["observed"], *self._table["noise"]])
        m = len(self._table)
        for i, (name, line) in enumerate(self._table.iterrows()):
            cells = (
                values[i],
                values[m + i],
                fixed(line["p"], 3),
                "" if np.isnan(line["sparse_p"]) else fixed(line["sparse_p"], 3),
                percent(line["cumulative"], 1),
            )
            lines.append(Row(str(name), cells, rule=i == self.k > 0))
        headings = ("observed", f"{percent(1 - self.alpha, 0)} % of noise", "p", "sparse p", "cum. %")
        how = f"parallel analysis, sign flips, {self.n_resample} draws"
        title = f"Number of components: {self.k}   ({how})"
        return Document(title, (), (Table("", headings, tuple(lines)),), (*self._reasons(), self.key))

    @property
    def key(self) -> str:
        """What the headings of the table mean."""
        key = (
            f"observed: eigenvalue. sparse p: of a component of {plural(self.sparse_card, 'variable')} "
            "beside those before it. cum. %: variance up to here"
            f"{'' if self._tested is None else ', of that of the tested variables'}. Below the line: not "
            "above noise."
        )
        if self._tested is None:
            key += f" Kaiser's rule {self.kaiser}, broken stick {self.broken_stick}."
        return key
