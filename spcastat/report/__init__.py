"""A fit as words, tables and pages: the summary, the equations, the HTML report."""
