"""The prefixes of a pattern, each as a query.

A *branch* is a query without OR and star. A *stage* of it is a query of the first components only,
up to a goal in the last of them, with the conditions on these components; negations and RETURN are
left out. The matches of a stage are the partial matches (runs) that reached it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import Enum

from cepheid.analysis.alternatives import choices
from cepheid.analysis.normal_form import conjuncts
from cepheid.analysis.placement import indices_in, reads_whole_list
from cepheid.language import syntax as ast
from cepheid.language.naming import variables_in


class Goal(Enum):
    """The part of its last component that a stage needs.

    FIRST: its event, or the first event of a Kleene component. ENOUGH: the least number of events
    of a Kleene component. COMPLETE: a list that satisfies all conditions.
    """

    FIRST = "first"
    ENOUGH = "enough"
    COMPLETE = "complete"


@dataclass(frozen=True, slots=True)
class Stage:
    """A prefix of a pattern; ``component`` is its last component, as in the pattern.

    ``least`` is the number of events of that component that the stage needs.
    """

    component_ix: int
    component: ast.Component
    goal: Goal
    least: int
    query: ast.Query


def branches(query: ast.Query) -> list[ast.Query]:
    """The query of each alternative, in the order of the analysis.

    >>> from cepheid.language.parser import parse
    >>> from cepheid.language.printer import print_pattern
    >>> query = parse("PATTERN SEQ(A a, OR(B b, C c), D* d[])")
    >>> [print_pattern(branch.pattern) for branch in branches(query)][:2]
    ['SEQ(A a, B b)', 'SEQ(A a, B b, D+ d[])']
    """
    found = []
    for pattern in dict.fromkeys(choices(query.pattern)):
        if pattern is not None and positives(pattern):
            declared = {component.variable for component, _ in ast.components(pattern)}
            kept = [test for test in conjuncts(query.condition) if variables_in(test) <= declared]
            only = _with_conditions(query, pattern, kept)
            found.append(replace(only, strategy_variables=None, returns=None))
    return found


def positives(pattern: ast.Pattern) -> list[ast.Component]:
    """The components that are not negated, in pattern order."""
    parts = ast.components(pattern)
    return [replace(component, without=()) for component, negated in parts if not negated]


def stages(branch: ast.Query) -> list[Stage]:
    """The beginnings of a branch, from the first component to the last.

    >>> from cepheid.language.parser import parse
    >>> query = parse("PATTERN SEQ(A a, B{2,} b[]) WHERE b.LEN > 3 AND b[i].x > a.x")
    >>> [(stage.component.variable, stage.goal.value) for stage in stages(query)]
    [('a', 'first'), ('b', 'first'), ('b', 'enough'), ('b', 'complete')]
    """
    found = []
    components = positives(branch.pattern)
    for ix, component in enumerate(components):
        found.append(_stage(branch, ix, Goal.FIRST, 1))
        if component.bounds is None:
            continue
        known = _conditions_on(branch, components[: ix + 1])
        least = indices_in(known).least_lengths.get(component.variable, 1)
        least = max(component.bounds.least, least)
        if least > 1:
            found.append(_stage(branch, ix, Goal.ENOUGH, least))
        if any(reads_whole_list(condition, component.variable) for condition in known):
            found.append(_stage(branch, ix, Goal.COMPLETE, least))
    return found


def complete_stage(branch: ast.Query, ix: int) -> Stage:
    """The components up to this one, with all of its events and all conditions."""
    return _stage(branch, ix, Goal.COMPLETE, 1)


def conditions_of(query: ast.Query) -> list[ast.Expression]:
    """The conjuncts of WHERE without equivalence tests."""
    return [test for test in conjuncts(query.condition) if not isinstance(test, ast.Equivalence)]


def equivalences_of(query: ast.Query) -> list[ast.Equivalence]:
    """The equivalence tests of WHERE."""
    return [test for test in conjuncts(query.condition) if isinstance(test, ast.Equivalence)]


def known_at(
    conditions: Iterable[ast.Expression], variable: str, length: int
) -> list[ast.Expression]:
    """The conditions that can be tested while the list of a variable has this length."""
    return [
        condition
        for condition in conditions
        if not reads_whole_list(condition, variable)
        and indices_in([condition]).least_lengths.get(variable, 1) <= length
    ]


def _stage(branch: ast.Query, ix: int, goal: Goal, least: int) -> Stage:
    components = positives(branch.pattern)[: ix + 1]
    last = components[-1]
    conditions = _conditions_on(branch, components)
    cut = last
    if last.bounds is not None and goal is not Goal.COMPLETE:
        cut = replace(last, bounds=ast.Bounds(least, least))
        conditions = known_at(conditions, last.variable, least)
    kept = {component.variable: component for component in (*components[:-1], cut)}
    pattern = _only(branch.pattern, kept)
    assert pattern is not None
    query = _with_conditions(branch, pattern, [*equivalences_of(branch), *conditions])
    return Stage(ix, last, goal, least, query)


def _with_conditions(
    query: ast.Query, pattern: ast.Pattern, conditions: Sequence[ast.Expression]
) -> ast.Query:
    condition = ast.joined(ast.And, conditions) if conditions else None
    return replace(query, pattern=pattern, condition=condition)


def _conditions_on(branch: ast.Query, components: Sequence[ast.Component]) -> list[ast.Expression]:
    """The conditions on these components only."""
    known = {component.variable for component in components}
    return [test for test in conditions_of(branch) if variables_in(test) <= known]


def _only(pattern: ast.Pattern, kept: dict[str, ast.Component]) -> ast.Pattern | None:
    """The pattern with these positive components only, or None if it has none of them."""
    match pattern:
        case ast.Component():
            return kept.get(pattern.variable)
        case ast.Negation():
            return None
    parts = [part for each in pattern.parts if (part := _only(each, kept)) is not None]
    return replace(pattern, parts=tuple(parts)) if parts else None
