"""A plan as a person reads it."""

from __future__ import annotations

from collections.abc import Iterator

from cepheid.analysis.model import Alternative, AnalysedQuery, Clause, Edge
from cepheid.language import syntax as ast
from cepheid.language.printer import print_expression, print_pattern, print_query
from cepheid.planning.evaluations import EVALUATIONS, Evaluation

_EDGE_WORDS = {
    Edge.BEGIN: "when {} is bound",
    Edge.TAKE: "at each event of {}",
    Edge.PROCEED: "when {} is complete",
}


def explain(query: AnalysedQuery, evaluation: Evaluation) -> str:
    """What the query asks for, how it is split, and what will run it."""
    lines = [print_query(query.query), ""]
    lines += _section("evaluation", [f"{evaluation.name}: {evaluation.summary}", *_refusals(query)])
    lines += _section("selection strategy", [query.query.strategy.value])
    for number, alternative in enumerate(query.alternatives, start=1):
        title = "pattern" if len(query.alternatives) == 1 else f"alternative {number}"
        lines += _section(title, _alternative(alternative, query.query))
    return "\n".join(lines).rstrip()


def _refusals(query: AnalysedQuery) -> Iterator[str]:
    for evaluation in EVALUATIONS:
        reason = evaluation.refusal(query)
        if reason is not None:
            yield f"not {evaluation.name}: {reason}"


def _section(title: str, lines: Iterator[str] | list[str]) -> list[str]:
    return [f"{title}:", *(f"  {line}" for line in lines)]


def _alternative(alternative: Alternative, query: ast.Query) -> Iterator[str]:
    names = [component.variable for component in alternative.components]
    for component in alternative.components:
        yield print_pattern(component)
    if len(names) > 1:
        if alternative.is_sequence:
            yield f"in order: {', '.join(names)}"
        else:
            pairs = sorted(alternative.before)
            order = ", ".join(f"{names[i]} before {names[j]}" for i, j in pairs)
            yield f"in order: {order}" if order else "in any order"
    for key in alternative.partition_keys:
        origin = "equivalence test" if key.is_test else "found in the conditions"
        same = " = ".join(f"{n}.{a}" for n, a in zip(names, key.attributes, strict=True))
        yield f"partition key: {same} ({origin})"
    for clause in alternative.clauses:
        yield _clause(clause, alternative, query)
    for negation in alternative.negations:
        yield f"not {print_pattern(negation.component)} {negation.place.value}" + (
            ", known when the window ends" if negation.waits else ""
        )
        for clause in negation.clauses:
            yield f"  where {print_expression(clause.expression, query)}"


def _clause(clause: Clause, alternative: Alternative, query: ast.Query) -> str:
    text = print_expression(clause.expression, query)
    if clause.component_ix is None:
        return f"condition: {text}, once"
    component = alternative.components[clause.component_ix]
    where = _EDGE_WORDS[clause.edge].format(component.variable)
    start = clause.ranges.get(component.variable)
    since = " from the second on" if start == 2 and clause.edge is Edge.TAKE else ""
    return f"condition: {text}, {where}{since}"
