"""Reads the queries, parameters, events and schemas that the arguments of a command name."""

from __future__ import annotations

import atexit
import codecs
import glob
import json
import math
import re
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import typer

from cepheid import CompiledQuery, CompiledScript, RowPatternQuery
from cepheid.api import read_text
from cepheid.errors import DEFAULT_SOURCE, OptionError
from cepheid.schema import Schema
from cepheid.scripts import any_query

if TYPE_CHECKING:
    import pyarrow as pa

STDIN = "-"
Source = str | list[str] | dict[str, str]
"""A path, several paths, or a path for each event type."""
EVENT_SUFFIXES = (".parquet", ".pq", ".csv", ".tsv", ".jsonl", ".ndjson", ".json")
"""The suffixes that the table reader accepts, repeated here so that Arrow is not loaded."""

NO_VALUES: Mapping[str, Any] = MappingProxyType({})
_READ_BYTES = 1 << 20
_TABLE_OF_TYPE = re.compile(r"(?P<type>[^\W\d][\w-]*)=(?P<path>.+)", re.DOTALL)
_QUOTED = re.compile(r"'(.*)'|\"(.*)\"", re.DOTALL)


def split_query(
    first: str | None, rest: Sequence[str] | None, text: str | None
) -> tuple[str | None, list[str]]:
    """The file of the query, None if its text was given, and the events after it."""
    arguments = [*([first] if first is not None else []), *(rest or [])]
    if text is not None:
        return None, arguments
    if not arguments:
        raise typer.BadParameter(
            "no query: name a file, - for stdin, or give its text with -q", param_hint="QUERYFILE"
        )
    if arguments.count(STDIN) > 1:
        raise typer.BadParameter(
            "only one of them can be read from stdin; give the text of the query with -q",
            param_hint="QUERYFILE and EVENTS",
        )
    return arguments[0], arguments[1:]


def name_of(file: str | None) -> str:
    """The name of a query in messages."""
    return {None: DEFAULT_SOURCE, STDIN: "stdin"}.get(file) or str(file)


def read_any(
    file: str | None,
    text: str | None,
    parameters: Iterable[str] = (),
    group_by: Iterable[str] = (),
    limits: Iterable[str] = (),
) -> CompiledQuery | CompiledScript | RowPatternQuery:
    """The query from a file, stdin or its text, or the script; messages name it by its file."""
    return any_query(
        _text_of(file, text),
        parameters=dict(map(parameter, parameters)),
        group_by=read_groups(group_by),
        source=name_of(file),
        limits=dict(map(_limit, limits)),
    )


def _limit(setting: str) -> tuple[str, int]:
    name, number = split_setting(setting, "--query-limit")
    if not number.isdecimal():
        raise OptionError(f"--query-limit needs NAME=N, such as components=500, not {setting!r}")
    return name, int(number)


def _text_of(file: str | None, text: str | None) -> str:
    if text is not None:
        return text
    assert file is not None
    if _has_events(file):
        raise OptionError(f"{file!r} is a file of events, not of a query: name the query first")
    return text_of_file(file)


def text_of_file(file: str) -> str:
    """The text of a query file, or of stdin."""
    if file != STDIN:
        return read_text(file)
    try:
        return sys.stdin.read()
    except UnicodeDecodeError:
        raise OptionError("cannot read the query from stdin: it is not UTF-8 text") from None


def read_groups(settings: Iterable[str]) -> dict[str, list[str]]:
    """The attributes on which the events of lists agree, from ``VARIABLE=ATTRIBUTE`` settings.

    >>> read_groups(["b=x", "c=k", "b=y"])
    {'b': ['x', 'y'], 'c': ['k']}
    """
    groups: dict[str, list[str]] = {}
    for setting in settings:
        variable, _, attribute = setting.partition("=")
        if not variable or not attribute:
            raise OptionError(f"--group-by needs VARIABLE=ATTRIBUTE, such as b=x, not {setting!r}")
        groups.setdefault(variable, []).append(attribute)
    return groups


def split_setting(setting: str, option: str) -> tuple[str, str]:
    """The name and the value of ``NAME=VALUE``."""
    name, equals, value = setting.partition("=")
    if not (name and equals):
        raise typer.BadParameter(f"{setting!r} is not NAME=VALUE", param_hint=option)
    return name, value


def parameter(setting: str) -> tuple[str, int | float | bool | str]:
    """A parameter of a query from ``NAME=VALUE``; a value in quotes is always a string.

    >>> [parameter(f"T={text}")[1] for text in ("5", "-0.5", "true", "GOOG", "'5'")]
    [5, -0.5, True, 'GOOG', '5']
    """
    name, text = split_setting(setting, "--set")
    if quoted := _QUOTED.fullmatch(text):
        return name, quoted[1] or quoted[2] or ""
    if text.lower() in ("true", "false"):
        return name, text.lower() == "true"
    try:
        number = int(text) if re.fullmatch(r"[+-]?\d{1,18}", text) else float(text)
    except ValueError:
        return name, text
    return name, number if math.isfinite(number) else text


def _has_events(file: str) -> bool:
    return Path(file.removesuffix(".gz")).suffix.lower() in EVENT_SUFFIXES


def looks_like_events(argument: str) -> bool:
    """Whether an argument names events rather than a query.

    >>> looks_like_events("day.csv.gz"), looks_like_events("Exit=exit.pq")
    (True, True)
    >>> looks_like_events("theft.sase")
    False
    """
    return (
        _has_events(argument)
        or glob.has_magic(argument)
        or _TABLE_OF_TYPE.fullmatch(argument) is not None
        or Path(argument).is_dir()
    )


def events_source(arguments: Sequence[str]) -> Source:
    """The events as ``CompiledQuery.match`` takes them: a path, paths, or a path for each type."""
    if list(arguments) == [STDIN]:
        return stdin_as_file(iter(lambda: sys.stdin.buffer.read(_READ_BYTES), b""))
    named = [None if Path(each).exists() else _TABLE_OF_TYPE.fullmatch(each) for each in arguments]
    if not arguments:
        raise typer.BadParameter("no events: name a file", param_hint="EVENTS")
    if named == [None] * len(arguments):
        return arguments[0] if len(arguments) == 1 else list(arguments)
    tables: dict[str, str] = {}
    for argument, found in zip(arguments, named, strict=True):
        if found is None:
            raise typer.BadParameter(
                f"{argument!r} is not TYPE=PATH, and others are; name the type of each path, or "
                "of none",
                param_hint="EVENTS",
            )
        if found["type"] in tables:
            raise typer.BadParameter(
                f"the type {found['type']!r} has two tables; name a folder or a quoted glob: "
                f"{found['type']}='day/*.csv'",
                param_hint="EVENTS",
            )
        tables[found["type"]] = found["path"]
    return tables


def stdin_as_file(parts: Iterator[bytes]) -> str:
    """Copy what was read from stdin to a temporary file, deleted when the process exits."""
    folder = tempfile.TemporaryDirectory(prefix="cepheid-")
    atexit.register(folder.cleanup)
    start = next(parts, b"")
    first = start.removeprefix(codecs.BOM_UTF8).lstrip()[:1]
    path = Path(folder.name, "stdin.jsonl" if first in (b"{", b"[") else "stdin.csv")
    try:
        with path.open("wb") as file:
            file.write(start)
            file.writelines(parts)
    except OSError as error:
        raise OptionError(f"cannot copy stdin to {folder.name!r}: {error.strerror}") from None
    return str(path)


def split_columns(given: Sequence[str] | None) -> list[str]:
    """The columns of an option that may be repeated and may have several, with commas.

    >>> split_columns(["day,hour", "id"])
    ['day', 'hour', 'id']
    """
    return [column for each in given or () for column in each.split(",") if column]


def time_columns(given: str) -> str | tuple[str, str]:
    """The time column, or the columns of the earliest and the latest time.

    >>> time_columns("ts"), time_columns("lower,upper")
    ('ts', ('lower', 'upper'))
    """
    first, comma, second = given.partition(",")
    return (first, second) if comma else given


def declared_schema(given: str | None) -> dict[str, Any] | None:
    """The attributes of each type, from a JSON file or a JSON string."""
    if given is None:
        return None
    declared = read_json("schema", given)
    if not isinstance(declared, dict) or not all(
        isinstance(attributes, list | dict) for attributes in declared.values()
    ):
        raise OptionError(
            "the schema is not a JSON object with the attributes of each type, such as "
            '{"Shelf": ["tag_id", "zone"], "Exit": {"tag_id": "string"}}'
        )
    return declared


def read_json(what: str, given: str) -> Any:
    """The value of a JSON file, or of a string with a JSON object."""
    try:
        is_object = given.lstrip().startswith("{")
        return json.loads(given if is_object else Path(given).read_text("utf-8-sig"))
    except OSError as error:
        raise OptionError(f"cannot read the {what} {given!r}: {error.strerror}") from None
    except ValueError as error:
        raise OptionError(f"the {what} {given!r} cannot be parsed as JSON: {error}") from None


def find_schema(
    arguments: Sequence[str], declaration: str | None, reading: Mapping[str, Any] = NO_VALUES
) -> Schema | None:
    """The schema of the events, from their files, a declaration or both; None without either."""
    declared = declared_schema(declaration)
    columns = _schema_of_events(events_source(arguments), reading) if arguments else None
    if declared is None:
        return columns
    return Schema.declared(declared, columns=columns)


def _schema_of_events(source: Source, reading: Mapping[str, Any]) -> Schema:
    from cepheid.events.read_options import ReadOptions
    from cepheid.events.sources.tables import concat_tables, read_columns

    text = ReadOptions.of(reading).text_format()

    def arrow_schema(path: str | list[str]) -> pa.Schema:
        return read_columns(path, lambda _: (), text)[1]  # No column of a Parquet file is read.

    if not isinstance(source, dict):
        return Schema.from_arrow(arrow_schema(source))
    schemas = {name: arrow_schema(path) for name, path in source.items()}
    union = concat_tables({name: schema.empty_table() for name, schema in schemas.items()}).schema
    types = {name: frozenset(schema.names) for name, schema in schemas.items()}
    return replace(Schema.from_arrow(union), types=types)
