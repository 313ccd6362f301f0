"""Dewey numbers as versions of runs, and the pointers that are labelled with them [Agrawal08 §5.1].

A version is kept as its last digit and the number of its prefix, so that versions share their
prefixes. A run that moves to another state gets one more digit, 0. Where a run both moves and
stays, the one that stays adds 1 to its last digit.

This distinguishes runs as long as at most one run stays. Under skip_till_any_match two runs
stay in a Kleene state, one that takes the event and one that ignores it; there, taking an
event adds a digit too. Then no two live runs have the same prefix: at most one pointer of an
entry has a label with the prefix of a run.
"""

from __future__ import annotations

from cepheid.codegen.layout import NONE
from cepheid.engines.nfa_b.variants.layout import COMBINED, MEMBER, Shared
from cepheid.jit.decorators import I64, I64S, array_of, helper, kernel, type_of


@helper
def _add_version(shared, parent, digit):
    version = shared.tops[0].versions
    shared.versions[version].parent = parent
    shared.versions[version].digit = digit
    shared.tops[0].versions = version + 1
    return version


@helper
def moved_on(shared, version):
    """The version with one more digit."""
    return _add_version(shared, version, 0)


@helper
def stayed(shared, version):
    """The version with a last digit that is greater by 1."""
    before = shared.versions[version]
    return _add_version(shared, before.parent, before.digit + 1)


@helper
def initiated(shared):
    """The version of a new run after its first move."""
    shared.tops[0].initiations += 1
    first = _add_version(shared, NONE, shared.tops[0].initiations)
    return moved_on(shared, first)


@helper
def _is_compatible(versions, version, label):
    """Whether a run may follow a pointer, for versions with the same number of digits.

    The label is then the version of the run, or of an ancestor before it split.
    """
    return (
        versions[version].parent == versions[label].parent
        and versions[version].digit >= versions[label].digit
    )


@helper
def _slot(index, entry, parent):
    x = entry * -7046029254386353131 + parent * 1099511628211
    x ^= (x >> 29) & 0x7FFFFFFFF
    x *= -4417276706812531889
    x ^= (x >> 32) & 0xFFFFFFFF
    return x & (len(index) - 1)


@helper
def _enter_index(shared, pointer):
    pointers, index = shared.pointers, shared.by_label
    parent = shared.versions[pointers[pointer].version].parent
    slot = _slot(index, pointers[pointer].entry, parent)
    while index[slot] != 0:
        slot = (slot + 1) & (len(index) - 1)
    index[slot] = pointer + 1


@helper
def add_pointer(shared, entry, version, previous):
    """Point from an entry to the head that was selected before."""
    pointers = shared.pointers
    pointer = shared.tops[0].pointers
    pointers[pointer].entry = entry
    pointers[pointer].version = version
    pointers[pointer].previous = previous
    shared.tops[0].pointers = pointer + 1
    _enter_index(shared, pointer)


@helper
def compatible_pointer(shared, entry, version):
    """The pointer of an entry that a run of this version follows, or NONE."""
    pointers, index, versions = shared.pointers, shared.by_label, shared.versions
    slot = _slot(index, entry, versions[version].parent)
    while index[slot] != 0:
        pointer = index[slot] - 1
        if pointers[pointer].entry == entry and _is_compatible(
            versions, version, pointers[pointer].version
        ):
            return pointer
        slot = (slot + 1) & (len(index) - 1)
    return NONE


@kernel(I64(array_of(MEMBER), I64S))
def follow_members(members, latest):
    """For each member of a snapshot the latest entry that its run or the next members lead to."""
    for member in range(len(members)):
        head, following = members[member].head, members[member].next
        latest[member] = head if head >= 0 else NONE
        if head <= COMBINED:
            latest[member] = latest[COMBINED - head]
        if following >= 0:
            latest[member] = max(latest[member], latest[following])
    return 0


@kernel(I64(type_of(Shared)))
def index_pointers(shared):
    """Enter all pointers into an empty index, by entry and the prefix of the label.

    The length of the index is a power of two, and greater than the number of pointers.
    """
    for pointer in range(shared.tops[0].pointers):
        _enter_index(shared, pointer)
    return 0
