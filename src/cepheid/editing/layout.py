"""Tokens as lines: a clause per line, and what is too long for a line divided at its brackets."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from cepheid.editing.spelling import OPENING, Place, has_space, spelt
from cepheid.editing.tokens import Comment, Word

WIDTH = 88
_STEP = 2
_LOGICAL = {"AND", "OR", "LOGICAL_AND", "LOGICAL_OR"}


@dataclass(frozen=True, slots=True)
class Group:
    """What is between two brackets."""

    opening: Word
    nodes: list[Word | Group]
    closing: Word


Nodes = list[Word | Group]


def nodes_of(words: Iterator[Word], closing: str | None = None) -> tuple[Nodes, Word | None]:
    """The tokens up to a closing bracket, and that bracket; what is in brackets is grouped."""
    nodes: Nodes = []
    for word in words:
        if word.terminal == closing:
            return nodes, word
        if word.terminal in OPENING:
            inner, end = nodes_of(words, OPENING[word.terminal])
            assert end is not None
            nodes.append(Group(word, inner, end))
        else:
            nodes.append(word)
    return nodes, None


def _flat(nodes: Iterable[Word | Group]) -> Iterator[Word]:
    for node in nodes:
        if isinstance(node, Group):
            yield node.opening
            yield from _flat(node.nodes)
            yield node.closing
        else:
            yield node


@dataclass
class Writer:
    """Writes tokens and comments into lines."""

    in_pattern: bool = False
    lines: list[str] = field(default_factory=list)
    _line: str = ""
    _indent: int = 0
    _words: list[Word] = field(default_factory=list)
    _brackets: list[str] = field(default_factory=list)
    _is_ended: bool = False

    def text(self) -> str:
        """All lines."""
        self.new_line(0)
        return "\n".join(self.lines)

    def new_line(self, indent: int) -> None:
        """Continue in a line with this indentation."""
        if self._line:
            self.lines.append(self._line.rstrip())
        self._line, self._indent, self._is_ended = "", indent, False

    def blank_line(self) -> None:
        """Leave a line blank, unless it is the first or the one above is blank."""
        self.new_line(self._indent)
        if self.lines and self.lines[-1]:
            self.lines.append("")

    def clause(self, keyword: Word, nodes: Nodes, indent: int) -> None:
        """Write a clause, from a new line on."""
        self.new_line(indent)
        self.in_pattern = keyword.terminal == "_PATTERN"
        self.write(keyword)
        self._fill(nodes, indent)

    def write(self, word: Word) -> None:
        """Write a token and its comments."""
        self._write_above(word.before)
        if self._is_ended:
            self.new_line(self._indent + _STEP)
        place = Place(self.in_pattern, self._brackets)
        space = has_space(self._words, word, place) and bool(self._line)
        text = spelt(word, in_pattern=self.in_pattern)
        self._line = (self._line or " " * self._indent) + (f" {text}" if space else text)
        self._follow(word)
        for comment in word.after:
            self._line += f"  {comment.text}" if comment.ends_line else f" {comment.text}"
            self._is_ended = comment.ends_line

    def _follow(self, word: Word) -> None:
        if word.terminal in OPENING:
            last = self._words[-1].terminal if self._words else ""
            kind = word.terminal
            if kind == "LBRACE" and self.in_pattern:
                kind = "repetition"
            elif kind == "LSQB" and last in ("NAME", "RSQB"):
                kind = "index"
            self._brackets.append(kind)
        elif word.terminal in OPENING.values() and self._brackets:
            self._brackets.pop()
        self._words.append(word)

    def _write_above(self, comments: Sequence[Comment]) -> None:
        for comment in comments:
            self.new_line(self._indent)
            if comment.blank_before and not self._brackets:
                self.blank_line()
            self.lines += [" " * self._indent + comment.text.rstrip()]
            if comment.blank_after and not self._brackets:
                self.blank_line()

    def _fill(self, nodes: Nodes, indent: int) -> None:
        """Write nodes after what is in the line: in one line if they fit, else in several."""
        if self._fits(nodes):
            for word in _flat(nodes):
                self.write(word)
            return
        parts, is_list = _parts(nodes)
        if len(parts) > 1:
            for number, part in enumerate(parts):
                if number or is_list:
                    self.new_line(indent + _STEP)
                self._fill(part, indent + _STEP)
            return
        # The last bracket is divided; the others stay in the line if they fit.
        groups = [node for node in nodes if isinstance(node, Group)]
        for node in nodes:
            if not isinstance(node, Group):
                self.write(node)
            elif node.nodes and (node is groups[-1] or not self._fits([node])):
                self._divide(node, indent)
            else:
                self._fill_group(node, indent)

    def _fill_group(self, group: Group, indent: int) -> None:
        self.write(group.opening)
        self._fill(group.nodes, indent)
        self.write(group.closing)

    def _divide(self, group: Group, indent: int) -> None:
        self.write(group.opening)
        for part in _parts(group.nodes)[0]:
            self.new_line(indent + _STEP)
            self._fill(part, indent + _STEP)
        self.new_line(indent)
        self.write(group.closing)

    def _fits(self, nodes: Nodes) -> bool:
        words = list(_flat(nodes))
        if any(each.before for each in words[1:]):
            return False
        if any(comment.ends_line for each in words[:-1] for comment in each.after):
            return False
        trial = Writer(self.in_pattern)
        trial._line, trial._indent = self._line, self._indent
        trial._words, trial._brackets = self._words[-2:], list(self._brackets)
        for word in words:
            trial.write(Word(word.terminal, word.text, 0, 0))
            if len(trial._line) > WIDTH:
                return False
        return True


def _parts(nodes: Nodes) -> tuple[list[Nodes], bool]:
    """The nodes divided after commas or else before AND and OR, and whether it was at commas."""
    parts: list[Nodes] = [[]]
    for node in nodes:
        parts[-1].append(node)
        if isinstance(node, Word) and node.terminal == "COMMA":
            parts.append([])
    if len(parts) > 1:
        return [part for part in parts if part], True
    parts, in_between = [[]], False
    for node in nodes:
        terminal = node.terminal if isinstance(node, Word) else ""
        if terminal in _LOGICAL and not in_between and parts[-1]:
            parts.append([])
        in_between = terminal == "BETWEEN" or (in_between and terminal not in _LOGICAL)
        parts[-1].append(node)
    return parts, False
