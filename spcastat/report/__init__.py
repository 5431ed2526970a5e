"""Output of a fit in words, tables and pages: summary, equations, HTML report."""
