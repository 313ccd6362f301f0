"""A statement with ``MATCH_RECOGNIZE`` clauses becomes statements without them.

The text is read once, from the left. At a clause, the relation before it ends: it becomes a
separate input, and both are replaced by a name for the result. So a clause inside the relation of
another one has a name by then. An input is run before the statement around it, and so has the
common table expressions in front of it that its relation sees.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Protocol

from cepheid.errors import (
    DEFAULT_SOURCE,
    Fault,
    QueryError,
    QuerySyntaxError,
    Span,
    did_you_mean,
    warn,
)
from cepheid.language.limits import DEFAULT_LIMITS, Limits
from cepheid.language.naming import ParameterValue
from cepheid.language.parser import NO_PARAMETERS
from cepheid.row_patterns.parser import parse
from cepheid.row_patterns.query import RowPatternQuery
from cepheid.row_patterns.sql.tokens import CLAUSE, Dialect, Mark, Token

_BEFORE_RELATION = ("FROM", "JOIN", "USING")
_NO_RELATION = (
    "SELECT", "DISTINCT", "WHERE", "GROUP", "BY", "HAVING", "ORDER", "LIMIT", "UNION", "INTERSECT",
    "EXCEPT", "SET", "VALUES", "AND", "OR", "CASE", "WHEN", "THEN", "ELSE", "WITH", "INTO", "TABLE",
    "WINDOW", "QUALIFY",
)  # fmt: skip
_IN_HEAD = ("MAX", "RECURSION", "LEVEL", "USING", "KEY")
_QUERY = ("SELECT", "FROM", "WITH", "VALUES", "TABLE", "PIVOT", "UNPIVOT")
_MISPLACED = "MATCH_RECOGNIZE comes after a table, a view or a subquery in FROM"
_ONE_STATEMENT = "a text with MATCH_RECOGNIZE is one statement"
_QUALIFIERS = (
    "CREATE", "ALTER", "OR", "REPLACE", "GLOBAL", "LOCAL", "TEMP", "TEMPORARY", "MATERIALIZED",
    "RECURSIVE",
)  # fmt: skip
_INSTEAD = "Create a temporary view, or a table."


@dataclass(frozen=True)
class Step:
    """A clause: the SQL of its input, and the name of its result in what is run later."""

    name: str
    input: str
    query: RowPatternQuery


@dataclass(frozen=True)
class TemporaryView:
    """``CREATE TEMPORARY VIEW name (columns) AS query``."""

    name: str
    columns: tuple[str, ...]
    is_global: bool
    replaces: bool
    query: str


@dataclass(frozen=True)
class Statement:
    """The clauses in the order in which they run, and then the SQL that uses their names.

    ``view`` is what the SQL does if it creates a temporary view.
    """

    steps: tuple[Step, ...]
    sql: str
    view: TemporaryView | None = None


class Backend(Protocol):
    """Runs the SQL around clauses."""

    def read(self, step: Step) -> Any:
        """The rows of an input, as ``match`` takes them."""

    def add(self, name: str, result: Any) -> None:
        """Give the result of a clause its name."""

    def finish(self, statement: Statement) -> Any:
        """The result of the statement."""


def run(statement: Statement, backend: Backend, **keywords: Any) -> Any:
    """The result of a statement; ``keywords`` are those of ``match``."""
    for step in statement.steps:
        backend.add(step.name, step.query.match(backend.read(step), **keywords))
    return backend.finish(statement)


def split(
    text: str,
    dialect: Dialect,
    *,
    source: str = DEFAULT_SOURCE,
    parameters: Mapping[str, ParameterValue] = NO_PARAMETERS,
    limits: Limits = DEFAULT_LIMITS,
) -> Statement:
    """The clauses of a statement, and the SQL around them.

    Raises:
        LimitError: a clause is too large.
        QueryError: a clause has faults, or is where none can be; places are those in ``text``.

    >>> from cepheid.row_patterns.sql.tokens import SPARK
    >>> found = split("SELECT n FROM db.ticks MATCH_RECOGNIZE (PATTERN (a)) AS m", SPARK)
    >>> found.steps[0].input, found.sql.replace(found.steps[0].name, "_")
    ('SELECT * FROM db.ticks', 'SELECT n FROM _ AS m')
    """
    splitter = _Splitter(text, dialect, source, limits)
    splitter.read(parameters)
    return splitter.statement()


@dataclass
class _Frame:
    """What is between two brackets, or the whole text.

    ``expressions`` are the common table expressions that have ended here. ``state`` says what the
    list after WITH continues with: a name, the rest of a head, a body, or a comma.
    """

    is_body: bool = False
    state: str | None = None
    item: int = 0
    is_recursive: bool = False
    expressions: list[str] = field(default_factory=list)

    def take(self, token: Token, place: int) -> None:
        """Follow the list after WITH; ``place`` is that of the token in what was read."""
        match self.state:
            case "name" if token.is_word("RECURSIVE"):
                self.is_recursive = True
            case "name" if token.mark in (Mark.WORD, Mark.QUOTED):
                self.state, self.item = "head", place
            case "head" if token.is_word("AS"):
                self.state = "body"
            case "head" if token.is_sign("(") or token.is_sign(")") or token.is_word(*_IN_HEAD):
                pass
            case "head" if token.text.isdecimal():
                pass
            case "body" if token.is_word("NOT", "MATERIALIZED"):
                pass
            case "comma" if token.is_sign(","):
                self.state = "name"
            case _:
                self.state = "name" if token.is_word("WITH") else None


class _Splitter:
    def __init__(self, text: str, dialect: Dialect, source: str, limits: Limits) -> None:
        self._text = text
        self._dialect = dialect
        self._source = source
        self._limits = limits
        self._read: list[Token] = []
        self._frames = [_Frame()]
        self._steps: list[Step] = []
        self._errors: list[QueryError] = []
        self._prefix = f"cepheid_{uuid.uuid4().hex[:12]}"
        self._first: Token | None = None  # The first MATCH_RECOGNIZE.
        self._end: Token | None = None  # The first semicolon.

    def read(self, parameters: Mapping[str, ParameterValue]) -> None:
        """Read the whole text."""
        place, words = 0, set[str]()
        while place < len(self._text):
            token = next(self._dialect.tokens(self._text, place))
            place = token.end
            if token.is_word("MATCH_RECOGNIZE") and self._opens(place):
                clause = list(self._clause(place))
                place = clause[-1].end
                own = {each.text for each in clause if each.mark is Mark.WORD}
                words |= own
                given = {name: value for name, value in parameters.items() if name in own}
                self._add(token, place, given)
            elif token.mark is Mark.SPACE:
                self._read.append(token)
            else:
                self._take(token)
        if self._first is not None:
            self._check_kind()
        if self._errors:
            faults = [fault for error in self._errors for fault in error.faults]
            raise type(self._errors[0])(faults, self._text, self._source)
        for name in parameters if self._steps else ():
            if name not in words:
                warn(f"the query does not use the parameter {name!r}" + did_you_mean(name, words))

    def statement(self) -> Statement:
        """What was read."""
        if not self._steps:
            return Statement((), self._text)
        return Statement(tuple(self._steps), _sql(self._read), self._view())

    def _opens(self, place: int) -> bool:
        """Whether the next token is a bracket."""
        tokens = (each for each in self._dialect.tokens(self._text, place))
        following = next((each for each in tokens if each.mark is not Mark.SPACE), None)
        return following is not None and following.is_sign("(")

    def _clause(self, place: int) -> Iterator[Token]:
        """The tokens from the bracket after MATCH_RECOGNIZE to the one that closes it."""
        depth = 0
        for token in CLAUSE.tokens(self._text, place):
            yield token
            depth += token.is_sign("(") - token.is_sign(")")
            if not depth and token.is_sign(")"):
                return

    def _take(self, token: Token) -> None:
        frame = self._frames[-1]
        if token.is_sign(";") and len(self._frames) == 1:
            self._end = self._end or token
        elif self._end is not None and self._steps:
            self._fault(_ONE_STATEMENT, token)
        is_body = frame.state == "body" and token.is_sign("(")
        if is_body:
            self._frames.append(_Frame(is_body=True))
        else:
            frame.take(token, len(self._read))
            if token.is_sign("("):
                self._frames.append(_Frame())
        self._read.append(token)
        if token.is_sign(")") and len(self._frames) > 1:
            closed = self._frames.pop()
            if closed.is_body:
                outer = self._frames[-1]
                outer.expressions.append(_sql(self._read[outer.item :]))
                outer.state = "comma"

    def _add(self, token: Token, end: int, parameters: Mapping[str, ParameterValue]) -> None:
        """Replace a clause and the relation before it by a name."""
        self._first = self._first or token
        if self._end is not None:
            self._fault(_ONE_STATEMENT, token)
        relation = self._relation(token)
        name = f"{self._prefix}_{len(self._steps) + 1}_"
        try:
            # What is before the clause is blank, so that places are those in the whole text.
            padded = " " * token.start + self._text[token.start : end]
            tree = parse(padded, self._source, parameters, self._limits)
        except QueryError as error:
            self._errors.append(error)
        else:
            query = RowPatternQuery(tree, self._text, self._source)
            self._steps.append(Step(name, self._input(_sql(self._read[relation:])), query))
        self._read[relation:] = [Token(Mark.WORD, name, token.start)]

    def _relation(self, token: Token) -> int:
        """Where the relation before a clause starts among the tokens that were read."""
        depth, start = 0, len(self._read)
        for place in range(len(self._read) - 1, -1, -1):
            each = self._read[place]
            depth += each.is_sign(")") - each.is_sign("(")
            if depth < 0 or (not depth and (each.is_sign(",") or each.is_word(*_BEFORE_RELATION))):
                if each.is_sign(",") and not self._is_in_from(place):
                    self._fault(_MISPLACED, token)
                if each.is_word("USING") and self._is_list(start):
                    hint = "Join in a subquery: FROM (SELECT * FROM a JOIN b USING (x))."
                    self._fault(_MISPLACED, token, hint)
                break
            if not depth and each.is_word("ON", *_NO_RELATION):
                self._fault(_MISPLACED, token)
                break
            if each.mark is not Mark.SPACE:
                start = place
        else:
            self._fault(_MISPLACED, token)
        if start == len(self._read):
            self._fault(_MISPLACED, token)
        elif self._read[start].is_word("LATERAL"):
            hint = "It is run on its own: join the result of the clause instead."
            self._fault("the input of MATCH_RECOGNIZE cannot be LATERAL", self._read[start], hint)
        return start

    def _is_list(self, place: int) -> bool:
        """Whether a bracket has names in it, such as the columns after USING, and no query."""
        tokens = [each for each in self._read[place:] if each.mark is not Mark.SPACE]
        return len(tokens) > 1 and tokens[0].is_sign("(") and not tokens[1].is_word(*_QUERY)

    def _is_in_from(self, place: int) -> bool:
        """Whether a comma is between relations: FROM is the last clause before it."""
        depth = 0
        for each in reversed(self._read[:place]):
            depth += each.is_sign(")") - each.is_sign("(")
            if depth < 0 or (not depth and each.is_word(*_NO_RELATION)):
                return False
            if not depth and each.is_word(*_BEFORE_RELATION):
                return True
        return False

    def _input(self, relation: str) -> str:
        """The SQL of an input, with the common table expressions that it sees."""
        sql = f"SELECT * FROM {relation}"
        within = ""
        for frame in reversed(self._frames):
            if frame.expressions:
                words = "WITH RECURSIVE" if frame.is_recursive else "WITH"
                sql = f"SELECT * FROM ({sql})" if within else sql
                within = sql = f"{words} {', '.join(frame.expressions)} {sql}"
        return sql

    def _fault(self, message: str, token: Token, hint: str | None = None) -> None:
        fault = Fault(message, Span(token.start, token.end), hint=hint)
        self._errors.append(QuerySyntaxError([fault], self._text, self._source))

    # --- statements that create something

    def _created(self) -> tuple[list[Token], list[Token]] | None:
        """The words from CREATE to VIEW, FUNCTION and so on, and the tokens after them."""
        tokens = [each for each in self._read if each.mark is not Mark.SPACE]
        if not tokens[0].is_word("CREATE", "ALTER"):
            return None
        end = next((ix for ix, each in enumerate(tokens) if not each.is_word(*_QUALIFIERS)), 0)
        return tokens[: end + 1], tokens[end + 1 :]

    def _check_kind(self) -> None:
        """Refuse statements of which the text is kept: without cepheid, nobody can read it."""
        first = next(each for each in self._read if each.mark is not Mark.SPACE)
        created = self._created()
        if first.is_word("BEGIN"):
            self._fault(_ONE_STATEMENT, first)
        elif first.is_word("CACHE"):
            hint = "Create a temporary view, and cache that."
            self._fault("MATCH_RECOGNIZE cannot be in CACHE TABLE", first, hint)
        elif created is not None and created[0][-1].is_word("VIEW", "FUNCTION", "MACRO"):
            words = [each.text.upper() for each in created[0]]
            if words[0] == "ALTER" or words[-1] != "VIEW" or not {"TEMP", "TEMPORARY"} & {*words}:
                what = words[-1].lower()
                message = f"MATCH_RECOGNIZE cannot be in a {what} that is kept"
                hint = f"Only cepheid can read the text of the {what}. {_INSTEAD}"
                self._fault(message, created[0][-1], hint)

    def _view(self) -> TemporaryView | None:
        created = self._created()
        if created is None or not created[0][-1].is_word("VIEW"):
            return None
        words = {each.text.upper() for each in created[0]}
        name, *rest = created[1]
        if name.is_word("IF"):  # Spark has no IF NOT EXISTS for temporary views, and says so.
            return None
        columns, depth = [], 0
        for before, each in pairwise(rest):
            depth += before.is_sign("(") - before.is_sign(")")
            if depth == 1 and (before.is_sign("(") or before.is_sign(",")):
                columns.append(_unquoted(each))
            if not depth and before.is_word("AS"):
                body = self._read[self._read.index(before) + 1 :]
                sql = _sql(body).removesuffix(";")
                replaces, is_global = "REPLACE" in words, "GLOBAL" in words
                return TemporaryView(name.text, tuple(columns), is_global, replaces, sql)
        return None


def _unquoted(token: Token) -> str:
    if token.mark is not Mark.QUOTED:
        return token.text
    quote = token.text[0]
    return token.text[1:-1].replace(quote * 2, quote)


def _sql(tokens: Sequence[Token]) -> str:
    """The text of tokens, without space and comments at the ends."""
    significant = [ix for ix, token in enumerate(tokens) if token.mark is not Mark.SPACE]
    if not significant:
        return ""
    return "".join(token.text for token in tokens[significant[0] : significant[-1] + 1])
