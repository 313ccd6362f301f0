"""The matches of a shared versioned buffer, and what the window evicts [Agrawal08 §5.1, §5.3].

A match is retrieved from the latest entry of a run back to the first, along the pointers with
labels that are compatible with the version of the run. A combined run represents its members:
those that start inside the window are followed one after the other.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from cepheid.codegen.layout import ANY, NONE, TAG_SHIFT
from cepheid.engines.base.layout import Rows
from cepheid.engines.nfa_b.layout import State
from cepheid.engines.nfa_b.variants.kernels.versions import compatible_pointer
from cepheid.engines.nfa_b.variants.layout import COMBINED, Shared
from cepheid.events.arrays import no_rows
from cepheid.jit.decorators import I64, helper, kernel, type_of

LISTED, FULL, BROKEN = 0, 1, 2
_COMPONENT = (1 << TAG_SHIFT) - 1
_NEVER = 1 << 62
AT_RUN, AT_STACK, AT_TAG, AT_MATCH, CURSOR_FIELDS = range(5)
"""The cursor: the next complete run, the height of the stack, tags and matches written."""


class Retrieval(NamedTuple):
    """Where retrieval is, a stack of what is still to be followed, and the matches written."""

    cursor: Rows = no_rows(np.int64)
    heads: Rows = no_rows(np.int64)
    versions: Rows = no_rows(np.int64)
    depths: Rows = no_rows(np.int64)
    path: Rows = no_rows(np.int64)
    tags: Rows = no_rows(np.int64)
    offsets: Rows = no_rows(np.int64)


class Moved(NamedTuple):
    """Room for pruning: the oldest entry of each partition, and where each row has moved."""

    oldest: Rows = no_rows(np.int64)
    entries: Rows = no_rows(np.int64)
    versions: Rows = no_rows(np.int64)
    members: Rows = no_rows(np.int64)


@kernel(I64(type_of(State), type_of(Shared), type_of(Retrieval)))
def list_matches(state, shared, retrieval):
    """Write the matches of complete runs from where the cursor is; FULL if there is no room."""
    entries, pointers, versions = shared.entries, shared.pointers, shared.versions
    members, complete, count = shared.members, shared.complete, shared.tops[0].complete
    heads, versions_of, depths = retrieval.heads, retrieval.versions, retrieval.depths
    cursor, path, ids, offsets = (
        retrieval.cursor, retrieval.path, retrieval.tags, retrieval.offsets,
    )  # fmt: skip
    control = state.control
    any_match = control[0].strategy == ANY
    longest = control[0].longest
    done, top, at, matches = cursor[AT_RUN], cursor[AT_STACK], cursor[AT_TAG], cursor[AT_MATCH]
    status = LISTED
    while True:
        if at + longest + 1 > len(ids) or matches + 2 > len(offsets):
            status = FULL
            break
        if top == 0:
            if done == count:
                break
            depths[0] = 0
            if complete[done].tag >= 0:
                path[0] = complete[done].tag
                depths[0] = 1
            heads[0], versions_of[0] = complete[done].head, complete[done].version
            top = 1
            done += 1
        after = complete[done - 1].after
        top -= 1
        head, version, depth = heads[top], versions_of[top], depths[top]
        while head >= 0:
            if version < 0:
                return BROKEN
            pointer = compatible_pointer(shared, head, version)
            if pointer < 0:
                return BROKEN
            tag = entries[head].tag
            path[depth] = tag
            depth += 1
            head = pointers[pointer].previous
            # The run came here with one digit less, unless it only stayed.
            if head >= 0 and (any_match or (entries[head].tag ^ tag) & _COMPONENT != 0):
                version = versions[version].parent
        if head == NONE:
            for back in range(depth):
                ids[at + back] = path[depth - 1 - back]
            at += depth
            matches += 1
            offsets[matches] = at
        else:
            member = COMBINED - head
            while member >= 0:
                if members[member].start > after:
                    if top == len(heads):
                        return BROKEN
                    heads[top], versions_of[top] = members[member].head, members[member].version
                    depths[top] = depth
                    top += 1
                member = members[member].next
    cursor[AT_RUN], cursor[AT_STACK], cursor[AT_TAG], cursor[AT_MATCH] = done, top, at, matches
    return status


@helper
def _moved(head, moved):
    """Where a head is after pruning; NONE if nothing of it is left."""
    if head >= 0:
        return moved.entries[head]
    if head <= COMBINED:
        member = moved.members[COMBINED - head]
        return COMBINED - member if member >= 0 else NONE
    return NONE


@kernel(I64(type_of(State), type_of(Shared), I64, I64, type_of(Moved)))
def prune_buffer(state, shared, now, by_partition, moved):
    """Drop what no match to come can contain; the rest moves together.

    An entry is dropped when its partition was dropped, when it has left the window of its
    partition, or when all live runs of the partition started after it. Where ``by_partition``,
    each partition has its own latest place on the axis; otherwise all partitions are at ``now``.
    No run is complete.
    """
    control, runs, partitions = state.control, state.runs, state.partitions
    tops, entries, pointers = shared.tops, shared.entries, shared.pointers
    versions, members, version_of = shared.versions, shared.members, shared.version_of
    oldest, moved_entries = moved.oldest, moved.entries
    moved_versions, moved_members = moved.versions, moved.members
    window = control[0].window
    for partition in range(len(partitions)):
        oldest[partition] = _NEVER
        run_ix = partitions[partition].first
        while run_ix >= 0:
            oldest[partition] = min(oldest[partition], runs[run_ix].root)
            run_ix = runs[run_ix].next
    kept = 0
    for entry in range(tops[0].entries):
        partition = entries[entry].partition
        moved_entries[entry] = NONE
        if partition < 0:
            continue
        here = partitions[partition].now if by_partition else now
        if entry >= oldest[partition] and here - entries[entry].axis < window:
            moved_entries[entry] = kept
            entries[kept] = entries[entry]
            kept += 1
    tops[0].entries = kept

    # A member refers to earlier members only: marked from the last to the first.
    for member in range(tops[0].members):
        moved_members[member] = NONE
    for run_ix in range(len(runs)):
        if runs[run_ix].state >= 0 and runs[run_ix].head <= COMBINED:
            moved_members[COMBINED - runs[run_ix].head] = 0
    for pointer in range(tops[0].pointers):
        if pointers[pointer].previous <= COMBINED and moved_entries[pointers[pointer].entry] >= 0:
            moved_members[COMBINED - pointers[pointer].previous] = 0
    for member in range(tops[0].members - 1, -1, -1):
        if moved_members[member] == 0:
            if members[member].next >= 0:
                moved_members[members[member].next] = 0
            if members[member].head <= COMBINED:
                moved_members[COMBINED - members[member].head] = 0
    kept = 0
    for member in range(tops[0].members):
        if moved_members[member] < 0:
            continue
        head = _moved(members[member].head, moved)
        following = members[member].next
        if following >= 0:
            following = moved_members[following]
        if head == NONE:
            moved_members[member] = following
            continue
        moved_members[member] = kept
        members[kept] = members[member]
        members[kept].head = head
        members[kept].next = following
        kept += 1
    tops[0].members = kept

    kept = 0
    for pointer in range(tops[0].pointers):
        entry, previous = moved_entries[pointers[pointer].entry], pointers[pointer].previous
        if entry < 0:
            continue
        if previous != NONE:
            previous = _moved(previous, moved)
            if previous == NONE:
                continue
        pointers[kept].entry = entry
        pointers[kept].previous = previous
        pointers[kept].version = pointers[pointer].version
        kept += 1
    tops[0].pointers = kept

    # A version refers to earlier versions only.
    for version in range(tops[0].versions):
        moved_versions[version] = NONE
    for pointer in range(tops[0].pointers):
        moved_versions[pointers[pointer].version] = 0
    for member in range(tops[0].members):
        moved_versions[members[member].version] = 0
    for run_ix in range(len(runs)):
        if runs[run_ix].state >= 0:
            moved_versions[version_of[run_ix]] = 0
    for version in range(tops[0].versions - 1, -1, -1):
        if moved_versions[version] == 0 and versions[version].parent >= 0:
            moved_versions[versions[version].parent] = 0
    kept = 0
    for version in range(tops[0].versions):
        if moved_versions[version] == 0:
            parent = versions[version].parent
            versions[kept].parent = moved_versions[parent] if parent >= 0 else NONE
            versions[kept].digit = versions[version].digit
            moved_versions[version] = kept
            kept += 1
    tops[0].versions = kept
    for pointer in range(tops[0].pointers):
        pointers[pointer].version = moved_versions[pointers[pointer].version]
    for member in range(tops[0].members):
        members[member].version = moved_versions[members[member].version]
    for run_ix in range(len(runs)):
        if runs[run_ix].state >= 0:
            version_of[run_ix] = moved_versions[version_of[run_ix]]
            runs[run_ix].head = _moved(runs[run_ix].head, moved)
            root = moved_entries[runs[run_ix].root]
            runs[run_ix].root = root if root >= 0 else 0
    return 0
