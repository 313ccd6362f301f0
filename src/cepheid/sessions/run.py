"""One evaluation over events in memory."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from cepheid.analysis.model import AnalysedQuery
from cepheid.engines.base.evaluation import IMPRECISE, NFA_B, REFERENCE
from cepheid.engines.base.options import BACKTRACK, MERGING, UNIONS, VERSIONED, Options
from cepheid.errors import OptionError
from cepheid.events.events import Events
from cepheid.events.uncertain_time import UncertainTime
from cepheid.matches.bindings import Bindings
from cepheid.matches.metrics import Metrics
from cepheid.matches.modes.all import ALL
from cepheid.matches.modes.compressed import COMPRESSED
from cepheid.matches.modes.registry import output_mode, refuse_output, refuse_query

if TYPE_CHECKING:
    from cepheid.matches.compressed import CompressedMatches
    from cepheid.matches.match_stream import MatchStream
    from cepheid.sessions.session import Session


@dataclass(frozen=True, slots=True, eq=False)
class PreparedRun:
    """A query analysed for some events in order, and the evaluation that will run it."""

    evaluation: str
    query: AnalysedQuery
    events: Events
    window: int | None
    output: str
    options: Options
    uncertain: UncertainTime | None = None

    def session(self) -> Session:
        """A session for the events."""
        from cepheid.sessions.session import Session

        return Session(
            self.query, self.window, self.output, self.options, evaluation=self.evaluation
        )


def run(prepared: PreparedRun) -> tuple[list[Bindings], Metrics]:
    """All matches of the query, in parts, and what the evaluation did."""
    query, events, options = prepared.query, prepared.events, prepared.options
    if prepared.evaluation == REFERENCE:
        from cepheid.sessions.reference_run import run_reference

        refuse_query(output_mode(prepared.output), query)
        found = run_reference(
            query.query, events, prepared.window, prepared.output, options.max_matches
        )
        return [found], Metrics(events=len(events), matches=len(found))
    if prepared.evaluation == IMPRECISE:
        from cepheid.engines.imprecise.session import ImpreciseSession

        refuse_output(prepared.output)
        uncertain = prepared.uncertain or UncertainTime()
        weighing = ImpreciseSession(query, prepared.window, uncertain, options)
        return weighing.run(events), weighing.metrics
    session = prepared.session()
    parts = session.run(events)
    return parts, session.metrics


def run_stream(prepared: PreparedRun) -> MatchStream:
    """The same, made as they are read."""
    from cepheid.matches.bindings import bindings_from_rows
    from cepheid.matches.match_stream import MatchStream
    from cepheid.matches.matches import Matches

    tree, events = prepared.query.query, prepared.events
    if prepared.evaluation in (REFERENCE, IMPRECISE):
        parts, metrics = run(prepared)
        nothing = Matches(tree, events, [parts[0].slice(0, 0)])
        return MatchStream(nothing, iter([Matches(tree, events, parts)]), lambda: metrics)
    nothing = Matches(tree, events, [bindings_from_rows(tree.pattern, [], [], [])])
    session = prepared.session()
    return MatchStream(nothing, session.stream(events), lambda: session.metrics)


def run_count(prepared: PreparedRun) -> int:
    """How many matches the query has; made only where they have to be looked at to be counted."""
    query, options = prepared.query, prepared.options
    makes_unions = options.buffer == UNIONS and options.algorithm != BACKTRACK
    is_plain = not output_mode(prepared.output).chooses and COMPRESSED.refusal(query) is None
    if prepared.evaluation != NFA_B or not makes_unions or not is_plain:
        return run_stream(prepared).exhaust()
    from cepheid.engines.base.limits import too_many_matches
    from cepheid.sessions.session import Session

    session = Session(query, prepared.window, prepared.output, options, counts=True)
    count = session.count(prepared.events)
    if count is None:
        count = run_compressed(prepared).count()
    if options.max_matches is not None and count > options.max_matches:
        components, strategy = query.alternatives[0].components, query.query.strategy
        raise too_many_matches(options.max_matches, components, strategy)
    return count


def run_compressed(prepared: PreparedRun) -> CompressedMatches:
    """All matches of the query in the buffer that its runs share."""
    from cepheid.sessions.session import Session

    query, options = prepared.query, prepared.options
    if prepared.evaluation != NFA_B:
        raise OptionError(
            f"there is no {COMPRESSED.name} output for this query: only {NFA_B} has it, and "
            f"{prepared.evaluation} runs this query"
        )
    refuse_query(COMPRESSED, query)
    if options.buffer != UNIONS or options.algorithm == BACKTRACK:
        raise OptionError(
            f"compressed output is a buffer of {UNIONS}, which neither buffer {VERSIONED!r} nor "
            f"algorithm {BACKTRACK!r} makes; leave these options out, or use output 'all'"
        )
    merging = replace(options, algorithm=MERGING)
    session = Session(query, prepared.window, ALL.name, merging, keeps_all=True)
    return session.run_compressed(prepared.events)
