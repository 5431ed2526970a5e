"""Data of a fit: standardised rows or a covariance matrix; draws of rows, and simulated noise."""
