"""``cepheid fmt``: query text in the one layout, with all its comments.

The tokens of the text are laid out anew, and what is written stays: ``80%`` is still ``80%``, and
brackets remain. The result is parsed again and must be the same query with the same comments.
"""

from __future__ import annotations

from itertools import groupby

from lark.exceptions import UnexpectedInput

from cepheid.editing.layout import Group, Nodes, Writer, nodes_of
from cepheid.editing.tokens import END, Word, blanked, clause_places, split_fields, words
from cepheid.errors import DEFAULT_SOURCE, CepheidError, QueryError
from cepheid.language.parser import parse_script, query_grammar
from cepheid.row_patterns.parser import clause_grammar, is_row_pattern
from cepheid.row_patterns.parser import parse as parse_clause

_CLAUSES = {
    "_FROM", "_PATTERN", "_WHERE", "_WITHIN", "_WITH_CONFIDENCE", "_RETURN", "_OUTPUT",
}  # fmt: skip
_ROW_CLAUSES = {
    "_PARTITION_BY", "_ORDER_BY", "_MEASURES", "ONE_ROW", "ALL_ROWS", "_AFTER_MATCH_SKIP",
    "_PATTERN", "_WITHIN", "_SUBSET", "_DEFINE",
}  # fmt: skip


class FormatError(CepheidError):
    """A text that cannot be laid out without losing something; it stays as it is."""


def format_query(text: str, source: str = DEFAULT_SOURCE) -> str:
    """The text of a query, a script or SQL with ``MATCH_RECOGNIZE``, in the one layout.

    In SQL only the clauses change. The fields before the query of a rule stay, too.

    Raises:
        QueryError: the text does not parse; the error has all faults.

    >>> print(format_query("event A a where a.x==1 -- one\\n&& a.y<80% within 1 hour"), end="")
    EVENT A a
    WHERE a.x = 1  -- one
      AND a.y < 80%
    WITHIN 1 hour
    """
    fields, query = split_fields(text)
    if fields:
        # What is before the query is blank, so that places are those in the whole text.
        return fields + format_query(blanked(fields) + query, source)
    if not is_row_pattern(text):
        return _format_script(text, source)
    pieces, place = [], 0
    parts = clause_places(text)
    if not parts:
        parse_clause(text, source)  # raises: the bracket is missing or not closed
    begin = len(text) - len(text.lstrip())
    for start, end in parts:
        line_start = text.rfind("\n", 0, start) + 1
        line = text[line_start:start]
        # The first line loses its indentation.
        indent = len(line) - len(line.lstrip()) if line_start > begin else 0
        pieces += [text[place:start], _format_clause(text, start, end, indent, source)]
        place = end
    return "".join([*pieces, text[place:]]).strip() + "\n"


def _format_script(text: str, source: str) -> str:
    trees = parse_script(text, source)
    found = words(text, query_grammar())
    writer = Writer()
    for node in _clauses(nodes_of(iter(found[:-1]))[0], _CLAUSES):
        ends = [word for word in node if isinstance(word, Word) and word.terminal == "SEMICOLON"]
        keyword, *rest = node
        assert isinstance(keyword, Word)
        writer.clause(keyword, rest, 0)
        if ends:
            writer.blank_line()
    writer.new_line(0)
    _write_end(writer, found[-1])
    formatted = writer.text().rstrip("\n") + "\n"
    try:
        same = parse_script(formatted, source) == trees
    except QueryError:
        same = False
    return _checked(text, formatted, same, source)


def _format_clause(text: str, start: int, end: int, indent: int, source: str) -> str:
    tree = parse_clause(blanked(text[:start]) + text[start:end], source)
    clause = text[start:end]
    found = words(clause, clause_grammar())
    writer = Writer()
    head, group = nodes_of(iter(found[:-1]))[0]
    assert isinstance(head, Word)
    assert isinstance(group, Group)
    writer.new_line(indent)
    writer.write(head)
    writer.write(group.opening)
    for keyword, *rest in _clauses(group.nodes, _ROW_CLAUSES):
        assert isinstance(keyword, Word)
        writer.clause(keyword, rest, indent + 2)
    writer.new_line(indent)
    writer.write(group.closing)
    formatted = writer.text().strip()
    try:
        same = parse_clause(formatted, source) == tree
    except QueryError:
        same = False
    return _checked(clause, formatted, same, source)


def _clauses(nodes: Nodes, keywords: set[str]) -> list[Nodes]:
    """The nodes of each clause, beginning with its keyword."""
    number = 0

    def count(node: Word | Group) -> int:
        nonlocal number
        number += isinstance(node, Word) and node.terminal in keywords
        return number

    return [list(group) for _, group in groupby(nodes, count)]


def _write_end(writer: Writer, end: Word) -> None:
    assert end.terminal == END
    if end.before:
        writer.write(Word(END, "", 0, 0, end.before))


def _checked(text: str, formatted: str, same: bool, source: str) -> str:
    try:
        kept = _comments(text) == _comments(formatted)
    except UnexpectedInput:
        kept = False
    if not same or not kept:
        what = "the query" if not same else "a comment"
        raise FormatError(f"{source} stays as it is: laying it out would change {what}")
    return formatted


def _comments(text: str) -> list[str]:
    grammar = clause_grammar if is_row_pattern(text) else query_grammar
    found = words(text, grammar())
    return [comment.text.rstrip() for word in found for comment in (*word.before, *word.after)]
