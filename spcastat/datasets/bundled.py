"""The bundled data, from data/: two correlation matrices and two tables of rows.

data/README.md gives the source and the licence of each file.
"""

from __future__ import annotations

from importlib import resources
from importlib.resources.abc import Traversable

import pandas as pd

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

#: The tests of Harman's matrix in groups: what Holzinger and Swineford meant each group to measure.
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
    """Return the correlation matrix in `name`.csv, with its facts in ``attrs``."""
    frame = _read(name)
    frame.index.name = None
    frame.attrs.update(kind="correlation", n_obs=n_obs, source=source)
    return frame


def load_pitprops() -> pd.DataFrame:
    """The correlation matrix of 13 measurements of 180 pitprops (Jeffers 1967).

    Returns
    -------
    DataFrame (13, 13)
        Correlations to three decimals, with a unit diagonal and equal row and column labels. ``attrs`` has
        ``kind`` ("correlation"), ``n_obs`` (180) and ``source``. The 180 rows were never published:
        see `pitprops_sample`.

    Examples
    --------
    >>> from spcastat.datasets import load_pitprops
    >>> float(load_pitprops().loc["topdiam", "length"])
    0.954
    """
    return _correlations("pitprops", 180, JEFFERS)


def load_harman74() -> pd.DataFrame:
    """The correlation matrix of 24 ability tests of 145 children (Holzinger and Swineford 1939).

    The children were in the seventh and eighth grade of the Grant-White School near Chicago. Holzinger and
    Swineford chose the tests to measure five abilities; the tests of an ability are adjacent [1]_ [2]_:

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
        Correlations to three decimals, with a unit diagonal and equal row and column labels. ``attrs`` has
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


def load_wine() -> pd.DataFrame:
    """Chemical analyses of 178 wines from three cultivars (Forina; UCI Machine Learning Repository).

    The wines were grown in the same region of Italy: 59 Barolo, 71 Grignolino and 48 Barbera [1]_ [2]_.

    Returns
    -------
    DataFrame (178, 13)
        A row for each wine, labelled by its cultivar (the index ``cultivar``: fit and draw with
        ``fit.biplot(groups=wine.index)``). The columns are the contents of a wine: alcohol, malic_acid, ash,
        alcalinity_of_ash, magnesium, total_phenols, flavanoids, nonflavanoid_phenols, proanthocyanins,
        color_intensity, hue, od280_od315 (ratio of the optical densities of diluted wine at 280 and 315 nm)
        and proline. The repository gives no units; they differ, so that analyses need ``scale=True``. No
        value is missing. ``attrs`` has ``kind`` ("rows"), ``source`` and ``licence``.

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


def load_judges() -> pd.DataFrame:
    """Lawyers' ratings of 43 judges of the Superior Court (New Haven Register 1977).

    Returns
    -------
    DataFrame (43, 12)
        A row for each judge, labelled by the name as in [1]_ (the index ``judge``). The columns are
        mean ratings, and higher is better, except for the first. With the abbreviation of the column in R:

        - contacts (CONT): contacts of lawyers with the judge
        - integrity (INTG), demeanor (DMNR), diligence (DILG)
        - case_flow (CFMG): managing the flow of cases
        - decisions (DECI): prompt decisions
        - preparation (PREP): preparation for trial
        - familiarity (FAMI): familiarity with the law
        - oral_rulings (ORAL), written_rulings (WRIT): sound rulings
        - physical (PHYS): physical ability
        - retention (RTEN): worthy of retention

        No value is missing. ``attrs`` has ``kind`` ("rows") and ``source``.

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
