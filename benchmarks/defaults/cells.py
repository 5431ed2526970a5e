"""The cells of the comparison: correlation matrices of 14 data sets, and the cardinalities for each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from spcastat.datasets import load_pitprops

#: Of data with more columns than this, those of largest variance are taken.
COLUMNS = 500
#: Data set -> its file in the folder of real data; None for data that a package brings along.
FILES: dict[str, str | None] = {
    "pitprops": None,
    "wine": None,
    "breast cancer": None,
    "diabetes": None,
    "digits": None,
    "communities": "uci_communities.csv",
    "dermatology": "uci_dermatology.csv",
    "glass": "uci_glass.csv",
    "segment": "uci_segment.csv",
    "letter": "uci_letter.csv",
    "pendigits": "uci_pendigits.csv",
    "page blocks": "uci_page_blocks.csv",
    "khan": "micro_khan.npz",
    "alon": "micro_alon.npz",
}
#: Tables whose columns are variables to the last; the others end in the class.
UNCLASSED = ("communities",)
#: Cardinalities that every k is tried with, and those that belong to one k.
COMMON = (3, 6, 10)
MIXED = {3: (6, 4, 3), 5: (8, 6, 4, 3, 2)}
KS = (1, 2, 3, 5)


@dataclass(frozen=True)
class Cell:
    """One problem: k components of given cardinalities on the correlation matrix of a data set."""

    data: str
    card: tuple[int, ...]

    @property
    def k(self) -> int:
        return len(self.card)

    def key(self, objective: str) -> str:
        return f"{self.data} | {'-'.join(map(str, self.card))} | {objective}"


def correlation(name: str, folder: Path | None) -> np.ndarray | None:
    """Return the correlation matrix of a data set, None where its file is not at hand.

    Rows with missing values and constant columns are left out; of more than COLUMNS columns those of
    largest variance are kept.
    """
    if name == "pitprops":
        return load_pitprops().to_numpy().copy()
    file = FILES[name]
    if file is None:
        X = _bundled(name)
    elif folder is None or not (folder / file).exists():
        return None
    elif file.endswith(".npz"):
        X = np.load(folder / file)["X"].astype(float)
    else:
        frame = pd.read_csv(folder / file)
        if name not in UNCLASSED:
            frame = frame.iloc[:, :-1]
        X = frame.apply(pd.to_numeric, errors="coerce").to_numpy(dtype=float)
    X = X[np.isfinite(X).all(axis=1)]
    X = X[:, X.std(axis=0) > 1e-10 * np.abs(X).max(axis=0)]
    if X.shape[1] > COLUMNS:
        widest = np.argsort(-X.var(axis=0), kind="stable")[:COLUMNS]
        X = X[:, np.sort(widest)]
    return np.corrcoef(X, rowvar=False)


def _bundled(name: str) -> np.ndarray:
    from sklearn import datasets  # scikit-learn is wanted for three data sets only

    loaders = {
        "wine": datasets.load_wine,
        "breast cancer": datasets.load_breast_cancer,
        "diabetes": datasets.load_diabetes,
        "digits": datasets.load_digits,
    }
    return np.asarray(loaders[name]().data, dtype=float)


def cells(name: str, p: int) -> Iterator[Cell]:
    """Yield the cells of a data set with p variables: those whose cardinalities are below p."""
    for k in KS:
        for card in COMMON:
            if card < p:
                yield Cell(name, (card,) * k)
        if k in MIXED and max(MIXED[k]) < p:
            yield Cell(name, MIXED[k])
