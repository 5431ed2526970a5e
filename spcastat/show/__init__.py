"""Printed output: tables, summaries, reports, and their text, HTML, LaTeX and Word formats."""
