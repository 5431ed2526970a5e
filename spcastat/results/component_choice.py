"""The result of `choose_k`: the chosen number of components with the table of tests and the reasons."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from spcastat import plots
from spcastat.config import plural
from spcastat.errors import OptionError
from spcastat.report.renderings import Summary
from spcastat.select.noise_tests import LEAST_CORRELATION, Standing, broken_stick
from spcastat.state.copies import own
from spcastat.tables import Document, Row, Table
from spcastat.tables.grid import alike, fixed, percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Decimals of the columns of tests.
DIGITS = {"p": 3, "deflated_p": 3, "sparse_p": 3, "sparse_correlation": 2}


@dataclass(frozen=True)
class Tested:
    """The part of a large data set that was tested.

    Attributes
    ----------
    variables : int
        Number of all variables, of which some were tested.
    rows : int
        Number of rows used for the tests; the other rows selected the variables.
    """

    variables: int
    rows: int


class ComponentChoice(Summary):
    """The number of components that stand out from noise, by three tests; the result of `choose_k`.

    It prints as the table of the tests and the reasons, and shows as HTML in a notebook.
    """

    def __init__(
        self, found: Standing, *, p: int, unit: float, most: int, tested: Tested | None = None
    ) -> None:
        self._found, self._most, self._p, self._tested = found, most, p, tested
        self._spectrum = _spectrum_of(found, p, unit)
        self._table = _table_of(found, self._spectrum, unit)

    def _document(self) -> Document:
        title = f"Number of components: {self.k}   ({self._by_test}; {self.n_draws} sign flips)"
        return Document(title, (), (self._lines(len(self._table)),), (*self._reasons(), self._key()))

    @property
    def frames(self) -> dict[str, pd.DataFrame]:
        """The tables "components" (`table`) and "spectrum"."""
        return {"components": self.table, "spectrum": self.spectrum}

    @property
    def k(self) -> int:
        """The number of components: max(min(parallel, deflated), sequential)."""
        return self._found.k

    @property
    def parallel(self) -> int:
        """The number that parallel analysis keeps."""
        return self._found.parallel

    @property
    def deflated(self) -> int:
        """The number whose eigenvalues stand out after projecting out earlier components."""
        return self._found.deflated

    @property
    def sequential(self) -> int:
        """The number that the sequential sparse test keeps."""
        return self._found.sequential

    @property
    def kaiser(self) -> int | None:
        """The number of eigenvalues above their mean (Kaiser); None if some variables were not tested."""
        if self._tested is not None:
            return None
        mean = self._found.values.sum() / self._p  # over all p variables
        return int(np.sum(self._found.values > mean * (1.0 + 1e-10)))

    @property
    def broken_stick(self) -> int | None:
        """The number of shares above those of a broken stick; None if some variables were not tested."""
        if self._tested is not None:
            return None
        above = self._spectrum["share"] > self._spectrum["broken_stick"]
        return len(above) if above.all() else int(np.argmin(above))

    @property
    def alpha(self) -> float:
        """The level of the tests."""
        return self._found.draws.alpha

    @property
    def n_draws(self) -> int:
        """The number of draws of noise for each test."""
        return self._found.draws.n_draws

    @property
    def sparse_card(self) -> int:
        """The number of variables of the components in the sequential sparse test."""
        return self._found.card

    @property
    def table(self) -> pd.DataFrame:
        """One row per component: eigenvalue, noise, p-values; sparse variance, p-value and correlation.

        "noise" is the 1 - alpha quantile of the draws. The tests of "deflated_p" and "sparse_p" end with the
        first component that is not significant; a sparse component that explains less than .1 of the mean
        correlation of its variables ("sparse_correlation") is not tested. "share" and "cumulative" are shares
        of the variance.
        """
        return own(self._table)

    @property
    def spectrum(self) -> pd.DataFrame:
        """All eigenvalues (of the tested variables), their shares, and the shares of a broken stick."""
        return own(self._spectrum)

    @property
    def reason(self) -> str:
        """The reasons for the number, in words."""
        return " ".join(self._reasons())

    @property
    def method_text(self) -> str:
        """Text for a methods section on how the number was chosen."""
        return (
            "The number of components was chosen by comparison with noise, made by flipping the signs of the "
            f"centred values at random ({self.n_draws} draws). {next(self._reasons())}"
        )

    def plot(self, *, ax: Axes | None = None) -> Axes:
        """Draw the leading eigenvalues and thresholds from noise.

        Parameters
        ----------
        ax : Axes, optional
            By default those of a new figure.

        Returns
        -------
        Axes
        """
        return plots.plot_components(self._spectrum, self._table, alpha=self.alpha, ax=ax)

    def _noise_for(self, spectrum: np.ndarray) -> np.ndarray:
        """Return the thresholds of parallel analysis for a fit, given all eigenvalues of its data.

        Raises
        ------
        OptionError
            If the analysis used other data or another scale.
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
                "parallel= is an analysis of other data, or with another scale, than the fit (its "
                f"largest eigenvalue is {own_values[0]:.6g}, that of the fit {spectrum[0]:.6g}); give "
                "choose_k() the data and the scale= of the fit."
            )
        return self._table["noise"].to_numpy(dtype=float)

    def _reasons(self) -> Iterator[str]:
        table, found, m = self._table, self._found, len(self._table)
        k, P, D, Q = found.k, found.parallel, found.deflated, found.sequential
        level = percent(found.draws.level, 1 - (found.draws.level >= 0.01))
        yield (
            f"Parallel analysis keeps {P}"
            + (f", of which {D} stand out when those before them are projected out" if D < P else "")
            + f"; the sequential sparse test keeps {Q}. The choice is {k}, "
            + ("the larger number" if min(P, D) != Q else "by both")
            + "."
        )
        if m not in (P, Q) and m > P:
            line = table.iloc[P]
            value, bound = alike([line["observed"], line["noise"]])
            share = percent(self.alpha, 0)
            yield f"The eigenvalue of PC{P + 1} is {value}, and {share} % of noise exceed {bound}."
        if D < P:
            yield (
                f"PC{D + 1} has p = {fixed(table['deflated_p'].iloc[D], 3)} without those before it (level "
                f"{level} %): to parallel analysis rows of very unequal size look like components."
            )
        yield from self._cautions()
        if min(P, D) < Q:
            yield (
                "The sparse test sees weak components of few variables that strong ones hide from parallel "
                "analysis; parts of a block of many weak variables can look like them, too, of which it "
                f"takes {self.sparse_card} variables at first (card=)."
            )
        elif min(P, D) > Q:
            yield (
                f"Further components of {plural(self.sparse_card, 'variable')} do not stand out: they are "
                "weak, or spread over many variables."
            )

    def _brief(self) -> str:
        """The chosen number of components, and the number by each test and rule."""
        rules = "" if self._tested else f"; Kaiser {self.kaiser}, broken stick {self.broken_stick}"
        return f"{self.k}: {self._by_test}{rules}"

    @property
    def _by_test(self) -> str:
        found = self._found
        return f"parallel analysis {found.parallel}, deflated {found.deflated}, sparse {found.sequential}"

    def _cautions(self) -> Iterator[str]:
        """Yield warnings: the last tested component still stands out, or some variables were not tested."""
        found, m = self._found, len(self._table)
        if m in (found.parallel, found.sequential):
            where = "give a larger kmax to see the end" if m < self._most else "no more can be tested"
            lead = "The one component" if m == 1 else f"The last of the {m} components"
            yield f"{lead} that {'was' if m == 1 else 'were'} tested still stands out; {where}."
        if self._tested is not None:
            yield (
                f"Tested were {self._p:,} of {self._tested.variables:,} variables in {self._tested.rows:,} "
                "rows, about half; the other rows selected the variables, by a sparse fit. Weak components "
                "are harder to find in half of the rows, and components of many more variables may be missed."
            )

    def _lines(self, most: int) -> Table:
        table = self._table.iloc[:most]
        lines = []
        values = alike([*table["observed"], *table["noise"]])
        m = len(table)
        for i, (name, line) in enumerate(table.iterrows()):
            tests = (
                "" if np.isnan(line[one]) else fixed(line[one], digits) for one, digits in DIGITS.items()
            )
            cells = (values[i], values[m + i], *tests, percent(line["cumulative"], 1))
            lines.append(Row(str(name), cells, rule=i == self.k > 0))
        point = f"{percent(1 - self.alpha, 0)} % of noise"
        headings = ("observed", point, "p", "deflated p", "sparse p", "r", "cum. %")
        return Table("", headings, tuple(lines))

    def _key(self) -> str:
        """Explanation of the headings of the table."""
        key = (
            "observed: eigenvalue. p: of the eigenvalue of that rank. deflated p: of the first one without "
            f"the components before. sparse p: of a component of {plural(self.sparse_card, 'variable')} "
            "without the sparse ones before, not tested where r, the mean correlation that it explains, is "
            f"below {fixed(LEAST_CORRELATION, 1)}. cum. %: variance up to "
            f"here{'' if self._tested is None else ', of that of the tested variables'}. Below the line: not "
            "chosen."
        )
        if self._tested is None:
            key += f" Kaiser's rule {self.kaiser}, broken stick {self.broken_stick}."
        return key


def _spectrum_of(found: Standing, p: int, unit: float) -> pd.DataFrame:
    """Return all eigenvalues in units of the data, their shares, and those of a broken stick of p pieces."""
    values = found.values * unit
    shares = values / values.sum()
    return pd.DataFrame(
        {
            "eigenvalue": values,
            "share": shares,
            "cumulative": np.cumsum(shares),
            "broken_stick": broken_stick(p)[: len(values)],
        },
        index=pd.Index([f"PC{j + 1}" for j in range(len(values))], name="component"),
    )


def _table_of(found: Standing, spectrum: pd.DataFrame, unit: float) -> pd.DataFrame:
    """Return the tests of each component, variances in units of the data."""
    tested = spectrum.iloc[: len(found.p_values)]
    return pd.DataFrame(
        {
            "observed": tested["eigenvalue"],
            "noise": found.bound * unit,
            "p": found.p_values,
            "deflated_p": found.deflated_p_values,
            "sparse_observed": found.sparse_variances * unit,
            "sparse_p": found.sparse_p_values,
            "sparse_correlation": found.correlations,
            "share": tested["share"],
            "cumulative": tested["cumulative"],
        },
        index=tested.index,
    )
