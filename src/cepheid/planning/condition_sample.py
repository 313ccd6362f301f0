"""How often the conditions of a query hold, measured on a sample of the events."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from cepheid.analysis.model import Alternative, AnalysedQuery, Clause
from cepheid.events.arrays import Int64s
from cepheid.events.columns.arrow_arrays import one_array
from cepheid.events.columns.computed_columns import column_of, sources_in
from cepheid.events.columns.vectorised import Bools, Leaf, Vectorised
from cepheid.events.events import Events
from cepheid.functions import find_function
from cepheid.language import syntax as ast
from cepheid.language.printer import print_expression

_SAMPLE = 128
"""The number of events of a component, or pairs of events, that a condition is tested on."""
_CALLED = 24
"""The same for conditions with a registered function, which is called once per row."""
_SEARCHED = 1 << 13
"""The number of events that are searched for the events of a component."""


def sample_conditions(
    query: AnalysedQuery, events: Events
) -> tuple[dict[str, float], dict[str, float]]:
    """How often conditions hold: conditions on one variable, and conditions between two.

    The first mapping has, for each variable, the fraction of its events that pass all of its
    conditions. The second has, for each condition's text, the fraction of the pairs of events.
    Conditions that cannot be sampled are left out.
    """
    random = np.random.default_rng(0)
    components = {part.variable: part for each in query.alternatives for part in each.components}
    clauses = {
        clause.literals: clause
        for alternative in query.alternatives
        for clause in alternative.clauses
        if _is_about_events(clause, alternative)
    }
    stride = max(len(events) // _SEARCHED, 1)
    codes = events.type_codes[::stride]
    samples = {}
    # The order is the same in every process, so the same sample is drawn.
    for name in sorted({name for clause in clauses.values() for name in clause.variables}):
        rows = _rows_of(components[name].types, codes, events.type_names)
        if len(rows):
            drawn = rows[random.integers(0, len(rows), _SAMPLE)] * stride
            samples[name] = _Sample(events, components[name].types, drawn)
    passed: dict[str, float] = dict.fromkeys(components, 1.0)
    held: dict[str, float] = {}
    for clause in clauses.values():
        part = _part(clause, samples) if clause.variables <= samples.keys() else None
        if part is not None and len(clause.variables) == 1:
            passed[next(iter(clause.variables))] *= part
        elif part is not None:
            held[print_expression(clause.expression, query.query)] = part
    return passed, held


class _Sample:
    """Some events that a variable could be bound to."""

    def __init__(self, events: Events, types: Sequence[str], rows: Int64s) -> None:
        self._events = events
        self._types = types
        self._rows = rows
        self._columns: dict[str, pa.Array] = {}

    def column(self, attribute: str) -> pa.Array:
        """The values of an attribute."""
        if attribute not in self._columns:
            taken = sources_in(self._events.table, [attribute]).take(self._rows)
            self._columns[attribute] = one_array(column_of(taken, attribute, self._rows))
        return self._columns[attribute]

    def may_lack(self, attribute: str) -> bool:
        """Whether one of the types does not have the attribute."""
        has = self._events.schema.has_attribute
        return not all(has(name, attribute) for name in self._types)

    def lacks(self, attribute: str) -> Bools:
        """Which events have a type without the attribute."""
        events = self._events
        has = [events.schema.has_attribute(name, attribute) for name in events.type_names]
        return ~np.array(has, dtype=np.bool_)[events.type_codes[self._rows]]


def _rows_of(
    types: Sequence[str], codes: npt.NDArray[np.int32], type_names: Sequence[str]
) -> Int64s:
    wanted = [code for code, name in enumerate(type_names) if name in types]
    if len(wanted) == 1:
        return np.flatnonzero(codes == wanted[0])
    return np.flatnonzero(np.isin(codes, wanted))


def _is_about_events(clause: Clause, alternative: Alternative) -> bool:
    """Whether a clause is about single events, or about each event of one list."""
    lists = {part.variable for part in alternative.components if part.is_kleene}
    if not clause.variables or len(clause.variables) > 2 or clause.least_lengths:
        return False
    if not clause.variables & lists:
        return True
    return len(clause.variables) == 1 and all(
        isinstance(node, ast.Element) and node.index is ast.Index.CURRENT
        for literal in clause.literals
        for node in literal.walk()
        if hasattr(node, "variable")
    )


def _part(clause: Clause, samples: dict[str, _Sample]) -> float | None:
    """The fraction of the sample for which the clause holds; a tiny one if it never does.

    None if that cannot be computed; the evaluation will report the error.
    """
    leaves = [
        node for node in clause.expression.walk() if isinstance(node, ast.Attribute | ast.Element)
    ]
    has_all = not any(samples[leaf.variable].may_lack(leaf.attribute) for leaf in leaves)
    size = _CALLED if any(map(_is_registered, clause.expression.walk())) else _SAMPLE

    def value(leaf: Leaf) -> pa.Array:
        assert isinstance(leaf, ast.Attribute | ast.Element)
        return samples[leaf.variable].column(leaf.attribute)[:size]

    def missing(leaf: Leaf) -> Bools:
        assert isinstance(leaf, ast.Attribute | ast.Element)
        return samples[leaf.variable].lacks(leaf.attribute)[:size]

    try:
        truth = Vectorised(size, value, None if has_all else missing).truth(clause.expression)
    except Exception:
        return None
    return float((truth.true_count + 0.5) / (size + 1))


def _is_registered(node: ast.Node) -> bool:
    if not isinstance(node, ast.Call):
        return False
    function = find_function(node.function)
    return function is not None and function.compile is not None
