"""The tables of the papers, reproduced: ``python -m benchmarks.papers [table ...] [--data DIR] [--full]``."""
