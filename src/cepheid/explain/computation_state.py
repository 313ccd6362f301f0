"""What a run of an NFA^b keeps beside the buffer: its computation state [Agrawal08 §5.2.1].

The values of selected events that a later formula reads are columns of a vector V. Runs in the
same state can be merged if they agree in the columns that are read from there on: those are the
state's merging mask [Agrawal08 §5.2.2].
"""

from __future__ import annotations

from collections.abc import Iterator

from cepheid.analysis.model import Alternative, AnalysedQuery
from cepheid.codegen.expressions import Untranslatable
from cepheid.codegen.layout import UNBOUNDED
from cepheid.codegen.sequences import compile_nfa_b
from cepheid.codegen.steps import StoredValue
from cepheid.language import syntax as ast
from cepheid.language.printer import print_expression


def computation_state_lines(query: AnalysedQuery, alternative: Alternative) -> Iterator[str]:
    """The columns of the computation state of a run, and the merging mask of each state.

    Nothing without a schema: which columns there are depends on the types of attributes.

    >>> from cepheid.analysis.analyse import analyse
    >>> from cepheid.language.parser import parse
    >>> from cepheid.schema import Kind, Schema
    >>> text = "PATTERN SEQ(A+ a[], B b) WHERE a[i].x > max(a[..i-1].x) AND b.x < a[1].x"
    >>> query = analyse(parse(text), Schema({"x": Kind.INTEGER}))
    >>> for line in computation_state_lines(query, query.alternatives[0]):
    ...     print(line)
    computation state of a run: state, start time, latest event in the buffer, V
    V = (max(a[].x), a[1].x)
    merging mask of a[i]: max(a[].x), a[1].x
    merging mask of b: a[1].x
    """
    if query.schema is None:
        return
    try:
        automaton = compile_nfa_b(query, alternative)
    except Untranslatable:
        return
    columns = [_column(query, value) for value in automaton.values]
    variables = [component.variable for component in alternative.components]
    since = [2 * variables.index(variable) + 1 for variable, _, _ in automaton.values]
    yield "computation state of a run: state, start time, latest event in the buffer, V"
    yield f"V = ({', '.join(dict.fromkeys(columns))})"
    for ix, step in enumerate(automaton.steps):
        name = print_expression(ast.Parameter(step.component.variable), query.query)
        suffixes = ("[1]", "[i]") if step.component.is_kleene else ("",)
        for number, suffix in enumerate(suffixes, start=2 * ix):
            read = [
                column
                for column, first, last in zip(columns, since, automaton.read_until, strict=True)
                if first <= number <= last
            ]
            length = (
                ["length"] if suffix == "[i]" and max(step.least, _bound(step.most)) > 1 else []
            )
            shown = ", ".join(dict.fromkeys(length + read)) or "nothing"
            if number:
                yield f"merging mask of {name}{suffix}: {shown}"


def _bound(most: int) -> int:
    return 0 if most == UNBOUNDED else most


def _column(query: AnalysedQuery, value: StoredValue) -> str:
    """The value of a register, as in a formula."""
    variable, role, attribute = value
    name = print_expression(ast.Parameter(variable), query.query)
    of = "" if attribute is None else f".{print_expression(ast.Parameter(attribute), query.query)}"
    if role == "value":
        return f"{name}{of}"
    if role == "length":
        return f"{name}.LEN"
    if role == "last":
        return f"{name}[{name}.LEN]{of}"
    if role.startswith("at "):
        return f"{name}[{role.removeprefix('at ')}]{of}"
    return f"{role}({name}[]{of})"
