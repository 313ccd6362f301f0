"""Compile the conditions of a query once per machine.

All processes of a user share the folder of compiled code. Without this, every worker that does not
find the conditions there would compile them, all at the same time. Kernels have the same
protection built in.
"""

from __future__ import annotations

from contextlib import AbstractContextManager


def compiled_once(task: str) -> AbstractContextManager[bool]:
    """While a task runs for the first time in this version, other workers wait for it."""
    from cepheid.jit.cache import first_time

    return first_time(task)
