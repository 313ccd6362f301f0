"""Ctrl-C ends a running query soon. `benchmarks/interrupts.py` measures how soon."""

from __future__ import annotations

import signal

import pytest
from benchmarks.interrupts import KINDS, delay


@pytest.mark.parametrize("kind", KINDS)
def test_an_interrupt_ends_a_query(kind: str) -> None:
    seconds, code, errors = delay(kind)
    assert code == -signal.SIGINT
    assert errors.rstrip().endswith("KeyboardInterrupt")
    assert seconds < 5
