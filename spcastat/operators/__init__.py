"""Products with a covariance matrix, whatever it is made from: rows, sparse rows, or the matrix itself.

``build`` chooses the operator for raw rows; ``Gram`` wraps a covariance matrix; ``deflate`` removes a
component as a low-rank view.
"""

from spcastat.operators.base import Operator
from spcastat.operators.build import build, standardise
from spcastat.operators.deflated import DEFLATIONS, Deflated, Removed, deflate
from spcastat.operators.deflated_rows import ROW_DEFLATIONS, DeflatedRows, deflate_rows
from spcastat.operators.gram import Gram
from spcastat.operators.rows import DenseRows, Rows, SparseRows
from spcastat.operators.standardise import Standardisation

__all__ = [
    "DEFLATIONS",
    "ROW_DEFLATIONS",
    "Deflated",
    "DeflatedRows",
    "DenseRows",
    "Gram",
    "Operator",
    "Removed",
    "Rows",
    "SparseRows",
    "Standardisation",
    "build",
    "deflate",
    "deflate_rows",
    "standardise",
]
