"""Products with a covariance matrix, whatever it is made from: rows, sparse rows, or the matrix itself.

``build`` chooses the operator for raw rows; ``Gram`` wraps a covariance matrix; ``deflate`` removes a
component as a low-rank view.
"""

from spcastat.operators.base import Operator
from spcastat.operators.build import build, standardise
from spcastat.operators.deflated import DEFLATIONS, Deflated, Removed, deflate
from spcastat.operators.gram import Gram
from spcastat.operators.rows import DenseRows, Rows, SparseRows
from spcastat.operators.standardise import Standardisation

__all__ = [
    "DEFLATIONS",
    "Deflated",
    "DenseRows",
    "Gram",
    "Operator",
    "Removed",
    "Rows",
    "SparseRows",
    "Standardisation",
    "build",
    "deflate",
    "standardise",
]
