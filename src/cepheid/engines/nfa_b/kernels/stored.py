"""The chains of a snapshot, followed once with care: later kernels follow them without checks."""

from __future__ import annotations

import numpy as np

from cepheid.codegen.layout import NONE, TAG_SHIFT
from cepheid.engines.base.kernels.links import BROKEN
from cepheid.jit.decorators import I64, I64S, array_of, helper, kernel
from cepheid.matches.layout import NODE

CHAIN = np.dtype(
    [
        ("length", "i8"),  # of the longest chain, or BROKEN
        ("root", "i8"),  # the first node of its chains
        ("latest", "i8"),  # the latest event
        ("component", "i8"),  # the last component that has events
    ]
)
_COMPONENT = (1 << TAG_SHIFT) - 1


@helper
def _differs(node, youngest, oldest, chains):
    return node.youngest != youngest or node.oldest != oldest or node.chains != chains


@kernel(I64(array_of(NODE), I64, I64S, I64, I64, array_of(CHAIN)))
def measure_nodes(nodes, base, is_kleene, first_event, edge, chains):
    """Describe the chains that end in each node.

    The length is BROKEN if a match of the chain would have events in no order, or one before
    ``first_event`` although it starts after ``edge``.
    """
    for place in range(len(nodes)):
        node, chain = nodes[place], chains[place]
        tag, left, right = node.tag, node.previous - base, -1 - node.tag - base
        chain.length, chain.root = BROKEN, base + place
        chain.latest, chain.component = tag >> TAG_SHIFT, tag & _COMPONENT
        if tag >= 0 and node.previous == NONE:
            is_known = chain.latest >= first_event or node.youngest <= edge
            differs = _differs(node, node.youngest, node.youngest, 1.0)
            if is_known and chain.component == 0 and not differs:
                chain.length = 1
            continue
        if left < 0 or left >= place or chains[left].length == BROKEN:
            continue
        before, earlier = nodes[left], chains[left]
        if tag >= 0:
            same = earlier.component
            follows = chain.component == same + 1 or (chain.component == same and is_kleene[same])
            differs = _differs(node, before.youngest, before.oldest, before.chains)
            if follows and earlier.latest < chain.latest and not differs:
                chain.length, chain.root = earlier.length + 1, earlier.root
            continue
        if right < 0 or right >= place or chains[right].length == BROKEN:
            continue
        other, later = nodes[right], chains[right]
        oldest, count = min(before.oldest, other.oldest), before.chains + other.chains
        chain.component = earlier.component
        if (
            later.component == earlier.component
            and other.youngest <= before.youngest
            and not _differs(node, before.youngest, oldest, count)
        ):
            chain.length = max(earlier.length, later.length)
            chain.root = min(earlier.root, later.root)
            chain.latest = max(earlier.latest, later.latest)
    return 0
