"""One fit: checks, plan, starts, run, the state that a result keeps, and saved files."""
