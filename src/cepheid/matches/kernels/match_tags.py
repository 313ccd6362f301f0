"""Matches as tags: splitting them into the events of each component.

A match is ``tags[begins[m]:begins[m + 1]]``; a tag is the event's number times 32 plus the number
of its component.
"""

from __future__ import annotations

from cepheid.codegen.layout import TAG_SHIFT
from cepheid.jit.decorators import I64, I64S, I64S_2D, kernel

_COMPONENT = (1 << TAG_SHIFT) - 1


@kernel(I64(I64S, I64S, I64, I64S_2D, I64S_2D, I64S))
def split_by_component(tags, begins, first_event, positions, lengths, totals):
    """Write the events of each component, match after match, counted from ``first_event``.

    ``positions[component]`` gets ``totals[component]`` events, ``lengths[component, match]`` of
    each match.
    """
    for m in range(len(begins) - 1):
        at, end = begins[m], begins[m + 1]
        while at < end:
            component = tags[at] & _COMPONENT
            total = totals[component]
            first = at
            while at < end and tags[at] & _COMPONENT == component:
                positions[component, total + at - first] = (tags[at] >> TAG_SHIFT) - first_event
                at += 1
            lengths[component, m] += at - first
            totals[component] = total + at - first
    return 0


@kernel(I64(I64S, I64, I64S_2D))
def split_singles(tags, first_event, positions):
    """Fill ``positions[c, m]`` where every match has one event of every component c."""
    components = len(positions)
    at = 0
    for m in range(positions.shape[1]):
        for _ in range(components):
            positions[tags[at] & _COMPONENT, m] = (tags[at] >> TAG_SHIFT) - first_event
            at += 1
    return 0


@kernel(I64(I64S, I64S))
def rename_components(tags, names):
    """Replace the component of each tag by ``names[component]``."""
    for at in range(len(tags)):
        tag = tags[at]
        tags[at] = (tag & ~_COMPONENT) | names[tag & _COMPONENT]
    return 0
