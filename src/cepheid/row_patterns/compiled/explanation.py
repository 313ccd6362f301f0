"""How a clause runs, in words: the evaluation, its automaton, and where conditions are tested."""

from __future__ import annotations

from cepheid.engines.base.evaluation import AUTO, REFERENCE, ROW_PATTERN
from cepheid.engines.row_pattern.layout import AT_END, AT_START
from cepheid.row_patterns import syntax as rows
from cepheid.row_patterns.columns import Binding
from cepheid.row_patterns.compiled.automaton import Edge
from cepheid.row_patterns.compiled.evaluation import plan_of
from cepheid.row_patterns.compiled.leaves import Untold
from cepheid.row_patterns.compiled.plan import Plan
from cepheid.row_patterns.printer import print_expression, print_variable
from cepheid.schema import Schema

_MOST_STATES = 20


def explained(clause: rows.Clause, schema: Schema | None) -> dict[str, list[str]]:
    """The parts of an explanation; without a schema, whether generated code fits is not known."""
    plan: Plan | str
    if schema is not None:
        plan = plan_of(Binding(clause, schema), AUTO)
    else:
        try:
            plan = Plan(clause, None)
        except Untold as reason:
            plan = str(reason)
    if isinstance(plan, str):
        words = "full backtracking over the syntax tree, in Python"
        return {"evaluation": [f"{REFERENCE}: {words}", f"not {ROW_PATTERN}: {plan}"]}
    states = plan.automaton.edges
    found = {
        "evaluation": [f"{ROW_PATTERN}: backtracking over an automaton, compiled; no state is "
                       "entered again with what it has failed with"],
        "automaton": [
            f"{number}: {', '.join(_edge(each) for each in edges)}"
            for number, edges in enumerate(states[:_MOST_STATES])
        ],
    }  # fmt: skip
    if len(states) > _MOST_STATES:
        found["automaton"].append(f"… and {len(states) - _MOST_STATES} more states")
    conditions = plan.conditions.items()
    found |= {
        "tested for all rows before the search": [
            f"{print_variable(name)}: {' AND '.join(map(print_expression, each.masks))}"
            for name, each in conditions
            if each.masks
        ],
        "tested in the search, with the rows matched before": [
            f"{print_variable(name)}: {' AND '.join(map(print_expression, each.predicates))}"
            for name, each in conditions
            if each.predicates
        ],
        "skipped over, as every row can be one": [
            print_variable(name)
            for name in plan.variables
            if schema is not None
            and plan.is_always_true(name)
            and any(
                edge.variable == name and edge.target == number
                for number, edges in enumerate(states)
                for edge in edges
            )
        ],
    }
    bounded = plan.bounded_variables if schema is not None else set()
    found["looked for no further than where this is false"] = [
        f"{print_variable(name)}: {print_expression(each.bound)}"
        for name, each in conditions
        if name in bounded
    ]
    return {title: texts for title, texts in found.items() if texts}


def _edge(edge: Edge) -> str:
    """An edge: the variable of the row that it takes, and the state it leads to."""
    if edge.variable is None:
        return f"{anchors_text(edge)}match"
    return f"{anchors_text(edge)}{print_variable(edge.variable)} → {edge.target}"


def anchors_text(edge: Edge) -> str:
    """The anchors where an edge exists."""
    return {AT_START: "^ ", AT_END: "$ ", AT_START | AT_END: "^ $ ", 0: ""}[edge.anchors]
