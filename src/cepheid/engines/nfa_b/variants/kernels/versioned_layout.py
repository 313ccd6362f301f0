"""The shared versioned buffer as arrays: what each field of them is [Agrawal08 §5.1].

What runs have selected is referred to by one number, a *head*: that of an entry; NONE, where
nothing was selected; or :data:`COMBINED` minus the number of the first of several members.
"""

from __future__ import annotations

import numpy as np

ENTRY = np.dtype(
    [
        ("tag", "i8"),  # event × 32 + component: the stack in which the event is
        ("axis", "i8"),  # where the event is, on the axis that the window measures
        ("partition", "i8"),
    ]
)
POINTER = np.dtype(
    [
        ("entry", "i8"),  # where it stands
        ("version", "i8"),  # its label
        ("previous", "i8"),  # what it points at: a head
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
        ("version", "i8"),  # that of a run when it was merged
        ("head", "i8"),  # what it had selected last
        ("start", "i8"),  # where its youngest run starts, on the axis that the window measures
        ("next", "i8"),  # the next member, or NONE
    ]
)
COMPLETE = np.dtype(
    [
        ("version", "i8"),  # the version of a run that is complete
        ("head", "i8"),  # what it had selected before the event that completes it
        ("tag", "i8"),  # that event, or NONE where it is the head
        ("after", "i8"),  # the runs that start after this are in the window
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
"""The head of a run that stands for members 0, 1 and so on is -2, -3 and so on."""
