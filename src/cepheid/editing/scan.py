"""A query text that may be unfinished, read as far as it parses."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from lark.exceptions import UnexpectedInput

from cepheid.editing.tokens import COMMENT, Word, blanked, split_fields
from cepheid.errors import OptionError
from cepheid.language.parser import query_grammar
from cepheid.row_patterns.parser import clause_grammar, is_row_pattern

if TYPE_CHECKING:
    from lark import Lark

_CLAUSE = re.compile(r"\bmatch_recognize\b", re.IGNORECASE)
_PATTERN_ENDS = {"_WHERE", "_WITHIN", "_RETURN", "_OUTPUT", "_WITH_CONFIDENCE", "SEMICOLON"}
_BEFORE_TYPE = {"LPAR", "COMMA", "_PATTERN", "TILDE", "BANG", "NOT"}
_CLAUSES = {
    "_FROM", "_PATTERN", "_WHERE", "_WITHIN", "_WITH_CONFIDENCE", "_RETURN", "_OUTPUT",
    "_PARTITION_BY", "_ORDER_BY", "_MEASURES", "_SUBSET", "_DEFINE", "_AFTER_MATCH_SKIP",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable of a pattern: its types, and whether it is a list."""

    name: str
    types: tuple[str, ...]
    is_list: bool


@dataclass
class Scan:
    """The tokens of a text as far as it parses, and what could follow them."""

    text: str
    is_rows: bool
    words: list[Word] = field(default_factory=list)
    accepts: frozenset[str] = frozenset()
    is_complete: bool = True

    @classmethod
    def of(cls, text: str, *, accepts: bool = False) -> Scan:
        """Read a text.

        >>> scan = Scan.of("PATTERN SEQ(A a, B+ b[]) ", accepts=True)
        >>> sorted(scan.variables), "_WHERE" in scan.accepts
        (['a', 'b'], True)
        """
        try:
            fields, query = split_fields(text)
        except OptionError:
            return cls(text, False, is_complete=False)
        is_rows = is_row_pattern(query)
        if is_rows:
            # Only the last clause is read; the SQL before it is not ours.
            start = [found.start() for found in _CLAUSE.finditer(query)][-1]
            query = blanked(query[:start]) + query[start:]
        scan = cls(text, is_rows)
        scan._read(blanked(fields) + query, clause_grammar() if is_rows else query_grammar())
        if accepts:
            scan._find_accepted(blanked(fields) + query)
        return scan

    def _read(self, text: str, grammar: Lark) -> None:
        state = grammar.parse_interactive(text)
        try:
            for each in state.iter_parse():
                start, end = each.start_pos or 0, each.end_pos or 0
                self.words.append(Word(each.type, str(each), start, end))
        except UnexpectedInput:
            self.is_complete = False

    def _find_accepted(self, text: str) -> None:
        grammar = clause_grammar() if self.is_rows else query_grammar()
        state = grammar.parse_interactive(text)
        try:
            state.exhaust_lexer()
        except UnexpectedInput:
            return
        self.accepts = frozenset(state.accepts())  # type: ignore[no-untyped-call]

    def query_words(self, offset: int) -> list[Word]:
        """The tokens of the query of a script that an offset is in."""
        found: list[Word] = []
        for word in self.words:
            if word.terminal == "SEMICOLON":
                if word.start >= offset:
                    break
                found = []
            else:
                found.append(word)
        return found

    @cached_property
    def variables(self) -> dict[str, Variable]:
        """The variables of the last query."""
        return self.variables_at(len(self.text))

    def variables_at(self, offset: int) -> dict[str, Variable]:
        """The variables of the query that an offset is in."""
        words = self.query_words(offset)
        starts = [ix for ix, word in enumerate(words) if word.terminal == "_PATTERN"]
        if not starts:
            return {}
        pattern = words[starts[-1] :]
        found = _row_variables(pattern) if self.is_rows else _variables(pattern)
        return {each.name: each for each in found}

    def clause_at(self, offset: int) -> str:
        """The terminal of the clause that an offset is in, empty before the first."""
        clauses = [
            word.terminal
            for word in self.query_words(offset)
            if word.terminal in _CLAUSES and word.end <= offset
        ]
        return clauses[-1] if clauses else ""

    def word_at(self, offset: int) -> tuple[int, Word] | None:
        """The token at an offset, and its number."""
        for number, word in enumerate(self.words):
            if word.start <= offset < word.end or (offset == word.end and word.terminal == "NAME"):
                return number, word
        return None

    def is_comment(self, offset: int) -> bool:
        """Whether an offset is in a comment or a string."""
        for found in re.finditer(rf"{COMMENT.pattern}|'(?:[^']|'')*'?", self.text):
            is_open = found[0].startswith("--") or found.end() == len(self.text)
            if found.start() < offset < found.end() + is_open:
                return True
        return False


def _variables(words: list[Word]) -> list[Variable]:
    """The variables of a SASE+ pattern, which may be unfinished."""
    found: list[Variable] = []
    taken: dict[str, int] = {}
    place = 1
    while place < len(words) and words[place].terminal not in _PATTERN_ENDS - {"_WITHIN"}:
        word, before = words[place], words[place - 1]
        place += 1
        types: list[str] = []
        if word.terminal == "ANY":
            while place < len(words) and words[place].terminal != "RPAR":
                types += [words[place].text] if words[place].terminal == "NAME" else []
                place += 1
            place += 1
        elif word.terminal == "NAME" and before.terminal in _BEFORE_TYPE:
            name = word.text
            while place + 1 < len(words) and words[place].terminal == "MINUS":
                name += "-" + words[place + 1].text
                place += 2
            types = [_plain(name)]
        if not types:
            continue
        is_list = place < len(words) and words[place].terminal in ("PLUS", "STAR", "LBRACE")
        while is_list and place < len(words) and words[place].terminal in (
            "PLUS", "STAR", "LBRACE", "INTEGER", "COMMA", "RBRACE",
        ):  # fmt: skip
            closes = words[place].terminal in ("PLUS", "STAR", "RBRACE")
            place += 1
            if closes:
                break
        variable = types[0] if len(types) == 1 else "ANY"
        if place < len(words) and words[place].terminal == "NAME":
            variable = _plain(words[place].text)
            place += 1
        taken[variable] = taken.get(variable, 0) + 1
        number = taken[variable]
        name = variable if number == 1 else f"{variable}_{number}"
        found.append(Variable(name, tuple(types), is_list))
    return found


def _row_variables(words: list[Word]) -> list[Variable]:
    names = []
    for word in words[1:]:
        if word.terminal in _CLAUSES:
            break
        if word.terminal == "NAME":
            names.append(word.text)
    return [Variable(name, (), False) for name in dict.fromkeys(names)]


def _plain(name: str) -> str:
    return name.strip("`")
