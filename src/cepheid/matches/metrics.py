"""Metrics of an evaluation: events, runs, predicates, buffer, matches, and time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import Any

import numpy.typing as npt


@dataclass(frozen=True, slots=True)
class EngineMetrics:
    """Metrics of the runs of one automaton."""

    runs_created: int = 0
    runs_merged: int = 0
    runs_expired: int = 0
    runs_peak: int = 0
    nodes_created: int = 0
    matches: int = 0
    events_in_matches: int = 0
    evaluations: dict[str, int] = field(default_factory=dict)
    seconds_matching: float = 0.0
    seconds_construction: float = 0.0
    sequences: int = 0
    memory: int = 0


@dataclass(frozen=True, slots=True)
class Metrics:
    """Metrics of an evaluation.

    ``matches`` counts matches that no negation excludes, before an output mode chooses among them;
    those that wait for a negation are included. ``evaluations`` counts the predicates across
    events by the edge that they are on, and those of a negated component ``b`` as ``b_negated``.
    ``seconds_matching`` is the time in which runs read events and, with the basic algorithm,
    also write matches; ``seconds_construction`` is the time for listing the matches of merged
    runs. For instance stacks, ``runs_peak`` is the greatest number of simultaneous instances,
    ``buffer_nodes`` the number pushed, and ``sequences`` the number of sequences constructed
    before selection. ``memory`` is the number of bytes allocated for the runs or instances and
    their buffers; it grows by doubling, and does not include the events.
    ``arrival_violations`` and ``late_events`` count events with uncertain times: events that
    arrived after an event that is certain to be later, and how many of these were dropped because
    they arrived too late. ``left_out`` counts the matches that AT MOST ONCE PER left out.
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
    left_out: int = 0

    def to_dict(self) -> dict[str, Any]:
        """The metrics as plain values.

        >>> Metrics(events=3).to_dict()["events"]
        3
        """
        return asdict(self)


def bytes_of(*arrays: npt.NDArray[Any]) -> int:
    """The size of the arrays in bytes.

    >>> import numpy as np
    >>> bytes_of(np.zeros(3), np.zeros((2, 2)))
    56
    """
    return sum(array.nbytes for array in arrays)


def joined_metrics(events: int, parts: Sequence[EngineMetrics]) -> Metrics:
    """The metrics of all automata of a query over the same events."""
    totals = {
        each.name: sum(getattr(engine, each.name) for engine in parts)
        for each in fields(EngineMetrics)
        if each.name != "evaluations"
    }
    evaluations: Counter[str] = Counter()
    for engine in parts:
        evaluations.update(engine.evaluations)
    length, nodes = totals.pop("events_in_matches"), totals.pop("nodes_created")
    return Metrics(
        events,
        mean_match_length=length / totals["matches"] if totals["matches"] else 0.0,
        buffer_nodes=nodes,
        evaluations=dict(evaluations),
        **totals,
    )


def summed_metrics(parts: Sequence[Metrics]) -> Metrics:
    """The metrics of evaluations that have divided the events among them.

    >>> summed_metrics([Metrics(3, 2, 1.5), Metrics(4, 1, 3.0)])
    Metrics(events=7, matches=3, mean_match_length=2.0, ...
    """
    totals = {
        each.name: sum(getattr(part, each.name) for part in parts)
        for each in fields(Metrics)
        if each.name != "evaluations"
    }
    length = sum(part.mean_match_length * part.matches for part in parts)
    totals["mean_match_length"] = length / totals["matches"] if totals["matches"] else 0.0
    evaluations: Counter[str] = Counter()
    for part in parts:
        evaluations.update(part.evaluations)
    return Metrics(evaluations=dict(evaluations), **totals)
