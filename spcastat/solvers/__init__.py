"""Methods for sparse principal components, one family a file."""
