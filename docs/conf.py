"""Sphinx: the vignettes, run by MyST-NB, and an API reference. ``sphinx-build -W docs docs/_build``."""

from __future__ import annotations

import atexit
import importlib
import inspect
import os
import re
import shutil
import tempfile
import textwrap
from collections.abc import Iterator
from pathlib import Path
from types import FunctionType
from typing import Any, get_overloads, get_type_hints

from docutils import nodes
from latex2mathml.converter import convert

import spcastat
from spcastat import hints
from spcastat.show.methods_text import entries, reference

HERE = Path(__file__).resolve().parent

# Sphinx reads what lies under docs/ only: the vignettes are copied there before it looks.
shutil.rmtree(HERE / "vignettes", ignore_errors=True)
shutil.copytree(HERE.parent / "vignettes", HERE / "vignettes")
for page in (HERE / "vignettes").glob("*.md"):  # links to pages of docs/, from one folder deeper
    page.write_text(page.read_text(encoding="utf-8").replace("](../docs/", "](../"), encoding="utf-8")

# So are the pages of measurements, whose index is RESULTS.md; links to them are changed when a page is read.
RESULTS = HERE.parent / "benchmarks"
shutil.rmtree(HERE / "benchmarks", ignore_errors=True)
shutil.copytree(RESULTS / "results", HERE / "benchmarks" / "results")
pages = "\n".join(f"results/{page.stem}" for page in sorted((RESULTS / "results").glob("*.md")))
(HERE / "benchmarks" / "RESULTS.md").write_text(
    f"{(RESULTS / 'RESULTS.md').read_text(encoding='utf-8')}\n```{{toctree}}\n:hidden:\n\n{pages}\n```\n",
    encoding="utf-8",
)


def links_to_measurements(app: Any, page: str, source: list[str]) -> None:
    """Change the links to measurements, which are copied into this folder."""
    if "/" not in page:
        source[0] = source[0].replace("](../benchmarks/", "](benchmarks/")


# The references are those of the package.
references = [f"({key})=\n- {reference(entry)}" for key, entry in entries().items()]
(HERE / "references.md").write_text(
    "# References\n\nSources of methods, measures and data. `fit.describe()` cites those of one fit.\n\n"
    + "\n".join(sorted(references, key=lambda text: text.split("\n- ")[1]))
    + "\n",
    encoding="utf-8",
)

# The kernels: figures are shown below their cells whatever backend this process has, from the first cell on;
# cells that fail on purpose show their message, not the traceback through the package; no progress bars.
# Figures are vector graphics, whose small texts can be enlarged on a phone.
os.environ["MPLBACKEND"] = "module://matplotlib_inline.backend_inline"
os.environ["SPCASTAT_PROGRESS"] = "0"
ipython = Path(tempfile.mkdtemp())
atexit.register(shutil.rmtree, ipython, ignore_errors=True)
(ipython / "profile_default").mkdir()
(ipython / "profile_default" / "ipython_config.py").write_text(
    "c = get_config()\nc.InteractiveShell.xmode = 'Minimal'\nc.InteractiveShellApp.matplotlib = 'inline'\n"
    "c.InlineBackend.figure_formats = {'svg'}\n"
)
os.environ["IPYTHONDIR"] = str(ipython)

project = "spcastat"
author = "The spcastat developers"
copyright = author
version = release = spcastat.__version__

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
    "sphinx_design",
]
exclude_patterns = ["_build", "_templates", "jupyter_execute"]
templates_path = ["_templates"]
default_role = "literal"

html_theme = "furo"
html_math_renderer = "mathml"
html_title = f"spcastat {version}"
html_static_path = ["_static"]
html_css_files = ["frames.css"]
html_copy_source = False
html_show_sphinx = False

nb_execution_mode = "force"
nb_execution_in_temp = True
nb_execution_timeout = 300
nb_execution_raise_on_error = True
nb_merge_streams = True
myst_enable_extensions = ["colon_fence", "dollarmath"]
myst_heading_anchors = 3
copybutton_exclude = ".linenos, .gp, .go"
#: Words like "shape" and "k" in the types of docstrings are no references; tables that benchmarks write keep
#: the level of heading that they have in RESULTS.md.
suppress_warnings = ["ref.python", "myst.header"]

#: Longer signatures have one parameter on a line; of many parameters, `short_signature` leaves some out.
maximum_signature_line_length = 88
autosummary_generate = True
autodoc_typehints = "none"
autodoc_class_signature = "separated"  # results are not made by hand
autodoc_member_order = "bysource"
napoleon_google_docstring = False
napoleon_use_rtype = False
napoleon_use_param = False  # "clusters, strata" stays one entry, and words of types are no links


def members_of(owner: type) -> dict[str, list[str]]:
    """Return the attributes and the methods of a class; its page begins with a table of each."""
    classes = [base for base in owner.__mro__ if base.__module__.startswith("spcastat")]
    names = dict.fromkeys(name for base in classes for name in vars(base) if not name.startswith("_"))
    documented = [name for name in names if name != "of" and inspect.getdoc(getattr(owner, name))]
    methods = [
        name
        for name in documented
        if isinstance(inspect.getattr_static(owner, name), FunctionType | classmethod)
    ]
    headings = headings_in(owner)
    if headings:
        tables: dict[str, list[str]] = {heading: [] for heading in [*headings.values(), INHERITED]}
        for name in documented:
            tables[headings.get(name, INHERITED)].append(name)
        return {heading: names for heading, names in tables.items() if names}
    attributes = [name for name in documented if name not in methods]
    return {heading: names for heading, names in (("Attributes", attributes), ("Methods", methods)) if names}


#: Heading of the members of a class with headings that it shares with others.
INHERITED = "Shared with other results"


def headings_in(owner: type) -> dict[str, str]:
    """Return the heading, a comment in the source of a class, below which each member stands."""
    headings, heading = {}, ""
    for line in inspect.getsourcelines(owner)[0]:
        if match := re.match(r"    # --- (.+?) -+$", line):
            heading = match[1].capitalize()
        elif heading and (match := re.match(r"    def (\w+)", line)):
            headings[match[1]] = heading
    return headings


def public_classes() -> Iterator[tuple[str, type]]:
    """Yield the classes that the reference lists, with their names."""
    for name in re.findall(r"(?m)^   ((?:\w+\.)+[A-Z]\w+)$", (HERE / "api.md").read_text(encoding="utf-8")):
        module, _, attribute = f"spcastat.{name}".rpartition(".")
        yield f"{module}.{attribute}", getattr(importlib.import_module(module), attribute)


autosummary_context = {"member_tables": {name: members_of(owner) for name, owner in public_classes()}}


def page_links(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Link the pages of the documentation that docstrings name by their files."""
    for i, line in enumerate(lines):
        lines[i] = re.sub(r"docs/(\w+)\.md", r":doc:`/\1`", line)


def plain_bars(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Escape the bars of norms, |X|, which reStructuredText takes for substitutions."""
    for i, line in enumerate(lines):
        parts = re.split(r"(``.*?``|`.*?`)", line)
        lines[i] = "".join(part if part.startswith("`") else part.replace("|", r"\|") for part in parts)


def without_parameters(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Omit how results are made: functions and methods return them."""
    if what == "class" and name.startswith(("spcastat.results.", "spcastat.show.", "spcastat.streams.")):
        text = re.sub(r"(?ms)^Parameters\n-+\n.*?(?=^\S+\n-{3,}|\Z)", "", "\n".join(lines))
        lines[:] = text.splitlines()


#: The text of each page of the guide and of the gallery.
GUIDE = {
    f"vignettes/{path.stem}": path.read_text(encoding="utf-8")
    for path in sorted((HERE / "vignettes").glob("*.md"))
}
GALLERY = {
    f"gallery/{path.stem}": path.read_text(encoding="utf-8")
    for path in sorted((HERE / "gallery").glob("*.md"))
}


def with_pages(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Name the pages of the guide that call a function or method, and figures that it draws, four at most."""
    if what not in ("function", "method"):
        return
    calls = re.compile(rf"\.{name.rpartition('.')[2]}\(")
    for heading, pages in (("Used in", GUIDE), ("Gallery", GALLERY)):
        links = [f":doc:`/{page}`" for page, text in pages.items() if calls.search(text)][:4]
        if links and (heading == "Used in" or "plot" in name):
            lines += ["", f"{heading}: {', '.join(links)}.", ""]


#: A signature of more parameters is short: those that need no name, and dots for the others.
MOST_PARAMETERS = 8
#: Name of a function or method -> its whole signature, where the page begins with a short one.
WHOLE_SIGNATURES: dict[str, str] = {}


def short_signature(
    app: Any, what: str, name: str, obj: Any, options: Any, signature: str | None, returns: str | None
) -> tuple[str, str | None] | None:
    """Shorten a long signature, of which the list of parameters below describes every one."""
    if what not in ("function", "method") or not signature:
        return None
    parameters = list(inspect.signature(obj).parameters.values())
    if len(parameters) <= MOST_PARAMETERS:
        return None
    WHOLE_SIGNATURES[name] = signature
    places = [one for one in parameters if one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD)]
    shown = [str(one.replace(annotation=one.empty)) for one in places if one.name != "self"]
    shown = ["data" if text == "data_or_formula=None" else text for text in shown]
    return f"({', '.join([*shown, '...'])})", returns


def with_whole_signature(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Add the whole signature and the keywords of its ``**options``, folded, to a page with a short one."""
    if signature := WHOLE_SIGNATURES.get(name):
        text = textwrap.fill(
            f"{name.rpartition('.')[2]}{signature}", PAGE_WIDTH - 8, subsequent_indent="    "
        )
        code = [f"      {line}" for line in text.splitlines()]
        lines += ["", ".. dropdown:: All arguments", "", "   .. code-block:: python", "", *code, ""]
        if further := further_keywords(obj):
            rest = next(
                one.name for one in inspect.signature(obj).parameters.values() if one.kind == one.VAR_KEYWORD
            )
            lines += [f"   ``**{rest}`` accepts {', '.join(f'``{word}``' for word in further)}.", ""]


def further_keywords(function: Any) -> list[str]:
    """Return the keywords that a function accepts in ``**options``, from its typed definitions."""
    found: dict[str, None] = {}
    for definition in (function, *get_overloads(inspect.unwrap(function))):
        for one in inspect.signature(definition).parameters.values():
            if one.kind == one.VAR_KEYWORD and "Unpack" in str(one.annotation):
                found |= dict.fromkeys(
                    get_type_hints(getattr(hints, re.findall(r"\w+", str(one.annotation))[-1]))
                )
    return [word for word in found if word not in inspect.signature(function).parameters]


def whole_sentences(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Undo for properties what Napoleon does to "One thing: another", which it reads as a type and a text."""
    for line in [line for line in lines if what == "property" and line.startswith(":type: ")]:
        lines.remove(line)
        lines[0] = f"{line.removeprefix(':type: ')}: {lines[0]}"


def wrapped_sentences(app: Any, tree: nodes.document, page: str) -> None:
    """Mark outputs with lines that are longer than the page is wide: sentences, which are wrapped."""
    for block in tree.findall(nodes.literal_block):
        longest = max(map(len, block.astext().splitlines()), default=0)
        if "output" in block["classes"] and longest > PAGE_WIDTH:
            block["classes"].append("sentences")


def described_figures(app: Any, tree: nodes.document, page: str) -> None:
    """Give the figures of cells a text alternative, which is the name of a file otherwise."""
    for figure in tree.findall(nodes.image):
        figure.setdefault("alt", "Figure that the code above draws")


#: Characters of a line of code on a page.
PAGE_WIDTH = 86


class Formulas:
    """Formulas as MathML, which browsers show without scripts or a network."""

    @staticmethod
    def inline(translator: Any, node: Any) -> None:
        translator.body.append(convert(node.astext()))
        raise nodes.SkipNode

    @staticmethod
    def display(translator: Any, node: Any) -> None:
        translator.body.append(convert(node.astext(), display="block"))
        raise nodes.SkipNode


def setup(app: Any) -> None:
    """Connect what is above, before and after Napoleon."""
    app.add_html_math_renderer("mathml", (Formulas.inline, None), (Formulas.display, None))
    app.connect("source-read", links_to_measurements)
    app.connect("doctree-resolved", wrapped_sentences)
    app.connect("doctree-resolved", described_figures)
    app.connect("autodoc-process-docstring", without_parameters, priority=300)
    app.connect("autodoc-process-docstring", plain_bars, priority=400)
    app.connect("autodoc-process-docstring", page_links, priority=400)
    app.connect("autodoc-process-docstring", whole_sentences, priority=600)
    app.connect("autodoc-process-signature", short_signature)
    app.connect("autodoc-process-docstring", with_whole_signature, priority=650)
    app.connect("autodoc-process-docstring", with_pages, priority=700)
