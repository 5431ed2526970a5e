"""Tables of loadings and variances, and their rendering as text, HTML, LaTeX and Markdown.

>>> import pandas as pd
>>> frame = pd.DataFrame({"PC1": [0.8, 0.6, 0.0]}, index=["a", "b", "c"])
>>> print(render(Document("Sparse PCA", tables=(loadings_table(frame),))))
Sparse PCA
<BLANKLINE>
Loadings    PC1
---------------
a         0.800
b         0.600
<BLANKLINE>
Zero in all components (1 of 3 variables): c.
"""

from __future__ import annotations

from collections.abc import Callable

from spcastat.config import one_of
from spcastat.errors import OptionError
from spcastat.tables import html, latex, markdown, plain_text
from spcastat.tables.fit_tables import Arrangement, loadings_table, variance_table
from spcastat.tables.grid import Document, Row, Table
from spcastat.tables.table_layout import Layout

__all__ = ["Arrangement", "Document", "Layout", "Row", "Table", "loadings_table", "render", "variance_table"]

#: Name of a format -> function that renders a document in it.
RENDERERS: dict[str, Callable[[Document, Layout], str]] = {
    "text": plain_text.render,
    "html": html.render,
    "latex": latex.render,
    "markdown": markdown.render,
}


def render(document: Document, kind: str = "text", width: int = 80, layout: Layout | None = None) -> str:
    """Return the document in one of the formats of :data:`RENDERERS`.

    Parameters
    ----------
    document : Document
    kind : {"text", "html", "latex", "markdown"}
    width : int
        As in :class:`Layout`; used if no layout is given.
    layout : Layout, optional

    Raises
    ------
    OptionError
        For an unknown format, a width below 40, or a `document` or `layout` of another type.
    """
    kind = one_of("kind", kind, RENDERERS)
    if not isinstance(document, Document):
        raise OptionError(
            f"document of type {type(document).__name__} was given; it must be a Document of tables."
        )
    if layout is not None and not isinstance(layout, Layout):
        raise OptionError(f"layout of type {type(layout).__name__} was given; it must be a Layout.")
    return RENDERERS[kind](document, Layout(width) if layout is None else layout)
