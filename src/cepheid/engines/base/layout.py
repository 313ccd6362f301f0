"""Arrays that the kernels of all engines read."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from cepheid.events.arrays import no_rows

Rows = npt.NDArray[Any]


class RegisterArrays(NamedTuple):
    """The registers of all runs: what later predicates need of the events that a run selected.

    A register of a run is ``ints[run, register]`` or ``floats[run, register]``. Bit ``register``
    of ``valid[run]`` says whether its value is known.
    """

    ints: Rows = no_rows(np.int64, 2)
    floats: Rows = no_rows(np.float64, 2)
    valid: Rows = no_rows(np.int64)


class Closing(NamedTuple):
    """The edges of an automaton that negated components close.

    Edge 2c begins component c, and edge 2c + 1 takes a further event of it. ``rows[edge]`` is its
    row of ``latest``, or NONE. For each event, ``latest`` has twice the number of the latest event
    before it that violates, plus 1 if it violates itself. At an event, the edge is closed to runs
    whose last event came before that one.
    """

    rows: Rows = no_rows(np.int64)
    latest: Rows = no_rows(np.int64, 2)


NOTHING_CLOSED = Closing()
