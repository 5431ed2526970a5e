"""Data of a fit: rows that were read and standardised, or a covariance matrix; draws and noise of rows."""
