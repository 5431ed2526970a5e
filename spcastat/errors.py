"""The errors and warnings of the package, grouped by cause.

All errors derive from :class:`SpcaError`, so ``except SpcaError`` catches every error that the package
raises. Each also derives from the built-in exception that describes it best (mostly ``ValueError``), for code
that does not import this package. A message says what was given, what is allowed and what to do.
"""

from __future__ import annotations


class SpcaError(Exception):
    """Base class of all errors of the package."""


# --- the data -----------------------------------------------------------------------------------


class DataError(SpcaError, ValueError):
    """The data cannot be analysed in their present form."""


class ShapeError(DataError):
    """Not a two-dimensional table, or sizes that do not match."""


class TooFewRowsError(DataError):
    """Fewer rows than a variance needs."""


class ColumnTypeError(DataError, TypeError):
    """Columns that are not real numbers: text, dates, complex numbers, objects."""


class DuplicateNamesError(DataError):
    """Two columns share a name."""


class MissingValuesError(DataError):
    """Missing values where none are allowed.

    Parameters
    ----------
    message : str
    gaps : str
        Description of the missing values, if missing values of rows are the reason; else "". A caller with
        further advice uses it to write another message.
    has_complete_rows : bool
        Whether some rows have all values.
    """

    def __init__(self, message: str, gaps: str = "", has_complete_rows: bool = False) -> None:
        super().__init__(message)
        self.gaps, self.has_complete_rows = gaps, has_complete_rows


class InfiniteValuesError(DataError):
    """Infinite values."""


class ConstantColumnError(DataError):
    """A column without variance, if a variance is needed, as for scaling."""


class SparseStructureError(DataError):
    """A sparse matrix whose index arrays are inconsistent with each other, its values or its shape."""


class WeightsError(DataError):
    """Row weights, a centre or a scale that cannot be used."""


class RowGroupsError(DataError):
    """Labels of clusters or strata, or lengths of blocks, that cannot be used."""


class NewDataError(DataError):
    """New data that do not match the data of the fit."""


class FormulaError(SpcaError, ValueError):
    """A formula that cannot be parsed, or cannot be evaluated on the data."""


class CovarianceError(SpcaError, ValueError):
    """Not a covariance matrix."""


class NoRowsError(SpcaError, ValueError, AttributeError):
    """An operation that needs rows that the fit does not have; ``hasattr`` is False for such attributes."""


# --- the options --------------------------------------------------------------------------------


class OptionError(SpcaError, ValueError):
    """An option with a value that is not allowed."""


class CardinalityError(OptionError):
    """A cardinality that no component can have."""


class VarianceError(OptionError):
    """A fraction of variance outside (0, 1]."""


class ComponentsError(OptionError):
    """A number of components that the data do not allow."""


class NoComponentsError(ComponentsError):
    """No component exceeds noise."""


class MethodError(OptionError):
    """A method that does not exist."""


class NotRotatedError(MethodError, AttributeError):
    """Rotated loadings of a fit by a method without rotation; ``hasattr`` is False for this attribute."""


class NotImputedError(OptionError, AttributeError):
    """Imputed rows of a fit without a model of missing values; ``hasattr`` is False for this attribute."""


class UnknownOptionError(OptionError, TypeError):
    """An option that the function or the chosen method does not have.

    Parameters
    ----------
    message : str
    suggestion : str
        The name of the option that was probably meant, which the message suggests; "" for none.
    """

    def __init__(self, message: str, suggestion: str = "") -> None:
        super().__init__(message + f" Did you mean {suggestion!r}?" * bool(suggestion))
        self.message, self.suggestion = message, suggestion


class ArgumentsError(OptionError, TypeError):
    """Arguments of a call that are missing, given twice, or too many by position."""


# --- files --------------------------------------------------------------------------------------


class FileError(SpcaError, OSError):
    """A file that cannot be read or written."""


# --- optional packages ----------------------------------------------------------------------------


class ExtraError(SpcaError, ImportError):
    """An optional package that a call needs is not installed."""


# --- warnings -----------------------------------------------------------------------------------


class SpcaWarning(UserWarning):
    """Base class of all warnings of the package."""


class ConvergenceWarning(SpcaWarning):
    """A fit stopped before it converged."""


class DataWarning(SpcaWarning):
    """The data suggest that a different call was intended."""
