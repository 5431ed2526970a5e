"""Data larger than memory or distributed over machines: streams of chunks, and their operator."""
