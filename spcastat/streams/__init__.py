"""Data larger than memory, or than one machine: streams of blocks, and the operator that passes serve."""
