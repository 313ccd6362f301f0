"""One evaluation over events in memory."""

from __future__ import annotations

from cepheid.analysis.model import AnalysedQuery
from cepheid.automata.evaluations import NFA_B
from cepheid.runtime.bindings import Bindings
from cepheid.runtime.events import Events


def run(
    evaluation: str, query: AnalysedQuery, events: Events, window: int | None, output: str
) -> list[Bindings]:
    """All matches of the query, in parts, by the evaluation with this name."""
    if evaluation == NFA_B:
        from cepheid.runtime.session import Session

        return Session(query, window, output).run(events)
    from cepheid.runtime.reference_run import run_reference

    return [run_reference(query.query, events, window, output)]
