"""Makes the diagnosis of a query from its events."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from cepheid.analysis.analyse import analyse
from cepheid.events.events import Events
from cepheid.explain.conditions import negation_text
from cepheid.explain.diagnosis.counting import Count, Counting, Partials
from cepheid.explain.diagnosis.event_conditions import event_conditions
from cepheid.explain.diagnosis.hints import find_hints, window_hint
from cepheid.explain.diagnosis.prefixes import (
    Goal,
    Stage,
    branches,
    complete_stage,
    conditions_of,
    stages,
)
from cepheid.explain.diagnosis.reasons import why_none_fits, why_removed, why_stopped
from cepheid.explain.diagnosis.report import (
    BranchDiagnosis,
    ComponentCount,
    Diagnosis,
    RunCount,
    Stop,
)
from cepheid.explain.diagnosis.stream import Stream
from cepheid.language import syntax as ast
from cepheid.language.naming import variables_in
from cepheid.language.printer import print_pattern, print_query
from cepheid.tuning import tuning

MOST_BRANCHES = 8
"""The number of alternatives of a pattern that are diagnosed."""


def diagnose(
    query: ast.Query, events: Events, window: int | None, *, compiled: bool = True
) -> Diagnosis:
    """Where partial matches of the query stop on these events, why, and what is probably wrong.

    ``window`` is in ticks or events. Without ``compiled``, everything is interpreted.
    """
    stream = Stream(query, events, window)
    counting = Counting(stream, compiled)
    found = branches(query)
    diagnosed = [_Branch(branch, stream, counting) for branch in found[:MOST_BRANCHES]]
    diagnosed.sort(key=lambda branch: branch.rank)
    hints = find_hints(stream, found)
    best = diagnosed[0]
    total = _total(query, [branch.matches for branch in diagnosed], counting)
    if not best.positive.number and best.has_fitting_events:
        hint = window_hint(stream, counting, best.positive_query, best.has_negations)
        hints += [hint] if hint is not None else []
    reports = tuple(branch.report() for branch in diagnosed)
    return Diagnosis(
        print_query(query),
        len(events),
        total,
        reports,
        tuple(hints),
        tuple(_notes(diagnosed, len(found), counting, query.output)),
    )


def _total(query: ast.Query, counts: Sequence[Count], counting: Counting) -> Count:
    """The number of matches of all alternatives; several alternatives may find the same match."""
    if len(counts) == 1:
        return counts[0]
    most = max(counts, key=lambda count: count.number)
    if not all(count.is_exact for count in counts):
        return Count(most.number, is_exact=False)
    if not most.number:
        return most
    found = counting.matches(replace(query, returns=None))
    return found.count if found.is_exact else Count(most.number, is_exact=False)


def _notes(
    diagnosed: Sequence[_Branch],
    alternatives: int,
    counting: Counting,
    output: ast.Output | None,
) -> list[str]:
    notes = []
    is_chosen = output is not None and output.mode not in (None, "all")
    if output is not None and (is_chosen or output.at_most_once_per is not None):
        notes.append("All matches are counted, before OUTPUT chooses those that are reported.")
    if alternatives > len(diagnosed):
        notes.append(
            f"The pattern has {alternatives} alternatives; only the first {len(diagnosed)} were "
            "examined."
        )
    if counting.skipped_events:
        notes.append(
            "nfa_b does not run a part of the pattern, such as AND. That part was evaluated on the "
            f"first {tuning().diagnosis_interpreted:,} events only."
        )
    if any(not partials.is_exact for branch in diagnosed for partials in branch.partials):
        notes.append(
            f"≥: there may be more. Counting stops at {tuning().diagnosis_count:,} "
            "partial matches, or when it takes too much work."
        )
    return notes


class _Branch:
    """Diagnoses one alternative."""

    def __init__(self, branch: ast.Query, stream: Stream, counting: Counting) -> None:
        self._branch = branch
        self._stream = stream
        self._counting = counting
        self._alternative = analyse(branch, stream.events.schema).alternatives[0]
        self._stages = stages(branch)
        self._conditions = {
            component.variable: event_conditions(branch, component, stream)
            for component, _ in ast.components(branch.pattern)
        }
        self._fitting = {name: each.passing for name, each in self._conditions.items()}
        self.partials = self._reached()
        self.positive_query = complete_stage(branch, len(self._alternative.components) - 1).query
        self.positive = self.partials[-1]
        if self.positive.number:
            self.positive = counting.partials(self.positive_query)
        self._removed: Stop | None = None
        self.matches = self.positive.count
        self.has_negations = bool(self._alternative.negations)
        if self.has_negations and self.positive.number:
            self._apply_negations()

    @property
    def rank(self) -> tuple[int, int, int]:
        """Sorts alternatives: most matches first, then the one that got furthest."""
        reached = sum(1 for partials in self.partials if partials.number)
        return -self.matches.number, len(self._stages) - reached, -self.partials[-1].number

    @property
    def has_fitting_events(self) -> bool:
        """Whether events pass the conditions on each positive component alone."""
        return all(self._fitting[each.variable] for each in self._alternative.components)

    def report(self) -> BranchDiagnosis:
        """The diagnosis of the alternative."""
        return BranchDiagnosis(
            print_pattern(self._branch.pattern),
            self.matches,
            tuple(
                self._component(component, negated)
                for component, negated in ast.components(self._branch.pattern)
            ),
            tuple(stop for stop in (self._removed, self._stop()) if stop and stop.stopped),
        )

    def _reached(self) -> list[Partials]:
        """The partial matches of each stage; a stage after an empty one is empty."""
        found: list[Partials] = []
        for stage in self._stages:
            if found and not found[-1].number:
                found.append(Partials(is_exact=found[-1].is_exact))
            elif not self._fitting[stage.component.variable]:
                found.append(Partials())
            else:
                found.append(self._counting.partials(stage.query))
        return found

    def _apply_negations(self) -> None:
        self._removed = why_removed(self._stream, self._branch, self._alternative, self.positive)
        if self.positive.is_exact:
            self.matches = self._counting.matches(self._branch).count
        else:
            kept = self._removed.looked_at - self._removed.stopped
            self.matches = Count(kept, is_exact=False)

    def _stop(self) -> Stop | None:
        """The stage where the runs stopped or, if some became matches, where most were lost."""
        numbers = [partials.number for partials in self.partials]
        if numbers[-1]:
            steps = range(1, len(numbers))
            if not steps:
                return None
            upcoming = min(steps, key=lambda ix: (numbers[ix] / numbers[ix - 1], -ix))
        else:
            upcoming = numbers.index(0)
        stage = self._stages[upcoming]
        if not upcoming or not self._fitting[stage.component.variable]:
            previous = self._stages[upcoming - 1].component if upcoming else None
            conditions = self._conditions[stage.component.variable]
            return why_none_fits(self._stream, self._branch, conditions, previous)
        current, partials = self._sample(upcoming)
        return why_stopped(self._stream, self._alternative, current, stage, partials)

    def _sample(self, upcoming: int) -> tuple[Stage, Partials]:
        """The runs to follow to a stage; their lists are complete if that makes a difference."""
        current, following = self._stages[upcoming - 1], self._stages[upcoming]
        partials = self.partials[upcoming - 1]
        name = current.component.variable
        if not current.component.is_kleene or following.component_ix == current.component_ix:
            return current, partials
        known = conditions_of(current.query)
        new = [test for test in conditions_of(following.query) if test not in known]
        any_match = self._branch.strategy is ast.SelectionStrategy.SKIP_TILL_ANY_MATCH
        if any_match and not any(name in variables_in(test) for test in new):
            return current, partials
        complete = complete_stage(self._branch, current.component_ix)
        found = self._counting.partials(complete.query)
        return (complete, found) if found.number else (current, partials)

    # --- counts

    def _component(self, component: ast.Component, negated: bool) -> ComponentCount:
        absent = {each.component.variable: each for each in self._alternative.negations}
        shown = replace(component, without=())
        conditions = self._conditions[component.variable]
        return ComponentCount(
            negation_text(absent[component.variable]) if negated else print_pattern(shown),
            component.variable,
            component.types,
            negated,
            len(conditions.positions),
            self._fitting[component.variable],
            conditions.counts,
            tuple(
                RunCount(_goal(stage), partials.count)
                for stage, partials in zip(self._stages, self.partials, strict=True)
                if stage.component.variable == component.variable
            ),
        )


def _goal(stage: Stage) -> str:
    match stage.goal:
        case Goal.FIRST:
            return "first event" if stage.component.is_kleene else "event"
        case Goal.ENOUGH:
            return f"{stage.least} events"
    return "all conditions"
