"""Which components have no event in the window: a tree begins no instance while one is absent.

An event of the first component *rests* while another component is absent. It is in its input
buffer all the same, and a bit of its mask marks it. When the last absent component arrives, the
resting events of the window begin their instances, before anything else is done with the new
event. So an instance begins later than it would otherwise, and finds the same matches: a match
lies in one window, in which no component is absent when its last event arrives.
"""

from __future__ import annotations

from cepheid.jit.decorators import helper

RESTS = 1 << 60
"""The bit of the mask of an event that rests in plan 0; the next one is for plan 1."""


@helper
def _is_present(inputs, events, window, since, component, event):
    """Whether a component has an event before this one in its window, not before ``since``."""
    buffer = inputs.buffers[events.partitions[event], component]
    if buffer.count == 0:
        return False
    newest = inputs.pool[buffer.low + buffer.count - 1]
    return newest >= since and events.axis[event] - events.axis[newest] < window


@helper
def are_present(inputs, events, window, plan, first, event, mask):
    """Whether no component is absent at an event; it is of the components of ``mask`` itself."""
    for component in range(inputs.waiting.shape[1]):
        if component != first and (mask >> component) & 1 == 0:
            if not _is_present(inputs, events, window, plan.since, component, event):
                return False
    return True


@helper
def may_rest(components, inputs, events, window, plan, first, event):
    """Whether an event of the first component can be in a match: all before it have an event."""
    for component in range(len(components)):
        if (components[component].later >> first) & 1:
            if not _is_present(inputs, events, window, plan.since, component, event):
                return False
    return True
