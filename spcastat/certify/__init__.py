"""Proofs of optimality: upper bounds, branch and bound, and certificates for fits.

``certify`` bounds each component of a fit; ``prove`` solves a single problem, the largest eigenvalue of a
principal submatrix of at most c variables.
"""

from spcastat.certify.branch import Proof, prove
from spcastat.certify.component_bounds import Certificate, certify

__all__ = ["Certificate", "Proof", "certify", "prove"]
