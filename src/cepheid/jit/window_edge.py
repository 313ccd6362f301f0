"""Where a window that ends now begins, on the axis that it measures."""

from __future__ import annotations

from cepheid.jit.decorators import helper

_LONGEST = 2**63 - 1


@helper
def window_edge(now, window):
    """What starts after this is in the window that ends now.

    A query without a window has the longest one there is, and where times are below zero its
    edge would be below the least number there is; then everything is in the window.
    """
    if now < window - _LONGEST:
        return -_LONGEST
    return now - window
