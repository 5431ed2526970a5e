"""A fit and its scores in files, and back: the archive, what it holds, and how files are replaced."""
