"""Proofs of optimality: upper bounds, branch and bound, and files that anybody can check."""
