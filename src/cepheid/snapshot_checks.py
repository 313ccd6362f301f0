"""What the parts of a snapshot must be: checked before compiled code, which checks nothing, reads.

The owner of a state describes its arrays: type, shape, and the range of each number that is an
index. A size that is not known beforehand has a name, and is the same wherever the name is used.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from cepheid.errors import CepheidError, OptionError, SnapshotError

if TYPE_CHECKING:
    from cepheid.snapshots import Arrays

Bound = int | str
"""A number, or the name of a size."""

ROW = "row"
"""The bound of a link that leads to an earlier row only, so that following links ends."""
FAR = 1 << 62
"""Numbers of events, counts and sizes are less than this."""


def _is_string(value: Any) -> bool:
    """Whether it is a string that other libraries can read: without half characters."""
    return isinstance(value, str) and not any("\ud800" <= each <= "\udfff" for each in value)


_VALUES: dict[str, Callable[[Any], bool]] = {
    "integer": lambda value: type(value) is int and -(1 << 63) <= value < 1 << 63,
    "count": lambda value: type(value) is int and 0 <= value < FAR,
    "flag": lambda value: isinstance(value, bool),
    "string": _is_string,
    "strings": lambda value: isinstance(value, list) and all(map(_is_string, value)),
    "object": lambda value: isinstance(value, dict),
}

_FAILURES = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    CepheidError,
    LookupError,
    OSError,
    RecursionError,
    SystemError,
    TypeError,
    ValueError,
)
"""Whatever reading a wrong value can raise."""


class Expected(NamedTuple):
    """The type and the shape of an array, and the range of each of its fields."""

    dtype: npt.DTypeLike
    shape: tuple[Bound, ...]
    ranges: Mapping[str, tuple[Bound, Bound]]


def expected(dtype: npt.DTypeLike, *shape: Bound, **ranges: tuple[Bound, Bound]) -> Expected:
    """An array of this type and shape.

    Each range is a field, the least number in it, and the least number that is too large. For an
    array without fields, the range ``each`` is that of all its numbers.
    """
    return Expected(dtype, shape, ranges)


def damage(what: str) -> SnapshotError:
    """The error for a snapshot that no session can have made."""
    return SnapshotError(
        f"the snapshot is damaged: {what}; restore an earlier one, or read the stream from its "
        "beginning"
    )


def made_by_another(what: str, text: object) -> SnapshotError:
    """The error for a snapshot of another query or script than the one that is to be restored."""
    return SnapshotError(
        f"the snapshot is of another {what}; read the stream from its beginning. "
        f"It was made by:\n{text}"
    )


def require(condition: bool | np.bool_, what: str) -> None:
    """Refuse the snapshot unless this is so."""
    if not condition:
        raise damage(what)


@contextmanager
def damage_reported() -> Iterator[None]:
    """Report whatever fails while a snapshot is read as damage, except wrong options."""
    from pyarrow import ArrowException  # Imported here: to explain a query, Arrow is not loaded.

    try:
        yield
    except (OptionError, SnapshotError):
        raise
    except (*_FAILURES, ArrowException) as error:
        raise damage(f"{type(error).__name__}: {error}") from error


def check_values(header: Any, described: Mapping[str, str]) -> None:
    """Check values of a JSON header: the kind of each, followed by ``?`` if it can be null.

    >>> check_values({"now": 3, "types": ["A"]}, {"now": "integer?", "types": "strings"})
    >>> check_values({"now": "3"}, {"now": "integer?"})
    Traceback (most recent call last):
    cepheid.errors.SnapshotError: the snapshot is damaged: 'now' is no integer; restore an \
earlier one, or read the stream from its beginning
    """
    require(isinstance(header, dict), "its header is no object")
    for name, kind in described.items():
        value, plain = header.get(name), kind.removesuffix("?")
        is_null = value is None and plain != kind
        require(is_null or _VALUES[plain](value), f"{name!r} is no {plain}")


def check_arrays(
    state: Arrays,
    described: Mapping[str, Expected],
    parts: Collection[str] = (),
    **sizes: int,
) -> dict[str, int]:
    """Check that a state has exactly these arrays, and the sizes that their shapes have.

    The arrays of ``parts`` are checked by whoever reads them.

    >>> described = {"first": expected("i8", 1, each=(0, "n")), "next": expected("i8", "n")}
    >>> check_arrays({"first": np.array([1]), "next": np.array([1, -1])}, described)
    {'n': 2}
    >>> check_arrays({"first": np.array([2]), "next": np.array([1, -1])}, described)
    Traceback (most recent call last):
    cepheid.errors.SnapshotError: the snapshot is damaged: 'first' has a number outside 0 to 1; \
restore an earlier one, or read the stream from its beginning
    """
    own = {name for name in state if name.partition(".")[0] not in parts or "." not in name}
    for name in sorted(own ^ described.keys()):
        raise damage(f"it {'has' if name in own else 'lacks'} the array {name!r}")
    for name, wanted in described.items():
        _check_shape(name, state[name], wanted, sizes)
    for name, wanted in described.items():
        for field, (least, beyond) in wanted.ranges.items():
            is_whole = field == "each"
            numbers = state[name] if is_whole else state[name][field]
            label = name if is_whole else f"{name}.{field}"
            _check_range(label, numbers, least, beyond, sizes)
    return sizes


def _check_shape(
    name: str, array: npt.NDArray[Any], wanted: Expected, sizes: dict[str, int]
) -> None:
    is_abstract = isinstance(wanted.dtype, type) and issubclass(wanted.dtype, np.generic)
    fits = (
        np.issubdtype(array.dtype, wanted.dtype) and array.dtype.isnative
        if is_abstract
        else array.dtype == np.dtype(wanted.dtype)
    )
    require(fits, f"{name!r} has the type {array.dtype}")
    require(array.ndim == len(wanted.shape), f"{name!r} has {array.ndim} dimensions")
    for length, size in zip(array.shape, wanted.shape, strict=True):
        known = size if isinstance(size, int) else sizes.setdefault(size, length)
        require(length == known, f"{name!r} has the length {length} instead of {known}")


def _check_range(
    name: str, numbers: npt.NDArray[Any], least: Bound, beyond: Bound, sizes: Mapping[str, int]
) -> None:
    if not numbers.size:
        return
    low = least if isinstance(least, int) else sizes[least]
    if beyond == ROW:
        rows = np.arange(len(numbers)).reshape(-1, *[1] * (numbers.ndim - 1))
        is_below, most = bool((numbers < rows).all()), "its own row - 1"
    else:
        high = beyond if isinstance(beyond, int) else sizes[beyond]
        is_below, most = bool(numbers.max() < high), str(high - 1)
    is_inside = is_below and bool(numbers.min() >= low)
    require(is_inside, f"{name!r} has a number outside {low} to {most}")
