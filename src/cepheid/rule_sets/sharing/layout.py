"""The arrays of the kernel that selects events."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from cepheid.events.arrays import no_rows

OPERATORS = ("=", "!=", "<", "<=", ">", ">=")
"""The comparisons, by their numbers."""
FLOATS, FLAG = len(OPERATORS), 2 * len(OPERATORS)
"""The number of the first comparison of floats, and of a test that is computed in a column."""

LISTENER = np.dtype(
    [
        ("slot", "i8"),  # the number of the rule
        ("key", "i8"),  # the row of the digests of its partition key
        ("reach", "i8"),  # how long after a first event others matter
        ("free", "i8"),  # the bits of its free roles
        ("first_role", "i8"),
        ("roles", "i8"),  # the number of its roles for a type of events
    ]
)
ROLE = np.dtype([("bit", "i8"), ("first_test", "i8"), ("tests", "i8")])
TEST = np.dtype(
    [
        ("operator", "i8"),
        ("column", "i8"),  # a row of the integers, the floats or the flags
        ("valid", "i8"),  # the row of the flags that says where there is a value
        ("integer", "i8"),  # what it is compared with
        ("number", "f8"),
    ]
)


class Listeners(NamedTuple):
    """Which rules listen to events of each type, and what they ask of them.

    The listeners of type t are those from ``begins[t]`` to ``begins[t + 1]``. The tests of a role
    are consecutive in ``asked``, by their numbers. ``until`` is the hash
    table of the partitions with a first event.
    """

    begins: npt.NDArray[Any] = no_rows(np.int64)
    listeners: npt.NDArray[Any] = no_rows(LISTENER)
    roles: npt.NDArray[Any] = no_rows(ROLE)
    asked: npt.NDArray[Any] = no_rows(np.int64)
    tests: npt.NDArray[Any] = no_rows(TEST)
    until: npt.NDArray[Any] = no_rows(np.int64)


class Encoded(NamedTuple):
    """A batch: the times, types and partition keys of its events, and the columns of tests."""

    ticks: npt.NDArray[Any] = no_rows(np.int64)
    types: npt.NDArray[Any] = no_rows(np.int64)
    digests: npt.NDArray[Any] = no_rows(np.int64, 2)
    integers: npt.NDArray[Any] = no_rows(np.int64, 2)
    floats: npt.NDArray[Any] = no_rows(np.float64, 2)
    flags: npt.NDArray[Any] = no_rows(np.uint8, 2)


class Selected(NamedTuple):
    """The selected events: their places in the batch, the rules and the roles in them.

    ``state`` has the number of them, the next event, and how much room that needs.
    """

    places: npt.NDArray[Any] = no_rows(np.int64)
    slots: npt.NDArray[Any] = no_rows(np.int64)
    masks: npt.NDArray[Any] = no_rows(np.int64)
    hashed: npt.NDArray[Any] = no_rows(np.int64)
    state: npt.NDArray[Any] = no_rows(np.int64)
