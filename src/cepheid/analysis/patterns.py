"""Checks the pattern, its selection strategy, its window, its confidence and its output."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from cepheid.analysis.alternatives import Outline
from cepheid.analysis.names import Declared, declarations, undeclared
from cepheid.errors import Fault, list_words
from cepheid.language import syntax as ast
from cepheid.language.naming import parameter_hint
from cepheid.language.units import CANONICAL_UNIT


def check_pattern(query: ast.Query, alternatives: list[Outline]) -> Iterator[Fault]:
    """The faults of a query apart from its conditions and results."""
    pattern = query.pattern
    declared = declarations(pattern)
    yield from _check_variables(alternatives, declared)
    yield from _check_positive(pattern)
    yield from _check_strategy(query, declared)
    yield from _check_window(query, alternatives)
    yield from _check_own_windows(pattern)
    yield from _check_confidence(query)
    yield from _check_output(query)


def _check_variables(alternatives: list[Outline], declared: Declared) -> Iterator[Fault]:
    for variable, components in declared.items():
        for component in components[1:]:
            if component.is_kleene != components[0].is_kleene:
                yield Fault(
                    f"'{variable}' is one event in one place and a list in another",
                    component.span,
                    hint="Give the two components different variables.",
                )
    twice: dict[str, None] = {}
    for outline in alternatives:
        names = Counter(component.variable for component in outline.declared)
        twice.update(dict.fromkeys(name for name, count in names.items() if count > 1))
    for variable in twice:
        yield Fault(
            f"the variable '{variable}' is declared twice",
            declared[variable][-1].span,
            hint="Each component of a match needs its own variable.",
        )


def _check_positive(pattern: ast.Pattern) -> Iterator[Fault]:
    """A match has events: no branch of OR has only negations."""
    for part in _branches(pattern):
        if _is_negative(part):
            whole = "the pattern" if part is pattern else "a branch of OR"
            yield Fault(
                f"{whole} has no positive component",
                part.span,
                hint="A match needs at least one event that occurs.",
            )


def _branches(pattern: ast.Pattern) -> Iterator[ast.Pattern]:
    """The choices of an OR at the top of a pattern."""
    if isinstance(pattern, ast.Disjunction):
        for part in pattern.parts:
            yield from _branches(part)
    else:
        yield pattern


def _is_negative(pattern: ast.Pattern) -> bool:
    """Whether some alternative with all stars present has only negations."""
    match pattern:
        case ast.Component():
            return False
        case ast.Negation():
            return True
        case ast.Disjunction(parts):
            return any(map(_is_negative, parts))
        case ast.Sequence(parts) | ast.Conjunction(parts):
            return all(map(_is_negative, parts))


def _check_strategy(query: ast.Query, declared: Declared) -> Iterator[Fault]:
    strategy = query.strategy.value
    listed = query.strategy_variables
    if listed is not None:
        unknown = [name for name in listed if name not in declared]
        for name in unknown:
            yield undeclared(name, query.strategy_span, declared)
        negated = {c.variable for c, is_negated in ast.components(query.pattern) if is_negated}
        missing = [name for name in declared if name not in listed and name not in negated]
        if missing and not unknown:
            yield Fault(
                f"{strategy} does not name {list_words(missing)}",
                query.strategy_span,
                hint="A selection strategy applies to the whole pattern: name all variables, "
                "or none.",
            )
    if query.strategy is ast.SelectionStrategy.SKIP_TILL_ANY_MATCH:
        return
    for branch in _branches(query.pattern):
        for node in branch.walk():
            if isinstance(node, ast.Conjunction | ast.Disjunction):
                name = "AND" if isinstance(node, ast.Conjunction) else "OR inside a pattern"
                yield Fault(
                    f"{name} is not supported under {strategy}",
                    node.span,
                    hint="AND, and OR inside a pattern, need skip_till_any_match. Every strategy "
                    "supports OR at the top of the pattern: OR(SEQ(A a, B b), SEQ(A a, C c)).",
                )
                break


def _check_confidence(query: ast.Query) -> Iterator[Fault]:
    clause = query.confidence
    if clause is None:
        return
    if isinstance(clause.least, ast.Parameter):
        yield _without_value(clause.least)
    elif not 0 <= clause.least <= 1:
        yield Fault(
            "a confidence must be a number from 0 to 1",
            clause.span,
            hint="It is the probability of a match: write 0.8 or 80%.",
        )


def _check_output(query: ast.Query) -> Iterator[Fault]:
    clause = query.output
    gap = clause.at_most_once_per if clause else None
    if clause is not None and clause.timed_out and (reason := why_no_timeouts(query)):
        yield Fault(f"WITH TIMED OUT {reason}", clause.span)
    if gap is None:
        return
    if isinstance(gap.extent, ast.Parameter):
        yield _without_value(gap.extent)
    elif gap.extent <= 0:
        yield Fault(
            "AT MOST ONCE PER needs a duration longer than 0",
            gap.span,
            hint="A match is left out if it ends less than the duration after the last one.",
        )


def why_no_timeouts(query: ast.Query) -> str | None:
    """Why partial matches of a query cannot time out, or None."""
    if query.window is None or query.measure is not ast.WindowMeasure.TIME:
        return "needs a window of time, after which a partial match is reported: add WITHIN"
    if any(isinstance(node, ast.Conjunction | ast.Disjunction) for node in query.pattern.walk()):
        return "is for sequences, and the pattern has AND or OR"
    return None


def _without_value(parameter: ast.Parameter) -> Fault:
    name = parameter.name
    hint = parameter_hint(name)
    if name.lower() in CANONICAL_UNIT:
        hint = f"A duration is a number with a unit: write 1 {name}."
    return Fault(f"the name '{name}' has no value", parameter.span, found=name, hint=hint)


def _check_window(query: ast.Query, alternatives: list[Outline]) -> Iterator[Fault]:
    if query.window is None:
        yield from _check_waiting(alternatives)
    else:
        yield from _check_extent(
            query.window, "The first and the last event of a match are less than the window apart."
        )


def _check_extent(window: ast.Window, hint: str) -> Iterator[Fault]:
    if isinstance(window.extent, ast.Parameter):
        yield _without_value(window.extent)
    elif window.extent <= 0:
        yield Fault("a window must be longer than 0", window.span, hint=hint)


def _check_own_windows(pattern: ast.Pattern, beneath_and: bool = False) -> Iterator[Fault]:
    """A negation's own window is a duration, and needs an order of the events around it."""
    match pattern:
        case ast.Negation(component, ast.Window() as window):
            yield from _check_extent(
                window, "An event violates the negation if it is less than the window away."
            )
            if window.measure is not ast.WindowMeasure.TIME:
                yield Fault(
                    "the window of a negation is a length of time, and cannot count events",
                    window.span,
                    hint="Write it like '~(B b) WITHIN 10 minutes'.",
                )
            if beneath_and:
                yield Fault(
                    f"the negation of '{component.variable}' is in an AND, and cannot have a "
                    "window of its own",
                    window.span,
                    hint="Such a window begins at the events before the negation, and an AND has "
                    "no order.",
                )
        case ast.Sequence(parts) | ast.Disjunction(parts) | ast.Conjunction(parts):
            below = beneath_and or isinstance(pattern, ast.Conjunction)
            for part in parts:
                yield from _check_own_windows(part, below)


def _check_waiting(alternatives: list[Outline]) -> Iterator[Fault]:
    """A negation that later events can violate needs a window to decide when it holds."""
    seen = set()
    for outline in alternatives:
        for place in sorted(outline.negated - dict(outline.windows).keys()):
            component = outline.components[place]
            has_end = any(i == place and j not in outline.negated for i, j in outline.before)
            if not has_end and component not in seen:
                seen.add(component)
                yield Fault(
                    f"the negation of '{component.variable}' needs a window",
                    component.span,
                    hint=f"Events of type {list_words(component.types, 'or')} can come after "
                    "the last event of a match: set with WITHIN how long to wait.",
                )
