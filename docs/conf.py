"""Sphinx: the vignettes, run by MyST-NB, and an API reference. ``sphinx-build -W docs docs/_build``."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import spcastat

HERE = Path(__file__).resolve().parent

# Sphinx reads what lies under docs/ only: the vignettes are copied there before it looks.
shutil.rmtree(HERE / "vignettes", ignore_errors=True)
shutil.copytree(HERE.parent / "vignettes", HERE / "vignettes")

project = "spcastat"
author = "The spcastat developers"
copyright = author
version = release = spcastat.__version__

extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.autosummary", "sphinx.ext.napoleon"]
exclude_patterns = ["_build", "_templates"]
templates_path = ["_templates"]
default_role = "literal"

html_theme = "furo"
html_title = f"spcastat {version}"
html_copy_source = False
html_show_sphinx = False

nb_execution_mode = "force"
nb_execution_in_temp = True
nb_execution_timeout = 300
nb_execution_raise_on_error = True
nb_merge_streams = True
myst_heading_anchors = 3

autosummary_generate = True
autodoc_typehints = "none"
autodoc_member_order = "bysource"
napoleon_google_docstring = False
napoleon_use_rtype = False


def plain_bars(app: object, what: str, name: str, obj: object, options: object, lines: list[str]) -> None:
    """Escape the bars of norms, |X|, which reStructuredText takes for substitutions."""
    for i, line in enumerate(lines):
        parts = re.split(r"(``.*?``|`.*?`)", line)
        lines[i] = "".join(part if part.startswith("`") else part.replace("|", r"\|") for part in parts)


def setup(app: object) -> None:
    """Connect what is above."""
    app.connect("autodoc-process-docstring", plain_bars)  # type: ignore[attr-defined]
