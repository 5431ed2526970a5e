"""Every error and warning that the package raises, one family per cause.

All errors descend from :class:`SpcaError`, so ``except SpcaError`` catches whatever the package
refuses. Each also descends from the built-in that describes it best (mostly ``ValueError``), so code
that knows nothing of the package still catches what it expects. A message says what was given, what
is allowed and what to do.
"""

from __future__ import annotations


class SpcaError(Exception):
    """Root of all errors of the package."""


# --- the data -----------------------------------------------------------------------------------


class DataError(SpcaError, ValueError):
    """The data cannot be analysed as they are."""


class ShapeError(DataError):
    """Not a two-dimensional table, or sizes that do not fit one another."""


class TooFewRowsError(DataError):
    """Fewer rows than a variance needs."""


class ColumnTypeError(DataError, TypeError):
    """Columns that hold no real numbers: text, dates, complex numbers, objects."""


class DuplicateNamesError(DataError):
    """Two columns share a name."""


class MissingValuesError(DataError):
    """Missing values where none are allowed."""


class InfiniteValuesError(DataError):
    """Infinite values."""


class ConstantColumnError(DataError):
    """A column without variance where one is needed, as for scaling."""


class SparseStructureError(DataError):
    """A sparse matrix whose arrays of indices contradict one another, its values or its shape."""


class WeightsError(DataError):
    """Row weights, a centre or a scale that cannot be used."""


class NewDataError(DataError):
    """New data that do not fit the fitted model."""


class FormulaError(SpcaError, ValueError):
    """A formula that cannot be read, or that the data cannot answer."""


class CovarianceError(SpcaError, ValueError):
    """Not a covariance matrix."""


class NoRowsError(SpcaError, ValueError, AttributeError):
    """Something that needs the rows was asked of a covariance fit; ``hasattr`` finds no such attribute."""


# --- the options --------------------------------------------------------------------------------


class OptionError(SpcaError, ValueError):
    """An option with a value that is not allowed."""


class CardinalityError(OptionError):
    """A cardinality that no component can have."""


class VarianceError(OptionError):
    """A fraction of variance outside (0, 1]."""


class ComponentsError(OptionError):
    """A number of components that the data cannot give."""


class MethodError(OptionError):
    """A method that does not exist."""


class NotImputedError(OptionError, AttributeError):
    """The imputed rows of a fit without a model of missing values; ``hasattr`` finds no such attribute."""


class UnknownOptionError(OptionError, TypeError):
    """An option that the chosen method does not have."""


# --- files --------------------------------------------------------------------------------------


class FileError(SpcaError, OSError):
    """A file that cannot be read or written."""


# --- what is installed ----------------------------------------------------------------------------


class ExtraError(SpcaError, ImportError):
    """A package that only some calls need, and that is not installed."""


# --- warnings -----------------------------------------------------------------------------------


class SpcaWarning(UserWarning):
    """Root of all warnings of the package."""


class ConvergenceWarning(SpcaWarning):
    """A fit stopped before it converged."""


class DataWarning(SpcaWarning):
    """The data look as if something else was meant."""
