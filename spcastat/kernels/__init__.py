"""The numerical pieces, NumPy in and out: no labels, no classes, no knowledge of methods."""
