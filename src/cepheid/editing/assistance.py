"""What can be written at a place of a query text, and what the word there means."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from cepheid.aggregates import AGGREGATES, COUNT_DISTINCT
from cepheid.editing import descriptions as words
from cepheid.editing.known_events import KnownEvents
from cepheid.editing.scan import Scan, Variable
from cepheid.editing.spelling import OPENING
from cepheid.editing.tokens import Word
from cepheid.functions import function_names
from cepheid.language.units import NANOSECONDS_PER
from cepheid.schema import Kind

_NO_WORD = re.compile(r"[^\w`]")
_TERMINALS = {
    "_PATTERN": ("PATTERN", "EVENT"), "_FROM": ("FROM",), "_WHERE": ("WHERE",),
    "_WITHIN": ("WITHIN",), "_WITHOUT": ("WITHOUT",), "_RETURN": ("RETURN",),
    "_OUTPUT": ("OUTPUT",), "_WITH_CONFIDENCE": ("WITH CONFIDENCE",), "_AS": ("AS",),
    "_AT_MOST_ONCE_PER": ("AT MOST ONCE PER",), "WITH_TIMED_OUT": ("WITH TIMED OUT",),
    "OUTPUT_MODE": ("ALL", "FIRST", "LONGEST", "LEFTMOST", "NON_OVERLAPPING"),
    "EVENTS": ("EVENTS",), "PER": ("PER",), "PARTITION": ("PARTITION",), "SEQ": ("SEQ",),
    "ANY": ("ANY",), "AND": ("AND",), "OR": ("OR",), "NOT": ("NOT",), "IN": ("IN",),
    "BETWEEN": ("BETWEEN",), "LIKE": ("LIKE",), "IS": ("IS",), "NULL": ("NULL",),
    "TRUE": ("TRUE",), "FALSE": ("FALSE",), "CASE": ("CASE",), "WHEN": ("WHEN",),
    "THEN": ("THEN",), "ELSE": ("ELSE",), "END": ("END",), "DISTINCT": ("DISTINCT",),
    "_SELECT": ("SELECT",), "_MATCH_RECOGNIZE": ("MATCH_RECOGNIZE",),
    "_PARTITION_BY": ("PARTITION BY",), "_ORDER_BY": ("ORDER BY",), "_MEASURES": ("MEASURES",),
    "ONE_ROW": ("ONE ROW PER MATCH",), "ALL_ROWS": ("ALL ROWS PER MATCH",),
    "SHOW_EMPTY": ("SHOW EMPTY MATCHES",), "OMIT_EMPTY": ("OMIT EMPTY MATCHES",),
    "WITH_UNMATCHED": ("WITH UNMATCHED ROWS",), "_AFTER_MATCH_SKIP": ("AFTER MATCH SKIP",),
    "PAST_LAST_ROW": ("PAST LAST ROW",), "TO_NEXT_ROW": ("TO NEXT ROW",), "_TO": ("TO",),
    "FIRST": ("FIRST",), "LAST": ("LAST",), "_SUBSET": ("SUBSET",), "_DEFINE": ("DEFINE",),
    "PERMUTE": ("PERMUTE",), "ASC": ("ASC",), "DESC": ("DESC",), "_CASE": ("CASE",),
    "_WHEN": ("WHEN",), "_THEN": ("THEN",), "_ELSE": ("ELSE",), "_END": ("END",),
    "_INTERVAL": ("INTERVAL",), "SEMANTICS": ("RUNNING", "FINAL"),
}  # fmt: skip
_START = frozenset(("_PATTERN", "_FROM"))
# The grammar reads these words as keywords only if the next one is there.
_FOLLOWING = {
    "output": frozenset(("OUTPUT_MODE", "_AT_MOST_ONCE_PER", "WITH_TIMED_OUT")),
    "case": frozenset(("WHEN",)),
}
_LAST_WORD = re.compile(r"\b(output|case)\s+\Z", re.IGNORECASE)
_ROW_PATTERN = re.compile(r"\bpattern\s*\((?P<inside>[^;]*?)\)\s*(?:$|[a-z])", re.IGNORECASE)
_BEFORE_TYPE = {"LPAR", "COMMA", "_PATTERN", "TILDE", "BANG", "NOT"}
_CLOSING = frozenset(OPENING.values())
_VALUES = {"_WHERE", "_RETURN", "_MEASURES", "_DEFINE"}


@dataclass(frozen=True, slots=True)
class Completion:
    """A word that can be written from ``start`` to the cursor.

    ``kind`` is keyword, strategy, variable, column, type, function or unit.
    """

    label: str
    kind: str
    detail: str
    start: int

    @property
    def insert(self) -> str:
        """What is written: a function with its bracket, a name in backticks if it needs them."""
        if self.kind == "function":
            return f"{self.label}("
        if self.kind in ("column", "type") and not re.fullmatch(r"[^\W\d][\w-]*", self.label):
            return f"`{self.label}`"
        return self.label


@dataclass(frozen=True, slots=True)
class Hover:
    """What the word from ``start`` to ``end`` means, in Markdown."""

    text: str
    start: int
    end: int


def completions(text: str, offset: int, events: KnownEvents | None = None) -> list[Completion]:
    """The words that can be written at an offset, those that fit there first.

    >>> text = "PATTERN SEQ(A a, B b) WHERE skip"
    >>> [each.label for each in completions(text, len(text))]
    ['skip_till_any_match', 'skip_till_next_match']
    """
    before = text[:offset]
    after = _NO_WORD.search(before[::-1])  # The word ends here; from its end, it is found at once.
    start = 0 if after is None else len(before) - after.start()
    lead = Scan.of(text[:start], accepts=True)
    if Scan.of(before).is_comment(offset):
        return []
    typed = before[start:].strip("`").casefold()
    at = _Place(lead, text, start, events)
    unique: dict[str, Completion] = {}
    for each in at.words():
        if each.label.casefold().startswith(typed) and each.label != before[start:]:
            unique.setdefault(each.label, each)
    return list(unique.values())


class _Place:
    """A place in a text: what was read before it, and what is known about events."""

    def __init__(self, lead: Scan, text: str, start: int, events: KnownEvents | None) -> None:
        self._lead = lead
        self._start = start
        self._events = events
        self._words = lead.query_words(start)
        # The whole text knows variables that are declared after the place.
        self._variables = Scan.of(text).variables_at(start) or lead.variables_at(start)
        pattern = _ROW_PATTERN.search(text) if lead.is_rows and not self._variables else None
        if pattern is not None:
            names = re.findall(r"[^\W\d]\w*", pattern["inside"])
            self._variables = {name: Variable(name, (), False) for name in names}
        self._accepts = lead.accepts
        last = _LAST_WORD.search(lead.text)
        if last is not None and not lead.is_rows:
            self._accepts = _FOLLOWING[last[1].lower()]
        elif not lead.words and not lead.is_rows:
            self._accepts = _START

    def words(self) -> Iterator[Completion]:
        """All words that fit, in the order in which they are offered."""
        qualified = self._qualified()
        if qualified is not None:
            yield from self._attributes(qualified)
            return
        clause = self._lead.clause_at(self._start)
        accepts = self._accepts
        names = "NAME" in accepts or not accepts
        if names and clause in ("_PATTERN", "_FROM"):
            yield from self._pattern_names()
        elif names and clause in _VALUES:
            yield from self._values()
        elif names and self._lead.is_rows and clause:
            yield from self._columns(None)
        if "STRATEGY" in accepts:
            yield from (
                self._word(name, "strategy", text) for name, text in words.STRATEGIES.items()
            )
        yield from self._keywords(accepts)
        if "UNIT" in accepts:
            yield from (self._word(unit, "unit", "") for unit in NANOSECONDS_PER)

    def _word(self, label: str, kind: str, detail: str) -> Completion:
        return Completion(label, kind, detail, self._start)

    def _keywords(self, accepts: frozenset[str]) -> Iterator[Completion]:
        known = words.ROW_WORDS if self._lead.is_rows else words.SASE_WORDS
        for terminal, labels in _TERMINALS.items():
            for label in labels if terminal in accepts else ():
                if label == "EVENT" and self._lead.is_rows:
                    continue
                detail = known.get(label) or words.SASE_WORDS.get(label, "")
                yield self._word(label, "keyword", detail)

    def _qualified(self) -> Variable | None:
        """The variable before the dot at this place; None if there is no dot."""
        if not self._words or self._words[-1].terminal not in ("DOT", "FIELD_DOT"):
            return None
        depth = 0
        for word in reversed(self._words[:-1]):
            depth += (word.terminal == "RSQB") - (word.terminal == "LSQB")
            if not depth and word.terminal == "NAME":
                unknown = Variable(word.text, (), False)
                return self._variables.get(word.text.strip("`"), unknown)
        return None

    def _attributes(self, variable: Variable) -> Iterator[Completion]:
        """What can follow the dot after a variable: LEN of a list, else the columns of an event."""
        is_whole_list = variable.is_list and self._words[-2].terminal == "NAME"
        if not is_whole_list:
            yield from self._columns(variable)
        if not self._lead.is_rows:
            pseudo = ("LEN",) if is_whole_list else ("INDEX", "PARTITION_INDEX")
            yield from (self._word(each, "column", words.PSEUDO[each]) for each in pseudo)

    def _columns(self, variable: Variable | None) -> Iterator[Completion]:
        if self._events is None:
            return
        schema = self._events.schema
        for name, kind in schema.attributes.items():
            types = variable.types if variable is not None else ()
            if not types or any(schema.has_attribute(each, name) for each in types):
                yield self._word(name, "column", kind.value)

    def _open_bracket(self) -> int | None:
        """The number of the last bracket that is open here."""
        depth = 0
        for number in range(len(self._words) - 1, -1, -1):
            terminal = self._words[number].terminal
            depth += (terminal in _CLOSING) - (terminal in OPENING)
            if depth < 0:
                return number
        return None

    def _pattern_names(self) -> Iterator[Completion]:
        """Types, where one can be; a variable is a new name."""
        last = self._words[-1].terminal if self._words else ""
        is_type = last in _BEFORE_TYPE
        if self._lead.is_rows or not is_type or self._events is None:
            return
        for name, count in self._events.types.items():
            yield self._word(name, "type", f"{count:,} events")

    def _values(self) -> Iterator[Completion]:
        bracket = self._open_bracket()
        if bracket is not None and self._words[bracket].terminal == "LSQB":
            is_index = bracket > 0 and self._words[bracket - 1].terminal == "NAME"
            yield from () if is_index else self._columns(None)
            return
        for variable in self._variables.values():
            yield self._word(variable.name, "variable", _of_variable(variable))
        is_bare = len(self._variables) == 1 and not next(iter(self._variables.values())).is_list
        if self._lead.is_rows or is_bare:
            yield from self._columns(None)
        if self._lead.is_rows:
            for name, text in words.ROW_FUNCTIONS.items():
                yield self._word(name, "function", text)
        names = {*function_names(), *AGGREGATES} - {COUNT_DISTINCT}
        for name in sorted(names):
            yield self._word(name, "function", words.describe_function(name) or "")


def _of_variable(variable: Variable) -> str:
    types = " or ".join(variable.types)
    if not types:
        return "a variable of the pattern"
    return f"a list of {types} events" if variable.is_list else f"one {types} event"


def hover(text: str, offset: int, events: KnownEvents | None = None) -> Hover | None:
    """What the word at an offset means; None if there is nothing to say.

    >>> hover("PATTERN SEQ(A a, B+ b[])", 20).text
    '`b`: a list of B events'
    """
    scan = Scan.of(text)
    found = scan.word_at(offset)
    if found is None:
        return None
    number, word = found
    said = _meaning(scan, number, word, events)
    return None if said is None else Hover(said, word.start, word.end)


def _meaning(scan: Scan, number: int, word: Word, events: KnownEvents | None) -> str | None:
    if word.terminal == "STRATEGY":
        name = re.sub(r"[\s_-]+", "_", word.text).lower()
        return f"**{name}**: {words.STRATEGIES[name]}"
    if word.terminal == "NAME":
        return _name_meaning(scan, number, word, events)
    shown = re.sub(r"\s+", " ", word.text).upper()
    own = words.ROW_WORDS if scan.is_rows else {}
    said = own.get(shown) or words.SASE_WORDS.get(shown)
    return f"**{shown}**: {said}" if said else None


def _name_meaning(scan: Scan, number: int, word: Word, events: KnownEvents | None) -> str | None:
    name = word.text.strip("`")
    earlier = scan.words[number - 1].terminal if number else ""
    later = scan.words[number + 1].terminal if number + 1 < len(scan.words) else ""
    variables = scan.variables_at(word.start)
    clause = scan.clause_at(word.start)
    if earlier in ("DOT", "FIELD_DOT"):
        return _column_meaning(name, events) or (
            f"`{name}`: {words.PSEUDO[name.upper()]}" if name.upper() in words.PSEUDO else None
        )
    if later == "LPAR":
        row_function = words.ROW_FUNCTIONS.get(name.upper()) if scan.is_rows else None
        return row_function or words.describe_function(name)
    if clause == "_PATTERN" and earlier in _BEFORE_TYPE and not scan.is_rows:
        return _type_meaning(name, events)
    if name in variables:
        return f"`{name}`: {_of_variable(variables[name])}"
    return _column_meaning(name, events)


def _type_meaning(name: str, events: KnownEvents | None) -> str:
    if events is None or not events.types:
        return f"`{name}`: a type of events"
    count = events.types.get(name, 0)
    where = "" if events.is_whole else "the first "
    return f"`{name}`: {count:,} of {where}{events.table.num_rows:,} events in {events.name}"


def _column_meaning(name: str, events: KnownEvents | None) -> str | None:
    if events is None or name not in events.schema.attributes:
        return None
    kind = events.schema.kind(name)
    shown = "" if kind is Kind.OTHER else kind.value
    return f"`{name}`: {shown or 'a column'} ({events.table.schema.field(name).type})"
