"""The registry entry of NFA^b."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from cepheid.codegen.sequences import compile_nfa_b, refuse_nfa_b
from cepheid.engines.base.evaluation import NFA_B, Evaluation
from cepheid.engines.base.options import BACKTRACK, MERGING, UNIONS, VERSIONED, Options
from cepheid.engines.base.workload import UnitCosts, Workload, work_of
from cepheid.matches.layout import NO_PRUNING, ONE_OF_PARTITION

if TYPE_CHECKING:
    from cepheid.engines.base.engine import Engine, EngineTask


def _make_engine(task: EngineTask) -> Engine:
    automaton = compile_nfa_b(task.query, task.alternative)
    if task.options.algorithm == BACKTRACK:
        from cepheid.engines.nfa_b.variants.backtrack import BacktrackEngine

        prunes = task.prunes if task.prunes == ONE_OF_PARTITION else NO_PRUNING
        return BacktrackEngine(automaton, replace(task, counts=False, prunes=prunes))
    if task.options.buffer == VERSIONED:
        from cepheid.engines.nfa_b.variants.versioned import VersionedEngine

        return VersionedEngine(automaton, replace(task, counts=False, prunes=NO_PRUNING))
    from cepheid.engines.nfa_b.engine import NfaBEngine

    if task.keeps_all:  # Runs of the same events share one list.
        task = replace(task, options=replace(task.options, algorithm=MERGING))
    return NfaBEngine(automaton, task)


def _refuse_compressed(options: Options) -> str | None:
    if options.buffer == UNIONS and options.algorithm != BACKTRACK:
        return None
    return (
        f"compressed output is a buffer of {UNIONS}, which neither buffer {VERSIONED!r} nor "
        f"algorithm {BACKTRACK!r} makes; leave these options out, or use output 'all'"
    )


def _cost(workload: Workload) -> float:
    """Components are bound in pattern order, and runs that differ only in a list are merged."""
    merged = replace(workload, lists=frozenset(), linked=frozenset())
    work = work_of(merged, [range(len(workload.events))])
    meeting = 0.2  # what an event costs for each run that is alive
    total = UnitCosts(event=6.0, partial=8.0, test=1.0, match=1.0).total(workload, work)
    return total + meeting * sum(workload.events) * work.partial


NFA_B_EVALUATION = Evaluation(
    NFA_B,
    "runs of an automaton with a buffer, compiled to native code",
    refuse_nfa_b,
    _make_engine,
    has_automaton=True,
    cost=_cost,
    options=("algorithm", "buffer"),
    refuse_compressed=_refuse_compressed,
)
