"""Checks of a clause that need no table: its variables, and what must not be combined."""

from __future__ import annotations

from collections.abc import Iterator

from cepheid.analysis.names import first_word, undeclared
from cepheid.analysis.scopes import check_call
from cepheid.errors import Fault, Span
from cepheid.language import syntax as ast
from cepheid.language.naming import GivenList
from cepheid.row_patterns import syntax as rows
from cepheid.row_patterns.calls import OWN_CALLS


def check_clause(clause: rows.Clause) -> Iterator[Fault]:
    """The faults of a clause, whatever the table."""
    yield from _check_subsets(clause)
    yield from _check_definitions(clause)
    known = [name for name in clause.members() if name is not None]
    for tree in (*clause.measures, *clause.definitions):
        yield from _check_expression(tree, known)
    yield from _check_measure_names(clause)
    skip = clause.skip
    if skip.variable is not None and skip.variable not in known:
        yield undeclared(skip.variable, skip.span, known)
    if clause.rows is rows.Rows.ALL_WITH_UNMATCHED:
        for node in clause.pattern.walk():
            if isinstance(node, rows.Exclusion):
                yield Fault(
                    "an exclusion cannot be combined with WITH UNMATCHED ROWS",
                    node.span,
                    hint="Leave out one of them: excluded rows are neither matched nor unmatched.",
                )
    yield from _check_window(clause)


def _check_subsets(clause: rows.Clause) -> Iterator[Fault]:
    variables, names = clause.variables(), set[str]()
    for subset in clause.subsets:
        place = first_word(subset, subset.name)
        if subset.name in variables:
            yield Fault(f"'{subset.name}' is a variable of the pattern, and not a new name", place)
        elif subset.name in names:
            yield Fault(f"SUBSET defines '{subset.name}' twice", place)
        names.add(subset.name)
        for member in subset.members:
            if member in variables:
                continue
            if any(member == each.name for each in clause.subsets):
                hint = "List the variables of the pattern."
                yield Fault(
                    f"a subset cannot contain the subset '{member}'", subset.span, hint=hint
                )
            else:
                yield undeclared(member, subset.span, variables)


def _check_definitions(clause: rows.Clause) -> Iterator[Fault]:
    variables, names = clause.variables(), set[str]()
    for definition in clause.definitions:
        name, place = definition.variable, definition.span
        if any(name == subset.name for subset in clause.subsets):
            hint = "Define the variables in it instead."
            yield Fault(f"'{name}' is a subset, which has no condition", place, hint=hint)
        elif name not in variables:
            yield undeclared(name, place, variables)
        elif name in names:
            yield Fault(
                f"DEFINE defines '{name}' twice", place, hint="Join the conditions with AND."
            )
        names.add(name)
        for node in definition.condition.walk():
            if getattr(node, "semantics", None) is rows.Semantics.FINAL:
                yield Fault(
                    "FINAL cannot be used in DEFINE",
                    node.span,
                    hint="A condition is tested when its row is reached, and knows no later row.",
                )


def _check_expression(tree: ast.Node, known: list[str]) -> Iterator[Fault]:
    for node in tree.walk():
        match node:
            case ast.Call():
                yield from check_call(node, rows.AGGREGATES, OWN_CALLS)
            case GivenList(name):
                hint = f"Write it like x IN ({name})."
                yield Fault(f"the parameter '{name}' is a list", node.span, hint=hint)
            case rows.Column(str(variable)) if variable not in known:
                yield undeclared(variable, _before_dot(node, variable), known)
            case rows.Classifier(str(variable)) if variable not in known:
                yield undeclared(variable, node.span, known)
            case rows.Aggregate(_, None, str(variable)) if variable not in known:
                yield undeclared(variable, node.span, known)


def _before_dot(node: rows.Column, variable: str) -> Span | None:
    """The place of the variable in ``A.x``: quotes around it may make it longer than its name."""
    column = node.name.span
    if node.span is None or column is None:
        return None
    return Span(node.span.start, min(node.span.start + len(variable), column.start - 1))


def _check_measure_names(clause: rows.Clause) -> Iterator[Fault]:
    names = set[str]()
    for measure in clause.measures:
        if measure.name.key in names:
            shown, place = measure.name.text, measure.name.span
            yield Fault(f"MEASURES has two measures named '{shown}'", place, hint="Rename one.")
        names.add(measure.name.key)


def _check_window(clause: rows.Clause) -> Iterator[Fault]:
    if clause.within is None:
        return
    if not clause.order_by:
        hint = "The first column of ORDER BY is the time that WITHIN measures."
        yield Fault("WITHIN needs ORDER BY", clause.within.span, hint=hint)
    elif not clause.order_by[0].is_ascending:
        hint = "WITHIN measures the time from the first row of a match to the last."
        message = "with WITHIN, the first column of ORDER BY cannot be DESC"
        yield Fault(message, clause.order_by[0].span, hint=hint)
