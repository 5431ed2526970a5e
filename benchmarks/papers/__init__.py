"""The tables of the papers, remade: ``python -m benchmarks.papers [table ...] [--data DIR] [--full]``."""
