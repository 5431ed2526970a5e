"""Exact results of 61 calls, written before a change of the package and compared after it."""
