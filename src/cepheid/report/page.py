"""The HTML page of a report.

A diagnosis is a funnel: the events and partial matches that reach each component.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import resources
from typing import Any

from cepheid.explain.diagnosis import Diagnosis
from cepheid.explain.diagnosis.html import draw_funnel
from cepheid.report.timeline import Timeline
from cepheid.visible import html_text, visible


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
    diagnosis: Diagnosis | str | None = None

    def to_html(self) -> str:
        """The report as one page without external links.

        >>> page = Report("thefts", Timeline(0, False, (0.0, 1.0), [0], [], [])).to_html()
        >>> "<title>thefts</title>" in page, "http" in page
        (True, False)
        """
        parts = {
            "TITLE": html_text(self.title),
            "STYLE": resource("page.css"),
            "SECTIONS": "\n".join(self._sections()),
            # Otherwise a string in the data could end the script.
            "DATA": _json(self.timeline.to_dict()).replace("<", "\\u003c"),
            "SCRIPT": resource("timeline.js"),
            "TIMELINE": resource("timeline.html"),
        }
        return filled(resource("page.html"), parts)

    def _sections(self) -> Iterator[str]:
        if self.query is not None:
            yield _section("query", "Query", f"<pre>{html_text(self.query)}</pre>")
        if self.automata is not None:
            yield _section("automaton", "Automaton", f'<div class="drawing">{self.automata}</div>')
        if self.plan is not None:
            yield _section("plan", "Plan", f"<pre>{html_text(self.plan)}</pre>")
        if isinstance(self.diagnosis, str):
            yield _section("diagnosis", "Diagnosis", f"<pre>{html_text(self.diagnosis)}</pre>")
        elif self.diagnosis is not None:
            yield _section("funnel", "Diagnosis", draw_funnel(self.diagnosis))
        if self.metrics is not None:
            yield _section("metrics", "Metrics", _metrics(self.metrics, self.timeline.total))


def _section(name: str, title: str, content: str) -> str:
    return f'<section id="{name}"><h2>{html_text(title)}</h2>\n{content}\n</section>'


def _json(data: dict[str, Any]) -> str:
    return json.dumps(visible_values(data), ensure_ascii=False)


def visible_values(value: Any) -> Any:
    """JSON values with visible names and strings.

    >>> visible_values({"x": ["a\\x1b", 1]})
    {'x': ['a\\\\x1b', 1]}
    """
    match value:
        case str():
            return visible(value)
        case dict():
            return {visible(name): visible_values(each) for name, each in value.items()}
        case list():
            return [visible_values(each) for each in value]
    return value


def _metrics(metrics: dict[str, Any], total: int) -> str:
    """Metrics as a table; matches that the output mode leaves out are not called matches."""
    rows = []
    for name, value in metrics.items():
        if name == "matches" and value != total:
            name = "before the output mode"
        if isinstance(value, dict):
            shown = ", ".join(f"{key} {_figure(each)}" for key, each in value.items()) or "–"
        else:
            shown = _figure(value)
        label = html_text(name.replace("_", " "))
        rows.append(f"<tr><th>{label}</th><td>{html_text(shown)}</td></tr>")
    return f'<table class="figures">{"".join(rows)}</table>'


def _figure(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:,.3f}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def resource(name: str, package: str = "cepheid.report") -> str:
    """The text of a file of a package."""
    return resources.files(package).joinpath(name).read_text("utf-8")


def filled(page: str, parts: Mapping[str, str]) -> str:
    """A page with its parts, in the place of their names.

    >>> filled("<b>{{NAME}}</b>", {"NAME": "{{x}}"})
    '<b>{{x}}</b>'
    """
    head, *rest = page.split("{{")
    texts = [head]
    for piece in rest:
        name, _, after = piece.partition("}}")
        texts += [parts[name], after]
    return "".join(texts)
