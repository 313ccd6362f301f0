"""The state of active instance stacks as arrays: what each field of them is [Wu06 §4.1].

Only NumPy is needed to read this, so that a plan can be made and explained without loading
the compiler.
"""

from __future__ import annotations

import numpy as np

INSTANCE = np.dtype(
    [
        ("event", "i8"),  # the number of the event
        ("start", "i8"),  # no sequence that ends here starts after this, on the window's axis
        ("previous", "i4"),  # the instance below it in its stack, or NONE
        ("rip", "i4"),  # the most recent instance of the previous stack when it came, or NONE
        ("stack", "i8"),  # partition × components + component; of a mere cell the last component
    ]
)
PLAN = np.dtype(
    [
        ("window", "i8"),
        ("window_in_scan", "i8"),  # 1: an event without a partner in the window is not pushed
        ("window_in_construction", "i8"),  # 1: the search leaves out what is not in the window
        ("pushed", "i8"),  # 1: key 0 is pushed into the scan, and partitions the stacks
        ("keys", "i8"),  # how many equivalence keys there are
        ("dynamic", "i8"),  # 1: the other keys are tested in the search, else in the selection
        ("multi", "i8"),  # 1: every key has stacks of its own, and the scan intersects them
        ("basic", "i8"),  # 1: stacks are found in a runtime stack when they are needed
        ("by_partition", "i8"),  # 1: the window counts the events of a partition
        ("predicate", "i8"),  # address of the predicate function
        ("context", "i8"),  # address of the context
    ]
)
STATE = np.dtype(
    [
        ("used", "i8"),  # instances in memory
        ("head", "i8"),  # where the next instance goes; where not behind them, the pool is a ring
        ("level", "i8"),  # component at which an unfinished search goes on, or NONE
        ("matches", "i8"),  # matches written
        ("pushed", "i8"),  # instances pushed
        ("peak", "i8"),  # most instances in memory
        ("constructed", "i8"),  # sequences constructed, before selection and window
        ("matches_found", "i8"),
    ]
)

MOST_INSTANCES = 2**31 - 1
"""What links can point to."""
NONE = -1
UNUSED = -(2**63)
"""The start of an instance that was never there: before all windows."""
DONE, NEED_OUTPUT, NEED_ROOM = 0, 1, 2
