"""Make the gallery: docs/gallery.md, and in docs/gallery/ a page for each figure, drawn by the code on it.

    python docs/gallery.py [NAME ...]

Most data are those of the package; where others are needed, they are simulated: a few by lines of this
file, the others by functions of tests/plots/shapes.py and docs/gallery_tables.py. The figures of "Common
tables" use the choices of `choose` and no plot options except groups.
With names, only these figures are drawn again; the pages are always written completely.
"""

from __future__ import annotations

import ast
import re
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

Each figure links to the code that draws it, which runs as pasted. Most figures show data sets of the
package; the others show data from scikit-learn or statsmodels, or simulated data. The command
`python docs/gallery.py` writes these pages.
"""
#: The files whose functions simulate tables.
SIMULATORS = (DOCS.parent / "tests" / "plots" / "shapes.py", DOCS / "gallery_tables.py")
#: Where the figures stand in the gallery: heading -> a sentence, and their names.
SECTIONS: dict[str, tuple[str, tuple[str, ...]]] = {
    "Biplots": (
        "Scores of the rows, and the variables of each component as bars next to its axis.",
        (
            *("wine", "row-names", "coloured", "eight-groups", "genes", "letters", "far-row", "new-rows"),
            *("supplement", "correlations-as-arrows", "circle", "spectra-biplot", "sparse-loadings-biplot"),
        ),
    ),
    "Loadings": (
        "The variables of each component, largest first, with intervals, contributions or frequencies.",
        ("intervals", "loadings-by-group", "cos2", "spectra", "images", "sparse-loadings", "frequency"),
    ),
    "Rows": (
        "Scores of components in pairs or alone, and rows poorly fitted by the components.",
        ("letters-scores", "one-component", "diagnostics", "coordinates"),
    ),
    "Choices and comparisons": (
        "The numbers of components and nonzero loadings, and the differences between fits.",
        (
            *("components", "choice", "scree", "genes-scree", "path", "compare", "slopes"),
            "coordinates-path",
        ),
    ),
    "Styles": ("Colours and sizes follow the style of Matplotlib.", ("dark", "talk")),
    "Common tables": (
        "The fits are chosen by `choose`, and only groups are given as a plot option. The data need "
        "scikit-learn or statsmodels.",
        (
            *("table-wine", "table-breast-cancer", "table-diabetes", "table-iris", "table-digits"),
            *("table-pitprops", "table-macrodata", "table-statecrime", "table-fair", "table-anes96"),
            *("table-elnino", "table-questionnaire"),
        ),
    ),
}


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
        "Wines of three cultivars. A variable with a nonzero loading on one component only is a bar"
        " in the margin of that component, the largest first.",
        "fit = sp.spca(df, k=2, card=5, scale=True)\n"
        'ax = fit.biplot(groups=group, outline="normal", centroids=True)',
    ),
    Figure(
        "row-names",
        "Biplot with names of rows",
        "judges",
        "Forty-three judges with names, and dense components. Arrows and points are named where there is "
        "room.",
        'fit = sp.spca(df, k=2, method="pca", scale=True)\nax = fit.biplot(labels=12)',
    ),
    Figure(
        "correlations-as-arrows",
        "Biplot with correlations as arrows",
        "wine",
        "Arrows are correlations; variables with zero loadings are drawn faintly.",
        'fit = sp.spca(df, k=2, card=6, scale=True)\nax = fit.biplot(arrows="correlations", groups=group)',
    ),
    Figure(
        "circle",
        "Circle of correlations",
        "judges",
        "Twelve ratings, most of which are collinear. Arrows are named where there is room; if several are "
        "not, bars list the variables of each component.",
        "fit = sp.spca(df, k=2, card=8, scale=True)\nax = fit.plot_correlations()",
    ),
    Figure(
        "eight-groups",
        "Biplot of many variables and eight groups",
        "many groups",
        "A hundred variables with long names, 1,994 rows in eight groups of different colours.",
        "fit = sp.spca(df, k=2, card=9, scale=True)\nax = fit.biplot(groups=group, centroids=True)",
    ),
    Figure(
        "loadings-by-group",
        "Loadings in groups of variables",
        "harman74",
        "Loadings of tests, grouped by the abilities that the tests were chosen to measure; the abilities "
        "are named in grey after the tests.",
        "fit = sp.spca_cov(df, 4, disjoint=True, n_obs=145)\n"
        'sizes = {"spatial": 4, "verbal": 5, "speed": 4, "memory": 6, "deduction": 5}\n'
        "sections = [ability for ability, size in sizes.items() for _ in range(size)]\n"
        "ax = fit.plot_loadings(sections=sections)",
    ),
    Figure(
        "genes",
        "Biplot of wide data",
        "genes",
        "2,000 variables and 62 rows: the largest loadings of each component, and how many more there are.",
        "fit = sp.spca(df, k=2, card=25, scale=True)\nax = fit.biplot(groups=group)",
    ),
    Figure(
        "genes-scree",
        "Cumulative variance of wide data",
        "genes",
        "The cumulative spectrum of the same data, and the sparse components.",
        "fit = sp.spca(df, k=3, card=25, scale=True)\n"
        'ax = fit.screeplot(kind="cumulative", max_components=12)',
    ),
    Figure(
        "letters",
        "Biplot of 10,000 rows",
        "many rows",
        "10,000 rows in twelve groups; in vector graphics the points are rasterised. Ellipses of a "
        "t distribution are robust to outliers.",
        'fit = sp.spca(df, k=2, card=5, scale=True)\nax = fit.biplot(groups=group, outline="t", level=0.5)',
    ),
    Figure(
        "letters-scores",
        "Pairs of scores with densities",
        "wine",
        "Pairs of scores with the density of each component.",
        "fit = sp.spca(df, k=3, card=5, scale=True)\nax = fit.plot_scores(groups=group)",
    ),
    Figure(
        "coloured",
        "Biplot coloured by a numeric variable",
        "judges",
        "Ratings of judges; the colour shows the number of contacts with lawyers.",
        'fit = sp.spca(df, k=2, method="pca", scale=True)\n'
        'ax = fit.biplot(color="contacts", palette="cividis")',
    ),
    Figure(
        "one-component",
        "Scores of one component",
        "wine",
        "The density of a single component, with a mark for each row.",
        "fit = sp.spca(df, k=1, card=5, scale=True)\nax = fit.plot_scores(groups=group)",
    ),
    Figure(
        "far-row",
        "Biplot with an outlier",
        "wine",
        "One outlier is drawn at the edge, so it does not compress the other points. It alone makes the "
        "scores correlate positively: without it, r is -0.64.",
        "df.iloc[0] *= 10\nfit = sp.spca(df, k=2, card=4, scale=True)\nax = fit.biplot(labels=1)",
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
        "harman74",
        "Loadings of 24 tests with bootstrap intervals, paler if these include zero.",
        "fit = sp.spca_cov(df, 4, disjoint=True, n_obs=145)\n"
        "intervals = fit.bootstrap(99).conf_int()\n"
        "ax = fit.plot_loadings(intervals=intervals)",
    ),
    Figure(
        "cos2",
        "Quality of representation (cos2)",
        "harman74",
        "The share of the variance of each test that each component represents.",
        'fit = sp.spca_cov(df, k=2, card=8)\nax = fit.plot_loadings(values="cos2")',
    ),
    Figure(
        "supplement",
        "Supplementary variables, levels and rows",
        "wine",
        "Supplementary variables, levels and new rows are on the scale of the others.",
        'fitted = df.drop(columns="proline")\n'
        "fit = sp.spca(fitted, k=2, card=5, scale=True)\n"
        'further = df[["proline"]].assign(cultivar=group)\n'
        "extra = fit.supplement(rows=fitted.iloc[:4] * 1.2, variables=further)\n"
        'ax = fit.biplot(arrows="correlations", supplement=extra)',
    ),
    Figure(
        "new-rows",
        "Biplot with new rows",
        "wine",
        "Rows that were not fitted, on the scale of the fit.",
        "fit = sp.spca(df.iloc[::2], k=2, card=5, scale=True)\nax = fit.biplot(new=df.iloc[1::2])",
    ),
    Figure(
        "frequency",
        "Selection frequencies",
        "wine",
        "The frequency with which fits to half of the rows select each variable.",
        "fit = sp.spca(df, k=2, card=5, scale=True)\nax = fit.stability(20, rng=0).plot()",
    ),
    Figure(
        "diagnostics",
        "Diagnostics of rows",
        "wine",
        "Rows far from the centre within the span of the loadings (T2), or far from that span (Q).",
        "fit = sp.spca(df, k=3, card=5, scale=True)\nax = fit.plot_diagnostics(groups=group)",
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
        "harman74",
        "Eigenvalues and the 95 % quantiles of noise; eigenvalues above these quantiles are filled.",
        "choice = sp.choose_k(df, n_obs=145, n_draws=99, rng=0)\nax = choice.plot()",
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
        "wine",
        "Sparse and dense components in percent of the total variance; components above the dashed "
        "line exceed noise. A "
        "bar may be above the line of dense PCA, which gives some of its variance to an earlier component.",
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
        "the interval includes zero.",
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
        "wine",
        "A dark style: text, arrows and grey tones follow the background.",
        'fit = sp.spca(df, k=2, card=5, scale=True)\nax = fit.biplot(groups=group, outline="normal")',
        "dark_background",
    ),
    Figure(
        "talk",
        "Style for talks",
        "wine",
        "With larger text and markers, the figure and its blocks become larger, too.",
        "fit = sp.spca(df, k=2, card=5, scale=True)\nax = fit.biplot(groups=group, components=(1, 2))",
        "talk",
    ),
)


#: Data of the package.
BUNDLED = ("wine", "judges", "harman74")
#: Simulated tables: name -> the lines that make `df`, and the groups of its rows as `group`.
SIMULATED = {
    "many rows": """rng = np.random.default_rng(0)
group = np.arange(10_000) % 12
means, weights = 2 * rng.normal(size=(12, 4)), rng.normal(size=(4, 16))
X = (means[group] + rng.standard_t(4, size=(10_000, 4))) @ weights
names = [f"feature{j}" for j in range(16)]
df = pd.DataFrame(X + rng.normal(size=X.shape), columns=names)""",
    "many groups": """rng = np.random.default_rng(0)
group = np.arange(1994) % 8
kinds = ["households", "owners", "tenants", "children", "commuters"]
names = [f"share of {kind} in census tract {j}" for kind in kinds for j in range(20)]
factors = rng.normal(size=(8, 5))[group] + rng.normal(size=(1994, 5))
X = np.repeat(factors, 20, axis=1) * rng.uniform(0.5, 1, 100)
df = pd.DataFrame(X + rng.normal(size=X.shape), columns=names)""",
    "genes": """rng = np.random.default_rng(0)
group = np.repeat(["tumour", "normal"], [40, 22])
factors = rng.normal(size=(62, 2)) + 2.0 * (group == "tumour")[:, None]
X = rng.normal(size=(62, 2000))
X[:, :80] += 1.5 * np.repeat(factors, 40, axis=1)
df = pd.DataFrame(X, columns=[f"gene{j}" for j in range(2000)])""",
}
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
    if data in BUNDLED:
        groups = "\ngroup = df.index" * (data == "wine")
        return f"import spcastat as sp\n\ndf = sp.datasets.load_{data}(){groups}"
    if data in SIMULATED:
        return f"import numpy as np\nimport pandas as pd\nimport spcastat as sp\n\n{SIMULATED[data]}"
    return simulator(data)


def simulator(name: str) -> str:
    """Return the lines that simulate a table, with the functions and constants that they need."""
    statements = [
        (statement, ast.get_source_segment(source, statement) or "")
        for source in (path.read_text(encoding="utf-8") for path in SIMULATORS)
        for statement in ast.parse(source).body
    ]
    call = _calls([statement for statement, _ in statements])[name]
    used = set(_names_in(call))
    lines: dict[type[ast.stmt], list[str]] = {ast.Import: [], ast.Assign: [], ast.FunctionDef: []}
    for statement, source in reversed(statements):  # each needs only what stands before it
        if type(statement) in lines and used & _names_of(statement):
            lines[type(statement)].insert(0, source)
            used |= set(_names_in(statement))
    standard = ["from typing import Any", ""] if "Any" in used else []
    imports = [*dict.fromkeys(lines[ast.Import]), "import spcastat as sp"]
    constants = ["", "\n".join(lines[ast.Assign])] if lines[ast.Assign] else []
    functions = ["\n\n" + source for source in lines[ast.FunctionDef]]
    rows = ["", "", f"df, group = {ast.unparse(call)}"]
    return "\n".join([*standard, *imports, *constants, *functions, *rows])


def _calls(statements: list[ast.stmt]) -> dict[str, ast.expr]:
    """Return the calls that make the simulated tables, from the tables of functions in the files."""
    tables = [one.value for one in statements if isinstance(one, ast.AnnAssign)]
    return {
        key.value: maker.body if isinstance(maker, ast.Lambda) else ast.Call(maker, [], [])
        for table in tables
        if isinstance(table, ast.Dict)
        for key, maker in zip(table.keys, table.values, strict=True)
        if isinstance(key, ast.Constant)
    }


def _names_in(tree: ast.AST) -> list[str]:
    return [node.id for node in ast.walk(tree) if isinstance(node, ast.Name)]


def _names_of(statement: ast.stmt) -> set[str]:
    """Return what a function, an assignment or an import defines."""
    if isinstance(statement, ast.Import):
        return {alias.asname or alias.name for alias in statement.names}
    if isinstance(statement, ast.Assign):
        return set(_names_in(ast.Tuple(statement.targets)))
    return {statement.name} if isinstance(statement, ast.FunctionDef) else set()


def code_of(figure: Figure) -> str:
    """Return the complete code of a figure, with its data."""
    code = figure.code
    if figure.style == "talk":
        code = _within('plt.rc_context({"font.size": 16, "lines.markersize": 9})', code)
    elif figure.style:
        code = _within(f'plt.style.context("{figure.style}")', code)
    data = loading(figure.data)
    if figure.style:
        data = re.sub("(?m)^import ", "import matplotlib.pyplot as plt\nimport ", data, count=1)
    return data + "\n" + code


def _within(context: str, code: str) -> str:
    return f"with {context}:\n    " + code.replace("\n", "\n    ")


def draw(figure: Figure) -> None:
    """Run the lines of a figure as they are printed, and save what they draw."""
    path = DOCS / "gallery" / f"{figure.name}.png"
    names: dict[str, Any] = {}
    exec(code_of(figure), names)  # the lines of the page, nobody else's
    drawn = names["ax"].figure
    drawn.savefig(path, dpi=DPI, facecolor=drawn.get_facecolor())
    plt.close(drawn)
    image = Image.open(path).convert("RGB")
    image.quantize(256, method=Image.Quantize.FASTOCTREE).save(path, optimize=True)  # keeps rare colours


def size_of(figure: Figure) -> str:
    """Return how large the data of a figure are."""
    names: dict[str, Any] = {}
    exec(loading(figure.data), names)
    df = names["df"]
    if figure.data == "harman74":
        return f"correlations of {len(df)} tests of 145 children"
    return f"{len(df):,} rows, {df.shape[1]:,} variables"


def page(figure: Figure) -> str:
    """Return the page of a figure: what it shows, the figure, its code."""
    return (
        f"# {figure.title}\n\n{figure.about} ({size_of(figure)})\n\n"
        f"![{figure.about}]({figure.name}.png)\n\n```python\n{code_of(figure)}\n```\n"
    )


def index() -> str:
    """Return the page of thumbnails, each with the title of its figure."""
    titles = {figure.name: figure.title for figure in FIGURES}
    parts = [INTRO]
    for heading, (sentence, names) in SECTIONS.items():
        links = [f"[![](gallery/{name}.png) {titles[name]}](gallery/{name}.md)" for name in names]
        grid = "\n".join(links)
        parts.append(f"## {heading}\n\n{sentence}\n\n::::{{container}} thumbnails\n{grid}\n::::\n")
    pages = "\n".join(f"gallery/{name}" for _, names in SECTIONS.values() for name in names)
    return "\n".join([*parts, f"```{{toctree}}\n:hidden:\n\n{pages}\n```\n"])


def main(chosen: list[str]) -> None:
    """Draw the chosen figures, or all, and write the pages."""
    unknown = set(chosen) - {figure.name for figure in FIGURES}
    if unknown:
        raise SystemExit(f"no figure is called {', '.join(sorted(unknown))}")
    (DOCS / "gallery").mkdir(exist_ok=True)
    for figure in FIGURES:
        if not chosen or figure.name in chosen:
            draw(figure)
        (DOCS / "gallery" / f"{figure.name}.md").write_text(page(figure), encoding="utf-8")
    (DOCS / "gallery.md").write_text(index(), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
