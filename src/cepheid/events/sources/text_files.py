"""CSV and JSON Lines files, one or several."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.types as arrow

from cepheid.errors import EventError, OptionError, list_words, warn
from cepheid.events.columns.arrow_arrays import from_list
from cepheid.events.sources.reading import interruptible, quoting, refuse_repeated

CSV_DELIMITERS = {".csv": ",", ".tsv": "\t"}
JSON_SUFFIXES = (".jsonl", ".ndjson", ".json")
TEXT_SUFFIXES = (*CSV_DELIMITERS, *JSON_SUFFIXES)
# One JSON object has to fit into a block; Arrow's default of 1 MiB is too small for wide events.
JSON_BLOCK_BYTES = 16 << 20

NeededColumns = Callable[[Sequence[str]], Sequence[str]]
"""Selects the columns to read from the names of all columns."""


@dataclass(frozen=True, slots=True)
class TextFormat:
    """How text files are read: the separator of CSV, and columns that stay strings."""

    sep: str | None = None
    strings: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.sep is not None and len(str(self.sep)) != 1:
            raise OptionError(f"sep is the one character between columns of CSV, not {self.sep!r}")


DEFAULT_FORMAT = TextFormat()


def text_suffix(path: Path) -> str | None:
    """The suffix of a CSV or JSON Lines file, also a compressed one; None for another file.

    >>> text_suffix(Path("day.csv.gz")), text_suffix(Path("day.parquet"))
    ('.csv', None)
    """
    suffix = Path(path.name.lower().removesuffix(".gz")).suffix
    return suffix if suffix in TEXT_SUFFIXES else None


def read_text_files(
    shown: str, paths: Sequence[Path], text: TextFormat, needed: NeededColumns | None
) -> dict[str, pa.Table]:
    """The events of files of one format, by their path."""
    suffixes = {text_suffix(path) for path in paths}
    if suffixes <= {*CSV_DELIMITERS}:
        return _read_csv_files(paths, text)
    if suffixes <= {*JSON_SUFFIXES}:
        return _read_json_files(shown, paths, needed)
    raise EventError(f"{shown!r} has CSV and JSON Lines files; read them separately")


# --- CSV


def _read_csv_files(paths: Sequence[Path], text: TextFormat) -> dict[str, pa.Table]:
    """Columns have the same types as if all rows were in one file."""
    tables = {str(path): _read_csv(path, text) for path in paths}
    mixed = [name for name, found in _types_of(tables).items() if _is_mixed(found)]
    if mixed:
        text = TextFormat(text.sep, (*text.strings, *mixed))
        tables = {str(path): _read_csv(path, text) for path in paths}
    return tables


def _types_of(tables: Mapping[str, pa.Table]) -> dict[str, set[pa.DataType]]:
    types: dict[str, set[pa.DataType]] = {}
    for table in tables.values():
        for field in table.schema:
            types.setdefault(field.name, set()).add(field.type)
    return types


def _is_mixed(types: set[pa.DataType]) -> bool:
    """Whether a column has strings in one file and something else in another."""
    known = {each for each in types if not arrow.is_null(each)}
    return len(known) > 1 and any(map(arrow.is_string, known))


def _read_csv(path: Path, text: TextFormat) -> pa.Table:
    suffix = text_suffix(path)
    assert suffix is not None
    delimiter = text.sep or CSV_DELIMITERS[suffix]
    strings = dict.fromkeys(text.strings, pa.string())
    with quoting(f"{str(path)!r}"):
        table = interruptible(lambda: parse_csv(path, delimiter, strings))
    try:
        refuse_repeated(table.column_names)
    except UnicodeDecodeError:
        raise not_utf8("the header", path) from None
    return table


def parse_csv(
    source: Path | BinaryIO | pa.BufferReader, delimiter: str, types: Mapping[str, pa.DataType]
) -> pa.Table:
    """CSV with a header; ``types`` are those of columns that are not inferred.

    An empty field is null, a quoted empty one is an empty string.
    """
    import pyarrow.csv

    return pyarrow.csv.read_csv(
        source,
        parse_options=pyarrow.csv.ParseOptions(delimiter=delimiter, newlines_in_values=True),
        convert_options=pyarrow.csv.ConvertOptions(
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
            column_types=types,
        ),
    )


def refuse_other_encoding(source: object, column: str, columns: pa.Schema) -> None:
    """Refuse a bytes column in a CSV file: Arrow returns bytes for data that is not UTF-8."""
    if delimiter_of(source) is not None and arrow.is_binary(columns.field(column).type):
        raise not_utf8(f"column {column!r}", source)


def not_utf8(what: str, path: object) -> EventError:
    """The error for a file in another encoding."""
    return EventError(
        f"{what} of {str(path)!r} is not UTF-8; convert the file first. If it is Latin-1: "
        f"iconv -f latin1 -t utf-8 {path} > utf8.csv"
    )


def delimiter_of(source: object) -> str | None:
    """The column delimiter, by the suffix of a CSV file."""
    if not isinstance(source, str | Path):
        return None
    return CSV_DELIMITERS.get(text_suffix(Path(source)) or "")


# --- JSON Lines


def _read_json_files(
    shown: str, paths: Sequence[Path], needed: NeededColumns | None
) -> dict[str, pa.Table]:
    for path in paths:
        _refuse_array(path)
    try:
        tables = {str(path): _read_json_lines(path) for path in paths}
        types = _types_of(tables)
        mixed = [name for name, found in types.items() if _is_mixed(found)]
        if mixed and all(_is_time_or_string(kind) for name in mixed for kind in types[name]):
            tables = {str(path): _read_json_lines(path, mixed) for path in paths}
        elif mixed:
            raise pa.ArrowInvalid(_CHANGED)
    except pa.ArrowInvalid as error:
        if _CHANGED not in str(error):
            raise
        with quoting(f"{shown!r}"):
            lines = b"\n".join(map(_bytes_of, paths))
            tables = {shown: mixed_columns(lines, shown, needed)}
    return tables


_CHANGED = "changed from"
"""What Arrow says of a column with values of several types."""


def _is_time_or_string(kind: pa.DataType) -> bool:
    """Whether a type is that of strings, some of which Arrow has parsed as times."""
    return any(test(kind) for test in (arrow.is_string, arrow.is_timestamp, arrow.is_null))


def _refuse_array(path: Path) -> None:
    with _opened(path) as file, quoting(f"{str(path)!r}"):
        if file.read(1024).lstrip().startswith(b"["):
            raise EventError(
                f"{str(path)!r} holds a JSON array; write one object per line, "
                "without the brackets and commas of the array"
            )


def _opened(path: Path) -> BinaryIO | gzip.GzipFile:
    return gzip.open(path, "rb") if path.suffix.lower() == ".gz" else path.open("rb")


def _bytes_of(path: Path) -> bytes:
    with _opened(path) as file:
        return file.read()


def _read_json_lines(path: Path, strings: Sequence[str] = ()) -> pa.Table:
    types = dict.fromkeys(strings, pa.string())
    try:
        return interruptible(lambda: parse_json(path, types))
    except pa.ArrowInvalid as error:
        if _CHANGED in str(error):
            raise
        with quoting(f"{str(path)!r}"):
            raise


def parse_json(
    source: Path | BinaryIO | pa.BufferReader, types: Mapping[str, pa.DataType]
) -> pa.Table:
    """JSON Lines; ArrowInvalid if a column changes its type. ``types`` are not inferred."""
    import pyarrow.json

    kept = pa.schema(list(types.items())) if types else None
    return pyarrow.json.read_json(
        source,
        read_options=pyarrow.json.ReadOptions(block_size=JSON_BLOCK_BYTES),
        parse_options=pyarrow.json.ParseOptions(explicit_schema=kept),
    )


def mixed_columns(data: bytes, shown: str, needed: NeededColumns | None) -> pa.Table:
    """JSON Lines in which values of a column have several types; such a column becomes strings.

    It is left out if the query does not need it. Arrow does not read such files, so they are
    parsed here, which is slower.
    """
    rows: list[dict[str, Any]] = [json.loads(line) for line in data.splitlines() if line.strip()]
    names = list(dict.fromkeys(name for row in rows for name in row))
    wanted = set(names if needed is None else needed(names))
    columns: dict[str, pa.Array] = {}
    for name in names:
        if name not in wanted:
            continue
        values = [row.get(name) for row in rows]
        kinds = sorted({type(value).__name__ for value in values if value is not None})
        try:
            if len(kinds) > 1 and set(kinds) != {"float", "int"}:
                raise pa.ArrowInvalid("several types")
            columns[name] = from_list(values)
        except (pa.ArrowInvalid, pa.ArrowTypeError):
            what = list_words([_JSON_TYPES.get(kind, kind) for kind in kinds])
            warn(f"column {name!r} of {shown!r} has {what}; its values are read as strings")
            columns[name] = pa.array(map(_as_string, values), pa.string())
    return pa.table(columns)


_JSON_TYPES = {
    "bool": "booleans",
    "dict": "objects",
    "float": "floats",
    "int": "integers",
    "list": "lists",
    "str": "strings",
}


def _as_string(value: Any) -> str | None:
    return value if value is None or isinstance(value, str) else json.dumps(value)
