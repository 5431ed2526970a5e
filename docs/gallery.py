"""Make the gallery: docs/gallery.md and its figures in docs/gallery/, each drawn by the code on the page.

    python docs/gallery.py [NAME ...]

Most data are simulated with the dimensions of real data sets (tests/plots/shapes.py): 5 to 2,000 variables,
50 to 10,000 rows. The first twelve tables are real (from scikit-learn and statsmodels), bundled, or a
simulated questionnaire; their figures use the choices of `choose` and no plot options except groups.
With names, only these figures are drawn again; the page is always written completely.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from PIL import Image

DOCS = Path(__file__).resolve().parent
sys.path.insert(0, str(DOCS.parent))

import spcastat as sp  # noqa: E402
from tests.plots.shapes import SHAPES  # noqa: E402

#: Colours of a small figure in a PNG; dots an inch.
DPI = 80

INTRO = """# Gallery

Each figure is drawn by the code above it. The first twelve show common data sets with the choices of `choose`
and no plot options except groups; the others use simulated data with the dimensions of real data sets. The
command `python docs/gallery.py` writes this page.
"""


@dataclass(frozen=True)
class Figure:
    """A figure of the gallery: its heading, its data, a caption, and the code that draws it."""

    name: str
    title: str
    data: str
    about: str
    code: str
    style: str = ""


#: Tables whose variables have one unit.
ONE_UNIT = ("digits",)
#: Default figures of common data sets: name -> heading, data, caption, whether rows have groups.
TABLES = {
    "wine": ("Wines", "sklearn wine", "Wines of three cultivars (scikit-learn).", True),
    "breast-cancer": (
        "Breast cancer cells",
        "sklearn breast_cancer",
        "Cells of benign and malignant tumours (scikit-learn).",
        True,
    ),
    "diabetes": ("Diabetes patients", "sklearn diabetes", "Patients with diabetes (scikit-learn).", False),
    "iris": ("Iris flowers", "sklearn iris", "Flowers of three species (scikit-learn).", True),
    "digits": (
        "Handwritten digits",
        "sklearn digits",
        "Pixels of handwritten digits, all in the same unit (scikit-learn).",
        True,
    ),
    "pitprops": (
        "Pitprops",
        "pitprops",
        "Pitprops: synthetic rows with the published correlations (bundled).",
        False,
    ),
    "macrodata": (
        "Macroeconomic series",
        "statsmodels macrodata",
        "Quarterly macroeconomic data of the United States (statsmodels).",
        False,
    ),
    "statecrime": (
        "Crime in US states",
        "statsmodels statecrime",
        "Crime and demography of the states of the USA (statsmodels).",
        False,
    ),
    "fair": ("Survey on marriages", "statsmodels fair", "Magazine survey on marriages (statsmodels).", False),
    "anes96": (
        "Voters of 1996",
        "statsmodels anes96",
        "Voters in the United States election of 1996, by vote (statsmodels).",
        True,
    ),
    "elnino": (
        "Sea temperatures",
        "statsmodels elnino",
        "Sea surface temperatures, years by months (statsmodels).",
        False,
    ),
    "questionnaire": (
        "Questionnaire",
        "questionnaire",
        "A questionnaire of five scales of five items (simulated).",
        True,
    ),
}
FIGURES = (
    *(
        Figure(
            f"table-{name}",
            title,
            data,
            about,
            f"choice = sp.choose(df{'' if name in ONE_UNIT else ', scale=True'})\n"
            f"ax = choice.fit.biplot({'groups=group' if groups else ''})",
        )
        for name, (title, data, about, groups) in TABLES.items()
    ),
    Figure(
        "wine",
        "Biplot with groups and outlines",
        "wine",
        "Thirteen variables, rows in three groups. Each variable has a nonzero loading on one component "
        "only, so it is a bar in the margin of that component, the largest first.",
        "fit = sp.spca(df, k=2, card=5, scale=True)\n"
        'ax = fit.biplot(groups=group, outline="normal", centroids=True)',
    ),
    Figure(
        "row-names",
        "Biplot with names of rows",
        "small wine",
        "Fifty rows with names, and dense components: the twelve longest arrows are drawn. Names stand at "
        "arrows and points where there is room; the bars name the largest loadings.",
        'fit = sp.spca(df, k=2, method="pca", scale=True)\nax = fit.biplot(labels=12)',
    ),
    Figure(
        "correlations-as-arrows",
        "Biplot with correlations as arrows",
        "cells",
        "Arrows are correlations; variables with zero loadings are drawn faintly.",
        "fit = sp.spca(df, k=2, card=6, scale=True)\n"
        'ax = fit.biplot(arrows="correlations", groups=group, outline="hull", max_arrows=18)',
    ),
    Figure(
        "circle",
        "Circle of correlations",
        "collinear cells",
        "Thirty collinear variables: numbers and a key replace names that do not fit.",
        "fit = sp.spca(df, k=2, card=8, scale=True)\nax = fit.plot_correlations()",
    ),
    Figure(
        "eight-groups",
        "Biplot of many variables and eight groups",
        "census",
        "A hundred variables with long names, 1,994 rows in eight groups of different colours.",
        'fit = sp.spca(df, k=2, card=9, method="greedy", scale=True)\n'
        "ax = fit.biplot(groups=group, centroids=True)",
    ),
    Figure(
        "loadings-by-group",
        "Loadings in groups of variables",
        "census",
        "Loadings of variables in groups; long names are shortened in the middle.",
        'fit = sp.spca(df, k=4, card=6, method="greedy", scale=True)\n'
        'ax = fit.plot_loadings(sections=[name.rsplit("_", 1)[1] for name in df.columns])',
    ),
    Figure(
        "genes",
        "Biplot of wide data",
        "genes",
        "2,000 variables and 62 rows: the thirty longest arrows, and the number of variables not drawn.",
        'fit = sp.spca(df, k=2, card=25, method="greedy", scale=True)\nax = fit.biplot(groups=group)',
    ),
    Figure(
        "genes-scree",
        "Cumulative variance of wide data",
        "genes",
        "The cumulative spectrum of the same data, and the sparse components.",
        'fit = sp.spca(df, k=3, card=25, method="greedy", scale=True)\n'
        'ax = fit.screeplot(kind="cumulative", max_components=61)',
    ),
    Figure(
        "letters",
        "Biplot of 10,000 rows",
        "letters",
        "10,000 rows in twelve groups; in vector graphics the points are rasterised. Ellipses of a t "
        "distribution are robust to outliers.",
        'fit = sp.spca(df, k=2, card=5, method="greedy", scale=True)\n'
        'ax = fit.biplot(groups=group, outline="t", level=0.5)',
    ),
    Figure(
        "letters-scores",
        "Pairs of scores with densities",
        "letters",
        "Pairs of scores with the density of each component.",
        'fit = sp.spca(df, k=4, card=5, method="greedy", scale=True)\nax = fit.plot_scores()',
    ),
    Figure(
        "exams",
        "Biplot coloured by a numeric variable",
        "exams",
        "Five variables, 88 rows; the colour shows a numeric variable.",
        'fit = sp.spca(df, k=2, method="pca", scale=True)\n'
        'ax = fit.biplot(color="statistics", palette="cividis")',
    ),
    Figure(
        "one-component",
        "Scores of one component",
        "exams",
        "The density of a single component, with a mark for each row.",
        'fit = sp.spca(df, k=1, card=3, scale=True)\nax = fit.plot_scores(groups=df["algebra"] > 0)',
    ),
    Figure(
        "far-row",
        "Biplot with an outlier",
        "far row",
        "One outlier does not compress the other points and the arrows.",
        "fit = sp.spca(df, k=2, card=4, scale=True)\nax = fit.biplot(labels=1)",
    ),
    Figure(
        "spectra",
        "Loadings as lines",
        "spectra",
        "Loadings at a hundred wavelengths, drawn as lines; the names of the columns are numbers.",
        'fit = sp.spca(df, k=3, card=25)\nax = fit.plot_loadings(kind="line")',
    ),
    Figure(
        "spectra-biplot",
        "Biplot of spectra",
        "spectra",
        "The same data in a biplot: neighbouring wavelengths nearly coincide, and the bars name the largest.",
        "fit = sp.spca(df, k=2, card=12)\nax = fit.biplot(groups=group)",
    ),
    Figure(
        "intervals",
        "Loadings with bootstrap intervals",
        "survey",
        "Thirty questions with long names: loadings with bootstrap intervals, paler if they include zero.",
        'fit = sp.spca(df, k=3, card=6, method="greedy", scale=True)\n'
        "intervals = fit.bootstrap(50).conf_int()\n"
        "ax = fit.plot_loadings(intervals=intervals)",
    ),
    Figure(
        "cos2",
        "Quality of representation (cos2)",
        "survey",
        "The share of the variance of each question that two components represent.",
        'fit = sp.spca(df, k=2, card=6, method="greedy", scale=True)\n'
        'ax = fit.plot_loadings(values="cos2")',
    ),
    Figure(
        "supplement",
        "Supplementary variables, levels and rows",
        "equal names",
        "Supplementary variables, levels and new rows are on the scale of the others. Shortened names that "
        "would be equal are numbered.",
        'fit = sp.spca(df, k=2, method="pca", scale=True)\n'
        'depth, site = df.iloc[:, 0] - df.iloc[:, 1], ["hill", "lake", "wood"] * 40\n'
        'further = pd.DataFrame({"depth": depth, "site": site})\n'
        "extra = fit.supplement(rows=df.iloc[:4] * 1.3, variables=further)\n"
        'ax = fit.biplot(arrows="correlations", supplement=extra)',
    ),
    Figure(
        "new-rows",
        "Biplot with new rows",
        "small wine",
        "Rows that were not fitted, on the scale of the fit.",
        "fit = sp.spca(df.iloc[:40], k=2, card=8, scale=True)\nax = fit.biplot(new=df.iloc[40:])",
    ),
    Figure(
        "frequency",
        "Selection frequencies",
        "exams",
        "The frequency with which fits of half of the rows select each variable.",
        'fit = sp.spca(df, k=2, card=3, method="greedy", scale=True)\nax = fit.stability(20, rng=0).plot()',
    ),
    Figure(
        "diagnostics",
        "Diagnostics of rows",
        "cells",
        "Rows far from the centre within the span of the loadings (T2), or far from that span (Q).",
        "fit = sp.spca(df, k=3, card=8, scale=True)\nax = fit.plot_diagnostics(groups=group)",
    ),
    Figure(
        "choice",
        "Choice of the cardinality",
        "wine",
        "Cross-validation: the sparsest fit to which no further loadings are worth adding.",
        "choice = sp.choose(df, k=3, scale=True, rng=0)\nax = choice.plot()",
    ),
    Figure(
        "components",
        "Choice of the number of components",
        "survey",
        "Eigenvalues and their 95 % quantiles in noise.",
        "choice = sp.choose_k(df, scale=True, n_draws=99, rng=0)\nax = choice.plot()",
    ),
    Figure(
        "images",
        "Loadings as images",
        "images",
        "Loadings as images; pixels with zero loadings are white.",
        'fit = sp.spca(df, k=4, card=20)\nax = fit.plot_loadings(kind="image", shape=(12, 12))',
    ),
    Figure(
        "scree",
        "Scree plot with a noise limit",
        "cells",
        "Sparse and dense components in percent of the total variance; components above the dashed line "
        "exceed noise.",
        "fit = sp.spca(df, k=3, card=8, scale=True)\n"
        "noise = sp.choose_k(df, scale=True, n_draws=99, rng=0)\n"
        'ax = fit.screeplot(kind="share", parallel=noise, max_components=12)',
    ),
    Figure(
        "path",
        "Measures along a path",
        "wine",
        "Measures of variance along a path of cardinalities.",
        "path = sp.spca_path(df, 2, scale=True)\n"
        'ax = path.plot(measures=["adjusted", "pev", "least_squares"], x="card")',
    ),
    Figure(
        "compare",
        "Comparison of fits",
        "wine",
        "Three fits side by side.",
        'fits = {f"card={card}": sp.spca(df, k=3, card=card, scale=True) for card in (3, 5, 7)}\n'
        "ax = sp.compare(fits).plot()",
    ),
    Figure(
        "sparse-loadings",
        "Sparse loadings of a questionnaire",
        "questionnaire",
        "Sparse loadings: the component that each item reflects. Bars are bootstrap intervals, in grey if "
        "they contain zero.",
        "fit = sp.sparse_loadings(df, k=5, card=6, scale=True)\n"
        "intervals = fit.bootstrap(99).conf_int()\n"
        "ax = fit.plot_loadings(sections=[name[:-1] for name in df.columns], intervals=intervals)",
    ),
    Figure(
        "sparse-loadings-biplot",
        "Biplot of sparse loadings",
        "sklearn wine",
        "Scores of sparse loadings are uncorrelated; arrows are the correlations of variables with the "
        "scores, or zero.",
        "fit = sp.sparse_loadings(df, k=2, card=7, scale=True)\n"
        'ax = fit.biplot(groups=group, outline="normal")',
    ),
    Figure(
        "slopes",
        "Components in groups of rows",
        "sklearn wine",
        "Slopes of the variables on common components in three groups, with 95 % intervals. Stars mark "
        "variables whose slopes differ, adjusted for all variables and components.",
        "found = sp.compare_groups(df, group, k=2, card=4, scale=True)\nax = found.plot()",
    ),
    Figure(
        "reconstruction",
        "Reconstruction error",
        "cells",
        "Reconstruction error by number of components.",
        'fit = sp.spca(df, k=6, card=6, method="greedy", scale=True)\nax = fit.screeplot(kind="error")',
    ),
    Figure(
        "coordinates",
        "Sparse principal coordinates",
        "coordinates",
        "Sparse principal coordinates of the rows.",
        "fit = sp.spco(df, k=2, zeros=0.5)\nax = fit.plot(groups=group)",
    ),
    Figure(
        "coordinates-path",
        "Path of sparse principal coordinates",
        "coordinates",
        "Measures of sparse coordinates, from no zeros to nearly all zeros.",
        "ax = sp.spco(df, k=2, zeros=0.5).path().plot()",
    ),
    Figure(
        "dark",
        "Dark style",
        "cells",
        "A dark style: text, arrows and grey tones follow the background.",
        'fit = sp.spca(df, k=2, card=6, scale=True)\nax = fit.biplot(groups=group, outline="normal")',
        "dark_background",
    ),
    Figure(
        "talk",
        "Style for talks",
        "wine",
        'The context "talk" of seaborn enlarges text, lines and markers, and the figure.',
        "fit = sp.spca(df, k=2, card=5, scale=True)\nax = fit.biplot(groups=group, components=(1, 2))",
        "talk",
    ),
)


def images() -> tuple[pd.DataFrame, np.ndarray]:
    """Return 300 images of 12 x 12 pixels: blots of random strength at four places."""
    rng = np.random.default_rng(5)
    grid = np.stack(np.meshgrid(np.arange(12), np.arange(12), indexing="ij"), axis=-1)
    centres = np.array([[3, 3], [3, 8], [8, 3], [8, 8]])
    blots = np.exp(-((grid[None] - centres[:, None, None]) ** 2).sum(axis=-1) / 5.0).reshape(4, 144)
    values = rng.gamma(2.0, size=(300, 4)) * [4, 3, 2.5, 2] @ blots + 0.3 * rng.normal(size=(300, 144))
    return pd.DataFrame(values), np.zeros(300)


def coordinates() -> tuple[pd.DataFrame, np.ndarray]:
    """Return ten rows each of three normal distributions in 50 variables (Dou, Dai, Xu and Zhang, 5.2)."""
    rng = np.random.default_rng(0)
    kinds = ((10.0, 1.0), (-10.0, 3.0), (0.0, np.sqrt(17.0)))
    rows = [mean + sd * rng.normal(size=(10, 50)) for mean, sd in kinds]
    return pd.DataFrame(np.vstack(rows)), np.repeat(["G1", "G2", "G3"], 10)


def of_sklearn(name: str) -> tuple[pd.DataFrame, np.ndarray]:
    """Return a table of scikit-learn, and the names of its classes."""
    from sklearn import datasets

    found = getattr(datasets, f"load_{name}")(as_frame=True)
    classes = getattr(found, "target_names", None)
    return found.data, found.target.to_numpy() if classes is None else np.asarray(classes)[found.target]


#: The tables that come with these libraries.
SKLEARN = ("wine", "breast_cancer", "diabetes", "iris", "digits")
STATSMODELS = ("macrodata", "statecrime", "fair", "anes96", "elnino")
#: What is no variable in tables of statsmodels, and the column of the groups.
NO_VARIABLES = {"macrodata": ["year", "quarter"], "anes96": ["popul", "vote"], "elnino": ["YEAR"]}
GROUPS = {"anes96": "vote"}


def of_statsmodels(name: str) -> tuple[pd.DataFrame, np.ndarray]:
    """Return a table that comes with statsmodels, and the groups of its rows."""
    from statsmodels import datasets

    table = importlib.import_module(f"{datasets.__name__}.{name}").load_pandas().data
    groups = table[GROUPS[name]].to_numpy() if name in GROUPS else np.zeros(len(table))
    return table.drop(columns=NO_VARIABLES.get(name, [])), groups


def questionnaire() -> tuple[pd.DataFrame, np.ndarray]:
    """Return answers of 500 people on six points; the third item of each scale is reversed."""
    rng = np.random.default_rng(7)
    traits = rng.standard_normal((500, 5))
    sex = np.where(rng.random(500) < 0.5, "women", "men")
    traits[:, 0] += 0.4 * traits[:, 1]
    traits[sex == "women", 2] += 0.8
    cuts = [-1.5, -0.6, 0.1, 0.8, 1.6]
    items = {}
    for j, scale in enumerate(["worry", "social", "order", "kind", "ideas"]):
        for i in range(1, 6):
            answer = (-0.75 if i == 3 else 0.75) * traits[:, j] + 0.66 * rng.standard_normal(500)
            items[f"{scale}{i}"] = 1 + np.digitize(answer, cuts)
    return pd.DataFrame(items), sex


#: Where the data of figures come from: name -> rows and their groups.
MAKERS = {
    **SHAPES,
    "images": images,
    "coordinates": coordinates,
    "pitprops": lambda: (sp.datasets.pitprops_sample(), np.zeros(180)),
    "questionnaire": questionnaire,
    **{f"sklearn {name}": partial(of_sklearn, name) for name in SKLEARN},
    **{f"statsmodels {name}": partial(of_statsmodels, name) for name in STATSMODELS},
}


@contextmanager
def styled(style: str) -> Iterator[None]:
    """Draw in a style of matplotlib's, or in the context "talk" of seaborn, where that is installed."""
    if style != "talk":
        with plt.style.context(style or "default"):
            yield
        return
    try:
        import seaborn
    except ImportError:
        settings = {"font.size": 18, "axes.labelsize": 18, "xtick.labelsize": 16.5, "ytick.labelsize": 16.5}
        settings |= {"legend.fontsize": 16.5, "lines.linewidth": 2.25, "lines.markersize": 9}
        with plt.rc_context(settings):
            yield
    else:
        with seaborn.axes_style("whitegrid"), seaborn.plotting_context("talk"):
            yield


def draw(figure: Figure) -> None:
    """Run the lines of a figure and save what they draw."""
    path = DOCS / "gallery" / f"{figure.name}.png"
    df, group = MAKERS[figure.data]()
    names = {"sp": sp, "pd": pd, "df": df, "group": pd.Series(group, index=df.index, name="group")}
    with styled(figure.style):
        exec(figure.code, names)  # the lines above, nobody else's
        drawn = names["ax"].figure
        drawn.savefig(path, dpi=DPI, facecolor=drawn.get_facecolor())
        plt.close(drawn)
    Image.open(path).convert("RGB").quantize(128).save(path, optimize=True)


def sizes(figure: Figure) -> str:
    """Return how large the data of a figure are."""
    df, _ = MAKERS[figure.data]()
    return f"{len(df):,} rows, {df.shape[1]:,} variables"


def main(chosen: list[str]) -> None:
    """Draw the chosen figures, or all, and write the page."""
    unknown = set(chosen) - {figure.name for figure in FIGURES}
    if unknown:
        raise SystemExit(f"no figure is called {', '.join(sorted(unknown))}")
    (DOCS / "gallery").mkdir(exist_ok=True)
    parts = [INTRO]
    for figure in FIGURES:
        if not chosen or figure.name in chosen:
            draw(figure)
        style = {"": "", "talk": ' with seaborn.plotting_context("talk"):'}.get(
            figure.style, f' with plt.style.context("{figure.style}"):'
        )
        code = figure.code if not style else style.strip() + "\n    " + figure.code.replace("\n", "\n    ")
        parts.append(
            f"## {figure.title}\n\n{figure.about} ({sizes(figure)})\n\n"
            f"```python\n{code}\n```\n\n![{figure.about}](gallery/{figure.name}.png)\n"
        )
    (DOCS / "gallery.md").write_text("\n".join(parts), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
