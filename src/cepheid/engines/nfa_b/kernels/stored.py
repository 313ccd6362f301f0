"""The chains of a snapshot, followed once with care: later kernels follow them without checks."""

from __future__ import annotations

from cepheid.codegen.layout import NONE, TAG_SHIFT
from cepheid.engines.base.kernels.links import BROKEN
from cepheid.jit.decorators import I64, I64S, array_of, helper, kernel
from cepheid.matches.layout import NODE


@helper
def _differs(node, youngest, oldest, chains):
    return node.youngest != youngest or node.oldest != oldest or node.chains != chains


@kernel(I64(array_of(NODE), I64, I64, I64, I64S, I64S, I64S))
def measure_nodes(nodes, base, first_event, edge, lengths, roots, latest):
    """For each node the length of the longest chain, its first node and its latest event.

    The length is BROKEN if a match of the chain would have events in no order, or one before
    ``first_event`` although it starts after ``edge``.
    """
    for place in range(len(nodes)):
        node = nodes[place]
        tag, left, right = node.tag, node.previous - base, -1 - node.tag - base
        lengths[place], roots[place], latest[place] = BROKEN, base + place, tag >> TAG_SHIFT
        if tag >= 0 and node.previous == NONE:
            if latest[place] < first_event and node.youngest > edge:
                continue
            if _differs(node, node.youngest, node.youngest, 1.0):
                continue
            lengths[place] = 1
            continue
        if left < 0 or left >= place or lengths[left] == BROKEN:
            continue
        before = nodes[left]
        if tag >= 0:
            if latest[left] >= latest[place] or _differs(
                node, before.youngest, before.oldest, before.chains
            ):
                continue
            lengths[place], roots[place] = lengths[left] + 1, roots[left]
            continue
        if right < 0 or right >= place or lengths[right] == BROKEN:
            continue
        other = nodes[right]
        if other.youngest > before.youngest or _differs(
            node, before.youngest, min(before.oldest, other.oldest), before.chains + other.chains
        ):
            continue
        lengths[place] = max(lengths[left], lengths[right])
        roots[place] = min(roots[left], roots[right])
        latest[place] = max(latest[left], latest[right])
    return 0
