"""The version of the package, written here alone."""

__version__ = "0.1.0"
