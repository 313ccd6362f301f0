"""The reasons why runs stopped: in words, counted and ranked, with examples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from heapq import nsmallest

import numpy as np

from cepheid.analysis.model import Alternative
from cepheid.errors import list_words
from cepheid.explain.diagnosis.counting import Count, Partials
from cepheid.explain.diagnosis.event_conditions import EventConditions
from cepheid.explain.diagnosis.prefixes import Goal, Stage
from cepheid.explain.diagnosis.report import Example, Reason, Stop
from cepheid.explain.diagnosis.stops import CONTIGUOUS, Follower, Miss, Violations, failed_tests
from cepheid.explain.diagnosis.stream import (
    Positions,
    Stream,
    all_positions,
    extended,
    positions_of,
)
from cepheid.language import syntax as ast
from cepheid.language.printer import print_pattern, print_window
from cepheid.matches.matches import Rows

MOST_TESTED = 100_000
"""The total number of events that are tested as the next event of a run."""
BATCH = 500
"""The number of runs that are followed together."""
MOST_EXAMPLES = 3
MOST_CONDITIONS = 62
"""The largest number of conditions on a single event that are distinguished."""

# Of two equally frequent reasons, the first one is more useful.
_KINDS = ("condition", "window", "contiguity", "repetition", "absent", "negation", "type")

_Reasons = Sequence[tuple[Reason, Sequence[Miss]]]


def why_stopped(
    stream: Stream, alternative: Alternative, current: Stage, upcoming: Stage, partials: Partials
) -> Stop:
    """The reasons why runs that reached one stage did not reach the next."""
    wording = _Wording(stream, upcoming.query, alternative.is_sequence)
    follower = Follower(stream, alternative, current, upcoming)
    looked_at, reasons = wording.followed(partials.sample, follower)
    after = print_pattern(current.component)
    before = {
        Goal.FIRST: print_pattern(upcoming.component),
        Goal.ENOUGH: f"it had {upcoming.least} events",
        Goal.COMPLETE: "it had a list that satisfies all conditions",
    }[upcoming.goal]
    return wording.stop(after, before, "partial match", partials.count, looked_at, reasons)


def why_removed(
    stream: Stream, branch: ast.Query, alternative: Alternative, partials: Partials
) -> Stop:
    """The negations that removed matches of the positive components."""
    wording = _Wording(stream, branch, alternative.is_sequence)
    violations = Violations(stream, branch, alternative)
    looked_at, reasons = wording.followed(partials.sample, violations)
    after = print_pattern(alternative.components[-1])
    return wording.stop(after, None, "match", partials.count, looked_at, reasons)


def why_none_fits(
    stream: Stream,
    branch: ast.Query,
    conditions: EventConditions,
    previous: ast.Component | None = None,
) -> Stop:
    """Why no event fits a component, which must come after a ``previous`` one."""
    component, positions = conditions.tests.component, conditions.positions
    wording = _Wording(stream, branch, in_order=True)
    bits = np.zeros(len(positions), dtype=np.int64)
    for number, failing in enumerate(conditions.failing[:MOST_CONDITIONS]):
        bits |= failing.astype(np.int64) << number
    reasons = []
    for mask, count in zip(*np.unique(bits[bits > 0], return_counts=True), strict=True):
        numbers = tuple(n for n in range(len(conditions.failing)) if int(mask) >> n & 1)
        misses = [
            failed_tests(conditions.tests, extended({}, component, position), numbers)
            for position in positions[bits == mask][:MOST_EXAMPLES].tolist()
        ]
        reasons.append((wording.reason(misses, int(count)), misses))
    number = len(positions) or len(stream.events)
    if not len(positions):
        types = list_words(component.types, "or")
        reasons = [(Reason("type", f"not of the type {types}", number), [])]
    after = print_pattern(previous) if previous is not None else None
    before = print_pattern(component)
    return wording.stop(after, before, "event", Count(number), number, reasons)


@dataclass(frozen=True, slots=True)
class _Wording:
    """Follows runs of a query, and puts the reasons why they stopped into words."""

    stream: Stream
    query: ast.Query
    in_order: bool

    def followed(
        self, sample: Sequence[Positions], follower: Follower | Violations
    ) -> tuple[int, _Reasons]:
        """The number of runs that were followed, and the reasons of those that stopped.

        The runs are from the whole sample, in a random but fixed order.
        """
        groups: dict[tuple[object, ...], list[Miss]] = {}
        looked_at = 0
        runs = [sample[ix] for ix in np.random.default_rng(0).permutation(len(sample))]
        for low in range(0, len(runs), BATCH):
            if follower.tested >= MOST_TESTED:
                break
            batch = runs[low : low + BATCH]
            self.stream.read((p for run in batch for p in all_positions(run)), afresh=True)
            around = [follower.around(run) for run in batch]
            self.stream.read(p for lists in around for each in lists for p in each)
            for run, found in zip(batch, around, strict=True):
                if follower.tested >= MOST_TESTED:
                    break
                looked_at += 1
                miss = follower.follow(run, found)
                if miss is not None:
                    groups.setdefault(miss.key, []).append(miss)
        return looked_at, [(self.reason(each, len(each)), each) for each in groups.values()]

    def stop(
        self,
        after: str | None,
        before: str | None,
        unit: str,
        total: Count,
        looked_at: int,
        reasons: _Reasons,
    ) -> Stop:
        """The reasons, the most frequent first, with an example of each of the first ones.

        If there are few reasons, there is more than one example of them.
        """
        ranked = sorted(reasons, key=lambda each: (-each[0].count, _KINDS.index(each[0].kind)))
        firsts = [
            nsmallest(MOST_EXAMPLES, misses, key=lambda miss: all_positions(miss.run))
            for _, misses in ranked
        ]
        rounds = [
            (rank, place)
            for place in range(MOST_EXAMPLES)
            for rank, misses in enumerate(firsts)
            if place < len(misses)
        ]
        return Stop(
            after,
            before,
            unit,
            total,
            looked_at,
            sum(reason.count for reason, _ in ranked),
            tuple(reason for reason, _ in ranked),
            tuple(
                self.example(firsts[rank][place]) for rank, place in sorted(rounds[:MOST_EXAMPLES])
            ),
        )

    def reason(self, misses: Sequence[Miss], count: int) -> Reason:
        """The reason of runs that stopped for the same reason."""
        miss = misses[0]
        if miss.kind != "repetition":
            extents = [each.extent for each in misses if each.extent is not None]
            return Reason(miss.kind, self._text(miss, min(extents, default=None)), count)
        name = miss.tests.component.variable
        most = max(len(positions_of(each.run, name)) for each in misses)
        got = f"got {most}" if most == 1 else f"got at most {most}"
        cause = f": {self._text(miss.cause, None, again=True)}" if miss.cause is not None else ""
        return Reason(miss.kind, f"{miss.about[0]} and {got}{cause}", count)

    def _text(self, miss: Miss, extent: int | None, again: bool = False) -> str:
        window = f"the window of {print_window(self.query.window)}" if self.query.window else ""
        contiguous = self.query.strategy in CONTIGUOUS
        types = list_words(miss.tests.component.types, "or")
        some = f"other {types}" if again else types
        match miss.kind:
            case "condition" if contiguous and miss.position is not None:
                return f"{failed(miss.about)} for the next event"
            case "condition" if miss.is_key:
                return f"{failed(miss.about)} for every {some}" + (
                    f" in {window}" if window else ""
                )
            case "condition":
                return failed(miss.about)
            case "absent" if contiguous:
                return f"no event came after that{self._of_partition()}"
            case "absent" if window:
                return f"no {some} came in {window}"
            case "absent":
                return f"no {some} came" + (" after that" if self.in_order else "")
            case "window":
                best = f", {self._best(extent)} at best" if extent is not None else ""
                how = "too late" if self.in_order else "too far away"
                return f"{types} came {how} for {window}{best}"
            case "contiguity":
                return (
                    f"the next event{self._of_partition()} was {miss.about[0]}, and "
                    f"{self.query.strategy.value} skips none"
                )
        return miss.about[0]

    def _best(self, extent: int) -> str:
        """The shortest match that was too long, so that it differs from the window in words."""
        shown, window = self.stream.length(extent), self.query.window
        is_rounded = extent > 0 and shown == self.stream.length(extent - 1)
        is_same = window is not None and print_window(window) == shown
        return f"a little over {shown}" if is_rounded and is_same else shown

    def _of_partition(self) -> str:
        strict = self.query.strategy is ast.SelectionStrategy.STRICT_CONTIGUITY
        return "" if strict else " in the partition"

    def example(self, miss: Miss) -> Example:
        """A partial match that stopped: its rows, those of the closest event, and details."""
        at = miss if miss.cause is None else miss.cause
        stream, name = self.stream, at.tests.component.variable
        rows: Rows = {
            variable: list(map(stream.row, bound)) if isinstance(bound, list) else stream.row(bound)
            for variable, bound in at.run.items()
        }
        details = []
        if at.position is not None and at.kind != "contiguity":
            is_kleene = at.tests.component.is_kleene
            added = f"{name}[{len(positions_of(at.run, name)) + 1}]" if is_kleene else name
            rows[added] = stream.row(at.position)
        match at.kind:
            case "window" if at.extent is not None:
                details.append(f"{stream.length(at.extent)} from first to last event")
            case "contiguity" if at.position is not None:
                details.append(f"the next event, row {stream.row(at.position)}, is {at.about[0]}")
            case "absent":
                details.append(self._gap(at))
            case "negation":
                details.append(f"{name} must not be there")
        return Example(miss.kind, rows, tuple(at.comparisons(stream)), tuple(details))

    def _gap(self, miss: Miss) -> str:
        """The time span without an event, in words."""
        stream, ticks = self.stream, self.stream.events.ticks
        column = stream.events.time_axis.column
        contiguous = self.query.strategy in CONTIGUOUS
        some = "event" if contiguous else list_words(miss.tests.component.types, "or")
        taken = all_positions(miss.run)
        since, last = stream.time(int(ticks[taken[0]])), stream.time(int(ticks[taken[-1]]))
        if stream.window is not None:
            if stream.measure is not ast.WindowMeasure.TIME or not self.in_order:
                return f"no {some} in one window with {column} {since}"
            until = int(ticks[taken[0]]) + stream.window
            if until <= int(ticks[-1]):
                return f"no {some} between {column} {last} and {stream.time(until)}"
        return f"no {some} after {column} {last}"


def failed(conditions: Sequence[str]) -> str:
    """Failing conditions in words.

    >>> failed(["a.x > 1"]), failed(["a.x > 1", "b.y = 2"])
    ('a.x > 1 fails', 'a.x > 1 and b.y = 2 fail')
    """
    return f"{list_words(conditions)} {'fails' if len(conditions) == 1 else 'fail'}"
