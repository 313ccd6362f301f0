"""Selection: the window and keys that are not pushed down, tested on whole sequences [Wu06 §3]."""

from __future__ import annotations

from cepheid.jit.decorators import helper


@helper
def is_selected(plan, pool, search, last, now):
    """Whether a sequence is in the window, and its events agree in the keys that are tested."""
    first = search.cursor[0]
    if now - pool.instances[first].start >= plan[0].window:
        return False
    if plan[0].dynamic == 0:
        for component in range(last):
            for k in range(pool.instance_keys.shape[1]):
                if pool.instance_keys[search.cursor[component], k] != search.here[k]:
                    return False
    return True
