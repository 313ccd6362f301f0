"""The HTML page of a report.

A diagnosis is a funnel: the events and partial matches that reach each component.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from importlib import resources
from typing import Any

from cepheid.explain.diagnosis import Diagnosis
from cepheid.explain.diagnosis.layout import (
    EXAMPLES,
    alternative_title,
    failing_lines,
    headline,
    reason_count,
    stop_title,
)
from cepheid.explain.diagnosis.report import BranchDiagnosis, Stop
from cepheid.report.timeline import Timeline


@dataclass(frozen=True, slots=True)
class Report:
    """The parts of a report; only the timeline is always there.

    ``automata`` is a drawing, ``plan`` the text that explains how the query runs.
    """

    title: str
    timeline: Timeline
    query: str | None = None
    plan: str | None = None
    automata: str | None = None
    metrics: dict[str, Any] | None = None
    diagnosis: Diagnosis | None = None

    def to_html(self) -> str:
        """The report as one page without external links.

        >>> page = Report("thefts", Timeline(0, False, (0.0, 1.0), [0], [], [])).to_html()
        >>> "<title>thefts</title>" in page, "http" in page
        (True, False)
        """
        parts = {
            "TITLE": escape(self.title),
            "STYLE": _resource("page.css"),
            "SECTIONS": "\n".join(self._sections()),
            # Otherwise a string in the data could end the script.
            "DATA": json.dumps(self.timeline.to_dict(), ensure_ascii=False).replace("<", "\\u003c"),
            "SCRIPT": _resource("page.js"),
        }
        page = _resource("page.html")
        head, *rest = page.split("{{")
        filled = [head]
        for piece in rest:
            name, _, after = piece.partition("}}")
            filled += [parts[name], after]
        return "".join(filled)

    def _sections(self) -> Iterator[str]:
        if self.query is not None:
            yield _section("query", "Query", f"<pre>{escape(self.query)}</pre>")
        if self.automata is not None:
            yield _section("automaton", "Automaton", f'<div class="drawing">{self.automata}</div>')
        if self.plan is not None:
            yield _section("plan", "Plan", f"<pre>{escape(self.plan)}</pre>")
        if self.diagnosis is not None:
            yield _section("funnel", "Diagnosis", draw_funnel(self.diagnosis))
        if self.metrics is not None:
            yield _section("metrics", "Metrics", _metrics(self.metrics))


def _section(name: str, title: str, content: str) -> str:
    return f'<section id="{name}"><h2>{escape(title)}</h2>\n{content}\n</section>'


def _metrics(metrics: dict[str, Any]) -> str:
    rows = []
    for name, value in metrics.items():
        if isinstance(value, dict):
            shown = ", ".join(f"{key} {_figure(each)}" for key, each in value.items()) or "–"
        else:
            shown = _figure(value)
        label = escape(name.replace("_", " "))
        rows.append(f"<tr><th>{label}</th><td>{escape(shown)}</td></tr>")
    return f'<table class="figures">{"".join(rows)}</table>'


def _figure(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:,.3f}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def _resource(name: str) -> str:
    return resources.files("cepheid.report").joinpath(name).read_text("utf-8")


def draw_funnel(diagnosis: Diagnosis) -> str:
    """The diagnosis as HTML: bars and reasons for each alternative, hints and notes."""
    parts = [f"<p>{escape(headline(diagnosis))}</p>"]
    for number, branch in enumerate(diagnosis.branches, start=1):
        if len(diagnosis.branches) > 1:
            parts.append(f"<h3>{escape(alternative_title(number, branch))}</h3>")
        parts.append(_bars(branch))
        parts += map(_stop, branch.stops)
    for title, texts in (("Hints", diagnosis.hints), ("Notes", diagnosis.notes)):
        if texts:
            items = "".join(f"<li>{escape(each)}</li>" for each in texts)
            parts.append(f"<h3>{title}</h3><ul>{items}</ul>")
    return "\n".join(parts)


def _bars(branch: BranchDiagnosis) -> str:
    most = max((component.events for component in branch.components), default=0) or 1
    rows = []
    for component in branch.components:
        reached = str(component.runs[0].count) if component.runs else "negated"
        width, fitting = 100 * component.events / most, 100 * component.passing / most
        failing = "".join(f"<small>{escape(line)}</small>" for line in failing_lines(component))
        goals = "".join(
            f"<small>with {escape(goal.goal)}: {escape(str(goal.count))} partial matches</small>"
            for goal in component.runs[1:]
        )
        rows.append(
            f"<tr><th><code>{escape(component.component)}</code>{failing}{goals}</th>"
            f'<td class="bar"><i style="width:{width:.2f}%"></i>'
            f'<b style="width:{fitting:.2f}%"></b></td>'
            f"<td>{component.events:,}</td><td>{component.passing:,}</td>"
            f"<td>{escape(reached)}</td></tr>"
        )
    header = (
        "<tr><th>component</th><th></th><th>events of this type</th><th>that fit</th>"
        "<th>partial matches</th></tr>"
    )
    return f'<table class="funnel">{header}{"".join(rows)}</table>'


def _stop(stop: Stop) -> str:
    reasons = "".join(
        f"<tr><td>{escape(reason_count(stop, each))}</td><td>{escape(each.text)}</td></tr>"
        for each in stop.reasons
    )
    examples = "".join(
        f"<tr><td><code>{escape(each.place)}</code></td><td>{escape(each.explanation)}</td></tr>"
        for each in stop.examples
    )
    shown = f"<p>{escape(EXAMPLES)}</p><table>{examples}</table>" if examples else ""
    return f"<h3>{escape(stop_title(stop))}</h3><table>{reasons}</table>{shown}"
