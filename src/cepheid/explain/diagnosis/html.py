"""A diagnosis as HTML, for a report and for a notebook."""

from __future__ import annotations

from cepheid.explain.diagnosis.counting import Count
from cepheid.explain.diagnosis.layout import (
    EXAMPLES,
    alternative_title,
    failing_lines,
    headline,
    reason_count,
    stop_title,
)
from cepheid.explain.diagnosis.report import BranchDiagnosis, Diagnosis, Stop
from cepheid.visible import html_text

_STYLE = "display:block;height:13px;background:var(--strong, #1d4ed8)"


def draw_funnel(diagnosis: Diagnosis) -> str:
    """The diagnosis as HTML: bars and reasons for each alternative, hints and notes."""
    parts = [f"<p>{html_text(headline(diagnosis))}</p>"]
    for number, branch in enumerate(diagnosis.branches, start=1):
        if len(diagnosis.branches) > 1:
            parts.append(f"<h3>{html_text(alternative_title(number, branch))}</h3>")
        parts.append(_bars(branch))
        parts += map(_stop, branch.stops)
    for title, texts in (("Hints", diagnosis.hints), ("Notes", diagnosis.notes)):
        if texts:
            items = "".join(f"<li>{html_text(each)}</li>" for each in texts)
            parts.append(f"<h3>{title}</h3><ul>{items}</ul>")
    return "\n".join(parts)


def _bars(branch: BranchDiagnosis) -> str:
    """The partial matches that reach each component as bars, and the matches in the last row."""
    reached = [component.runs[0].count for component in branch.components if component.runs]
    most = max((count.number for count in (*reached, branch.matches)), default=0) or 1
    rows = []
    for component in branch.components:
        count = component.runs[0].count if component.runs else None
        failing = "".join(f"<small>{html_text(line)}</small>" for line in failing_lines(component))
        goals = "".join(
            f"<small>{html_text(f'with {goal.goal}: {goal.count} partial matches')}</small>"
            for goal in component.runs[1:]
        )
        rows.append(
            f"<tr><th><code>{html_text(component.component)}</code>{failing}{goals}</th>"
            f"<td>{component.events:,}</td><td>{component.passing:,}</td>"
            f"{_bar(count, most)}<td>{html_text(str(count or 'negated'))}</td></tr>"
        )
    rows.append(
        f"<tr><th>matches</th><td></td><td></td>{_bar(branch.matches, most)}"
        f"<td>{html_text(str(branch.matches))}</td></tr>"
    )
    header = (
        "<tr><th>component</th><th>events of this type</th><th>that fit</th><th></th>"
        "<th>partial matches</th></tr>"
    )
    return f'<table class="funnel">{header}{"".join(rows)}</table>'


def _bar(count: Count | None, most: int) -> str:
    share = 0 if count is None else 100 * count.number / most
    return f'<td class="bar"><b style="{_STYLE};width:{share:.2f}%"></b></td>'


def _stop(stop: Stop) -> str:
    reasons = "".join(
        f"<tr><td>{html_text(reason_count(stop, each))}</td><td>{html_text(each.text)}</td></tr>"
        for each in stop.reasons
    )
    examples = "".join(
        f"<tr><td><code>{html_text(each.place)}</code></td><td>{html_text(each.explanation)}</td></tr>"
        for each in stop.examples
    )
    shown = f"<p>{html_text(EXAMPLES)}</p><table>{examples}</table>" if examples else ""
    return f"<h3>{html_text(stop_title(stop))}</h3><table>{reasons}</table>{shown}"
