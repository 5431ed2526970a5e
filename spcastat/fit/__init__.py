"""One fit: checks, plan, starts, run, the state that a result stores, and saved files."""
