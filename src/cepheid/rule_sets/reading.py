"""Rules from mappings, folders and tables.

A file has one rule: its fields, and then the query. The fields are in TOML between two lines
``+++``, or in YAML between two lines ``---``::

    +++
    severity = "high"
    tags = ["retail"]
    parameters = { T = 5 }
    +++
    PATTERN SEQ(Shelf a, ~(Register b), Exit c)
    WHERE [tag_id] WITHIN 12 hours

This module loads neither NumPy nor Arrow, so that ``import cepheid`` does not.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from cepheid.api import CompiledQuery, read_text
from cepheid.errors import CepheidError, OptionError, RuleFault
from cepheid.events.sources.spark_frames import are_spark_frames
from cepheid.files import toml_text
from cepheid.language.builder import PatternBuilder
from cepheid.language.printer import print_query
from cepheid.row_patterns.query import RowPatternQuery
from cepheid.rule_sets.rule import FIELDS, Rule

SUFFIXES = (".sase", ".sql")
"""The suffixes of files with a rule."""


def read_rules(source: object) -> Iterator[Rule | RuleFault]:
    """The rules of a source, and what is wrong with those that cannot be read."""
    if isinstance(source, str | Path):
        path = Path(source)
        if os.path.isdir(path):  # also False for a name that is too long
            yield from _of_folder(path)
        elif path.suffix in SUFFIXES:
            yield _or_fault(path, path.stem)
        elif not os.path.exists(path):
            raise OptionError(f"cannot read the rules {str(source)!r}: there is no such folder")
        else:
            yield from _of_table(source)
    elif isinstance(source, Mapping) and not any(
        isinstance(value, list | tuple) for value in source.values()
    ):
        for name, value in source.items():
            yield rule_of(name, value)
    else:
        yield from _of_table(_collected(source) if are_spark_frames(source) else source)


def _collected(frame: Any) -> Any:
    """The rows of a Spark DataFrame, which are few.

    Raises:
        OptionError: it is streaming.
    """
    if frame.isStreaming:
        raise OptionError(
            "a streaming DataFrame is not a set of rules; give the rules with which the stream "
            "begins, and their changes to rules.match(events, changes=…)"
        )
    return frame.toArrow()


def rule_of(name: object, value: object) -> Rule | RuleFault:
    """A rule from its query or its fields."""
    if isinstance(value, Rule):
        value = value.to_dict()
        value.pop("source", None)
    elif isinstance(value, PatternBuilder):
        value = print_query(value.build())
    elif isinstance(value, CompiledQuery | RowPatternQuery):
        value = str(value)
    if isinstance(value, str):
        value = {"query": value}
    try:
        if not isinstance(value, Mapping):
            raise OptionError(
                f"a rule is a query or a mapping of its fields, not {type(value).__name__}"
            )
        return Rule.of_fields(name, value)  # type: ignore[arg-type]
    except CepheidError as error:
        return RuleFault.of(str(name), error)


def _of_folder(folder: Path) -> Iterator[Rule | RuleFault]:
    """The rules of all files below a folder, in the order of their paths."""
    for path in sorted(folder.rglob("*")):
        if path.suffix in SUFFIXES and path.is_file():
            yield _or_fault(path, path.relative_to(folder).with_suffix("").as_posix())


def read_rule_file(path: Path, name: str | None = None) -> Rule:
    """The rule of a file; its name is in the file, or given, or that of the file.

    Raises:
        CepheidError: the file cannot be read, or has no rule.
    """
    given, query = split_front_matter(read_text(path))
    name = given.pop("name", name or path.stem)
    return Rule.of_fields(name, {"query": query, **given}, path.name)


def _or_fault(path: Path, name: str) -> Rule | RuleFault:
    try:
        return read_rule_file(path, name)
    except CepheidError as error:
        return RuleFault(name, f"{path.name}: {error}", error)


def split_front_matter(text: str) -> tuple[dict[str, Any], str]:
    """The fields before a query, and the query on the lines on which it is in the file.

    >>> split_front_matter('+++\\nseverity = "low"\\n+++\\nPATTERN A a')
    ({'severity': 'low'}, '\\n\\n\\nPATTERN A a')
    """
    lines = text.split("\n")
    count = front_matter_lines(text)
    if not count:
        return {}, text
    fence = lines[0].strip()
    given = _READERS[fence]("\n".join(lines[1 : count - 1]))
    if "query" in given:
        raise OptionError(f"the query is the text after the second line {fence}, not a field")
    return given, "\n" * count + "\n".join(lines[count:])


def front_matter_lines(text: str) -> int:
    """The number of lines with fields before a query, with the lines around them.

    >>> front_matter_lines('+++\\nseverity = "low"\\n+++\\nEVENT A'), front_matter_lines("EVENT A")
    (3, 0)
    """
    lines = text.split("\n")
    fence = lines[0].strip()
    if fence not in _READERS:
        return 0
    end = next((ix for ix, line in enumerate(lines) if ix and line.strip() == fence), None)
    if end is None:
        raise OptionError(f"the fields of a rule end with a line {fence}, and there is none")
    return end + 1


def rule_text(rule: Rule) -> str:
    """The text of a file with a rule: its fields, and then its query.

    >>> print(rule_text(Rule("theft", "PATTERN Exit c", severity="high", tags=("retail",))))
    +++
    name = "theft"
    severity = "high"
    tags = ["retail"]
    +++
    PATTERN Exit c
    """
    given = rule.to_dict()
    query = given.pop("query")
    lines = [f"{name} = {toml(value)}" for name, value in given.items() if name != "source"]
    return "\n".join(["+++", *lines, "+++", query, ""])


def toml(value: Any) -> str:
    """A value in TOML, on one line.

    >>> toml({"a": [1, "x"], "b c": True})
    '{ a = [1, "x"], "b c" = true }'
    """
    if isinstance(value, Mapping):
        items = [f"{_key(name)} = {toml(each)}" for name, each in value.items()]
        return f"{{ {', '.join(items)} }}" if items else "{}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(toml, value))}]"
    # TOML has no pairs of surrogates, and DEL has to be an escape; otherwise JSON's strings fit.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _key(name: str) -> str:
    is_bare = name.isascii() and name.replace("_", "").replace("-", "").isalnum()
    return name if is_bare else toml(name)


def _toml(text: str) -> dict[str, Any]:
    return toml_text.load(text, "the fields between the lines +++ are")


def _yaml(text: str) -> dict[str, Any]:
    from cepheid.files import yaml_text

    given = yaml_text.load(text, "the fields between the lines --- are")
    if not isinstance(given, dict | None):
        raise OptionError(
            "the fields between the lines --- are a mapping, such as 'severity: high'"
        )
    return given or {}


_READERS = {"+++": _toml, "---": _yaml}


def _of_table(source: object) -> Iterator[Rule | RuleFault]:
    """The rules of a table with a column for each field."""
    from cepheid.events.sources.tables import read_source
    from cepheid.matches.shapes.flat import dicts

    table = read_source(source)
    for name in ("name", "query"):
        if name not in table.column_names:
            raise OptionError(
                f"a table of rules has no column {name!r}; it needs the columns name and query, "
                "and may have "
                + ", ".join(each for each in FIELDS if each not in ("name", "query"))
            )
    for number, row in enumerate(dicts(table)):
        name = row.pop("name")
        yield rule_of(f"row {number}" if name is None else name, _plain(row))


def _plain(row: dict[str, Any]) -> dict[str, Any]:
    """The fields of a row: tags may be separated by commas, and parameters may be JSON."""
    tags, parameters = row.get("tags"), row.get("parameters")
    if isinstance(tags, str):
        row["tags"] = [each.strip() for each in tags.split(",") if each.strip()]
    if isinstance(parameters, str):
        with suppress(ValueError):  # It is then reported as a wrong type.
            row["parameters"] = json.loads(parameters) if parameters.strip() else {}
    elif isinstance(parameters, list):  # a map in Arrow
        row["parameters"] = dict(parameters)
    elif isinstance(parameters, dict):  # a struct has the parameters of all rules
        row["parameters"] = {key: each for key, each in parameters.items() if each is not None}
    return row
