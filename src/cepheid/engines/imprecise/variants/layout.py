"""What the kernels of the other methods of [Zhang10] read and write, as arrays."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from cepheid.events.arrays import Int64s, no_rows

_INTS = no_rows(np.int64)
_INT_ROWS = no_rows(np.int64, 2)


class Runs(NamedTuple):
    """Runs that begin at any component.

    Row r of ``events``, ``vlb`` and ``vub`` is run r, with a column for each component; the last
    row is scratch. ``following`` links the runs of a partition, whose first is in ``first_of``,
    and the unused ones from ``free[0]`` on, of which there are ``free[1]``.
    """

    events: npt.NDArray[np.int64] = _INT_ROWS
    vlb: npt.NDArray[np.int64] = _INT_ROWS
    vub: npt.NDArray[np.int64] = _INT_ROWS
    freshness: Int64s = _INTS
    following: Int64s = _INTS
    first_of: Int64s = _INTS
    free: Int64s = _INTS


class Points(NamedTuple):
    """Every instant of every candidate of a component, by partition and time.

    ``times[borders[c, p]:borders[c, p + 1]]`` are those of component c in partition p.
    """

    times: Int64s = _INTS
    events: Int64s = _INTS
    borders: npt.NDArray[np.int64] = _INT_ROWS


class PointRoom(NamedTuple):
    """The path of points, and the signatures that the points of one first event have.

    The rows of ``paths`` are the event, the time, the cursor and the NELT of each level.
    ``entries`` are signatures, found by ``table``; the rows of ``sums`` are the probability of
    the path at each level, and for each entry its confidence, its first and its last time.
    """

    paths: npt.NDArray[np.int64] = _INT_ROWS
    table: Int64s = _INTS
    entries: npt.NDArray[np.int64] = _INT_ROWS
    sums: npt.NDArray[np.float64] = no_rows(np.float64, 2)
