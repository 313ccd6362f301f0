"""One evaluation over events in memory."""

from __future__ import annotations

from cepheid.analysis.model import AnalysedQuery
from cepheid.automata.evaluations import NFA_B
from cepheid.planning.options import Options
from cepheid.runtime.bindings import Bindings
from cepheid.runtime.events import Events
from cepheid.runtime.metrics import Metrics


def run(
    evaluation: str,
    query: AnalysedQuery,
    events: Events,
    window: int | None,
    output: str,
    options: Options,
) -> tuple[list[Bindings], Metrics]:
    """All matches of the query, in parts, by the evaluation with this name, and what it did."""
    if evaluation == NFA_B:
        from cepheid.runtime.session import Session

        session = Session(query, window, output, options)
        parts = session.run(events)
        return parts, session.metrics
    from cepheid.runtime.reference_run import run_reference

    found = run_reference(query.query, events, window, output, options.max_matches)
    return [found], Metrics(events=len(events), matches=len(found))
