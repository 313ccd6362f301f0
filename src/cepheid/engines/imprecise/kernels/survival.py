"""What matches under skip_till_next_match share: survivals, and chains of their first events.

A *survival* is the probability that no event of a list is between two times. A *chain* is an
assignment of rising times to the first events of a match, with no rival in the gaps between.
"""

from __future__ import annotations

from typing import NamedTuple

from cepheid.codegen.layout import TAG_SHIFT
from cepheid.engines.imprecise.kernels.interval_masses import (
    FAR,
    mass_until,
    masses_until,
    point_mass,
)
from cepheid.engines.imprecise.layout import Floats
from cepheid.events.arrays import Int64s
from cepheid.jit.decorators import helper

LO, HI, SIZES, SINCE, REACHED, ROWS = range(6)
"""The rows of the numbers that the kernel works with: the bounds of the events, the sizes of the
lists of rivals, the first time at which a survival is not 0, and how far chains reach."""


class Survival(NamedTuple):
    """A mass for each later and earlier time: a row of ``width`` cells for each later time.

    Rows begin with the later time ``base + 1``, and in a row the earlier ones with ``base``.
    ``since`` is for each later time the first earlier one with a survival that is not 0.
    """

    cells: Floats
    since: Int64s
    base: int
    width: int


class Chains(NamedTuple):
    """The masses of chains: a row for each first time, a mass for each time of the newest event.

    The last row has the chains of all first times from there on, and ``firsts`` the earliest of
    these for each time.
    """

    masses: Floats
    firsts: Floats


class RivalTables(NamedTuple):
    """Scratch memory: a row of times, and for each rival its share, its place and two rows."""

    row: Floats
    tables: Floats
    shares: Floats
    places: Int64s


@helper
def _keep_out(row, room, used, begin, stop):
    """Multiply a row by the sum of a share and a table for each of some rivals.

    Four at a time, since rows are short; there is room for three more rivals that change nothing:
    their tables begin at 0, where there are zeros.
    """
    tables, places, shares = room.tables, room.places, room.shares
    for i in range(used, used + 3):
        places[i], shares[i] = 0, 1.0
    mine = row[begin:stop]
    for i in range(0, used, 4):
        # Slices from 0 on: loops over them are vectorised.
        one, two = tables[places[i] + begin : places[i] + stop], tables[places[i + 1] + begin :]
        three, four = tables[places[i + 2] + begin :], tables[places[i + 3] + begin :]
        a, b, c, d = shares[i], shares[i + 1], shares[i + 2], shares[i + 3]
        for k in range(len(one)):
            mine[k] *= (a + one[k]) * (b + two[k]) * ((c + three[k]) * (d + four[k]))


@helper
def fill_survival(survival, rivals, latest, room, intervals):
    """The probability that no rival is between two times, for later times until ``latest``."""
    base, width, tables = survival.base, survival.width, room.tables
    lower, upper = intervals.lower, intervals.upper
    for k in range(width):
        tables[k] = 0.0
    for i in range(len(rivals)):
        early = tables[(i + 1) * width : (i + 2) * width]
        masses_until(intervals, rivals[i], base, width, early)
    oldest = base
    for time in range(base + 1, latest + 1):
        stop, used = min(time - base, width), 0
        for i in range(len(rivals)):
            rival = rivals[i]
            if upper[rival] < time:
                oldest = max(oldest, lower[rival])
            if lower[rival] < time:
                room.places[used] = (i + 1) * width
                room.shares[used] = 1.0 - mass_until(intervals, rival, time - 1)
                used += 1
        survival.since[time - base - 1] = oldest
        begin = oldest - base
        if begin < stop:
            row = survival.cells[(time - base - 1) * width : (time - base) * width]
            for k in range(begin, stop):
                row[k] = 1.0
            _keep_out(row, room, used, begin, stop)


@helper
def extend_chains(chains, longer, rows, level, match, rivals, room, intervals):
    """Write the chains with one event more."""
    lower, upper = intervals.lower, intervals.upper
    base, start, size = match.lo[level - 1], match.lo[level], len(rivals)
    height, width = match.hi[level - 1] - base + 1, match.hi[level] - start + 1
    head, event = match.tags[0] >> TAG_SHIFT, match.tags[level] >> TAG_SHIFT
    row, tables = room.row, room.tables
    for k in range(rows * width):
        longer.masses[k] = 0.0
    for k in range(width):
        longer.firsts[k] = float(FAR)
        tables[k] = 0.0
    for i in range(size):
        late = tables[(i + 1) * width : (i + 2) * width]
        masses_until(intervals, rivals[i], start - 1, width, late)
        for k in range(width):
            late[k] = 1.0 - late[k]
    own, passed = tables[(size + 1) * width : (size + 2) * width], tables[(size + 2) * width :]
    for k in range(width):
        own[k] = point_mass(intervals, event, start + k)
    for i in range(size):
        early = passed[i * height : (i + 1) * height]
        masses_until(intervals, rivals[i], base, height, early)
    for before in range(base, match.hi[level - 1] + 1):
        begin, stop, used = max(start, before + 1) - start, width, 0
        for i in range(size):
            rival = rivals[i]
            if lower[rival] > before:
                # Nothing follows a rival that is certain to come.
                stop = min(stop, upper[rival] + 1 - start)
            if upper[rival] > before:
                room.places[used] = (i + 1) * width
                room.shares[used] = passed[i * height + before - base]
                used += 1
        if begin >= stop:
            continue
        for k in range(begin, stop):
            row[k] = own[k]
        _keep_out(row, room, used, begin, stop)
        first_chain, last_chain = 0, rows - 1
        if level == 1:
            first_chain = last_chain = min(before - base, rows - 1)
        mass, some = 0.0, row[begin:stop]
        for chain in range(first_chain, last_chain + 1):
            if level == 1:
                mass = point_mass(intervals, head, before)
            else:
                mass = chains.masses[chain * height + before - base]
            if mass > 0.0:
                sums = longer.masses[chain * width + begin : chain * width + stop]
                for k in range(len(sums)):
                    sums[k] += mass * some[k]
        if last_chain == rows - 1 and mass > 0.0:
            first = float(before) if level == 1 else chains.firsts[before - base]
            for k in range(begin, stop):
                if row[k] > 0.0:
                    longer.firsts[k] = min(longer.firsts[k], first)


@helper
def single_chains(chains, rows, match, intervals):
    """The chains of the first event alone."""
    base, head = match.lo[0], match.tags[0] >> TAG_SHIFT
    width = match.hi[0] - base + 1
    for k in range(rows * width):
        chains.masses[k] = 0.0
    for k in range(width):
        row = min(k, rows - 1)
        chains.masses[row * width + k] = point_mass(intervals, head, base + k)
        chains.firsts[k] = float(base + k)


@helper
def sum_chains(chains, later, reached, rows, width):
    """The mass of the chains of each row and all after it, and how far those of each reach."""
    for row in range(rows - 1, -1, -1):
        mine, sums = chains[row * width : (row + 1) * width], later[row * width : (row + 1) * width]
        if row == rows - 1:
            for k in range(width):
                sums[k] = mine[k]
        else:
            next_sums = later[(row + 1) * width : (row + 2) * width]
            for k in range(len(sums)):
                sums[k] = mine[k] + next_sums[k]
        last = width - 1
        while last >= 0 and mine[last] == 0.0:
            last -= 1
        reached[row] = last
