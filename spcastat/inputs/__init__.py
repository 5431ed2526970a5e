"""Data of a fit: read, checked and standardised rows, or a covariance matrix; draws, groups and noise of rows."""
