"""The registry entry of NFA^b."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from cepheid.codegen.sequences import compile_nfa_b, refuse_nfa_b
from cepheid.engines.base.evaluation import NFA_B, Evaluation
from cepheid.engines.base.options import BACKTRACK, VERSIONED

if TYPE_CHECKING:
    from cepheid.engines.base.engine import Engine, EngineTask


def _make_engine(task: EngineTask) -> Engine:
    automaton = compile_nfa_b(task.query, task.alternative)
    if task.options.algorithm == BACKTRACK:
        from cepheid.engines.nfa_b.variants.backtrack import BacktrackEngine

        return BacktrackEngine(automaton, replace(task, counts=False, prunes=False))
    if task.options.buffer == VERSIONED:
        from cepheid.engines.nfa_b.variants.versioned import VersionedEngine

        return VersionedEngine(automaton, replace(task, counts=False, prunes=False))
    from cepheid.engines.nfa_b.engine import NfaBEngine

    return NfaBEngine(automaton, task)


NFA_B_EVALUATION = Evaluation(
    NFA_B,
    "runs of an automaton with a buffer, compiled to native code",
    refuse_nfa_b,
    _make_engine,
    has_automaton=True,
    has_compressed=True,
)
