"""Thousands of hostile calls, each judged: right, refused, wrong, foreign or hang."""
