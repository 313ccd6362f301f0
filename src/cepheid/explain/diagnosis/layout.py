"""A diagnosis as plain text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from textwrap import wrap

from cepheid.explain.diagnosis.counting import Count
from cepheid.explain.diagnosis.report import (
    BranchDiagnosis,
    ComponentCount,
    Diagnosis,
    Reason,
    Stop,
)
from cepheid.visible import visible, visible_lines

WIDTH = 100
EXAMPLES = "For example, with rows counted from 0:"


def plain_text(diagnosis: Diagnosis) -> str:
    """The diagnosis as plain text."""
    lines = [diagnosis.query, "", headline(diagnosis)]
    for number, branch in enumerate(diagnosis.branches, start=1):
        if len(diagnosis.branches) > 1:
            lines += ["", alternative_title(number, branch)]
        lines += ["", *aligned([funnel_header(branch), *funnel_rows(branch)], "lrrr")]
        for stop in branch.stops:
            lines += ["", stop_title(stop)]
            lines += aligned([(reason_count(stop, r), r.text) for r in stop.reasons], "rl")
            if stop.examples:
                lines += ["", EXAMPLES]
                lines += aligned([(each.place, each.explanation) for each in stop.examples], "ll")
    for title, texts in (("Hints", diagnosis.hints), ("Notes", diagnosis.notes)):
        if texts:
            lines += ["", title, *(line for text in texts for line in bullet(text))]
    query, *rest = lines
    return "\n".join((visible_lines(query), *(visible(line).rstrip() for line in rest)))


def headline(diagnosis: Diagnosis) -> str:
    """The number of matches."""
    events = counted(Count(diagnosis.events), "event")
    if not diagnosis.matches.number:
        part = "" if diagnosis.matches.is_exact else " that were examined"
        return f"No match among {events}{part}."
    return f"{counted(diagnosis.matches, 'match')} among {events}."


def alternative_title(number: int, branch: BranchDiagnosis) -> str:
    """The heading of one of several alternatives."""
    return f"Alternative {number}: {branch.pattern}, {counted(branch.matches, 'match')}"


def funnel_header(branch: BranchDiagnosis) -> tuple[str, ...]:
    """The columns of the funnel; the column of fitting events is left out if all events fit."""
    return (
        "component",
        "events",
        *(["that fit"] if has_conditions(branch) else []),
        "partial matches",
    )


def funnel_rows(branch: BranchDiagnosis) -> Iterator[tuple[str, ...]]:
    """A row for each component, each goal in a Kleene component, and each failing condition."""
    with_fit = has_conditions(branch)
    for component in branch.components:
        runs = component.runs
        reached = str(runs[0].count) if runs else ""
        fit = [f"{component.passing:,}"] if with_fit else []
        yield (component.component, f"{component.events:,}", *fit, reached)
        for line in failing_lines(component):
            yield (f"  {line}",)
        for goal in runs[1:]:
            yield (f"  with {goal.goal}", "", *([""] if with_fit else []), str(goal.count))


def has_conditions(branch: BranchDiagnosis) -> bool:
    """Whether an event fails a condition on a single event."""
    return any(
        condition.failing for component in branch.components for condition in component.conditions
    )


def failing_lines(component: ComponentCount) -> Iterator[str]:
    """The conditions on a single event of a component that events fail."""
    for condition in component.conditions:
        if condition.failing:
            first = " (tested on the first event only)" if condition.of_first else ""
            yield f"{condition.condition} fails for {condition.failing:,}{first}"


def reason_count(stop: Stop, reason: Reason) -> str:
    """The number of partial matches or events that a reason stopped."""
    return counted(Count(reason.count), "event") if stop.unit == "event" else f"{reason.count:,}"


def stop_title(stop: Stop) -> str:
    """The heading of the reasons."""
    sampled = stop.looked_at < stop.total.number
    if stop.unit == "event":
        needed = f", which must follow {stop.after}" if stop.after else ""
        return f"No event can be {stop.before}{needed}:"
    if stop.unit == "match":
        among = (
            f"{stop.looked_at:,} sampled matches (of {stop.total})"
            if sampled
            else (counted(stop.total, "match"))
        )
        return f"A negation removed {stop.stopped:,} of {among}:"
    if sampled:
        return (
            f"{stop.looked_at:,} of {stop.total} partial matches that reached {stop.after} were "
            f"examined; {stop.stopped:,} stopped before {stop.before}:"
        )
    stopped = counted(Count(stop.stopped), "partial match")
    return f"{stopped} reached {stop.after} and stopped before {stop.before}:"


def counted(count: Count, noun: str) -> str:
    """A number with its noun.

    >>> counted(Count(1), "match"), counted(Count(2_000, False), "event")
    ('1 match', '≥ 2,000 events')
    """
    plural = "es" if noun.endswith("match") else "s"
    return f"{count} {noun if count.number == 1 else noun + plural}"


def bullet(text: str) -> list[str]:
    """A text as a list item."""
    return wrap(visible(text), WIDTH, initial_indent="  - ", subsequent_indent="    ")


def aligned(rows: Sequence[Sequence[str]], sides: str) -> list[str]:
    """Rows in aligned columns; a single cell takes a line. ``sides`` has l or r by column."""
    rows = [[visible(cell) for cell in row] for row in rows]
    full = [row for row in rows if len(row) > 1]
    widths = [max(map(len, column)) for column in zip(*full, strict=True)]
    lines = []
    for row in rows:
        if len(row) == 1:
            lines.append(f"  {row[0]}")
            continue
        cells = zip(row, widths, sides[: len(row)], strict=True)
        shown = [
            cell.rjust(width) if side == "r" else cell.ljust(width) for cell, width, side in cells
        ]
        lines.append("  " + "  ".join(shown))
    return lines
