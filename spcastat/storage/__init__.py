"""Saving and loading of fits and scores: the archive format, its contents, and safe replacement of files."""
