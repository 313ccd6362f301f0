"""The reasons why runs stopped: in words, counted and ranked, with examples."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import islice

from cepheid.analysis.model import Alternative
from cepheid.errors import list_words
from cepheid.explain.diagnosis.counting import Partials
from cepheid.explain.diagnosis.prefixes import Goal, Stage
from cepheid.explain.diagnosis.report import Example, Reason, Stop
from cepheid.explain.diagnosis.stops import CONTIGUOUS, WENT_ON, Follower, Miss
from cepheid.explain.diagnosis.stream import Positions, Stream, all_positions, positions_of, spread
from cepheid.language import syntax as ast
from cepheid.language.printer import print_pattern, print_window
from cepheid.matches.matches import Rows

MOST_TESTED = 100_000
"""The total number of events that are tested as the next event of a run."""
BATCH = 500
"""The number of runs that are followed together."""
MOST_EXAMPLES = 3

# Of two equally frequent reasons, the first one is more useful.
_KINDS = ("condition", "window", "contiguity", "repetition", "absent")


@dataclass(slots=True)
class Group:
    """The runs that stopped for one reason: their number and some of them."""

    count: int = 0
    misses: list[Miss] = field(default_factory=list)
    least_extent: int | None = None
    most_taken: int = 0

    def add(self, miss: Miss, taken: int = 0) -> None:
        """Add a run; the first runs of the stream are kept."""
        self.count += 1
        self.most_taken = max(self.most_taken, taken)
        if miss.extent is not None:
            known = miss.extent if self.least_extent is None else self.least_extent
            self.least_extent = min(known, miss.extent)
        self.misses.append(miss)
        if len(self.misses) > 100:
            self.shorten()

    def shorten(self) -> list[Miss]:
        """The first runs in stream order."""
        self.misses.sort(key=lambda miss: all_positions(miss.run))
        del self.misses[MOST_EXAMPLES:]
        return self.misses


def why_stopped(
    stream: Stream,
    alternative: Alternative,
    current: Stage,
    upcoming: Stage,
    partials: Partials,
) -> Stop:
    """The reasons why runs that reached one stage did not reach the next."""
    follower = Follower(stream, alternative, current, upcoming)
    wording = _Wording(stream, upcoming, alternative.is_sequence)
    groups: dict[tuple[object, ...], Group] = {}
    runs = iter(spread(partials.sample, len(partials.sample)))
    looked_at = stopped = 0
    while follower.tested < MOST_TESTED and (batch := list(islice(runs, BATCH))):
        follower.prepare(batch)
        for run in batch:
            miss = follower.follow(run)
            looked_at += 1
            if miss is not None and miss is not WENT_ON:
                stopped += 1
                taken = len(positions_of(miss.run, upcoming.component.variable))
                groups.setdefault(wording.key(miss), Group()).add(miss, taken)
            if follower.tested >= MOST_TESTED:
                break
    ranked = sorted(
        groups.values(), key=lambda group: (-group.count, _KINDS.index(group.misses[0].kind))
    )
    return Stop(
        print_pattern(current.component),
        _goal(upcoming),
        "partial match",
        partials.count,
        looked_at,
        stopped,
        tuple(Reason(group.misses[0].kind, wording.reason(group), group.count) for group in ranked),
        examples(ranked, lambda miss: wording.example(miss, follower.comparisons(miss))),
    )


def examples(ranked: Sequence[Group], describe: Callable[[Miss], Example]) -> tuple[Example, ...]:
    """One example for each of the first reasons, and more if there is room."""
    rounds = [
        group.shorten()[place]
        for place in range(MOST_EXAMPLES)
        for group in ranked
        if place < len(group.shorten())
    ]
    first = rounds[:MOST_EXAMPLES]
    order = {id(miss): rank for rank, group in enumerate(ranked) for miss in group.misses}
    return tuple(map(describe, sorted(first, key=lambda miss: order[id(miss)])))


class _Wording:
    """Puts the reasons and examples of runs between two stages into words."""

    def __init__(self, stream: Stream, upcoming: Stage, in_order: bool) -> None:
        self._stream = stream
        self._stage = upcoming
        self._component = upcoming.component
        self._types = list_words(upcoming.component.types, "or")
        self._strategy = upcoming.query.strategy
        self._window = upcoming.query.window
        self._in_order = in_order

    def key(self, miss: Miss) -> tuple[object, ...]:
        """The key of a reason: equal for two runs that stopped for the same reason."""
        other = None
        if miss.kind == "contiguity" and miss.position is not None:
            other = self._stream.type_of(miss.position)
        cause = self.key(miss.cause) if miss.cause is not None else ()
        return (miss.kind, miss.conditions, other, *cause)

    def reason(self, group: Group) -> str:
        miss = group.misses[0]
        if miss.kind != "repetition":
            return self._text(miss, group.least_extent)
        needed = f"{print_pattern(self._component)} needs {self._stage.least} events"
        got = (
            f"got {group.most_taken}"
            if group.most_taken == 1
            else f"got at most {group.most_taken}"
        )
        cause = f": {self._text(miss.cause, None, again=True)}" if miss.cause is not None else ""
        return f"{needed} and {got}{cause}"

    def _text(self, miss: Miss, extent: int | None, again: bool = False) -> str:
        window = f"the window of {print_window(self._window)}" if self._window else "the window"
        contiguous = self._strategy in CONTIGUOUS
        some = f"other {self._types}" if again else self._types
        match miss.kind:
            case "condition" if contiguous and miss.position is not None:
                return f"{failed(miss.conditions)} for the next event"
            case "condition" if miss.is_key:
                return f"{failed(miss.conditions)} for every {some}" + (
                    f" in {window}" if self._window else ""
                )
            case "condition":
                return failed(miss.conditions)
            case "absent" if contiguous:
                return f"no event came after that{self._of_partition()}"
            case "absent":
                if self._window:
                    return f"no {some} came in {window}"
                return f"no {some} came" + (" after that" if self._in_order else "")
            case "window":
                best = f", {self._stream.length(extent)} at best" if extent is not None else ""
                how = "too late" if self._in_order else "too far away"
                return f"{self._types} came {how} for {window}{best}"
            case _:
                assert miss.position is not None
                other = self._stream.type_of(miss.position)
                return (
                    f"the next event{self._of_partition()} was {other}, and "
                    f"{self._strategy.value} skips none"
                )

    def _of_partition(self) -> str:
        strict = self._strategy is ast.SelectionStrategy.STRICT_CONTIGUITY
        return "" if strict else " in the partition"

    def example(self, miss: Miss, compared: list[str]) -> Example:
        """A partial match that stopped."""
        at = miss if miss.cause is None else miss.cause
        added: dict[str, int] = {}
        details = []
        if at.position is not None and at.kind != "contiguity":
            name = self._component.variable
            if self._component.is_kleene:
                name = f"{name}[{len(positions_of(at.run, name)) + 1}]"
            added[name] = at.position
        if at.kind == "window" and at.extent is not None:
            details.append(f"{self._stream.length(at.extent)} from first to last event")
        if at.kind == "contiguity" and at.position is not None:
            row = self._stream.row(at.position)
            details.append(f"the next event, row {row}, is {self._stream.type_of(at.position)}")
        if at.kind == "absent":
            details.append(self._gap(at.run))
        return example(self._stream, miss.kind, at.run, added, compared, details)

    def _gap(self, run: Positions) -> str:
        """The time span without an event, in words."""
        stream = self._stream
        column = stream.events.time_axis.column
        some = "event" if self._strategy in CONTIGUOUS else self._types
        taken = all_positions(run)
        since = stream.time(taken[-1])
        in_time = stream.measure is ast.WindowMeasure.TIME
        if stream.window is not None and not (in_time and self._in_order):
            return f"no {some} in one window with {column} {stream.time(taken[0])}"
        if stream.window is not None:
            until = int(stream.events.ticks[taken[0]]) + stream.window
            if until <= int(stream.events.ticks[-1]):
                return f"no {some} between {column} {since} and {stream.time_of(until)}"
        return f"no {some} after {column} {since}"


def example(
    stream: Stream,
    kind: str,
    run: Positions,
    added: dict[str, int],
    compared: Iterable[str],
    details: Iterable[str] = (),
) -> Example:
    """A partial match with its rows, the rows of other events, comparisons and details."""
    rows: Rows = {}
    for name, bound in run.items():
        rows[name] = list(map(stream.row, bound)) if isinstance(bound, list) else stream.row(bound)
    rows |= {name: stream.row(position) for name, position in added.items()}
    return Example(kind, rows, tuple(compared), tuple(details))


def failed(conditions: Sequence[str]) -> str:
    """Failing conditions in words.

    >>> failed(["a.x > 1"]), failed(["a.x > 1", "b.y = 2"])
    ('a.x > 1 fails', 'a.x > 1 and b.y = 2 fail')
    """
    return f"{list_words(conditions)} {'fails' if len(conditions) == 1 else 'fail'}"


def _goal(stage: Stage) -> str:
    match stage.goal:
        case Goal.ENOUGH:
            return f"it had {stage.least} events"
        case Goal.COMPLETE:
            return "it had a list that satisfies all conditions"
    return print_pattern(stage.component)
