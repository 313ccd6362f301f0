"""Events from any source, read as one Arrow table.

A source is a table in memory (Arrow, pandas, Polars, rows, columns) or files. This module never
imports pandas or Polars: a program that passes one of their objects has imported them.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from itertools import chain
from operator import methodcaller
from pathlib import Path
from typing import Any, TypeGuard

import pyarrow as pa
import pyarrow.compute as pc

from cepheid.errors import EventError, list_words
from cepheid.events.columns.arrow_arrays import empty_table, from_list
from cepheid.events.sources.files import ParquetFiles, read_path, read_paths
from cepheid.events.sources.reading import quoting, refuse_repeated
from cepheid.events.sources.spark_frames import are_spark_frames
from cepheid.events.sources.text_files import (
    DEFAULT_FORMAT,
    NeededColumns,
    TextFormat,
    delimiter_of,
)
from cepheid.schema import Kind, kind_of, remembered


def read_source(source: object) -> pa.Table:
    """The events of a source as one Arrow table with plain columns and distinct names.

    A source is an Arrow table, batch, reader or list of batches; a pandas or Polars frame, or
    anything else that exports an Arrow stream; a list of dicts; a mapping from column to values;
    the path of a Parquet, CSV or JSON Lines file; a directory, glob or list of such files.

    >>> read_source([{"ts": 1, "type": "Shelf"}, {"ts": 2, "tag": 7}]).to_pydict()
    {'ts': [1, 2], 'type': ['Shelf', None], 'tag': [None, 7]}
    """
    return read_columns(source)[0]


def read_columns(
    source: object, needed: NeededColumns | None = None, text: TextFormat = DEFAULT_FORMAT
) -> tuple[pa.Table, pa.Schema]:
    """The same with only the ``needed`` columns, and the schema of all columns.

    Only the needed columns are read from Parquet files; the footers describe the others. Any other
    source has all its columns in the table, except columns of JSON Lines with values of several
    types that are not needed.
    """
    found = _read(source, text, needed)
    if isinstance(found, dict):
        found = concat_tables(found) if len(found) > 1 else next(iter(found.values()))
    if isinstance(found, pa.Table):
        table = _plain_columns(found)
        schema = table.schema
        if schema.metadata is not None:
            table = table.replace_schema_metadata(None)
            schema = table.schema
        refuse_repeated(schema.names)
        return table, schema
    schema = _plain_columns(empty_table(found.schema)).schema.remove_metadata()
    refuse_repeated(schema.names)
    wanted = schema.names if needed is None else needed(schema.names)
    return _plain_columns(found.read(wanted)).replace_schema_metadata(None), schema


def is_type_mapping(source: object) -> TypeGuard[Mapping[object, object]]:
    """Whether a mapping is {event type: its table} rather than {column: its values}.

    It is if every value is table-like. An empty list may be either; the other values decide.

    >>> is_type_mapping({"Shelf": "shelf.csv", "Exit": [{"ts": 1}]})
    True
    >>> is_type_mapping({"ts": [1, 2], "type": ["Shelf", "Exit"]})
    False
    """
    if not isinstance(source, Mapping):
        return False
    values = [value for value in source.values() if not (isinstance(value, list) and not value)]
    return bool(values) and all(map(is_table_like, values))


def is_table_like(value: object) -> bool:
    """Whether a value can only be a whole table, never the values of one column.

    >>> is_table_like("shelf.parquet"), is_table_like({"ts": [1]}), is_table_like([1, 2])
    (True, True, False)
    """
    return (
        isinstance(value, pa.Table | pa.RecordBatch | pa.RecordBatchReader | str | Path | Mapping)
        or _is_frame(value)
        or are_spark_frames(value)
        or _is_list_of(value, Mapping)
        or _is_list_of(value, pa.RecordBatch)
    )


def concat_tables(tables: Mapping[str, pa.Table]) -> pa.Table:
    """The concatenated tables, in mapping order; each column has a type that holds all values.

    A column that a table lacks is null there. The names are used in error messages.

    >>> shelf, exit = pa.table({"ts": [1]}), pa.table({"ts": [2.5], "door": ["north"]})
    >>> concat_tables({"Shelf": shelf, "Exit": exit}).to_pydict()
    {'ts': [1.0, 2.5], 'door': [None, 'north']}
    """
    uses: dict[str, dict[str, pa.DataType]] = {}
    for table_name, table in tables.items():
        for field in table.schema:
            uses.setdefault(field.name, {})[table_name] = field.type
    types = {name: _common_type(name, types_by_table) for name, types_by_table in uses.items()}
    aligned = []
    for table_name, table in tables.items():
        columns = {}
        for name, arrow_type in types.items():
            if name not in table.column_names:
                columns[name] = pa.nulls(table.num_rows, arrow_type)
            elif table.schema.field(name).type == arrow_type:
                columns[name] = table.column(name)
            else:
                with quoting(f"attribute {name!r} of table {table_name!r}"):
                    columns[name] = table.column(name).cast(arrow_type)
        aligned.append(pa.table(columns))
    return pa.concat_tables(aligned)


def hint_of_missing(source: object, names: Sequence[str], name: str) -> str:
    """A hint where to find a column that a source lacks, if there is one.

    >>> hint_of_missing("a.csv", ["when;kind"], "ts")
    ". The file seems to be separated by ';', not by ',' as its suffix says; give sep=';' ..."
    """
    if _is_frame(source) and name in getattr(getattr(source, "index", None), "names", ()):
        return ". It is the index: frame.reset_index() makes it a column"
    delimiter = delimiter_of(source)
    used = [each for each in ";|\t," if len(names) == 1 and each in names[0] and each != delimiter]
    if delimiter is None or not used:
        return ""
    return (
        f". The file seems to be separated by {used[0]!r}, not by {delimiter!r} as its suffix "
        f"says; give sep={used[0]!r} (--sep {used[0]!r})"
    )


def _read(
    source: object, text: TextFormat, needed: NeededColumns | None
) -> pa.Table | dict[str, pa.Table] | ParquetFiles:
    if isinstance(source, pa.Table):
        return source
    if isinstance(source, pa.RecordBatch):
        return pa.Table.from_batches([source])
    if isinstance(source, pa.RecordBatchReader):
        with quoting("the record batch reader"):
            return source.read_all()
    if isinstance(source, str | Path):
        return read_path(source, text, needed)
    if _is_frame(source):
        return _read_frame(source)
    if is_type_mapping(source):
        raise EventError("a table per event type cannot be read as one table")
    if isinstance(source, Mapping):
        return _table_of(source)
    if _is_list_of(source, pa.RecordBatch):
        with quoting("the list of record batches"):
            return pa.Table.from_batches(source)
    if _is_list_of(source, (str, Path)):
        return read_paths(source, text, needed)
    if isinstance(source, list | tuple) and (not source or _is_list_of(source, Mapping)):
        names = dict.fromkeys(chain.from_iterable(source))
        return _table_of({name: list(map(methodcaller("get", name), source)) for name in names})
    if are_spark_frames(source):
        raise EventError(
            "a Spark DataFrame is not read here, since that would collect all events in this "
            "process; match(df) and count(df) of a query run on Spark. If the events fit into "
            "memory, give df.toArrow(); otherwise give a sample: df.limit(100_000).toArrow()"
        )
    if type(source).__module__.startswith("pyspark.pandas."):
        raise EventError(
            "events are not read from a frame of pandas on Spark; frame.to_spark() is a DataFrame, "
            "over which match and count run on Spark"
        )
    if hasattr(source, "__arrow_c_stream__"):
        with quoting(f"the {type(source).__name__}"):
            return pa.RecordBatchReader.from_stream(source).read_all()
    if hasattr(source, "to_frame"):
        raise EventError(
            f"events cannot be read from a {type(source).__name__}, which is one column; give the "
            "whole frame, or a mapping from column to values"
        )
    found = f"{type(source).__module__}.{type(source).__qualname__}".removeprefix("builtins.")
    if isinstance(source, list | tuple):
        found += f" of {list_words(sorted({type(item).__name__ for item in source}))}"
    raise EventError(
        f"events cannot be read from a {found}; give an Arrow table, batch or "
        "reader, a pandas or Polars frame, a list of dicts, a mapping from column to values, "
        "or a path"
    )


def _table_of(columns: Mapping[Any, object]) -> pa.Table:
    arrays = {}
    for key, values in columns.items():
        name = str(key)
        if isinstance(values, pa.Array | pa.ChunkedArray):
            arrays[name] = values
            continue
        if isinstance(values, str | bytes) or not hasattr(values, "__len__"):
            raise EventError(
                f"column {name!r} is a {type(values).__name__}, not a list or array of values"
            )
        with quoting(f"column {name!r}"):
            arrays[name] = from_list(values)
    lengths = {len(array) for array in arrays.values()}
    if len(lengths) > 1:
        shown = [f"{name!r} has {len(array)}" for name, array in arrays.items()]
        raise EventError(f"the columns differ in length: {list_words(shown)}")
    with quoting("a column name"):
        return pa.table(arrays)


def _is_list_of(value: object, wanted: type | tuple[type, ...]) -> TypeGuard[Sequence[Any]]:
    """Whether value is a non-empty list of instances of a class."""
    return (
        isinstance(value, list | tuple)
        and bool(value)
        and all(issubclass(item_type, wanted) for item_type in set(map(type, value)))
    )


def _is_frame(value: object) -> bool:
    """Whether value is a data frame of a library that has been imported."""
    classes = (("pandas", "DataFrame"), ("polars", "DataFrame"), ("polars", "LazyFrame"))
    found = [getattr(sys.modules.get(module), name, None) for module, name in classes]
    return isinstance(value, tuple(frame for frame in found if isinstance(frame, type)))


def _read_frame(frame: Any) -> pa.Table:
    """A pandas frame without its index, or a Polars frame; a lazy one is collected."""
    polars = sys.modules.get("polars")
    with quoting(f"the {type(frame).__module__.partition('.')[0]} frame"):
        if polars is None or not isinstance(frame, polars.DataFrame | polars.LazyFrame):
            return pa.Table.from_pandas(frame, preserve_index=False)
        return (frame.collect() if isinstance(frame, polars.LazyFrame) else frame).to_arrow()


def _plain_columns(table: pa.Table) -> pa.Table:
    """The table without the layouts that Arrow cannot sort or take from."""
    for index, plain_type in _plain_types(table.schema).items():
        chunks = map(_plain_array, table.column(index).chunks)
        name = table.schema.field(index).name
        table = table.set_column(index, name, pa.chunked_array(chunks, plain_type))
    return table


@remembered
def _plain_types(schema: pa.Schema) -> dict[int, pa.DataType]:
    """The plain types of the columns that have others."""
    types = {ix: _plain_array(pa.nulls(0, field.type)).type for ix, field in enumerate(schema)}
    return {ix: plain for ix, plain in types.items() if plain != schema.field(ix).type}


def _plain_array(array: pa.Array) -> pa.Array:
    if pa.types.is_run_end_encoded(array.type):
        return _plain_array(pc.run_end_decode(array))
    if pa.types.is_dictionary(array.type):
        values, ordered = _plain_array(array.dictionary), array.type.ordered
        return pa.DictionaryArray.from_arrays(array.indices, values, ordered=ordered)
    if pa.types.is_string_view(array.type):
        return array.cast(pa.large_string())
    return array.cast(pa.large_binary()) if pa.types.is_binary_view(array.type) else array


def _as_decimal(integer: pa.DataType) -> pa.DataType:
    """The decimal type that holds such integers; the one that Arrow infers lacks a digit."""
    bits = integer.bit_width - pa.types.is_signed_integer(integer)
    return pa.decimal128(len(str(2**bits - 1)), 0)


def _common_type(name: str, type_of_table: Mapping[str, pa.DataType]) -> pa.DataType:
    distinct = set(type_of_table.values())
    if len(distinct) == 1:
        return distinct.pop()
    plain = [t.value_type if pa.types.is_dictionary(t) else t for t in type_of_table.values()]
    plain = [arrow_type for arrow_type in plain if not pa.types.is_null(arrow_type)]
    zones = {t.tz for t in plain if pa.types.is_timestamp(t)}
    if None not in zones and len(zones) > 1:  # The same instants in different time zones.
        plain = [pa.timestamp(t.unit, "UTC") if pa.types.is_timestamp(t) else t for t in plain]
    if zones == {None}:
        plain = [pa.timestamp("us") if pa.types.is_date(t) else t for t in plain]
    kinds = {kind_of(arrow_type) for arrow_type in plain}
    if any(map(pa.types.is_decimal, plain)):
        plain = [_as_decimal(t) if pa.types.is_integer(t) else t for t in plain]
    try:
        schemas = [pa.schema([(name, arrow_type)]) for arrow_type in plain]
        common = pa.unify_schemas(schemas, promote_options="permissive").field(name).type
    except pa.ArrowException:
        common = None
    if common is None or (kind_of(common) is Kind.OTHER and kinds != {Kind.OTHER}):
        shown = [f"{arrow_type} in table {table!r}" for table, arrow_type in type_of_table.items()]
        raise EventError(
            f"attribute {name!r} is {list_words(shown)}, which have no common type; "
            "cast the columns to one type or give them different names"
        )
    return common
