"""Proofs of how good a component is: upper bounds, branch and bound, certificates of whole fits.

``certify`` bounds every component of a fit; ``prove`` solves one problem, the largest eigenvalue of a
principal submatrix of at most c variables.
"""

from spcastat.certify.branch import OPTIMAL, Proof, prove
from spcastat.certify.component_bounds import Certificate, certify

__all__ = ["OPTIMAL", "Certificate", "Proof", "certify", "prove"]
