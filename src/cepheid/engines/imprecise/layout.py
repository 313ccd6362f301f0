"""What the kernels of evaluation over uncertain times read and write, as arrays.

Only NumPy is needed to read this. A *tag* is an event and its component in one number.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from cepheid.events.arrays import Int64s, no_rows

Floats = npt.NDArray[np.float64]
Int64Rows = npt.NDArray[np.int64]

_INTS = no_rows(np.int64)
_INT_ROWS = no_rows(np.int64, 2)
_FLOATS = no_rows(np.float64)
_FLOAT_ROWS = no_rows(np.float64, 2)


class Intervals(NamedTuple):
    """The uncertainty interval of each event, and the probability of each of its instants.

    ``mass_at`` is negative if all instants are equally likely; otherwise ``masses[mass_at + k]``
    is the probability of the first k.
    """

    lower: Int64s = _INTS
    upper: Int64s = _INTS
    mass_at: Int64s = _INTS
    masses: Floats = _FLOATS

    def take(self, places: Int64s, base: int = 0) -> Intervals:
        """The intervals of these events, counted from ``base``."""
        lower, upper = self.lower[places] - base, self.upper[places] - base
        return Intervals(lower, upper, self.mass_at[places], self.masses)

    @property
    def longest(self) -> int:
        """The largest difference between the latest and the earliest time of an event."""
        return int((self.upper - self.lower).max()) if len(self.lower) else 0


class Candidates(NamedTuple):
    """The events that pass each test, by partition and in the order of their earliest times.

    ``places[borders[t, p]:borders[t, p + 1]]`` are those of test t in partition p. Test 2c is
    that of the first event of component c, test 2c + 1 that of a later one. ``reach[t]`` is the
    length of their longest interval.
    """

    places: Int64s = _INTS
    borders: Int64Rows = _INT_ROWS
    reach: Int64s = _INTS

    @property
    def counts(self) -> Int64s:
        """The number of events that pass each test."""
        counted: Int64s = self.borders[:, -1] - self.borders[:, 0]
        return counted

    def of(self, test: int) -> Int64s:
        """The events that pass a test."""
        return self.places[self.borders[test, 0] : self.borders[test, -1]]


class Batch(NamedTuple):
    """The events in memory in the order of their earliest times.

    ``fresh`` is 1 for the events that no search has seen. ``nelt`` is for each event the time
    after which no event can be next to it, if events have to be adjacent. ``pace[0]`` is the work
    that is left before a kernel pauses.
    """

    intervals: Intervals = Intervals()
    candidates: Candidates = Candidates()
    partition_of: Int64s = _INTS
    fresh: Int64s = _INTS
    nelt: Int64s = _INTS
    pace: Int64s = _INTS


class Signatures(NamedTuple):
    """The tags of signature m, in the order of the pattern, are ``ids[offsets[m]:offsets[m + 1]]``.

    A search writes them from the beginning of these arrays.
    """

    ids: Int64s = _INTS
    offsets: Int64s = _INTS

    @property
    def size(self) -> int:
        """The number of signatures."""
        return len(self.offsets) - 1

    @property
    def most_events(self) -> int:
        """The number of events of the longest signature; at least 1."""
        return int(np.diff(self.offsets).max(initial=1))


class Scores(NamedTuple):
    """The confidence of each signature and its range of time; 0 if no possible world has it."""

    confidences: Floats = _FLOATS
    starts: Int64s = _INTS
    ends: Int64s = _INTS

    @classmethod
    def room(cls, count: int) -> Scores:
        """Zeros for this many signatures."""
        return cls(np.zeros(count), np.zeros(count, np.int64), np.zeros(count, np.int64))

    def first(self, count: int) -> Scores:
        """The first scores."""
        return Scores(self.confidences[:count], self.starts[:count], self.ends[:count])


class Match(NamedTuple):
    """One signature: its tags, and the times that its events can have in a match.

    These are ``lo[i]`` to ``hi[i]`` for event i.
    """

    tags: Int64s = _INTS
    lo: Int64s = _INTS
    hi: Int64s = _INTS
    window: int = 0


class Rivals(NamedTuple):
    """Other events that have a say in the confidence of a signature.

    ``events[offsets[m]:offsets[m + 1]]`` are those of signature m. Rival r must not lie in the
    gaps ``gaps[gap_offsets[r]:gap_offsets[r + 1]]``, which are places in time order: j between
    the events j - 1 and j of the signature, AT_START before the first and AT_END after the last.
    """

    events: Int64s = _INTS
    offsets: Int64s = _INTS
    gap_offsets: Int64s = _INTS
    gaps: Int64s = _INTS


class OrderLevels(NamedTuple):
    """What is bound at each level of a search in an order of components.

    Components are bound in ``order``; an event of component j is at least ``apart[i, j]`` instants
    after one of component i. Row d of ``events``, ``vlb`` and ``vub`` has the event and the bounds
    of each component before level d is filled. The rows of ``levels`` are the cursor, whether a
    fresh event is bound, and between which times the next event has to lie.
    """

    order: Int64s = _INTS
    apart: Int64Rows = _INT_ROWS
    events: Int64Rows = _INT_ROWS
    vlb: Int64Rows = _INT_ROWS
    vub: Int64Rows = _INT_ROWS
    levels: Int64Rows = _INT_ROWS


class Gap(NamedTuple):
    """Where a negated component is: between two components, of which one is negative for none.

    ``test`` is that of its events, given the match, or NONE.
    """

    after: int = 0
    before: int = 0
    test: int = 0


class SumRoom(NamedTuple):
    """Scratch memory of sums over matrices: bounds, runs of events, and a front of the window."""

    bounds: Int64Rows = _INT_ROWS
    runs: npt.NDArray[np.float64] = _FLOAT_ROWS
    front: npt.NDArray[np.float64] = _FLOAT_ROWS


class WorldRoom(NamedTuple):
    """Scratch memory of sums with rivals: rows of numbers, rows of masses, grids and products.

    ``pace[0]`` is the work that is left before a kernel pauses.
    """

    numbers: Int64Rows = _INT_ROWS
    work: npt.NDArray[np.float64] = _FLOAT_ROWS
    grid: Floats = _FLOATS
    products: Floats = _FLOATS
    pace: Int64s = _INTS


class NextTask(NamedTuple):
    """Signatures with as many events as the pattern has components.

    ``order`` has those with the same last event but one together, and among them those with the
    same events but the last.
    """

    ids: Int64s = _INTS
    order: Int64s = _INTS
    window: int = 0


class NextRoom(NamedTuple):
    """Scratch memory of skip_till_next_match: lists of rivals, rows of numbers, tables of masses.

    ``inverses[n]`` is 1 / n.
    """

    listed: Int64Rows = _INT_ROWS
    numbers: Int64Rows = _INT_ROWS
    grid: Floats = _FLOATS
    inverses: Floats = _FLOATS


class Runs(NamedTuple):
    """Runs that begin at any component.

    Row r of ``events``, ``vlb`` and ``vub`` is run r, with a column for each component; the last
    row is scratch. ``following`` links the runs of a partition, whose first is in ``first_of``,
    and the unused ones from ``free[0]`` on, of which there are ``free[1]``.
    """

    events: Int64Rows = _INT_ROWS
    vlb: Int64Rows = _INT_ROWS
    vub: Int64Rows = _INT_ROWS
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
    borders: Int64Rows = _INT_ROWS


class PointRoom(NamedTuple):
    """The path of points, and the signatures that the points of one first event have.

    The rows of ``paths`` are the event, the time, the cursor and the NELT of each level.
    ``entries`` are signatures, found by ``table``; the rows of ``sums`` are the probability of
    the path at each level, and for each entry its confidence, its first and its last time.
    """

    paths: Int64Rows = _INT_ROWS
    table: Int64s = _INTS
    entries: Int64Rows = _INT_ROWS
    sums: npt.NDArray[np.float64] = _FLOAT_ROWS


AT_START, AT_END = -1, -2
"""Gaps before the first and after the last event, as far as the window reaches."""

# What a search is given and where it is: the fields of its control array.
(
    WINDOW, IS_NEXT, LEAST_TIME, ONLY_FRESH, PARTITION, DEPTH, RESUME_AT, IDS, MATCHES, PATHS,
    POINT_TIME, POINT_ENTRIES, FRESH_FIRST, ENDS_FROM, ENDS_BEFORE, BEGINS_BEFORE, LAST_FROM,
    DECIDES, CONTROL_SIZE,
) = range(19)  # fmt: skip

NEED_OUTPUT, NEED_DEPTH, NEED_RUNS = 1, 2, 3
"""What a search lacks when it stops; DONE is 0."""
