"""Make the gallery: docs/gallery.md and its figures in docs/gallery/, each drawn by the code on the page.

    python docs/gallery.py [NAME ...]

Most data are simulated with the dimensions of real data sets (tests/plots/shapes.py and
docs/gallery_tables.py): 5 to 2,000 variables, 50 to 10,000 rows. The first twelve tables are real (from
scikit-learn and statsmodels), bundled, or a simulated questionnaire; their figures use the choices of
`choose` and no plot options except groups.
With names, only these figures are drawn again; the page is always written completely.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
from PIL import Image

DOCS = Path(__file__).resolve().parent
sys.path.insert(0, str(DOCS.parent))


#: Colours of a small figure in a PNG; dots an inch.
DPI = 110

INTRO = """# Gallery

Each figure is drawn by the code above it, as it stands. The first twelve show common data sets with the
choices of `choose` and no plot options except groups; they need scikit-learn or statsmodels for their data.
The others use simulated tables with the dimensions of real data sets: run the code of these tables once,
before that of the figure. The command `python docs/gallery.py` writes this page.
"""
#: Imports of the simulated tables.
HEAD = """from collections.abc import Callable
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import spcastat as sp"""
DETAILS = """## Simulated tables

<details>
<summary>Code of the simulated tables, and the imports of their figures</summary>

```python
{code}
```

</details>
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


#: What is given to `choose` besides the table: scaling unless the variables have one unit, and two components
#: where the first one is enough to predict, since a biplot needs two.
CHOICES = {"digits": "df", "iris": "df, k=2, scale=True"}
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
            f"choice = sp.choose({CHOICES.get(name, 'df, scale=True')})\n"
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
        'ax = fit.biplot(arrows="correlations", groups=group, max_arrows=18)',
    ),
    Figure(
        "circle",
        "Circle of correlations",
        "collinear cells",
        "Thirty collinear variables: names at arrows where there is room, and bars that name the largest.",
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
        "Loadings of variables in sections, which stand in grey after the names.",
        'fit = sp.spca(df, k=4, card=6, method="greedy", scale=True)\n'
        'housing = ("owners", "tenants", "mortgaged", "shared", "social", "new")\n'
        'sections = ["housing" if name.startswith(housing) else "people" for name in df.columns]\n'
        "ax = fit.plot_loadings(sections=sections)",
    ),
    Figure(
        "genes",
        "Biplot of wide data",
        "genes",
        "2,000 variables and 62 rows: the largest loadings of each component, and the number of the others.",
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
        "The share of the variance of each question that each component represents.",
        'fit = sp.spca(df, k=2, card=6, method="greedy", scale=True)\nax = fit.plot_loadings(values="cos2")',
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
        "Eigenvalues, filled where they exceed the 95 % quantiles of noise, and these.",
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
        "Sparse loadings: the component that each item reflects, with bootstrap intervals. Bars are paler if "
        "the interval includes zero, and names of items on two components are italic.",
        "fit = sp.sparse_loadings(df, k=5, card=6, scale=True)\n"
        "intervals = fit.bootstrap(99).conf_int()\n"
        "ax = fit.plot_loadings(intervals=intervals)",
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
        "comparison = sp.compare_groups(df, group, k=2, card=4, scale=True)\nax = comparison.plot()",
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
        "Larger text and markers enlarge the figure, and the blocks with it.",
        "fit = sp.spca(df, k=2, card=5, scale=True)\nax = fit.biplot(groups=group, components=(1, 2))",
        "talk",
    ),
)


#: What is no variable in tables of statsmodels, and the column of the groups.
NO_VARIABLES = {"macrodata": ["year", "quarter"], "anes96": ["popul"], "elnino": ["YEAR"]}
GROUPS = {"anes96": "vote"}
#: Tables of scikit-learn without classes.
NO_CLASSES = ("diabetes",)


def loading(data: str) -> str:
    """Return the lines that load the data of a figure as `df`, and the groups of its rows as `group`."""
    library, _, name = data.rpartition(" ")
    if library == "sklearn":
        lines = ["import spcastat as sp", f"from sklearn.datasets import load_{name}", ""]
        lines += [f"table = load_{name}(as_frame=True)", "df = table.data"]
        return "\n".join(lines + ["group = table.target_names[table.target]"] * (name not in NO_CLASSES))
    if library == "statsmodels":
        lines = ["import spcastat as sp", f"from statsmodels.datasets import {name}", ""]
        lines.append(f"df = {name}.load_pandas().data")
        if name in GROUPS:
            lines.append(f'group = df.pop("{GROUPS[name]}").to_numpy()')
        if name in NO_VARIABLES:
            columns = ", ".join(f'"{column}"' for column in NO_VARIABLES[name])
            lines.append(f"df = df.drop(columns=[{columns}])")
        return "\n".join(lines)
    if data == "pitprops":
        return "import spcastat as sp\n\ndf = sp.datasets.pitprops_sample()"
    return f'df, group = table("{data}")'


def simulators() -> str:
    """Return the code that simulates tables, which is printed once on the page."""
    parts = []
    for path in (DOCS.parent / "tests" / "plots" / "shapes.py", DOCS / "gallery_tables.py"):
        text = path.read_text(encoding="utf-8").partition("\nimport pandas as pd\n")[2]
        parts.append(text.replace("from tests.plots.shapes import SHAPES\n", "").strip())
    return f"{HEAD}\n\n\n" + "\n\n\n".join(parts)


def code_of(figure: Figure) -> str:
    """Return the complete code of a figure, after that of the simulated tables if it needs one."""
    code = figure.code
    if figure.style == "talk":
        code = _within('plt.rc_context({"font.size": 16, "lines.markersize": 9})', code)
    elif figure.style:
        code = _within(f'plt.style.context("{figure.style}")', code)
    return loading(figure.data) + "\n" + code


def _within(context: str, code: str) -> str:
    return f"with {context}:\n    " + code.replace("\n", "\n    ")


def draw(figure: Figure) -> None:
    """Run the lines of a figure as they are printed, and save what they draw."""
    path = DOCS / "gallery" / f"{figure.name}.png"
    names: dict[str, Any] = {}
    exec(simulators(), names)
    exec(code_of(figure), names)  # the lines above, nobody else's
    drawn = names["ax"].figure
    drawn.savefig(path, dpi=DPI, facecolor=drawn.get_facecolor())
    plt.close(drawn)
    image = Image.open(path).convert("RGB")
    image.quantize(256, method=Image.Quantize.FASTOCTREE).save(path, optimize=True)  # keeps rare colours


def sizes(figure: Figure) -> str:
    """Return how large the data of a figure are."""
    names: dict[str, Any] = {}
    exec(simulators(), names)
    exec(loading(figure.data), names)
    df = names["df"]
    return f"{len(df):,} rows, {df.shape[1]:,} variables"


def thumbnails() -> str:
    """Return a grid of the figures, each linked to its code."""
    links = [f"[![{figure.title}](gallery/{figure.name}.png)](#{figure.name})" for figure in FIGURES]
    return "::::{container} thumbnails\n" + "\n".join(links) + "\n::::\n"


def main(chosen: list[str]) -> None:
    """Draw the chosen figures, or all, and write the page."""
    unknown = set(chosen) - {figure.name for figure in FIGURES}
    if unknown:
        raise SystemExit(f"no figure is called {', '.join(sorted(unknown))}")
    (DOCS / "gallery").mkdir(exist_ok=True)
    parts = [INTRO, thumbnails(), DETAILS.format(code=simulators())]
    for figure in FIGURES:
        if not chosen or figure.name in chosen:
            draw(figure)
        parts.append(
            f"({figure.name})=\n## {figure.title}\n\n{figure.about} ({sizes(figure)})\n\n"
            f"```python\n{code_of(figure)}\n```\n\n![{figure.about}](gallery/{figure.name}.png)\n"
        )
    (DOCS / "gallery.md").write_text("\n".join(parts), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
