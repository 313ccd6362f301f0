"""One evaluation over events in memory."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from cepheid.analysis.model import AnalysedQuery
from cepheid.errors import OptionError
from cepheid.planning.evaluations import NFA_B, REFERENCE, refuse_compressed
from cepheid.planning.options import BACKTRACK, MERGING, UNIONS, VERSIONED, Options
from cepheid.runtime.bindings import Bindings
from cepheid.runtime.events import Events
from cepheid.runtime.metrics import Metrics

if TYPE_CHECKING:
    from cepheid.runtime.compressed import CompressedMatches


def run(
    evaluation: str,
    query: AnalysedQuery,
    events: Events,
    window: int | None,
    output: str,
    options: Options,
) -> tuple[list[Bindings], Metrics]:
    """All matches of the query, in parts, by the evaluation with this name, and what it did."""
    if evaluation == REFERENCE:
        from cepheid.runtime.reference_run import run_reference

        found = run_reference(query.query, events, window, output, options.max_matches)
        return [found], Metrics(events=len(events), matches=len(found))
    from cepheid.runtime.session import Session

    session = Session(query, window, output, options, evaluation=evaluation)
    parts = session.run(events)
    return parts, session.metrics


def run_compressed(
    evaluation: str, query: AnalysedQuery, events: Events, window: int | None, options: Options
) -> CompressedMatches:
    """All matches of the query in the buffer that its runs share."""
    from cepheid.runtime.session import Session

    refusal = refuse_compressed(query)
    if evaluation != NFA_B:
        refusal = f"only {NFA_B} has it, and {evaluation} runs this query"
    if refusal is not None:
        raise OptionError(f"there is no compressed output for this query: {refusal}")
    if options.buffer != UNIONS or options.algorithm == BACKTRACK:
        raise OptionError(
            f"compressed output is a buffer of {UNIONS}, which neither buffer {VERSIONED!r} nor "
            f"algorithm {BACKTRACK!r} makes; leave these options out, or use output 'all'"
        )
    merging = replace(options, algorithm=MERGING)
    return Session(query, window, "all", merging, keeps_all=True).run_compressed(events)
