"""Every exception that cepheid raises, and how a fault in a query is shown.

A fault is a value: what is wrong, where it is in the query text, and what was expected. The error
message is built from these fields, so that programs can inspect them and people can read them::

    theft.sase:3:9: Shelf has no attribute 'tagid'
      3 | WHERE a.tagid = c.tag_id
        |         ^^^^^
    Shelf has tag_id, ts, zone. Did you mean 'tag_id'?
"""

from __future__ import annotations

import difflib
import sys
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from cepheid.visible import message_text, shortened, visible, visible_lines

DEFAULT_SOURCE = "query"

_MOST_AROUND = 400
"""The number of characters that are shown before and after a fault in a long line; a longer word is
no misspelt name."""


@dataclass(frozen=True, slots=True)
class Span:
    """Half-open range of character offsets in the text of a query."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault in a query: what is wrong, where, and what was expected."""

    message: str
    span: Span | None = None
    found: str | None = None
    expected: tuple[str, ...] = ()
    candidates: tuple[str, ...] = ()
    hint: str | None = None

    def advice(self) -> str:
        """The sentences below the caret: what was expected, what to do, did-you-mean."""
        sentences = []
        if self.expected:
            sentences.append(f"Expected {list_words(self.expected, 'or')}.")
        if self.hint:
            sentences.append(self.hint)
        if self.candidates:
            quoted = [f"'{candidate}'" for candidate in self.candidates]
            sentences.append(f"Did you mean {list_words(quoted, 'or')}?")
        return " ".join(sentences)


class CepheidError(Exception):
    """The base class of all exceptions of cepheid; its text has no control characters."""

    def __str__(self) -> str:
        return message_text(super().__str__())


class QueryError(CepheidError):
    """A query that cannot be run: its faults in the order of the query text."""

    def __init__(
        self, faults: Sequence[Fault], text: str | None = None, source: str = DEFAULT_SOURCE
    ) -> None:
        # A query built in Python has no places, so the same fault may come twice.
        unique = dict.fromkeys(faults)
        self.faults = tuple(sorted(unique, key=lambda each: each.span.start if each.span else 0))
        self.text = text
        self.source = source
        super().__init__("\n\n".join(render(fault, text, source) for fault in self.faults))


class QuerySyntaxError(QueryError):
    """The query text does not parse."""


class QuerySemanticError(QueryError):
    """The query parses, but it is not valid, or it is not valid for these events."""


@dataclass(frozen=True, slots=True)
class RuleFault:
    """Why a rule does not run: its name, and the message. ``error`` is what was raised."""

    rule: str
    message: str
    error: CepheidError | None = field(default=None, compare=False, repr=False)

    @classmethod
    def of(cls, rule: str, error: CepheidError) -> RuleFault:
        """The fault of a rule that raised an error."""
        return cls(rule, str(error), error)

    def __str__(self) -> str:
        lines = self.message.splitlines() or [""]
        return "\n".join([f"rule {visible(self.rule)}:", *(f"  {line}" for line in lines)])


class RuleSetError(CepheidError):
    """Rules that cannot run: all ``faults`` of all of them."""

    def __init__(self, faults: Sequence[RuleFault]) -> None:
        self.faults = tuple(faults)
        super().__init__(fault_report(faults))


class EventError(CepheidError):
    """The events cannot be used: a column is missing, null, or of the wrong type."""


class OptionError(CepheidError, ValueError):
    """An option, or a combination of options, has a value that cannot be used."""


class EvaluationError(CepheidError):
    """The requested evaluation cannot run the query; the message says why."""


class Refused(CepheidError):
    """A Sigma rule that has no query; the message says why."""


class SnapshotError(CepheidError):
    """The state of a session cannot be restored."""


class SessionError(CepheidError):
    """A session cannot be used: a call of it runs, was interrupted or exceeded a limit."""


class LimitError(CepheidError):
    """A limit was exceeded, such as ``max_matches``."""


STREAM_HAS_ENDED = (
    "the stream has ended: advance() without a time ends it; start a new session, or give "
    "advance() the time that has been reached"
)


def unfed(then: str, of: str = "events") -> EventError:
    """The error for a session that knows no columns yet, because no batch has been fed.

    >>> print(unfed("advances"))
    a session must be fed, if only with no events, before it advances
    """
    return EventError(f"a session must be fed, if only with no {of}, before it {then}")


class CepheidWarning(UserWarning):
    """Something that is allowed but probably a mistake."""


def render(fault: Fault, text: str | None, source: str = DEFAULT_SOURCE) -> str:
    """The fault as a message: location and message, the line with a caret, and advice."""
    advice = fault.advice()
    if text is None or fault.span is None:
        return f"{fault.message}\n{advice}" if advice else fault.message
    line_number, column = line_and_column(text, fault.span.start)
    line = text.splitlines()[line_number - 1] if text.splitlines() else ""
    line_end = fault.span.start - (column - 1) + len(line)
    width = max(1, min(fault.span.end, line_end) - fault.span.start)
    parts = line[: column - 1], line[column - 1 : column - 1 + width], line[column - 1 + width :]
    before, marked, after = map(visible_lines, _around(*parts))
    gutter = str(line_number)
    # Tabs are kept before the caret, so that it is below the right character.
    lead = "".join("\t" if char == "\t" else " " for char in before)
    shown = [
        f"{source}:{line_number}:{column}: {fault.message}",
        f"  {gutter} | {before}{marked}{after}",
        f"  {' ' * len(gutter)} | {lead}{'^' * max(1, len(marked))}",
    ]
    if advice:
        shown.append(advice)
    return "\n".join(shown)


def fault_report(faults: Sequence[RuleFault]) -> str:
    """All faults of all rules, as one text.

    >>> print(fault_report([RuleFault("theft", "it has no query")]))
    1 rule cannot run
    rule theft:
      it has no query
    """
    count = len({fault.rule for fault in faults})
    heading = f"{count} rule{'' if count == 1 else 's'} cannot run"
    return "\n".join([heading, *map(str, faults)])


def _around(before: str, marked: str, after: str) -> tuple[str, str, str]:
    """The parts of a line, without what is far from the marked one."""
    most = _MOST_AROUND
    return (
        before if len(before) <= most else f"…{before[-most:]}",
        shortened(marked, most),
        after if len(after) <= most else f"{after[:most]}…",
    )


def line_and_column(text: str, offset: int) -> tuple[int, int]:
    """The one-based line and column of a character offset.

    >>> line_and_column("PATTERN\\nSEQ", 9)
    (2, 2)
    """
    offset = min(offset, len(text))
    lines = text[:offset].splitlines(keepends=True)
    if not lines:
        return 1, 1
    if lines[-1].endswith(("\n", "\r")) and offset < len(text):
        return len(lines) + 1, 1
    return len(lines), len(lines[-1].rstrip("\r\n")) + 1


def closest(word: object, known: Iterable[str]) -> tuple[str, ...]:
    """The known word that was probably meant: one, or none.

    >>> closest("tagid", ["tag_id", "ts", "zone"])
    ('tag_id',)
    >>> closest("PATERN", ["PATTERN", "WHERE"])
    ('PATTERN',)
    >>> closest("volume", ["price"])
    ()
    """
    if not isinstance(word, str) or len(word) > _MOST_AROUND:
        return ()
    by_folded = {other.casefold(): other for other in known if other != word}
    near = difflib.get_close_matches(word.casefold(), by_folded, n=1, cutoff=0.7)
    return tuple(by_folded[name] for name in near)


def warn(message: str, category: type[Warning] = CepheidWarning) -> None:
    """Warn the user of the library: the warning points to the first line outside the package."""
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and _is_ours(frame.f_globals.get("__name__")):
        level, frame = level + 1, frame.f_back
    warnings.warn(message_text(message), category, stacklevel=level)


def _is_ours(module: object) -> bool:
    return isinstance(module, str) and module.partition(".")[0] == "cepheid"


def plural(count: int, noun: str, nouns: str | None = None) -> str:
    """A number with its noun.

    >>> plural(1, "match", "matches"), plural(1200, "event")
    ('1 match', '1,200 events')
    """
    return f"{count:,} {noun if count == 1 else nouns or noun + 's'}"


def list_words(words: Sequence[str], conjunction: str = "and") -> str:
    """Words as a list in a sentence.

    >>> list_words(["a", "b", "c"])
    'a, b and c'
    >>> list_words(["a"], "or")
    'a'
    """
    if len(words) < 2:
        return "".join(words)
    return f"{', '.join(words[:-1])} {conjunction} {words[-1]}"


def did_you_mean(word: object, known: Iterable[str]) -> str:
    """The end of a message about an unknown word: the known one that was probably meant, if any.

    >>> did_you_mean("al", ["all", "non_overlapping"]), did_you_mean("volume", ["price"])
    (". Did you mean 'all'?", '')
    """
    near = closest(word, known)
    return f". Did you mean {near[0]!r}?" if near else ""


def no_such_query(name: str, known: Sequence[str]) -> str:
    """A message that a script has no query with this name."""
    advice = did_you_mean(name, known)
    return f"the script has no query {name!r}; it has {list_words(known)}{advice}"


def unknown_name(what: str, given: object, known: Sequence[str]) -> str:
    """A message that a name is unknown, with the known names and the probable one.

    >>> unknown_name("output mode", "al", ["all", "non_overlapping"])
    "there is no output mode 'al'; there are all and non_overlapping. Did you mean 'all'?"
    """
    advice = did_you_mean(given, known) if isinstance(given, str) else ""
    return f"there is no {what} {given!r}; there are {list_words(known)}{advice}"
