"""A diagnosis as plain text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from textwrap import wrap

from cepheid.runtime.diagnosis.counting import Count
from cepheid.runtime.diagnosis.report import BranchDiagnosis, ComponentCount, Diagnosis, Stop

WIDTH = 100


def plain_text(diagnosis: Diagnosis) -> str:
    """The diagnosis as a person reads it."""
    lines = [diagnosis.query, "", headline(diagnosis)]
    for number, branch in enumerate(diagnosis.branches, start=1):
        if len(diagnosis.branches) > 1:
            lines += ["", alternative_title(number, branch)]
        lines += ["", *aligned(funnel_header(branch), funnel_rows(branch))]
        for stop in branch.stops:
            lines += ["", stop_title(stop)]
            lines += aligned(None, [(f"{r.count:,}", r.text) for r in stop.reasons], "rl")
            lines += ["", "For example"] if stop.examples else []
            lines += [line for each in stop.examples for line in bullet(each.text)]
    for title, texts in (("Hints", diagnosis.hints), ("Notes", diagnosis.notes)):
        if texts:
            lines += ["", title, *(line for text in texts for line in bullet(text))]
    return "\n".join(line.rstrip() for line in lines)


def headline(diagnosis: Diagnosis) -> str:
    """How many matches there are."""
    events = f"{diagnosis.events:,} event{'' if diagnosis.events == 1 else 's'}"
    if not diagnosis.matches.number and diagnosis.matches.is_exact:
        return f"No match among {events}."
    return f"{counted(diagnosis.matches, 'match')} among {events}."


def alternative_title(number: int, branch: BranchDiagnosis) -> str:
    """The heading of one of several alternatives."""
    return f"Alternative {number}: {branch.pattern}, {counted(branch.matches, 'match')}"


def funnel_header(branch: BranchDiagnosis) -> tuple[str, ...]:
    """The columns of the funnel; one is left out where it would say nothing."""
    return ("component", "events", *(["fit alone"] if has_conditions(branch) else []), "runs")


def funnel_rows(branch: BranchDiagnosis) -> Iterator[tuple[str, ...]]:
    """A row for each component, each goal in a Kleene component, and each failing condition."""
    with_fit = has_conditions(branch)
    for component in branch.components:
        runs = component.runs
        reached = str(runs[0].runs) if runs else ""
        fit = [f"{component.passing:,}"] if with_fit else []
        yield (component.component, f"{component.events:,}", *fit, reached)
        for line in failing_lines(component):
            yield (f"  {line}",)
        for goal in runs[1:]:
            yield (f"  with {goal.goal}", "", *([""] if with_fit else []), str(goal.runs))


def has_conditions(branch: BranchDiagnosis) -> bool:
    """Whether a component has a condition on one event alone that some event fails."""
    return any(
        condition.failing for component in branch.components for condition in component.conditions
    )


def failing_lines(component: ComponentCount) -> Iterator[str]:
    """What events of a component fail by themselves."""
    for condition in component.conditions:
        if condition.failing:
            first = " (asked of the first event only)" if condition.of_first else ""
            yield f"{condition.condition} fails for {condition.failing:,}{first}"


def stop_title(stop: Stop) -> str:
    """What the reasons are about."""
    stopped = counted(Count(stop.stopped), stop.unit)
    if stop.looked_at < stop.total.number:
        stopped = f"{stopped} of {stop.looked_at:,} looked at, of {stop.total},"
    match stop.unit:
        case "event":
            return f"Why no event {stop.title}"
        case "match":
            return f"Why {stopped} {stop.title} {'is' if stop.stopped == 1 else 'are'} none"
    return f"Why {stopped} {stop.title}"


def counted(count: Count, noun: str) -> str:
    """A number with its noun.

    >>> counted(Count(1), "match"), counted(Count(2_000, False), "run")
    ('1 match', '≥ 2,000 runs')
    """
    plural = "es" if noun == "match" else "s"
    return f"{count} {noun if count.number == 1 else noun + plural}"


def bullet(text: str) -> list[str]:
    """A text as an item of a list."""
    return wrap(text, WIDTH, initial_indent="  - ", subsequent_indent="    ")


def aligned(
    header: Sequence[str] | None, rows: Iterable[Sequence[str]], sides: str = "l"
) -> list[str]:
    """Rows in columns; a row of one cell has the whole line. ``sides`` are l or r by column."""
    all_rows = [*([header] if header is not None else []), *rows]
    full = [row for row in all_rows if len(row) > 1]
    widths = [max(map(len, column)) for column in zip(*full, strict=True)] if full else []
    sides += "r" * (len(widths) - len(sides))
    lines = []
    for row in all_rows:
        if len(row) == 1:
            lines.append(f"  {row[0]}")
            continue
        cells = zip(row, widths, sides, strict=True)
        shown = [cell.rjust(width) if side == "r" else cell.ljust(width) for cell, width, side in cells]
        lines.append("  " + "  ".join(shown))
    return lines
