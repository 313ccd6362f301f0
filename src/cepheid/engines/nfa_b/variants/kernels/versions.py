"""Dewey numbers as versions of runs, and the pointers that are labelled with them [Agrawal08 §5.1].

A version is kept as its last digit and the number of the version without it, so that versions
share their beginnings. A run that moves on to another state gets one more digit, 0. Where a
run both moves on and stays, the one that stays adds 1 to its last digit.

That much tells runs apart as long as at most one run stays. Under skip_till_any_match two
stay in a Kleene state, one that takes the event and one that ignores it; there, taking an
event adds a digit too. At any time no two runs then have the same digits but for the last:
of the pointers of an entry, the label of at most one has the beginning that is looked for.
"""

from __future__ import annotations

from cepheid.codegen.layout import NONE
from cepheid.engines.nfa_b.variants.kernels.versioned_layout import POINTER, TOPS, VERSION
from cepheid.jit.decorators import I64, I64S, array_of, helper, kernel


@helper
def _add_version(versions, tops, parent, digit):
    version = tops[0].versions
    versions[version].parent = parent
    versions[version].digit = digit
    tops[0].versions = version + 1
    return version


@helper
def moved_on(versions, tops, version):
    """The version with one more digit."""
    return _add_version(versions, tops, version, 0)


@helper
def stayed(versions, tops, version):
    """The version with a last digit that is greater by 1."""
    return _add_version(versions, tops, versions[version].parent, versions[version].digit + 1)


@helper
def initiated(versions, tops):
    """The version of a new run after its first move."""
    tops[0].initiations += 1
    first = _add_version(versions, tops, NONE, tops[0].initiations)
    return moved_on(versions, tops, first)


@helper
def is_compatible(versions, version, label):
    """Whether a run may follow a pointer, for versions of equally many digits.

    The label is then that of the run or of an ancestor, before it split.
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
def _enter_index(pointers, index, versions, pointer):
    slot = _slot(index, pointers[pointer].entry, versions[pointers[pointer].version].parent)
    while index[slot] != 0:
        slot = (slot + 1) & (len(index) - 1)
    index[slot] = pointer + 1


@helper
def add_pointer(pointers, index, versions, tops, entry, version, previous):
    """Point from an entry to what was selected before."""
    pointer = tops[0].pointers
    pointers[pointer].entry = entry
    pointers[pointer].version = version
    pointers[pointer].previous = previous
    tops[0].pointers = pointer + 1
    _enter_index(pointers, index, versions, pointer)


@helper
def compatible_pointer(pointers, index, versions, entry, version):
    """The pointer of an entry that a run of this version follows, or NONE."""
    slot = _slot(index, entry, versions[version].parent)
    while index[slot] != 0:
        pointer = index[slot] - 1
        if pointers[pointer].entry == entry and is_compatible(
            versions, version, pointers[pointer].version
        ):
            return pointer
        slot = (slot + 1) & (len(index) - 1)
    return NONE


@kernel(I64(array_of(TOPS), array_of(POINTER), array_of(VERSION), I64S))
def index_pointers(tops, pointers, versions, index):
    """Enter all pointers into an empty index, by entry and the beginning of the label.

    The length of the index is a power of two, and more than that of the pointers.
    """
    for pointer in range(tops[0].pointers):
        _enter_index(pointers, index, versions, pointer)
    return 0
