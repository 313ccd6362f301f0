"""Construction of long sequences that copies the common parts of matches.

The matches of components 0 to c with last instance x are the matches of components 0 to c - 1
that end at the RIP of x or further down its stack, each followed by x. Written in the order of
the stack, from its top down, these are next to one another at the end of the rows of component
c - 1. So the matches are made component by component, and the rows of one are copied to the next
in whole blocks instead of being searched for again.

Every row that is written is part of some match: a stack is read from the instance that the top of
the next one points to, down to the first start outside the window. So each component has at least
as many rows as the one before.
"""

from __future__ import annotations

from cepheid.jit.decorators import inlined
from cepheid.jit.pointers import copy_numbers, write_sixteen

BEYOND = 16
"""Rows are copied in blocks of this size; the surplus of the last block is overwritten later."""


@inlined
def _copy(source, low, target, at, count, columns):
    for done in range(0, count, BEYOND):
        for column in range(columns):
            here, there = column * source.shape[1], column * target.shape[1]
            copy_numbers(target, there + at + done, source, here + low + done, BEYOND)


@inlined
def _fill(target, column, at, count, value):
    for row in range(at, at + count, BEYOND):
        write_sixteen(target, column * target.shape[1] + row, value)


@inlined
def construct_shared(instances, tops, marks, older, newer, found, ending, matches):
    """Write all matches of the last event; the number of matches then, or -1 without room.

    ``older`` and ``newer`` have room for the rows of single components. ``tops`` gets the instance
    of each component to start from, and ``marks`` the first row that ends with an instance.
    Without room the state is as before.
    """
    last, oldest, first_event = ending.component, ending.oldest, ending.first_event
    tops[last - 1] = ending.top
    for component in range(last - 1, 0, -1):
        tops[component - 1] = instances[tops[component]].rip
    room = older.shape[1] - BEYOND
    rows = 0
    row, above = tops[0], first_event + ending.event
    while row >= 0 and instances[row].start > oldest and instances[row].event < above:
        if rows >= room:
            return -1
        above = instances[row].event
        older[0, rows] = above - first_event
        marks[row] = rows
        rows += 1
        row = instances[row].previous
    for component in range(1, last):
        target, begun = newer, 0
        if component == last - 1:
            target, begun = found, matches
        room = target.shape[1] - BEYOND
        at = begun
        row, above = tops[component], first_event + ending.event
        while row >= 0 and instances[row].start > oldest and instances[row].event < above:
            low = marks[instances[row].rip]
            count = rows - low
            if at + count > room:
                return -1
            above = instances[row].event
            _copy(older, low, target, at, count, component)
            _fill(target, component, at, count, above - first_event)
            marks[row] = at
            at += count
            row = instances[row].previous
        rows = at - begun
        older, newer = newer, older
    _fill(found, last, matches, rows, ending.event)
    return matches + rows
