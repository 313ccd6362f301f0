"""Which clauses run over a stream, what they wait for, and how many rows they retain."""

from __future__ import annotations

from collections.abc import Iterator

from cepheid.errors import Fault, plural
from cepheid.row_patterns import syntax as rows
from cepheid.row_patterns.printer import print_expression


def stream_faults(clause: rows.Clause) -> Iterator[Fault]:
    """What a stream cannot answer."""
    if not clause.order_by:
        hint = "Its first column is the time of a row: add ORDER BY."
        yield Fault("a stream needs ORDER BY", clause.span, hint=hint)
    for item in clause.order_by:
        if not item.is_ascending:
            hint = "Rows arrive in ascending order: leave it out."
            yield Fault("DESC cannot be used in a stream", item.span, hint=hint)
    for node in clause.pattern.walk():
        if isinstance(node, rows.Anchored) and node.anchor is rows.Anchor.END:
            hint = "No row of a stream is known to be the last one of its partition: leave it out."
            yield Fault("'$' cannot be used in a stream", node.span, hint=hint)


def rows_before(clause: rows.Clause) -> int:
    """How many rows before a match PREV can read."""
    return _reach(clause, "PREV")


def rows_after(clause: rows.Clause) -> int:
    """How many rows after a match NEXT can read."""
    return _reach(clause, "NEXT")


def _reach(clause: rows.Clause, function: str) -> int:
    nodes = [node for node in clause.walk() if isinstance(node, rows.Physical)]
    return max((node.offset for node in nodes if node.function == function), default=0)


def counts_rows(clause: rows.Clause) -> bool:
    """Whether an answer depends on how many rows or matches its partition had before."""
    nodes = [type(node) for node in clause.walk()]
    by_variable = clause.skip.variable is not None  # An error names the number of the match.
    return rows.MatchNumber in nodes or rows.Anchored in nodes or by_variable


def longest_search(clause: rows.Clause) -> int | None:
    """The most rows that a search can read before it is decided; None if there is no bound."""
    return _longest(clause.pattern, is_last=True)


def _longest(part: rows.Pattern, is_last: bool) -> int | None:
    """The same for a part of a pattern; the search ends with the last one."""
    match part:
        case rows.Variable():
            return 1
        case rows.Concatenation(parts):
            lasts = [*[False] * (len(parts) - 1), is_last]
            return _sum([_longest(each, last) for each, last in zip(parts, lasts, strict=True)])
        case rows.Permutation(parts):
            return _sum([_longest(each, is_last=False) for each in parts])
        case rows.Alternation(parts):
            found = [_longest(each, is_last) for each in parts]
            known = [each for each in found if each is not None]
            return max(known, default=0) if len(known) == len(found) else None
        case rows.Exclusion(inner):
            return _longest(inner, is_last)
        case rows.Quantified(inner, least, most, is_greedy):
            # A match that ends with reluctant rounds needs no more of them than the least number.
            if is_last and not is_greedy:
                most = least
            each = _longest(inner, is_last=False)
            if most is None:
                return None if each is None or each > 0 else 0
            return 0 if most == 0 else None if each is None else most * each
    return 0


def _sum(lengths: list[int | None]) -> int | None:
    known = [each for each in lengths if each is not None]
    return sum(known) if len(known) == len(lengths) else None


UNBOUNDED = (
    "the pattern has no longest match and no WITHIN, so that a search can continue without end: a "
    "stream retains the rows of a partition from the first one whose match is not decided. Add "
    "WITHIN, such as WITHIN INTERVAL '1' HOUR, or an upper bound to each quantifier"
)


def is_unbounded(clause: rows.Clause) -> bool:
    """Whether nothing limits the rows that a stream retains."""
    return clause.within is None and longest_search(clause) is None


def stream_text(clause: rows.Clause) -> list[str]:
    """What a stream waits for, and how many rows it retains."""
    faults = list(stream_faults(clause))
    if faults:
        return [f"does not run: {each.message}" for each in faults]
    after, longest = rows_after(clause), longest_search(clause)
    waits = "a match is returned when no later row can change it"
    if after:
        waits += f"; NEXT waits for {plural(after, 'row')} of the partition"
    lines = [waits]
    if clause.within is not None:
        lines.append("WITHIN decides when its time has passed, with or without more rows")
    each = "retained rows of each partition: "
    bounds = []
    if clause.within is not None:
        bounds.append(f"those of {print_expression(clause.within)} (WITHIN)")
    if longest is not None:
        bounds.append(f"at most {max(longest + after - 1, 0)} (the length of the pattern)")
    lines.append(each + (", and ".join(bounds) if bounds else "unbounded, without WITHIN"))
    if rows_before(clause):
        lines.append(f"and {plural(rows_before(clause), 'row')} before them, for PREV")
    if counts_rows(clause):
        lines.append("every partition is remembered, for the number of its rows and matches")
    return lines
