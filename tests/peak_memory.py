"""The most memory that a program started by a test has had.

``getrusage`` does not say it: a process that is started inherits the peak of the one that
starts it, and that is the test run with Spark and all compiled code.
"""

from __future__ import annotations

PEAK_KIB = """
def peak_kib():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM:"))
"""
