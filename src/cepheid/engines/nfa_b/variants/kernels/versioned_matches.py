"""The matches of a shared versioned buffer, and what the window lets go of [Agrawal08 §5.1, §5.3].

A match is retrieved from the latest entry of a run back to the first, along the pointers whose
labels are compatible with the run's version. A combined run stands for its members: those
that start inside the window are followed one after the other.
"""

from __future__ import annotations

from cepheid.codegen.layout import ANY, CONTROL, NONE, PARTITION, RUN, TAG_SHIFT
from cepheid.engines.nfa_b.variants.kernels.versioned_layout import (
    COMBINED,
    COMPLETE,
    ENTRY,
    MEMBER,
    POINTER,
    TOPS,
    VERSION,
)
from cepheid.engines.nfa_b.variants.kernels.versions import compatible_pointer
from cepheid.jit.decorators import I64, I64S, array_of, helper, kernel

LISTED, FULL, BROKEN = 0, 1, 2
_COMPONENT = (1 << TAG_SHIFT) - 1
_NEVER = 1 << 62


@kernel(
    I64(
        array_of(CONTROL), array_of(ENTRY), array_of(POINTER), I64S, array_of(VERSION),
        array_of(MEMBER), array_of(COMPLETE), I64, I64S, I64S, I64S, I64S, I64S, I64S, I64S, I64S,
    )
)  # fmt: skip
def list_matches(
    control, entries, pointers, index, versions, members, complete, count, heads, versions_of,
    depths, path, cursor, ids, offsets, written,
):  # fmt: skip
    """Write the matches of complete runs from where ``cursor`` (run, stack) stands.

    ``heads``, ``versions_of`` and ``depths`` are a stack of what is still to be followed.
    Returns FULL when there is no more room; ``written`` has the tags and matches so far.
    """
    any_match = control[0].strategy == ANY
    longest = control[0].longest
    done, top = cursor[0], cursor[1]
    at, matches = written[0], written[1]
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
            pointer = compatible_pointer(pointers, index, versions, head, version)
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
                    heads[top], versions_of[top] = members[member].head, members[member].version
                    depths[top] = depth
                    top += 1
                member = members[member].next
    cursor[0], cursor[1] = done, top
    written[0], written[1] = at, matches
    return status


@helper
def _moved(head, moved_entries, moved_members):
    """Where a head is after pruning; NONE where all that it stands for is gone."""
    if head >= 0:
        return moved_entries[head]
    if head <= COMBINED:
        member = moved_members[COMBINED - head]
        return COMBINED - member if member >= 0 else NONE
    return NONE


@kernel(
    I64(
        array_of(CONTROL), array_of(TOPS), array_of(RUN), I64S, array_of(PARTITION),
        array_of(ENTRY), array_of(POINTER), array_of(VERSION), array_of(MEMBER), I64, I64, I64S,
        I64S, I64S, I64S,
    )
)  # fmt: skip
def prune_buffer(
    control, tops, runs, version_of, partitions, entries, pointers, versions, members, now,
    by_partition, oldest, moved_entries, moved_versions, moved_members,
):  # fmt: skip
    """Forget what no match to come can contain; the rest moves together.

    An entry goes when its partition was given up, when it has left the window of its partition,
    or when all live runs there started after it. Where ``by_partition``, each partition has got
    to a place of its own on the axis; otherwise all have got to ``now``. ``oldest`` is room for a
    number for each partition, and the other three for each entry, version and member. No run is
    complete.
    """
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
    for partition in range(len(partitions)):
        run_ix = partitions[partition].first
        while run_ix >= 0:
            if runs[run_ix].head <= COMBINED:
                moved_members[COMBINED - runs[run_ix].head] = 0
            run_ix = runs[run_ix].next
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
        head = _moved(members[member].head, moved_entries, moved_members)
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
            previous = _moved(previous, moved_entries, moved_members)
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
    for partition in range(len(partitions)):
        run_ix = partitions[partition].first
        while run_ix >= 0:
            moved_versions[version_of[run_ix]] = 0
            run_ix = runs[run_ix].next
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
    for partition in range(len(partitions)):
        run_ix = partitions[partition].first
        while run_ix >= 0:
            version_of[run_ix] = moved_versions[version_of[run_ix]]
            runs[run_ix].head = _moved(runs[run_ix].head, moved_entries, moved_members)
            root = moved_entries[runs[run_ix].root]
            runs[run_ix].root = root if root >= 0 else 0
            run_ix = runs[run_ix].next
    return 0
