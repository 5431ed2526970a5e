"""Proofs of optimality by upper bounds, and by branch and bound."""
