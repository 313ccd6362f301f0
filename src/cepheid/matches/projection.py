"""Bindings to Arrow columns: the events of each variable, or the items of RETURN."""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import partial

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from cepheid.aggregates import AGGREGATES, TOTAL
from cepheid.events.arrays import PositionArray
from cepheid.events.columns.arrow_arrays import from_numpy, one_array, plain_decimals
from cepheid.events.columns.column_arithmetic import whole_numbers, without_nan
from cepheid.events.columns.vectorised import Bools, Leaf, Vectorised
from cepheid.events.event_view import EventView
from cepheid.events.events import Events
from cepheid.language import syntax as ast
from cepheid.language.naming import variables_in
from cepheid.language.printer import item_name
from cepheid.matches.bindings import Bindings
from cepheid.matches.positions import ABSENT, ListPositions, SinglePositions


def project(
    query: ast.Query,
    events: Events | EventView,
    bindings: Bindings,
    wanted: Collection[str] | None = None,
) -> pa.Table:
    """The result table: start, end, and a column per variable or per item of RETURN.

    If times are uncertain, there is also the confidence, and WITH TIMED OUT there is whether each
    match is a partial one. An item of RETURN with the name of one
    of these columns replaces it. If only some columns are ``wanted``, the others are not computed.
    """
    axis, sure = events.time_axis, bindings.confidences
    columns: dict[str, Callable[[], pa.Array]] = {
        "start": lambda: axis.decode(bindings.starts, wide=True),
        "end": lambda: axis.decode(bindings.ends, wide=True),
    }
    if sure is not None:
        columns["confidence"] = partial(from_numpy, sure)
    if bindings.timed_out is not None:
        columns["timed_out"] = partial(pa.array, bindings.timed_out)
    projector = _Projector(query, events, bindings)
    if query.returns is None:
        for name in bindings.variables:
            columns[name] = partial(projector.events_of, name)
    else:
        for item in query.returns.items:
            columns[item_name(item, query)] = partial(projector.returned, item.expression)
    names = columns if wanted is None else [name for name in columns if name in wanted]
    return pa.table({name: columns[name]() for name in names})


class _Projector:
    """Resolves the leaves of an expression for each match."""

    def __init__(self, query: ast.Query, events: Events | EventView, bindings: Bindings) -> None:
        self._events = events
        self._bindings = bindings
        self._types: dict[str, set[str]] = {}
        for component, _ in ast.components(query.pattern):
            self._types.setdefault(component.variable, set()).update(component.types)

    def returned(self, item: ast.Expression) -> pa.Array:
        """An item of RETURN for each match: null if anything that it names is absent."""
        # Not cached: it references this object, and the cycle would keep the matches in memory.
        vectorised = Vectorised(len(self._bindings), self.resolve, self.missing)
        values = vectorised.value(item)
        match item:
            case (
                ast.Length()
                | ast.Aggregate("count" | "count distinct")
                | ast.EventReference()
                | ast.Elements()
            ):
                return values
        # Check every variable: a condition on a missing one is true, but the item is null.
        named = [self._bindings.variables[variable] for variable in variables_in(item)]
        missing = [self._missing(part) for part in item.walk() if isinstance(part, Leaf)]
        missing += [each.absent for each in named if isinstance(each, ListPositions)]
        lacking = [where for where in missing if where is not None and where.any()]
        if not lacking:
            return values
        return values.take(from_numpy(np.arange(len(values)), np.logical_or.reduce(lacking)))

    def missing(self, leaf: Leaf) -> Bools:
        """Which matches lack the element or the attribute; a null value is not missing."""
        missing = self._missing(leaf)
        return np.zeros(len(self._bindings), dtype=np.bool_) if missing is None else missing

    def _missing(self, leaf: Leaf) -> Bools | None:
        """The result of :meth:`missing`, or None if nothing is missing."""
        match leaf:
            case ast.Attribute(variable, attribute):
                positions = self._single(variable).positions
            case ast.Element(variable, index, attribute):
                positions = _element(self._list(variable), index)
            case ast.Aggregate("first" | "last" as end, variable, _, str(attribute)):
                positions = _end(self._list(variable), end)
            case _:
                return None
        return self._missing_at(attribute, positions)

    def resolve(self, leaf: Leaf) -> pa.Array:
        match leaf:
            case ast.EventReference(variable):
                return self.events_of(variable)
            case ast.Attribute(variable, attribute):
                return self._taken(attribute, self._single(variable).positions)
            case ast.Element(variable, index, attribute):
                return self._taken(attribute, _element(self._list(variable), index))
            case ast.Elements(variable, attribute):
                column = self._list(variable)
                return _listed(column, self._taken(attribute, column.positions))
            case ast.Length(variable):
                return from_numpy(self._list(variable).lengths)
            case ast.Aggregate():
                return self._aggregate(leaf)

    def events_of(self, variable: str) -> pa.Array:
        """The events of a variable as structs, or lists of structs."""
        column = self._bindings.variables[variable]
        fields = [name for name in self._events.column_names if self._has(variable, name)]
        positions = column.positions
        arrays = [self._taken(name, positions) for name in fields]
        absent = from_numpy(positions == ABSENT)
        structs = pa.StructArray.from_arrays(arrays, fields, mask=absent)
        return _listed(column, structs) if isinstance(column, ListPositions) else structs

    def _has(self, variable: str, attribute: str) -> bool:
        schema = self._events.schema
        return any(schema.has_attribute(name, attribute) for name in self._types[variable])

    def _single(self, variable: str) -> SinglePositions:
        column = self._bindings.variables[variable]
        assert isinstance(column, SinglePositions)
        return column

    def _list(self, variable: str) -> ListPositions:
        column = self._bindings.variables[variable]
        assert isinstance(column, ListPositions)
        return column

    def _taken(self, attribute: str, positions: PositionArray) -> pa.Array:
        """The attribute of the events at these positions, null if they do not have it."""
        indices = from_numpy(positions, self._missing_at(attribute, positions))
        return one_array(self._events.column(attribute)).take(indices)

    def _missing_at(self, attribute: str, positions: PositionArray) -> Bools | None:
        """The positions without an event or the attribute; None if there are none."""
        events = self._events
        has = [events.schema.has_attribute(name, attribute) for name in events.type_names]
        if all(has) and positions.min(initial=0) > ABSENT:
            return None
        absent: Bools = np.equal(positions, ABSENT)
        return absent if all(has) else absent | ~np.array(has)[events.type_codes[positions]]

    def _aggregate(self, node: ast.Aggregate) -> pa.Array:
        column = self._list(node.variable)
        if node.attribute is None:
            return from_numpy(column.lengths)
        if node.function in ("first", "last"):
            return self._taken(node.attribute, _end(column, node.function))
        values = without_nan(self._taken(node.attribute, column.positions))
        aggregate = AGGREGATES[node.function]
        if aggregate.arrow is not None:
            return _aggregated(aggregate.arrow, column, values)
        if aggregate.lists is not None:
            counts = _aggregated("count", column, values).to_numpy().astype(np.int64)
            floats = values.drop_null().cast(pa.float64(), safe=False).to_numpy()
            return without_nan(from_numpy(aggregate.lists(counts, floats)))
        assert aggregate.columns is not None
        folds = {
            fold: _aggregated("sum" if fold == TOTAL else fold, column, values.cast(pa.float64()))
            for fold in aggregate.folds
        }
        return without_nan(aggregate.columns(folds))


def _aggregated(name: str, column: ListPositions, values: pa.Array) -> pa.Array:
    """Arrow's aggregate of each list of values, ignoring nulls; null for a list without values."""
    match_ix = np.repeat(np.arange(len(column.lengths)), column.lengths)
    if pa.types.is_dictionary(values.type):
        values = values.dictionary_decode()
    if pa.types.is_decimal(values.type):
        values = plain_decimals(values)
    if pa.types.is_float16(values.type):
        values = values.cast(pa.float32())
    unit = values.type if pa.types.is_duration(values.type) and name in ("min", "max") else None
    if unit is not None:  # Arrow cannot order durations.
        values = values.cast(pa.int64())
    options = pc.VarianceOptions(ddof=1) if name in ("variance", "stddev") else None
    wanted, columns = [("value", name, options)], {"match": from_numpy(match_ix), "value": values}
    can_wrap = name == "sum" and pa.types.is_integer(values.type)
    if can_wrap:
        columns["value"] = whole_numbers(values)
        columns["rough"] = columns["value"].cast(pa.float64(), safe=False)
        wanted.append(("rough", name, None))
    table = pa.table(columns).group_by("match").aggregate(wanted)
    row_of_match: npt.NDArray[np.int64] = np.full(len(column.lengths), ABSENT, dtype=np.int64)
    row_of_match[table.column("match").to_numpy()] = np.arange(table.num_rows)
    rows = from_numpy(row_of_match, row_of_match == ABSENT)
    result = table.column(f"value_{name}").combine_chunks()
    if can_wrap:  # A sum that overflows 64 bits is wrong by at least 2**64.
        wraps = pc.subtract(table.column("rough_sum"), result.cast(pa.float64(), safe=False))
        result = pc.if_else(pc.less(pc.abs(wraps), 2.0**63), result, None).combine_chunks()
    result = without_nan(result.take(rows))
    if unit is not None:
        return result.cast(unit)
    return result.fill_null(0) if name in ("count", "count_distinct") else result


def _element(column: ListPositions, index: int | ast.Index) -> PositionArray:
    """The position of one element of each list, or ABSENT if the list is too short."""
    if index is ast.Index.LAST:
        return column.lasts()
    assert isinstance(index, int)
    return column.at(column.offsets[:-1] + index - 1)


def _end(column: ListPositions, end: str) -> PositionArray:
    """The position of the first or the last element of each list."""
    return column.firsts() if end == "first" else column.lasts()


def _listed(column: ListPositions, values: pa.Array) -> pa.Array:
    """The values as one list per match; null for a variable that a match does not have."""
    offsets = from_numpy(column.offsets).cast(pa.int32())
    return pa.ListArray.from_arrays(offsets, values, mask=from_numpy(column.lengths == 0))
