"""What each rule of a set costs and finds."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields, replace
from typing import TYPE_CHECKING, Any

from cepheid.events.time_axis import TimeAxis
from cepheid.matches.matches import Matches
from cepheid.matches.metrics import Metrics

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, slots=True)
class RuleMetrics:
    """Metrics of a rule.

    ``events`` reached it. ``partial_matches`` is the number of runs or instances that it created,
    ``matches`` the number that it reported, ``seconds`` the wall-clock time that it took, and
    ``memory`` the bytes of its state without events. ``last_match`` is the end of its latest match.
    ``suspended`` is the reason why it does not run any more.
    """

    rule: str
    events: int = 0
    partial_matches: int = 0
    matches: int = 0
    seconds: float = 0.0
    memory: int = 0
    last_match: Any = None
    suspended: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """The metrics as plain values.

        >>> RuleMetrics("theft", matches=3).to_dict()["matches"]
        3
        """
        return asdict(self)

    def since(self, before: RuleMetrics) -> RuleMetrics:
        """What was counted after these earlier metrics of the rule."""
        return replace(
            self,
            events=self.events - before.events,
            partial_matches=self.partial_matches - before.partial_matches,
            matches=self.matches - before.matches,
            seconds=max(self.seconds - before.seconds, 0.0),
            last_match=self.last_match if self.matches > before.matches else None,
        )

    def with_other(self, other: RuleMetrics | None) -> RuleMetrics:
        """The metrics of the rule in two places together.

        >>> RuleMetrics("theft", matches=3).with_other(RuleMetrics("theft", matches=4)).matches
        7
        """
        if other is None:
            return self
        ends = [each.last_match for each in (self, other) if each.last_match is not None]
        return RuleMetrics(
            self.rule,
            self.events + other.events,
            self.partial_matches + other.partial_matches,
            self.matches + other.matches,
            self.seconds + other.seconds,
            self.memory + other.memory,
            max(ends, default=None),
            self.suspended or other.suspended,
        )

    def with_evaluation(self, metrics: Metrics) -> RuleMetrics:
        """The same with the metrics of the evaluation."""
        partial = max(metrics.runs_created, metrics.buffer_nodes)
        return replace(self, events=metrics.events, partial_matches=partial, memory=metrics.memory)


def last_end(matches: Matches) -> int:
    """The greatest end of some matches, in ticks; there are some."""
    return max(int(part.ends.max()) for part in matches.parts()[1] if len(part))


def as_time(ticks: int | None, axis: TimeAxis) -> Any:
    """A time of a match for people."""
    return None if ticks is None else axis.decode_one(ticks)


def metrics_table(metrics: Iterable[RuleMetrics]) -> pa.Table:
    """The metrics of rules as a table, those that took most time first.

    >>> found = metrics_table([RuleMetrics("a", seconds=1.0), RuleMetrics("b", seconds=2.0)])
    >>> found["rule"].to_pylist()
    ['b', 'a']
    """
    import pyarrow as pa

    rows = sorted(metrics, key=lambda each: -each.seconds)
    return pa.table(
        {each.name: [getattr(row, each.name) for row in rows] for each in fields(RuleMetrics)}
    )
