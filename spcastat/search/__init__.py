"""The default method: searches over the supports of all components together."""
