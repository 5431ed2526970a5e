"""Products with a covariance matrix, whatever it is made from: rows, sparse rows, or the matrix itself.

``build`` chooses the operator for raw rows; ``Gram`` wraps a covariance matrix; ``deflate`` removes a
component as a low-rank view.
"""

from spcastat.operators.accumulate import Accumulator, CrossProducts, Nothing, SquareProducts, Sums
from spcastat.operators.base import Gram, Operator
from spcastat.operators.build import (
    GRAM_ORDER,
    build,
    from_products,
    prepare,
    standard_of,
    standardise,
)
from spcastat.operators.columns import Standardisation
from spcastat.operators.deflated import DEFLATIONS, Deflated, Removed, deflate
from spcastat.operators.deflated_rows import ROW_DEFLATIONS, DeflatedRows, deflate_rows
from spcastat.operators.rows import DenseRows, Rows, SparseRows

__all__ = [
    "DEFLATIONS",
    "GRAM_ORDER",
    "ROW_DEFLATIONS",
    "Accumulator",
    "CrossProducts",
    "Deflated",
    "DeflatedRows",
    "DenseRows",
    "Gram",
    "Nothing",
    "Operator",
    "Removed",
    "Rows",
    "SparseRows",
    "Standardisation",
    "SquareProducts",
    "Sums",
    "build",
    "deflate",
    "deflate_rows",
    "from_products",
    "prepare",
    "standard_of",
    "standardise",
]
