"""The engine of each evaluation, loaded when a query needs it: its kernels are compiled then."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from cepheid.analysis.model import Alternative, AnalysedQuery
from cepheid.codegen.compiled_once import compiled_once
from cepheid.engines.base.engine import Engine
from cepheid.engines.base.evaluation import INSTANCE_STACKS, LAZY_CHAIN, LAZY_TREE, NFA_B
from cepheid.engines.base.options import BACKTRACK, VERSIONED, Options
from cepheid.engines.lazy.sharing import SharedAlternatives, shared_alternatives

if TYPE_CHECKING:
    from cepheid.engines.lazy.shared import SharedLazyEngine
    from cepheid.engines.nfa_b.engine import NfaBEngine


@dataclass(frozen=True, slots=True, eq=False)
class EngineTask:
    """What an engine is made for: one alternative of a query, its window and the options.

    ``by_partition`` says that the window counts the events of a partition. An engine that
    ``keeps_all`` lists no matches: what it keeps is the answer. One that ``counts`` need only
    find how many there are, and one that ``prunes`` only those after which no other begins
    before they end, in each partition; engines that do not know how find all. ``shared`` has
    the engines that alternatives of the query have in common.
    """

    query: AnalysedQuery
    alternative: Alternative
    window: int
    by_partition: bool
    options: Options
    keeps_all: bool = False
    counts: bool = False
    prunes: bool = False
    shared: dict[tuple[int, ...], SharedLazyEngine] = field(default_factory=dict)


@compiled_once
def _groups(query: AnalysedQuery, negation: str) -> tuple[SharedAlternatives, ...]:
    return shared_alternatives(query, negation)


def _nfa_b_engine(options: Options) -> type[NfaBEngine]:
    if options.algorithm == BACKTRACK:
        from cepheid.engines.nfa_b.variants.backtrack import BacktrackEngine

        return BacktrackEngine
    if options.buffer == VERSIONED:
        from cepheid.engines.nfa_b.variants.versioned import VersionedEngine

        return VersionedEngine
    from cepheid.engines.nfa_b.engine import NfaBEngine

    return NfaBEngine


def _nfa_b(task: EngineTask) -> Engine:
    from cepheid.codegen.sequences import compile_nfa_b
    from cepheid.engines.nfa_b.engine import NfaBEngine

    automaton = compile_nfa_b(task.query, task.alternative)
    tests = tuple(test.attribute for test in task.query.equivalences)
    # Runs are listed by what matches must not overlap in.
    prunes = task.prunes and tests == (
        automaton.partition_attributes if automaton.lists_by_partition else ()
    )
    engine = _nfa_b_engine(task.options)
    if engine is not NfaBEngine:
        return engine(
            automaton,
            task.window,
            task.by_partition,
            task.options.algorithm,
            task.options.max_runs,
        )
    return NfaBEngine(
        automaton,
        task.window,
        task.by_partition,
        task.options.algorithm,
        task.options.max_runs,
        task.keeps_all,
        task.counts,
        prunes,
    )


def _instance_stacks(task: EngineTask) -> Engine:
    from cepheid.engines.stacks.engine import InstanceStacksEngine
    from cepheid.engines.stacks.tables import compile_instance_stacks

    return InstanceStacksEngine(
        compile_instance_stacks(task.query, task.alternative),
        task.window,
        task.by_partition,
        task.options,
    )


def _lazy(task: EngineTask, is_tree: bool) -> Engine:
    from cepheid.engines.lazy.compile import compile_lazy, compile_shared
    from cepheid.engines.lazy.engine import LazyEngine
    from cepheid.engines.lazy.shared import SharedLazyEngine

    number = task.query.alternatives.index(task.alternative)
    for group in () if is_tree else _groups(task.query, task.options.negation):
        if number in group.numbers:
            if group.numbers not in task.shared:
                engine = LazyEngine(
                    compile_shared(task.query, group),
                    task.window,
                    task.by_partition,
                    task.options,
                    is_tree=False,
                )
                task.shared[group.numbers] = SharedLazyEngine(engine, group)
            return task.shared[group.numbers].part(number)
    return LazyEngine(
        compile_lazy(task.query, task.alternative, task.options.negation),
        task.window,
        task.by_partition,
        task.options,
        is_tree=is_tree,
    )


_ENGINES: dict[str, Callable[[EngineTask], Engine]] = {
    INSTANCE_STACKS: _instance_stacks,
    NFA_B: _nfa_b,
    LAZY_CHAIN: partial(_lazy, is_tree=False),
    LAZY_TREE: partial(_lazy, is_tree=True),
}


def make_engine(evaluation: str, task: EngineTask) -> Engine:
    """The engine of the evaluation with this name."""
    return _ENGINES[evaluation](task)
