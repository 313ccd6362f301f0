"""The number of matches for each value of some columns."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as arrow

from cepheid.errors import OptionError, did_you_mean, list_words
from cepheid.matches.match_stream import MatchStream
from cepheid.matches.matches import Matches

COUNT = "count"


def count_groups(matches: Matches | MatchStream, columns: Sequence[str]) -> pa.Table:
    """The columns, each combination of values once, and the number of matches with it.

    A column is an item of RETURN, ``start``, ``end``, or an attribute of a single event:
    ``a.zone``. The largest groups come first.

    >>> import cepheid as cep
    >>> events = {"ts": [1, 2, 3], "type": ["A", "A", "A"], "x": ["n", "s", "n"]}
    >>> count_groups(cep.query("EVENT A a").match(events), ["a.x"]).to_pylist()
    [{'a.x': 'n', 'count': 2}, {'a.x': 's', 'count': 1}]
    """
    named = {name: group_path(matches.arrow_schema, name) for name in columns}
    empty = _selected(matches.arrow_schema.empty_table(), named).append_column(
        COUNT, pa.array([], pa.int64())
    )
    keys = list(named)
    total = empty
    for batch in matches.to_batches():
        part = _selected(pa.Table.from_batches([batch]), named)
        counted = part.group_by(keys).aggregate([([], "count_all")])
        counted = counted.rename_columns([*keys, COUNT])
        summed = pa.concat_tables([total, counted.select(empty.column_names)])
        total = summed.group_by(keys).aggregate([(COUNT, "sum")]).rename_columns([*keys, COUNT])
    order = [(COUNT, "descending"), *((name, "ascending") for name in keys)]
    return total.select(empty.column_names).sort_by(order)


def group_path(schema: pa.Schema, name: str) -> tuple[str, ...]:
    """A column of the result, or a variable and an attribute of its event."""
    if name == COUNT:
        raise OptionError(f"matches cannot be grouped by {name!r}: their number has this name")
    if name in schema.names:
        path: tuple[str, ...] = (name,)
        kind = schema.field(name).type
    else:
        variable, _, attribute = name.partition(".")
        whole = schema.field(variable).type if variable in schema.names else None
        known = [*schema.names]
        for field in schema:
            if arrow.is_struct(field.type):
                known += [f"{field.name}.{each.name}" for each in field.type]
        if whole is None or not arrow.is_struct(whole) or whole.get_field_index(attribute) < 0:
            returned = f". RETURN leaves it out; add {name} to it" if attribute else ""
            raise OptionError(
                f"the result has no column {name!r}; it has {list_words(known)}"
                + (did_you_mean(name, known) or (returned if whole is None else ""))
            )
        path, kind = (variable, attribute), whole.field(attribute).type
    if arrow.is_nested(kind):
        raise OptionError(f"matches cannot be grouped by {name!r}, which is {kind}")
    return path


def _selected(table: pa.Table, named: dict[str, tuple[str, ...]]) -> pa.Table:
    columns = {}
    for name, (first, *rest) in named.items():
        column = table.column(first)
        columns[name] = pc.struct_field(column, rest) if rest else column
        if arrow.is_dictionary(columns[name].type):
            columns[name] = columns[name].cast(columns[name].type.value_type)
    return pa.table(columns)
