"""What a call of a registered function costs beside the same expression in the query itself.

    python -m benchmarks.registered_functions

The call stands on the take edge of a Kleene component, where it is made most often.
"""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa

import cepheid as cep
from benchmarks.timing import median_ratio, time_in_turn

QUERY = """
PATTERN SEQ(A a, B+ b[], A c)
WHERE skip_till_next_match {{ {take} AND a.x < c.x AND c.x < a.x + 0.001 }}
WITHIN 2000
"""
INLINE = "sqrt((a.x - b[i].x) * (a.x - b[i].x) + (a.y - b[i].y) * (a.y - b[i].y)) < 0.02"
CALL = "distance(a.x, a.y, b[i].x, b[i].y) < 0.02"


def distance(x: float, y: float, u: float, v: float) -> float:
    """The distance of two points."""
    return math.sqrt((x - u) * (x - u) + (y - v) * (y - v))


def events(count: int) -> pa.Table:
    """Points at random; one in fifty can begin a run."""
    random = np.random.default_rng(1)
    return pa.table(
        {
            "ts": np.arange(count),
            "type": np.where(random.random(count) < 0.02, "A", "B"),
            "x": random.random(count),
            "y": random.random(count),
        }
    )


def ratio(count: int, rounds: int) -> float:
    """Time with the call over time without."""
    cep.register_function("distance", distance)
    table = events(count)
    inline, call = (cep.query(QUERY.format(take=take)) for take in (INLINE, CALL))
    assert inline.match(table).bindings() == call.match(table).bindings()
    seconds = time_in_turn(
        {"inline": lambda: inline.match(table), "call": lambda: call.match(table)}, rounds
    )
    return median_ratio(seconds["call"], seconds["inline"])


if __name__ == "__main__":
    print(f"a registered function takes {ratio(200_000, 5):.2f} of the time of the expression")
