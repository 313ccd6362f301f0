"""Which events and columns the names of Sigma rules mean."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sigma.exceptions import SigmaError
from sigma.rule import SigmaDetection, SigmaLogSource

from cepheid.errors import OptionError, Refused, did_you_mean, list_words
from cepheid.files.yaml_text import read_documents
from cepheid.language.printer import print_attribute
from cepheid.schema import Kind
from cepheid.visible import said

_KINDS = {each.name.lower(): each for each in (Kind.STRING, Kind.INTEGER, Kind.FLOAT, Kind.BOOLEAN)}
_PART = re.compile(r"`([^`]+)`|([^.`]+)")


@dataclass(frozen=True, slots=True)
class Column:
    """A column, or a field of a struct, as a query writes it after the variable and a dot.

    ``kind`` is the data type of the column. If it is None, the values in rules decide it.
    """

    name: str
    kind: Kind | None = None

    @classmethod
    def of(cls, path: str, kind: Kind | None = None) -> Column:
        """The column with this name; dots are for fields of structs, unless in backticks.

        >>> Column.of("process.command line").name, Column.of("`process.pid`").name
        ('process.`command line`', '`process.pid`')
        """
        parts = list(_PART.finditer(path))
        if not parts or ".".join(each[0] for each in parts) != path:
            raise OptionError(f"{path!r} is not the name of a column")
        return cls(".".join(print_attribute(each[1] or each[2]) for each in parts), kind)

    @property
    def is_plain(self) -> bool:
        """Whether it is a column of its own, and not a field of a struct."""
        return len(_PART.findall(self.name)) == 1


@dataclass(frozen=True, slots=True)
class LogSource:
    """The events of a log source: their types, and what else is true of them."""

    given: SigmaLogSource
    types: tuple[str, ...]
    where: SigmaDetection | None = None


@dataclass(frozen=True, slots=True)
class LogMapping:
    """What the names in Sigma rules mean in the events.

    ``fields`` maps a field of Sigma to a column, or to None if no event has it; other fields are
    columns of the same name. ``logsources`` are tried in order. A log source that is not among them
    is the type that is called like its product, category and service, joined by dashes. Keywords
    without a field are looked for in the columns ``keywords``. ``time`` and ``type`` are the
    columns of the events, as for ``match``.

    >>> mapping = LogMapping.of({"fields": {"Image": "process.path"}})
    >>> mapping.column("Image").name, mapping.column("User").name
    ('process.path', 'User')
    """

    fields: Mapping[str, Column | None] = field(default_factory=dict)
    logsources: tuple[LogSource, ...] = ()
    keywords: tuple[Column, ...] = ()
    time: Column = Column("ts")
    type: Column = Column("type")

    @classmethod
    def of(cls, given: LogMapping | Mapping[str, Any] | str | Path | None) -> LogMapping:
        """The mapping with these entries, or of a YAML file with them.

        Raises:
            OptionError: an entry is unknown or has the wrong type, or the file cannot be read.
        """
        if isinstance(given, LogMapping):
            return given
        if isinstance(given, str | Path):
            given = next(iter(read_documents(Path(given))), None)
        given = _mapping("a mapping of Sigma rules", {} if given is None else given, _ENTRIES)
        return cls(
            {
                str(name): None if each is None else _column(f"the field {name!r}", each)
                for name, each in _mapping("fields", given.get("fields") or {}).items()
            },
            tuple(map(_logsource, _list("logsources", given.get("logsources")))),
            tuple(_column("keywords", each) for each in _list("keywords", given.get("keywords"))),
            _column("time", given.get("time", "ts")),
            _column("type", given.get("type", "type")),
        )

    def column(self, name: str) -> Column | None:
        """The column of a field of Sigma; None if no event has it."""
        if name in self.fields:
            return self.fields[name]
        try:
            return Column.of(name)
        except OptionError:
            raise Refused(f"the field {name!r} cannot be the name of a column: map it") from None

    def key(self, name: str) -> Column:
        """The column of a field by which a correlation groups or counts."""
        column = self.column(name)
        if column is None:
            raise Refused(f"no event has the field {name!r}, by which it groups or counts")
        return column

    def source(self, given: SigmaLogSource) -> LogSource:
        """The events of a log source."""
        parts = {name: getattr(given, name) or "" for name in _LOG_SOURCE}
        for each in self.logsources:
            wanted = ((name, getattr(each.given, name)) for name in _LOG_SOURCE)
            if all(parts[name].lower() == value.lower() for name, value in wanted if value):
                return each
        return LogSource(given, ("-".join(filter(None, parts.values())),))


_LOG_SOURCE = ("product", "category", "service")
_ENTRIES = ("fields", "logsources", "keywords", "time", "type")


def _mapping(what: str, given: object, known: Sequence[str] = ()) -> Mapping[str, Any]:
    if not isinstance(given, Mapping):
        raise OptionError(f"{what} maps names to values, not {said(given)}")
    for name in given:
        if known and name not in known:
            raise OptionError(
                f"{what} has no entry {said(name)}; there are {list_words(known)}"
                + did_you_mean(str(name), known)
            )
    return given


def _list(what: str, given: object) -> list[Any]:
    if not isinstance(given, list | tuple | None):
        raise OptionError(f"{what} is a list, not {said(given)}")
    return list(given or ())


def _column(what: str, given: object) -> Column:
    kind = None
    if isinstance(given, Mapping):
        entry = _mapping(what, given, ("column", "type"))
        given, named = entry.get("column"), entry.get("type")
        if named not in (None, *_KINDS):
            raise OptionError(
                f"the type of {what} is {list_words(list(_KINDS), 'or')}, not {said(named)}"
            )
        kind = _KINDS.get(str(named))
    if not isinstance(given, str):
        raise OptionError(f"{what} is the name of a column, not {said(given)}")
    return Column.of(given, kind)


def _logsource(given: object) -> LogSource:
    entry = _mapping("an entry of logsources", given, (*_LOG_SOURCE, "type", "where"))
    types = entry.get("type")
    types = [types] if isinstance(types, str) else _list("the type of a log source", types)
    if not types or not all(isinstance(each, str) for each in types):
        raise OptionError(
            f"an entry of logsources has a type, or a list of types: {said(dict(entry))}"
        )
    try:
        source = SigmaLogSource(**{name: entry.get(name) for name in _LOG_SOURCE})
        where = entry.get("where")
        detection = None if where is None else SigmaDetection.from_definition(where)
    except SigmaError as error:
        raise OptionError(f"an entry of logsources is wrong: {error}") from None
    return LogSource(source, tuple(types), detection)
