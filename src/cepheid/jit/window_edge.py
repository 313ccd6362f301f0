"""The edge of the window that ends now, on the axis that it measures."""

from __future__ import annotations

from cepheid.jit.decorators import helper

_LONGEST = 2**63 - 1


@helper
def window_edge(now, window):
    """Events after this are in the window that ends now.

    A query without a window has the longest possible window. For times below zero its edge would
    be below the minimum of int64; everything is in the window then.
    """
    if now < window - _LONGEST:
        return -_LONGEST
    return now - window
