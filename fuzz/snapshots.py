"""Damaged snapshots whose checksum is right, as the tests make them."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from random import Random

sys.path.append(str(Path(__file__).parents[1] / "tests"))

from fixtures.states.damage import damaged, use
from fixtures.states.stored import cases

CASES = cases("sessions")


def damaged_state(random: Random) -> tuple[str, Callable[[], None]]:
    """A damaged snapshot, and what a program does with it."""
    case = random.choice(CASES)
    what, data = damaged(case.snapshot, random)
    return f"{case}: {what}", lambda: use(case, data)
