"""What is printed: tables, summaries, text, HTML, LaTeX, Word and reports."""
