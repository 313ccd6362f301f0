"""What an evaluation did: events, runs, predicates, buffer, matches, and where the time went."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy.typing as npt


@dataclass(frozen=True, slots=True)
class EngineMetrics:
    """What the runs of one automaton did."""

    runs_created: int
    runs_merged: int
    runs_expired: int
    runs_peak: int
    nodes_created: int
    matches: int
    events_in_matches: int
    evaluations: dict[str, int]
    seconds_matching: float
    seconds_construction: float
    sequences: int = 0
    memory: int = 0


@dataclass(frozen=True, slots=True)
class Metrics:
    """What an evaluation did; ``matches`` are those of the positive components.

    ``evaluations`` counts the predicates across events by the edge that they stand on.
    ``seconds_matching`` is the time in which runs read events, and with the basic algorithm
    also write matches; ``seconds_construction`` that of listing the matches of merged runs.
    Of instance stacks, ``runs_peak`` is the most instances at once, ``buffer_nodes`` how many
    were pushed, and ``sequences`` how many sequences were constructed before selection.
    ``memory`` is how many bytes the runs or instances with their buffers have been given; it
    grows by doubling, and the events themselves are not in it.
    The last two are of events with uncertain times: those that came after one that is sure to be
    later, and those of them that were left out because they came too late.
    """

    events: int = 0
    matches: int = 0
    mean_match_length: float = 0.0
    runs_created: int = 0
    runs_merged: int = 0
    runs_expired: int = 0
    runs_peak: int = 0
    buffer_nodes: int = 0
    evaluations: dict[str, int] = field(default_factory=dict)
    seconds_matching: float = 0.0
    seconds_construction: float = 0.0
    sequences: int = 0
    memory: int = 0
    arrival_violations: int = 0
    late_events: int = 0

    def to_dict(self) -> dict[str, Any]:
        """The metrics as plain values.

        >>> Metrics(events=3).to_dict()["events"]
        3
        """
        return asdict(self)


def bytes_of(*arrays: npt.NDArray[Any]) -> int:
    """How many bytes arrays take.

    >>> import numpy as np
    >>> bytes_of(np.zeros(3), np.zeros((2, 2)))
    56
    """
    return sum(array.nbytes for array in arrays)


def joined_metrics(events: int, parts: Sequence[EngineMetrics]) -> Metrics:
    """The metrics of all automata of a query over the same events."""
    evaluations: Counter[str] = Counter()
    for engine in parts:
        evaluations.update(engine.evaluations)
    matches = sum(engine.matches for engine in parts)
    length = sum(engine.events_in_matches for engine in parts)
    return Metrics(
        events,
        matches,
        length / matches if matches else 0.0,
        sum(engine.runs_created for engine in parts),
        sum(engine.runs_merged for engine in parts),
        sum(engine.runs_expired for engine in parts),
        sum(engine.runs_peak for engine in parts),
        sum(engine.nodes_created for engine in parts),
        dict(evaluations),
        sum(engine.seconds_matching for engine in parts),
        sum(engine.seconds_construction for engine in parts),
        sum(engine.sequences for engine in parts),
        sum(engine.memory for engine in parts),
    )
