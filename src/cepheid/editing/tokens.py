"""The tokens of a query text, with its comments.

Tokens come from the parser, because a word is a keyword only where the grammar allows that keyword.
Comments are what the grammar skips between two tokens.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from cepheid.row_patterns.sql.tokens import CLAUSE, DUCKDB, Mark
from cepheid.rule_sets.reading import front_matter_lines

if TYPE_CHECKING:
    from lark import Lark

COMMENT = re.compile(r"/\*[\s\S]*?\*/|--[^\r\n]*")


@dataclass(frozen=True, slots=True)
class Comment:
    """A comment: its text, whether only white space is before it in its line, and blank lines."""

    text: str
    is_own_line: bool
    blank_before: bool = False
    blank_after: bool = False

    @property
    def ends_line(self) -> bool:
        """Whether nothing can follow it in its line."""
        return self.text.startswith("--") or "\n" in self.text


@dataclass(slots=True)
class Word:
    """A token: its terminal in the grammar, its text, its place, and the comments around it.

    ``before`` are comments in lines above it, ``after`` those that follow it in its line.
    """

    terminal: str
    text: str
    start: int
    end: int
    before: list[Comment] = field(default_factory=list)
    after: list[Comment] = field(default_factory=list)


END = "$END"
"""The terminal of the last word, which has the comments at the end of the text."""


def words(text: str, grammar: Lark) -> list[Word]:
    """The tokens of a text, the last one empty.

    >>> from cepheid.language.parser import query_grammar
    >>> [word.text for word in words("EVENT A -- all of them", query_grammar())]
    ['EVENT', 'A', '']

    Raises:
        UnexpectedInput: the text does not parse.
    """
    state = grammar.parse_interactive(text)
    found = [
        Word(each.type, str(each), each.start_pos or 0, each.end_pos or 0)
        for each in state.iter_parse()
    ]
    found.append(Word(END, "", len(text), len(text)))
    previous = None
    for word in found:
        start = previous.end if previous else 0
        for comment in _comments(text, start, word.start):
            if previous is None or comment.is_own_line:
                word.before.append(comment)
            else:
                previous.after.append(comment)
        previous = word
    return found


def _comments(text: str, start: int, end: int) -> Iterator[Comment]:
    place = start
    is_own_line = not text[:start].strip()
    for found in COMMENT.finditer(text, start, end):
        lines = text[place : found.start()].count("\n")
        follows = COMMENT.search(text, found.end(), end)
        rest = text[found.end() : follows.start() if follows else end]
        is_own_line = is_own_line or lines > 0
        # One line break ends the line before; two leave a line blank.
        yield Comment(found[0], is_own_line, lines > 1, rest.count("\n") > 1)
        place = found.end()


def clause_places(text: str) -> list[tuple[int, int]]:
    """Where the ``MATCH_RECOGNIZE ( … )`` clauses of a SQL text are.

    >>> text = "SELECT n FROM t MATCH_RECOGNIZE (PATTERN (A)) WHERE n > ')'"
    >>> [text[start:end] for start, end in clause_places(text)]
    ['MATCH_RECOGNIZE (PATTERN (A))']
    """
    places, place = [], 0
    while place < len(text):
        token = next(DUCKDB.tokens(text, place))
        place = token.end
        if token.is_word("MATCH_RECOGNIZE"):
            depth = 0
            for each in CLAUSE.tokens(text, place):
                if not depth and each.mark is not Mark.SPACE and not each.is_sign("("):
                    break
                place = each.end
                depth += each.is_sign("(") - each.is_sign(")")
                if not depth and each.is_sign(")"):
                    places.append((token.start, place))
                    break
    return places


def blanked(text: str) -> str:
    """Blanks in the place of a text, in the same lines."""
    return re.sub(r"[^\n]", " ", text)


def split_fields(text: str) -> tuple[str, str]:
    """The lines with the fields of a rule before its query, and the query.

    >>> split_fields('+++\\nseverity = "low"\\n+++\\nEVENT A')
    ('+++\\nseverity = "low"\\n+++\\n', 'EVENT A')
    """
    lines = text.splitlines(keepends=True)
    count = front_matter_lines(text) if lines else 0
    return "".join(lines[:count]), "".join(lines[count:])
