"""Checks of options for all parts of the package: names, numbers, and suggestions for misspelt names."""

from __future__ import annotations

import importlib
import inspect
import itertools
import math
import numbers
import reprlib
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from contextlib import contextmanager
from contextvars import ContextVar
from decimal import Decimal
from types import FrameType
from typing import Any, TypeGuard

import numpy as np

from spcastat.errors import ExtraError, OptionError

#: The largest number of characters of a value in a message.
MAX_SHOWN = 160
#: Upper limits on the numbers of draws or pairs, and of permutations. At these limits the Monte Carlo error
#: of a probability is below 0.2 %.
MOST_DRAWS, MOST_PERMUTATIONS = 100_000, 1_000_000
#: Upper limit on the number of folds, and of divisions into folds.
MOST_FOLDS = 1000
#: Every whole number up to this size is a float64; the default upper bound of whole numbers.
LARGEST_WHOLE = 2**53
#: Seeds are whole numbers below this, the number of initial states of a NumPy generator.
LARGEST_SEED = 2**128


class _Brief(reprlib.Repr):
    """The repr of values in messages, shortened: the first few elements and levels of nesting."""

    def __init__(self) -> None:
        super().__init__()
        self.maxlist = self.maxtuple = self.maxset = self.maxfrozenset = self.maxdeque = self.maxarray = 12
        self.maxdict = 8
        self.maxstring = self.maxother = MAX_SHOWN
        self.maxlong = 60

    def repr_int(self, x: int, level: int) -> str:
        # Python refuses to print numbers with more than some thousand digits.
        return repr(x) if x.bit_length() <= 200 else f"{'-' * (x < 0)}<more than 10**60>"


#: The treatments of missing values; those in GAPS keep rows with missing values.
MISSING_TREATMENTS = ("raise", "drop", "em", "pairwise")
GAPS = ("em", "pairwise")


def shown(value: object) -> str:
    """Return a value of any type as a short text on one line for a message, even if its ``repr`` fails."""
    try:
        size = getattr(value, "shape", None)
        if isinstance(size, tuple) and size:
            return f"<{type(value).__name__} of shape {size}>"
        text = _Brief().repr(value)
    except Exception:  # the repr of a user's object may raise anything
        return f"<{type(value).__name__}>"
    return one_line(text, MAX_SHOWN)


def one_line(text: str, limit: int) -> str:
    """Return text on one line of printable characters, shortened in its middle to about `limit`."""
    text = "".join(c if c.isprintable() else " " if c.isspace() else ascii(c)[1:-1] for c in text)
    return text if len(text) <= limit else text[: limit - 20] + " ... " + text[-15:]


#: Number of letters of a short word.
SHORT_WORD = 7


def nearest(word: object, names: Iterable[object]) -> str:
    """Return ``" Did you mean 'x'?"`` for the name closest to `word`, or an empty string.

    The word itself is never suggested, since it was refused.
    """
    import difflib  # imported only if a word is misspelt

    text = word if isinstance(word, str) else shown(word)
    if len(text) > 100:  # not a typo, and slow to compare
        return ""
    candidates = [str(name) for name in names if str(name) != text]
    matches = [name for name in candidates if name.casefold() == text.casefold()]
    matches = matches or [name for name in candidates if sorted(name) == sorted(text)]  # letters exchanged
    cutoff = 0.6 if len(text) > SHORT_WORD else 0.7  # most letters of short words are alike by chance
    matches = matches or difflib.get_close_matches(text, candidates, n=1, cutoff=cutoff)
    return f" Did you mean {matches[0]!r}?" if matches else ""


#: Adjusted p-values and q-values up to this are marked in plots, and shown in tables for zero loadings.
SHOWN_LEVEL = 0.05
#: The default number of names that messages list.
MOST_LISTED = 8


def listed(names: Iterable[object], limit: int = MOST_LISTED) -> str:
    """Join names for a message: the first `limit`, then the number of the others."""
    names = list(names)
    remainder = len(names) - limit
    return ", ".join(map(shown, names[:limit])) + (f" and {remainder} more" if remainder > 0 else "")


def plural(count: int, noun: str, several: str = "") -> str:
    """Return ``"1 row"`` or ``"2 rows"``; `several` is the plural if it does not just add an s."""
    return f"{count} {noun if count == 1 else several or noun + 's'}"


def whole_percent(share: float) -> str:
    """Return a share as text such as ``"42 %"``, in which 0 and 100 are only for shares of 0 and 1."""
    rounded = round(100.0 * share)
    return f"{min(max(rounded, 1), 99) if 0.0 < share < 1.0 else rounded} %"


def is_label(value: Any) -> bool:
    """Return whether a value can be the label of a row or a variable: whether it can be hashed."""
    try:
        hash(value)
    except (TypeError, ValueError):
        return False
    return True


def one_of(option: str, value: object, allowed: Iterable[str], error: type[OptionError] = OptionError) -> str:
    """Return `value` if it is one of the `allowed` names; raise `error` with the nearest name if not.

    The error lists the allowed names, unless there are many and one of them is near.
    """
    allowed = tuple(allowed)
    if isinstance(value, str) and value in allowed:
        return str(value)
    text, names, hint = shown(value), listed(allowed, 40), nearest(value, allowed)
    if not hint:
        raise error(f"{option}={text} is not known; allowed values are {names}.")
    if len(allowed) > MOST_LISTED:
        raise error(f"{option}={text} is not known.{hint}")
    raise error(f"{option}={text} is not known.{hint} Allowed are {names}.")


def flag(option: str, value: Any) -> bool:
    """Return `value` as a bool; numbers and text are refused."""
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    raise OptionError(f"{option}={shown(value)} was given; it must be True or False.")


def is_whole(value: Any) -> TypeGuard[int]:
    """Whether `value` is a whole number of any type, such as 3, 3.0 or Decimal(3), but not a bool."""
    if isinstance(value, bool | np.bool_):
        return False
    if isinstance(value, numbers.Integral):
        return hasattr(value, "__index__")  # NumPy's timedelta64, registered as an integer type, has none
    if not isinstance(value, numbers.Real | Decimal):
        return False
    try:
        return bool(value == math.floor(value))
    except (OverflowError, ValueError):  # infinite, or not a number
        return False


def text(option: str, value: Any) -> str:
    """Return `value` if it is text."""
    if isinstance(value, str):
        return str(value)
    raise OptionError(f"{option}={shown(value)} was given; it must be text.")


def integers_if_whole(values: np.ndarray) -> np.ndarray:
    """Return numbers, such as sums of weights, as integers if all are whole."""
    return values.astype(int) if (values == np.round(values)).all() else values


def whole_number(
    option: str, value: Any, low: int, high: int | None = None, error: type[OptionError] = OptionError
) -> int:
    """Return `value` as an int between `low` and `high`; a bool, a fraction or a duration is refused."""
    fits = is_whole(value)
    largest = LARGEST_WHOLE if high is None else high
    if fits and low <= int(value) <= largest:
        return int(value)
    bounded = largest < 1_000_000 or (
        fits and int(value) > largest
    )  # a distant bound is named only if exceeded
    reach = f"from {low} to {largest}" if bounded else f"of {low} or more"
    raise error(f"{option}={shown(value)} was given; it must be a whole number {reach}.")


def real_number(
    option: str,
    value: Any,
    low: float,
    high: float,
    *,
    open_low: bool = False,
    error: type[OptionError] = OptionError,
) -> float:
    """Return `value` as a float in [low, high], or in (low, high] with `open_low`."""
    number = _as_float(value)
    if (number > low if open_low else number >= low) and number <= high:
        return number
    reach = f"{'(' if open_low else '['}{low:g}, {high:g}]"
    raise error(f"{option}={shown(value)} was given; it must be a number in {reach}.")


def checked_level(level: Any) -> float:
    """Return the level of confidence of an interval, an ellipse or a limit, a number in (0, 1)."""
    number = _as_float(level)
    if 0.0 < number < 1.0:
        return number
    raise OptionError(f"level={shown(level)} was given; it must be a number between 0 and 1, such as 0.95.")


def _as_float(value: Any) -> float:
    """Return a real number as a float; NaN for anything else, and for numbers too large for a float."""
    real = isinstance(value, numbers.Real) and not isinstance(value, bool)
    if not real or (isinstance(value, numbers.Integral) and not is_whole(value)):
        return float("nan")
    try:
        return float(value)
    except (OverflowError, ValueError, TypeError):
        return float("nan")


def generator(rng: Any) -> np.random.Generator:
    """Return a NumPy generator for `rng`; None stands for the fixed seed 0.

    Raises
    ------
    OptionError
        If `rng` is neither None, a whole number of 0 or more, nor a ``numpy.random.Generator``.
    """
    if isinstance(rng, np.random.Generator):
        return rng
    if rng is None:
        return np.random.default_rng(0)
    if is_whole(rng) and 0 <= int(rng) < LARGEST_SEED:
        return np.random.default_rng(int(rng))
    raise OptionError(
        f"rng={shown(rng)} was given; it must be None (the fixed seed 0), a whole number from 0 to 2**128 - "
        "1, or a numpy.random.Generator."
    )


def seed_of(rng: Any) -> int:
    """Return the seed of all draws: 0 for None, the number itself, or a number drawn from a generator.

    Raises
    ------
    OptionError
        For anything else.
    """
    source = generator(rng)
    if rng is None:
        return 0
    return int(source.integers(2**63)) if rng is source else int(rng)


def draw_generator(seed: int, number: int) -> np.random.Generator:
    """Return the random generator of one draw, independent of the generators of other draws."""
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(number,)))


def library_of(value: Any) -> str:
    """Return the name of the package that defines the type of a value."""
    return type(value).__module__.partition(".")[0]


def offers(value: Any, name: str) -> bool:
    """Whether a value has an attribute; False if looking it up raises any error."""
    try:
        return hasattr(value, name)
    except Exception:  # a class of the user may raise anything
        return False


def is_single(value: Any) -> bool:
    """Whether a value is a single value and not a sequence; text, mappings and sets count as single."""
    no_sequence = isinstance(value, (str, bytes, bytearray, memoryview, Mapping, Set))
    return no_sequence or not isinstance(value, Iterable) or getattr(value, "shape", None) == ()


def elements(value: Any, limit: int) -> list[Any]:
    """Return at most the first ``limit + 1`` elements of a sequence, or a list of the value itself.

    If iteration fails, a list of the value itself is returned as well; a later check will refuse it.
    """
    if is_single(value):
        return [value[()] if isinstance(value, np.ndarray) else value]
    try:
        return list(itertools.islice(value, limit + 1))
    except Exception:
        return [value]


def each(option: str, value: Any, k: int, error: type[OptionError] = OptionError) -> list[Any]:
    """Return k values, one for each component: the values of a sequence, or a single value k times."""
    values = elements(value, k)
    if is_single(value) or (len(values) == 1 and values[0] is value):
        return values * k
    if len(values) != k:
        raise error(f"{option} has {_count(value, values)}, but k={k}; give one for all components, or {k}.")
    return values


def _count(value: Any, start: list[Any]) -> str:
    """Return the number of values as text; for an iterator, "at least" the number already taken."""
    try:
        return plural(len(value), "value")
    except Exception:  # an iterator, or a sparse array
        return f"{'at least ' * bool(start)}{plural(len(start), 'value')}"


def require_extra(module: str, extra: str, feature: str, package: str = "") -> Any:
    """Import and return a module of an optional dependency.

    Parameters
    ----------
    module : str
    extra : str
        The extra of this package that installs it.
    feature : str
        The function that needs it, for the message.
    package : str
        The name of the package, if it differs from that of the module.

    Raises
    ------
    ExtraError
        If it is not installed.
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise ExtraError(
            f"{feature} needs {package or module}, which is not installed: pip install 'spcastat[{extra}]'."
        ) from error


def user_frame() -> FrameType | None:
    """Return the innermost frame of the call stack outside the package."""
    frame = inspect.currentframe()
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "spcastat":
        frame = frame.f_back
    return frame


#: The function that receives warnings in this thread instead of Python's warnings.
_receiver: ContextVar[Callable[[str], None] | None] = ContextVar("_receiver", default=None)


@contextmanager
def warnings_told(to: Callable[[str], None]) -> Iterator[None]:
    """Pass the text of each distinct warning of the package to a function, once, in this thread only.

    Python's warning filters, which all threads share, are not changed.
    """
    messages: set[str] = set()

    def tell(message: str) -> None:
        if message not in messages:
            messages.add(message)
            to(message)

    token = _receiver.set(tell)
    try:
        yield
    finally:
        _receiver.reset(token)


#: Modules between a call of the user and a warning: the package, and what calls its cached properties.
_INTERNAL = ("spcastat", "functools")


def warn(message: str, category: type[Warning]) -> None:
    """Issue a warning that refers to the user's line, at any depth of the call stack in the package."""
    receiver = _receiver.get()
    if receiver is not None:
        receiver(message)
        return
    level, frame = 1, inspect.currentframe()
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] in _INTERNAL:
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)
