"""Methods for sparse principal components, with one module for each family."""
