"""The matches of the positive components that a negation removes, and the violating events."""

from __future__ import annotations

from itertools import islice

from cepheid.analysis.model import Alternative, NegatedComponent
from cepheid.analysis.names import variables_in
from cepheid.errors import list_words
from cepheid.explain.conditions import place_of
from cepheid.explain.diagnosis.candidates import Surroundings, keys_of
from cepheid.explain.diagnosis.counting import Partials
from cepheid.explain.diagnosis.failures import Tests
from cepheid.explain.diagnosis.prefixes import conditions_of, equivalences_of
from cepheid.explain.diagnosis.reasons import BATCH, MOST_TESTED, Group, example, examples
from cepheid.explain.diagnosis.report import Example, Reason, Stop
from cepheid.explain.diagnosis.stops import Miss
from cepheid.explain.diagnosis.stream import Stream, all_positions, bound_events, spread
from cepheid.language import syntax as ast
from cepheid.language.printer import print_pattern


class _Negation:
    """A negated component, and the tests that a violating event satisfies."""

    def __init__(self, negated: NegatedComponent, branch: ast.Query) -> None:
        self.negated = negated
        name = negated.component.variable
        tests = [
            *equivalences_of(branch),
            *(test for test in conditions_of(branch) if name in variables_in(test)),
        ]
        self.keys = keys_of(negated.component, tests)
        self.tests = Tests(tests, branch)


def why_removed(
    stream: Stream, branch: ast.Query, alternative: Alternative, partials: Partials
) -> Stop:
    """The negations that removed matches of the positive components."""
    surroundings = Surroundings(stream, alternative)
    negations = [_Negation(negated, branch) for negated in alternative.negations]
    groups: dict[int, Group] = {}
    tested = looked_at = removed = 0
    runs = iter(spread(partials.sample, len(partials.sample)))
    while tested < MOST_TESTED and (batch := list(islice(runs, BATCH))):
        known = stream.python_events(p for run in batch for p in all_positions(run))
        places = [
            [surroundings.at_negation(each.negated, run, each.keys, known) for each in negations]
            for run in batch
        ]
        known |= stream.python_events(p for found in places for each in found for p in each)
        for run, found in zip(batch, places, strict=True):
            looked_at += 1
            binding = bound_events(run, known)
            for number, each in enumerate(negations):
                name = each.negated.component.variable
                tested += len(found[number])
                violator = next(
                    (
                        position
                        for position in found[number]
                        if not each.tests.failing({**binding, name: known[position]})
                    ),
                    None,
                )
                if violator is not None:
                    removed += 1
                    groups.setdefault(number, Group()).add(Miss("negation", run, violator))
                    break
    ranked = sorted(groups.items(), key=lambda item: -item[1].count)
    number_of = {id(miss): number for number, group in ranked for miss in group.shorten()}

    def describe(miss: Miss) -> Example:
        return _example(stream, negations[number_of[id(miss)]].negated, miss)

    return Stop(
        print_pattern(alternative.components[-1]),
        None,
        "match",
        partials.count,
        looked_at,
        removed,
        tuple(
            Reason("negation", _text(negations[number].negated, alternative), group.count)
            for number, group in ranked
        ),
        examples([group for _, group in ranked], describe),
    )


def _example(stream: Stream, negated: NegatedComponent, miss: Miss) -> Example:
    assert miss.position is not None
    name = negated.component.variable
    detail = f"{name} must not be there"
    return example(stream, "negation", miss.run, {name: miss.position}, (), [detail])


def _text(negated: NegatedComponent, alternative: Alternative) -> str:
    types = list_words(negated.component.types, "or")
    place = place_of(alternative, negated).removeprefix("anywhere ")
    return f"~({print_pattern(negated.component)}): {types} came {place}"
