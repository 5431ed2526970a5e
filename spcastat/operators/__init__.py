"""Operators: products with a covariance matrix that is given by dense rows, by sparse rows or explicitly.

``build`` chooses the operator for raw rows, ``Gram`` wraps a covariance matrix, and ``deflate`` removes a
component by a low-rank update.
"""

from spcastat.operators.accumulate import Accumulator, CrossProducts, Nothing, SquareProducts, Sums
from spcastat.operators.build import from_products, matrix_in_blocks, prepare, standard_of
from spcastat.operators.covariance_operator import GRAM_ORDER, Gram, Operator
from spcastat.operators.deflation import DEFLATIONS, ROW_DEFLATIONS, Deflated, Removed, deflate, deflate_rows
from spcastat.operators.row_operators import DenseRows, Rows, SparseRows
from spcastat.operators.scaling_groups import Blocks
from spcastat.operators.standardisation import Standardisation

__all__ = [
    "DEFLATIONS",
    "GRAM_ORDER",
    "ROW_DEFLATIONS",
    "Accumulator",
    "Blocks",
    "CrossProducts",
    "Deflated",
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
    "deflate",
    "deflate_rows",
    "from_products",
    "matrix_in_blocks",
    "prepare",
    "standard_of",
]
