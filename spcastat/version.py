"""The version of the package; it is defined only here."""

__version__ = "0.1.0"
