"""Search over the supports of all components together: joint search, and swaps of single variables."""
