"""Explains a plan as text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from cepheid.analysis.model import Alternative, AnalysedQuery, Clause, Edge, NegatedComponent
from cepheid.analysis.needs import unbounded_lines
from cepheid.analysis.normal_form import conjuncts
from cepheid.analysis.placement import indices_in
from cepheid.engines.base.evaluation import INSTANCE_STACKS
from cepheid.engines.base.options import DEFAULT_OPTIONS, Options
from cepheid.engines.imprecise.plan import method_line, uncertainty_lines
from cepheid.engines.stacks.plan import key_text
from cepheid.errors import list_words
from cepheid.events.read_options import UncertainTime
from cepheid.explain.automaton import nfa_b_automaton
from cepheid.explain.bounds import bound_lines, stack_bound_lines
from cepheid.explain.conditions import place_of
from cepheid.language import syntax as ast
from cepheid.language.naming import variables_in
from cepheid.language.printer import print_expression, print_pattern, print_query
from cepheid.planning.choice import Choice
from cepheid.planning.estimates import estimate_lines
from cepheid.planning.registry import EVALUATIONS
from cepheid.visible import visible, visible_lines

_MOST_ALTERNATIVES = 10
_WIDTH = 90
"""The greatest width of a line of a formula."""
_EDGE_ORDER = (Edge.BEGIN, Edge.TAKE, Edge.PROCEED)


def explain(
    choice: Choice,
    options: Options = DEFAULT_OPTIONS,
    time: str = "ts",
    uncertain: UncertainTime | None = None,
    *,
    bounds: bool = False,
) -> str:
    """The query, the evaluation that runs it, and the pattern and conditions that it runs.

    With ``bounds`` also how many runs or instances there can be.
    """
    query, evaluation = choice.query, choice.evaluation
    lines = [visible_lines(print_query(query.query)), ""]
    lines += _section("evaluation", [f"{evaluation.name}: {evaluation.summary}", *choice.refusals])
    if options.statistics is not None:
        accepting = [each.name for each in EVALUATIONS if each.refusal(query) is None]
        lines += _section("estimates", estimate_lines(query, options.statistics, accepting))
    for title, said in evaluation.sections(query, options).items():
        lines += _section(title, said)
    lines += _section("selection strategy", _selection(query))
    if evaluation.has_confidence:
        if uncertain is not None:
            said = uncertainty_lines(query, options, time, uncertain)
            lines += _section("uncertain times", said)
        lines += _section("method", [method_line(query, options)])
    for number, alternative in enumerate(query.alternatives[:_MOST_ALTERNATIVES], start=1):
        suffix = "" if len(query.alternatives) == 1 else f" {number}"
        shows_automaton = evaluation.has_automaton and alternative.is_sequence
        title = f"alternative{suffix}" if suffix else "pattern"
        # The states and edges of an automaton, and the operators of a plan, already show the order
        # and when a condition is tested.
        explained = _Explained(alternative, query).lines(
            tests=not (shows_automaton or evaluation.plan)
        )
        lines += _section(title, explained)
        if shows_automaton:
            automaton = nfa_b_automaton(query, alternative)
            lines += _section(f"automaton{suffix}", automaton.lines(_WIDTH))
        if evaluation.plan is not None:
            lines += _section(f"plan{suffix}", evaluation.plan(query, alternative, options))
        if bounds:
            stated: Iterable[str] = [f"none are known for {evaluation.name}"]
            if shows_automaton:
                stated = bound_lines(query, alternative)
            elif evaluation.name == INSTANCE_STACKS:
                stated = stack_bound_lines(query, alternative, options)
            lines += _section(f"bounds{suffix}", stated)
    hidden = len(query.alternatives) - _MOST_ALTERNATIVES
    if hidden > 0:
        lines.append(f"and {hidden} more alternative{'s' if hidden > 1 else ''}")
    lines += _section("never tested", _untested(query))
    lines += _section("warnings", unbounded_lines(query.query))
    return "\n".join(lines)


def _section(title: str, lines: Iterable[str]) -> list[str]:
    """A title and its lines; nothing if there are no lines."""
    shown = [f"  {visible(line)}" for line in lines]
    return [f"{title}:", *shown] if shown else []


def _selection(query: AnalysedQuery) -> Iterator[str]:
    yield query.query.strategy.value
    partitioned = query.query.strategy is ast.SelectionStrategy.PARTITION_CONTIGUITY
    if (partitioned or query.counts_partitions) and not query.equivalences:
        yield "without an equivalence test, the whole stream is one partition"


def _untested(query: AnalysedQuery) -> Iterator[str]:
    """The conditions on variables that no alternative has together."""
    declared = [
        {part.variable for part in alternative.components}
        | {negation.component.variable for negation in alternative.negations}
        for alternative in query.alternatives
    ]
    for condition in conjuncts(query.query.condition):
        named = variables_in(condition)
        if not any(named <= variables for variables in declared):
            printed = print_expression(condition, query.query)
            yield f"{printed} (no alternative has {list_words(sorted(named))})"


class _Explained:
    """Describes one alternative of a query."""

    def __init__(self, alternative: Alternative, query: AnalysedQuery) -> None:
        self._alternative = alternative
        self._query = query
        self._components = alternative.components
        self._names = [component.variable for component in alternative.components]

    def lines(self, *, tests: bool) -> Iterator[str]:
        """Components, keys and negations; with ``tests`` also the order and the conditions."""
        for component in self._components:
            yield print_pattern(component)
        if tests and len(self._names) > 1:
            yield self._order()
        yield from self._partitions()
        for clause in sorted(self._alternative.clauses, key=_tested_order) if tests else ():
            tested = f"{self._printed(clause.expression)}{_inherited(clause)}"
            yield f"condition: {tested}, {self._moment(clause)}"
        for negation in self._alternative.negations:
            yield from self._negation(negation)

    def _printed(self, expression: ast.Expression) -> str:
        return print_expression(expression, self._query.query)

    def _order(self) -> str:
        if self._alternative.is_sequence:
            return f"in order: {', '.join(self._names)}"
        before = self._alternative.before
        direct = [
            f"{self._names[i]} before {self._names[j]}"
            for i, j in sorted(before)
            if not any((i, k) in before and (k, j) in before for k in range(len(self._names)))
        ]
        return f"in order: {', '.join(direct)}" if direct else "in any order"

    def _partitions(self) -> Iterator[str]:
        keys = {
            key.attributes: key_text(self._components, key.attributes)
            for key in self._alternative.partition_keys
        }
        for test in self._query.equivalences:
            key = keys.pop((test.attribute,) * len(self._names), None)
            value = f" = {self._printed(test.value)}" if test.value else ""
            if key is not None:
                yield f"partition key: {key}{value} (equivalence test)"
            else:
                yield (
                    f"condition: {self._printed(test)}, for events of types with {test.attribute}"
                )
        for key in keys.values():
            yield f"partition key: {key} (found in the conditions)"

    def _moment(self, clause: Clause) -> str:
        """The moment when the clause is tested, in words."""
        if clause.component_ix is None:
            return "before any event"
        component = self._components[clause.component_ix]
        name = component.variable
        if not self._alternative.is_sequence and len(clause.variables) > 1:
            return f"when {list_words([n for n in self._names if n in clause.variables])} are bound"
        if not component.is_kleene:
            return f"when {name} is bound"
        if clause.edge is Edge.PROCEED:
            return f"when {name} is complete"
        # A clause on a[k] can be tested once there are k events.
        first = max(clause.least_lengths.get(name, 1), clause.ranges.get(name, 1))
        if name not in clause.ranges:
            return f"at {'the first event' if first == 1 else f'event {first}'} of {name}"
        since = {1: "", 2: " from the second on"}.get(first, f" from event {first} on")
        return f"at each event of {name}{since}"

    def _negation(self, negation: NegatedComponent) -> Iterator[str]:
        waits = ", known when the window ends" if negation.waits else ""
        place = place_of(self._alternative, negation)
        yield f"no {print_pattern(negation.component)} {place}{waits}"
        for test in self._query.equivalences:
            yield f"  where {self._printed(test)}"
        for clause in negation.clauses:
            yield f"  where {self._printed(clause.expression)}{_inherited(clause)}"


def _inherited(clause: Clause) -> str:
    """The ranges and lengths that a clause inherits from its condition, in words."""
    own = indices_in(clause.literals)
    ranges = [name for name, first in clause.ranges.items() if own.ranges.get(name, 1) < first]
    lengths = [
        f"{name} has at least {length} events"
        for name, length in clause.least_lengths.items()
        if own.least_lengths.get(name, 1) < length
    ]
    also = "".join(f" and {length}" for length in lengths)
    return also + (f" where {list_words(ranges)} has two events or more" if ranges else "")


def _tested_order(clause: Clause) -> tuple[int, int]:
    ix = -1 if clause.component_ix is None else clause.component_ix
    return ix, _EDGE_ORDER.index(clause.edge)
