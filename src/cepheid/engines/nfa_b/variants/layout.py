"""The shared versioned buffer as arrays: what each field of them is [Agrawal08 §5.1].

A *head* is a number for what a run has selected: the number of an entry; NONE if nothing was
selected; or :data:`COMBINED` minus the number of the first of several members.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from cepheid.engines.base.layout import Rows
from cepheid.events.arrays import no_rows

ENTRY = np.dtype(
    [
        ("tag", "i8"),  # event × 32 + component, which is the stack of the event
        ("axis", "i8"),  # place of the event on the axis that the window measures
        ("partition", "i8"),
    ]
)
POINTER = np.dtype(
    [
        ("entry", "i8"),  # the entry that it starts from
        ("version", "i8"),  # its label
        ("previous", "i8"),  # the head that it points to
    ]
)
VERSION = np.dtype(
    [
        ("parent", "i8"),  # the dewey number without its last digit, or NONE
        ("digit", "i8"),  # its last digit
    ]
)
MEMBER = np.dtype(
    [
        ("version", "i8"),  # version of a run when it was merged
        ("head", "i8"),  # its head at that time
        ("start", "i8"),  # start of its youngest run on the axis that the window measures
        ("next", "i8"),  # the next member, or NONE
    ]
)
COMPLETE = np.dtype(
    [
        ("version", "i8"),  # the version of a run that is complete
        ("head", "i8"),  # its head before the event that completes it
        ("tag", "i8"),  # that event, or NONE where it is the head
        ("after", "i8"),  # runs that start after this are in the window
    ]
)
TOPS = np.dtype(
    [
        ("entries", "i8"),  # how many there are
        ("pointers", "i8"),
        ("versions", "i8"),
        ("members", "i8"),
        ("complete", "i8"),
        ("initiations", "i8"),  # the first digit of the latest version
    ]
)
COMBINED = -2
"""The head of a run that represents members 0, 1 and so on is -2, -3 and so on."""


class Shared(NamedTuple):
    """The buffer that runs share, and the runs that are complete."""

    tops: Rows = no_rows(TOPS)
    entries: Rows = no_rows(ENTRY)
    pointers: Rows = no_rows(POINTER)
    versions: Rows = no_rows(VERSION)
    members: Rows = no_rows(MEMBER)
    complete: Rows = no_rows(COMPLETE)
    version_of: Rows = no_rows(np.int64)  # for each run
    by_label: Rows = no_rows(np.int64)  # a hash table of pointers, by entry and label
    stacks: Rows = no_rows(np.int64)  # for each state the entry of the event being read, or NONE
