"""Example data: bundled correlation matrices and tables, and generators of data with known sparse components.

The bundled data are files in data/, whose README.md gives the source and licence of each. The generators make
rows with the correlations of the pitprops, normal data whose covariance matrix has two sparse leading
eigenvectors, and the data of Zou, Hastie and Tibshirani (2006), with noise and outliers as in Zhao, Meng
and Xu (2014).

Every generator takes ``rng``: ``None`` (seed 0), a whole number, or a NumPy ``Generator``; the same seed
gives the same data. Facts about the data are in the frame's ``.attrs``, as plain lists and strings, so
the frame can be copied, concatenated, compared and written to Parquet. `true_loadings` returns the true
loadings as a labelled table.
"""

from __future__ import annotations

import sys
from importlib import resources
from importlib.resources.abc import Traversable
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from spcastat.arguments import explained, flag, generator, real_number, whole_number
from spcastat.errors import OptionError

if TYPE_CHECKING:
    from spcastat.hints import Rng

__all__ = [
    "load_harman74",
    "load_judges",
    "load_pitprops",
    "load_wine",
    "make_hastie",
    "make_highdim",
    "make_toy",
    "pitprops_sample",
    "true_loadings",
]


if not TYPE_CHECKING:  # so that type checkers report names that do not exist

    def __getattr__(name: str) -> Any:
        """Raise AttributeError with the names of the functions in this module."""
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}; it has {', '.join(__all__)}")


# --- bundled data ---------------------------------------------------------------------------------


JEFFERS = (
    "J. N. R. Jeffers (1967), Two case studies in the application of principal component analysis, "
    "Applied Statistics 16, 225-236"
)
_HARMAN = (
    "K. J. Holzinger and F. Swineford (1939), A study in factor analysis, University of Chicago; "
    "correlations from H. H. Harman (1976), Modern Factor Analysis, third edition, Table 7.4"
)
_WINE = (
    "M. Forina and others, Institute of Pharmaceutical and Food Analysis and Technologies, Genoa; "
    "S. Aeberhard and M. Forina (1992), Wine, UCI Machine Learning Repository, doi:10.24432/C5PC7J"
)
_JUDGES = "New Haven Register, 14 January 1977, from J. A. Hartigan"

#: Ability -> number of tests in Harman's matrix that were chosen to measure it; these tests are adjacent.
ABILITIES = {"spatial": 4, "verbal": 5, "speed": 4, "memory": 6, "deduction": 5}


def _folder() -> Traversable:
    """Return the folder of the bundled data: spcastat.data if installed, or data/ in a source checkout."""
    try:
        return resources.files("spcastat.data")
    except ModuleNotFoundError:
        return resources.files("spcastat") / ".." / "data"


def _read(name: str) -> pd.DataFrame:
    """Return the table of `name`.csv; its first column labels the rows."""
    with (_folder() / f"{name}.csv").open(encoding="utf-8") as file:
        return pd.read_csv(file, index_col=0)


def _correlations(name: str, n_obs: int, source: str) -> pd.DataFrame:
    """Return the correlation matrix in `name`.csv, with its description in ``attrs``."""
    frame = _read(name)
    frame.index.name = None
    frame.attrs.update(kind="correlation", n_obs=n_obs, source=source)
    return frame


@explained
def load_pitprops() -> pd.DataFrame:
    """The correlation matrix of 13 measurements of 180 pitprops (Jeffers 1967).

    Returns
    -------
    DataFrame (13, 13)
        Correlations to three decimals, with a unit diagonal and equal row and column labels. ``attrs`` gives
        ``kind`` ("correlation"), ``n_obs`` (180) and ``source``. The 180 rows were never published:
        see `pitprops_sample`.

    Examples
    --------
    >>> from spcastat.datasets import load_pitprops
    >>> float(load_pitprops().loc["topdiam", "length"])
    0.954
    """
    return _correlations("pitprops", 180, JEFFERS)


@explained
def load_harman74() -> pd.DataFrame:
    """The correlation matrix of 24 ability tests of 145 children (Holzinger and Swineford 1939).

    The children were in the seventh and eighth grade of the Grant-White School near Chicago. Holzinger and
    Swineford chose the tests to measure five abilities; the tests of each ability are adjacent [1]_ [2]_:

    - spatial: visual_perception, cubes, paper_form_board, flags
    - verbal: general_information, paragraph_comprehension, sentence_completion, word_classification,
      word_meaning
    - speed: addition, code, counting_dots, straight_curved_capitals
    - memory: word_recognition, number_recognition, figure_recognition, object_number, number_figure,
      figure_word
    - deduction: deduction, numerical_puzzles, problem_reasoning, series_completion, arithmetic_problems

    Factor analyses find about four factors: the tests of deduction load on several of them.

    Returns
    -------
    DataFrame (24, 24)
        Correlations to three decimals, with a unit diagonal and equal row and column labels. ``attrs`` gives
        ``kind`` ("correlation"), ``n_obs`` (145), ``source``, and ``abilities``, a list with the ability
        that each test was chosen for.

    References
    ----------
    .. [1] K. J. Holzinger, F. Swineford (1939), A study in factor analysis: the stability of a bi-factor
       solution, Supplementary Educational Monographs 48, University of Chicago.
    .. [2] H. H. Harman (1976), Modern Factor Analysis, third edition, University of Chicago Press, Table 7.4.
       The matrix is ``Harman74.cor`` in R.

    Examples
    --------
    >>> import spcastat as sp
    >>> R = sp.datasets.load_harman74()
    >>> sp.spca_cov(R, 4, disjoint=True, n_obs=145).card.tolist()
    [5, 6, 7, 6]
    """
    frame = _correlations("harman74", 145, _HARMAN)
    frame.attrs["abilities"] = [name for name, tests in ABILITIES.items() for _ in range(tests)]
    return frame


@explained
def load_wine() -> pd.DataFrame:
    """Chemical analyses of 178 wines from three cultivars (Forina; UCI Machine Learning Repository).

    The wines were grown in the same region of Italy: 59 Barolo, 71 Grignolino and 48 Barbera [1]_ [2]_.

    Returns
    -------
    DataFrame (178, 13)
        One row for each wine. The index ``cultivar`` contains the cultivars, for plots such as
        ``fit.biplot(groups=wine.index)``. The columns are chemical measurements: alcohol, malic_acid, ash,
        alcalinity_of_ash, magnesium, total_phenols, flavanoids, nonflavanoid_phenols, proanthocyanins,
        color_intensity, hue, od280_od315 (ratio of the optical densities of diluted wine at 280 and 315 nm)
        and proline. The repository gives no units; they differ, so analyses need ``scale=True``. No value is
        missing. ``attrs`` gives ``kind`` ("rows"), ``source`` and ``licence``.

    References
    ----------
    .. [1] S. Aeberhard, M. Forina (1992), Wine, UCI Machine Learning Repository, doi:10.24432/C5PC7J.
       Licence: CC BY 4.0. It numbers the cultivars 1 to 3.
    .. [2] M. Forina, C. Armanino, M. Castino, M. Ubigli (1986), Multivariate data analysis as a
       discriminating method of the origin of wines, Vitis 25, 189-201: the names of the cultivars.

    Examples
    --------
    >>> from spcastat.datasets import load_wine
    >>> load_wine().index.value_counts().to_dict()
    {'Grignolino': 71, 'Barolo': 59, 'Barbera': 48}
    """
    frame = _read("wine")
    frame.attrs.update(kind="rows", source=_WINE, licence="CC BY 4.0")
    return frame


@explained
def load_judges() -> pd.DataFrame:
    """Lawyers' ratings of 43 judges of the Superior Court (New Haven Register 1977).

    Returns
    -------
    DataFrame (43, 12)
        One row for each judge. The index ``judge`` contains the names as in [1]_. The columns are mean
        ratings; higher is better, except for the first. The abbreviation of the column in R is in brackets:

        - contacts (CONT): contacts of lawyers with the judge
        - integrity (INTG), demeanor (DMNR), diligence (DILG)
        - case_flow (CFMG): managing the flow of cases
        - decisions (DECI): prompt decisions
        - preparation (PREP): preparation for trial
        - familiarity (FAMI): familiarity with the law
        - oral_rulings (ORAL), written_rulings (WRIT): sound rulings
        - physical (PHYS): physical ability
        - retention (RTEN): worthy of retention

        No value is missing. ``attrs`` gives ``kind`` ("rows") and ``source``.

    References
    ----------
    .. [1] New Haven Register, 14 January 1977, from J. A. Hartigan. The data are ``USJudgeRatings`` in R.

    Examples
    --------
    >>> from spcastat.datasets import load_judges
    >>> float(load_judges()["retention"].min())
    4.8
    """
    frame = _read("judges")
    frame.attrs.update(kind="rows", source=_JUDGES)
    return frame


# --- data with known answers ----------------------------------------------------------------------


#: Largest number of values that a generator returns (needs 1.6 GB).
MOST_NUMBERS = 100_000_000


def labelled(X: np.ndarray, V: np.ndarray, **facts: Any) -> pd.DataFrame:
    """Return `X` (n, p) as a frame with columns X1..Xp, and its true loadings `V` (p, k) in ``attrs``.

    ``attrs["loadings"]`` is a list of p rows of k numbers. pandas compares ``attrs`` with ``==`` when it
    concatenates frames, which fails for arrays, and writes them as JSON to Parquet, which loses arrays.
    """
    frame = pd.DataFrame(X, columns=[f"X{j}" for j in range(1, X.shape[1] + 1)])
    frame.attrs.update(kind="synthetic", **facts, loadings=V.tolist())
    return frame


@explained
def true_loadings(data: pd.DataFrame) -> pd.DataFrame:
    """Return the true loadings of data from a generator of this package.

    Parameters
    ----------
    data : DataFrame (n, p)
        Data from `make_hastie`, `make_toy` or `make_highdim`, with all columns.

    Returns
    -------
    DataFrame (p, k)
        Unit-norm columns PC1..PCk; the rows are labelled by the columns of `data`.

    Raises
    ------
    OptionError
        If `data` has no true loadings, or a different number of columns.
    """
    rows = data.attrs.get("loadings") if isinstance(data, pd.DataFrame) else None
    if rows is None or len(rows) != data.shape[1]:
        raise OptionError(
            "The true loadings are known only for complete data frames from make_hastie, make_toy or "
            f"make_highdim; the {type(data).__name__} given "
            + (
                "is not one of these."
                if rows is None
                else f"has {data.shape[1]} columns, and its loadings have {len(rows)} rows."
            )
        )
    names = [f"PC{j}" for j in range(1, len(rows[0]) + 1)]
    return pd.DataFrame(rows, index=data.columns, columns=names)


@explained
def pitprops_sample(n: int = 180, *, rng: Rng = 0) -> pd.DataFrame:
    """Synthetic rows that have exactly the correlation matrix of the pitprops.

    Use them for methods that need rows. Normal draws are whitened exactly and multiplied by a square root
    of the correlation matrix. The rows are not Jeffers' measurements, which were never published.

    Parameters
    ----------
    n : int, default 180
        Number of rows, at least 14, so the thirteen centred variables have full rank.
    rng : None, int or numpy.random.Generator, default 0
        Seed or generator of the random numbers; None is the seed 0.

    Returns
    -------
    DataFrame (n, 13)
        Columns with mean 0 and standard deviation 1 (ddof = 1) whose correlation matrix equals
        `load_pitprops` up to rounding. ``attrs["kind"]`` is "synthetic".

    Raises
    ------
    OptionError
        If `n` is below 14 or `rng` is not of these types.
    """
    R = load_pitprops()
    p = len(R)
    n = whole_number("n", n, p + 1, MOST_NUMBERS // p)
    draws = generator(rng).standard_normal((n, p))
    # Orthonormal columns that are orthogonal to the constant: uncorrelated, with mean zero.
    Q = np.linalg.qr(np.column_stack([np.ones(n), draws]))[0][:, 1:]
    X = np.sqrt(n - 1.0) * Q @ np.linalg.cholesky(R.to_numpy()).T
    frame = pd.DataFrame(X, columns=R.columns)
    frame.attrs.update(
        kind="synthetic", source=f"rows drawn at random to have exactly the correlation matrix of {JEFFERS}"
    )
    return frame


# --- simulated data -------------------------------------------------------------------------------


# Eigenvalues and eigenvectors as printed, to three decimals. The vectors are orthogonal and, to 1e-3, unit.
_TOY = (
    (250.0, 240.0, 50.0, 50.0, 6.0, 5.0, 4.0, 3.0, 2.0, 1.0),
    (0.422, 0.422, 0.422, 0.422, 0, 0, 0, 0, 0.380, 0.380),
    (0, 0, 0, 0, 0.489, 0.489, 0.489, 0.489, -0.147, 0.147),
)
_TOY_NONNEG = (
    (210.0, 190.0, 50.0, 50.0, 6.0, 5.0, 4.0, 3.0, 2.0, 1.0),
    (0.474, 0, 0.158, 0, 0.316, 0, 0.791, 0, 0.158, 0),
    (0, 0.140, 0, 0.840, 0, 0.280, 0, 0.140, 0, 0.420),
)
_HIGHDIM = (400.0, 300.0, 100.0, 100.0, 50.0, 50.0, 50.0, 50.0, 30.0, 30.0)


def _completed(V: np.ndarray, k: int, draw: np.random.Generator) -> np.ndarray:
    """Return the orthonormal `V` (p, 2), completed by random columns to k orthonormal columns."""
    p, n_columns = V.shape
    Q = np.linalg.qr(np.column_stack([V, draw.standard_normal((p, k - n_columns))]))[0]
    Q[:, :n_columns] = V  # equal up to sign and rounding
    return Q


def _normal(n: int, U: np.ndarray, variances: np.ndarray, draw: np.random.Generator) -> np.ndarray:
    """Return n rows of N(0, I + U (D - I) U'), for orthonormal `U` (p, k) and D = diag(variances).

    The symmetric square root of the covariance is I + U (D^(1/2) - I) U', so no p x p matrix is needed.
    """
    Z = draw.standard_normal((n, U.shape[0]))
    return Z + ((Z @ U) * (np.sqrt(variances) - 1.0)) @ U.T


@explained
def make_toy(n: int, *, rng: Rng = 0, nonneg: bool = False) -> pd.DataFrame:
    """Ten normal variables whose covariance has two sparse, or sparse nonnegative, leading eigenvectors.

    The eigenvalues are 250, 240, 50, 50, 6, 5, 4, 3, 2, 1 (210, 190, 50, ... with `nonneg`). The first two
    eigenvectors are the vectors printed in [1]_, scaled to unit length. The other eight are random vectors,
    drawn from `rng` before the rows and orthonormalised.

    Parameters
    ----------
    n : int
        Number of rows, at least 2.
    rng : None, int or numpy.random.Generator, default 0
        Seed or generator of the random numbers; None is the seed 0.
    nonneg : bool, default False
        Whether to use the nonnegative eigenvectors of section 3.3.1, with 5 nonzeros each, instead of the
        eigenvectors of section 3.1.2, with 6.

    Returns
    -------
    DataFrame (n, 10)
        Columns X1..X10, mean 0. ``attrs["loadings"]`` contains the two eigenvectors as 10 rows of 2 numbers
        (see `true_loadings`), ``attrs["eigenvalues"]`` the ten eigenvalues of the covariance.

    Raises
    ------
    OptionError
        If `n` is below 2 or `rng` is not of these types.

    References
    ----------
    .. [1] Q. Zhao, D. Meng, Z. Xu, C. Gao (2015), A block coordinate descent approach for sparse
       principal component analysis, Neurocomputing, sections 3.1.2 and 3.3.1.
    """
    n = whole_number("n", n, 2, MOST_NUMBERS // 10)
    draw, nonneg = generator(rng), flag("nonneg", nonneg)
    variances, *printed = _TOY_NONNEG if nonneg else _TOY
    V = np.array(printed, dtype=float).T
    V /= np.linalg.norm(V, axis=0)
    X = _normal(n, _completed(V, 10, draw), np.array(variances), draw)
    section = "3.3.1" if nonneg else "3.1.2"
    source = f"Zhao, Meng, Xu and Gao (2015), section {section}"
    return labelled(X, V, source=source, eigenvalues=list(variances))


@explained
def make_highdim(n: int, p: int = 500, *, rng: Rng = 0) -> pd.DataFrame:
    """Many normal variables whose covariance has two leading eigenvectors with 50 nonzeros each.

    The eigenvalues are 400, 300, 100, 100, 50, 50, 50, 50, 30, 30 and 1 for the rest. The first
    eigenvector is 1/sqrt(50) on X1..X50; the second is -1/sqrt(50) on X31..X40 and 1/sqrt(50) on X41..X80.
    The next eight are random vectors, drawn from `rng` before the rows and orthonormalised [1]_.

    Parameters
    ----------
    n : int
        Number of rows, at least 2 (50 and 200 in [1]_).
    p : int, default 500
        Number of variables, at least 80.
    rng : None, int or numpy.random.Generator, default 0
        Seed or generator of the random numbers; None is the seed 0.

    Returns
    -------
    DataFrame (n, p)
        Columns X1..Xp, mean 0. ``attrs["loadings"]`` contains the two eigenvectors as p rows of 2 numbers
        (see `true_loadings`), ``attrs["eigenvalues"]`` the first ten eigenvalues.

    Raises
    ------
    OptionError
        If `n` is below 2, `p` is below 80, or `rng` is not of these types.

    References
    ----------
    .. [1] Y. He, R. D. C. Monteiro, H. Park (2010), A fast algorithm for sparse PCA and a new sparsity
       control criteria, section 5.1, after Shen and Huang (2008).
    """
    p = whole_number("p", p, 80, MOST_NUMBERS // 10)
    n = whole_number("n", n, 2, max(MOST_NUMBERS // p, 2))
    draw = generator(rng)
    V = np.zeros((p, 2))
    V[:50, 0] = V[40:80, 1] = 1 / np.sqrt(50)
    V[30:40, 1] = -1 / np.sqrt(50)
    X = _normal(n, _completed(V, len(_HIGHDIM), draw), np.array(_HIGHDIM), draw)
    return labelled(X, V, source="He, Monteiro and Park (2010), section 5.1", eigenvalues=list(_HIGHDIM))


_FINITE = sys.float_info.max


@explained
def make_hastie(
    n: int = 1000,
    *,
    rng: Rng = 0,
    noise: float = 1.0,
    outliers: int = 0,
    outlier_variance: float = 6000.0,
) -> pd.DataFrame:
    """Ten variables driven by three latent factors, with two true sparse components.

    ``V1 ~ N(0, 290)``, ``V2 ~ N(0, 300)`` and ``V3 = -0.3 V1 + 0.925 V2 + e`` with ``e ~ N(0, 1)``, where
    290 and 300 are variances; X1..X4 = V1, X5..X8 = V2 and X9, X10 = V3, each plus independent noise. The
    first sparse component is V2, with loadings on X5..X8, and the second is V1, with loadings on X1..X4 [1]_.

    Parameters
    ----------
    n : int, default 1000
        Number of rows, at least 2, including the outliers.
    rng : None, int or numpy.random.Generator, default 0
        Seed or generator of the random numbers; None is the seed 0.
    noise : float, default 1.0
        Variance of the noise of every variable (sigma^2 in [2]_, up to 4000 there).
    outliers : int, default 0
        Number of outliers, which are the last of the `n` rows (500 of 10000 in [2]_). Their X1..X8 are 0. The
        other rows are the same as without outliers.
    outlier_variance : float, default 6000.0
        Variance of X9 and X10 in the outliers, drawn independently (delta^2 in [2]_, 6000 in its Table 3).

    Returns
    -------
    DataFrame (n, 10)
        Columns X1..X10. ``attrs["loadings"]`` contains the two sparse components as 10 rows of 2 numbers (see
        `true_loadings`), ``attrs["outliers"]`` the number of outliers.

    Raises
    ------
    OptionError
        If a number is out of its range.

    References
    ----------
    .. [1] H. Zou, T. Hastie, R. Tibshirani (2006), Sparse principal component analysis, Journal of
       Computational and Graphical Statistics 15, 265-286.
    .. [2] Q. Zhao, D. Meng, Z. Xu (2014), Robust sparse principal component analysis, Science China
       Information Sciences 57, 092115, section 3.2, equation (15).
    """
    n = whole_number("n", n, 2, MOST_NUMBERS // 10)
    noise = real_number("noise", noise, 0.0, _FINITE)
    outliers = whole_number("outliers", outliers, 0, n)
    outlier_variance = real_number("outlier_variance", outlier_variance, 0.0, _FINITE)
    draw = generator(rng)
    V1, V2, e = (np.sqrt(variance) * draw.standard_normal(n) for variance in (290.0, 300.0, 1.0))
    V3 = -0.3 * V1 + 0.925 * V2 + e
    X = np.column_stack([V1] * 4 + [V2] * 4 + [V3] * 2) + np.sqrt(noise) * draw.standard_normal((n, 10))
    if outliers:
        X[-outliers:] = 0.0
        X[-outliers:, 8:] = np.sqrt(outlier_variance) * draw.standard_normal((outliers, 2))
    V = np.zeros((10, 2))
    V[4:8, 0] = V[0:4, 1] = 0.5
    return labelled(X, V, source="Zou, Hastie and Tibshirani (2006)", outliers=outliers)
