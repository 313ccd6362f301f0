"""Signatures by runs that begin with any component [Zhang10 §5.3]."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from cepheid.codegen.layout import NONE
from cepheid.engines.imprecise.layout import NEED_RUNS, Floats, Runs, Signatures
from cepheid.engines.imprecise.signatures import SignatureSearch
from cepheid.engines.imprecise.variants.kernels.any_state import AnyState, run_from_any_state
from cepheid.errors import LimitError
from cepheid.events.arrays import grown, int64s
from cepheid.tuning import tuning


def search_from_any_state(
    search: SignatureSearch, least_confidence: Floats
) -> Iterator[Signatures]:
    """The signatures of a search that has begun, in blocks that are valid until the next."""
    runs = _free_runs(
        tuning().any_state_runs,
        len(search.automaton.steps),
        search.batch.candidates.borders.shape[1],
    )

    query = AnyState(*search.joint_tests(1), search.apart)

    def more_runs() -> None:
        nonlocal runs
        count = len(runs.events) - 1
        if search.max_runs is not None and 2 * count > search.max_runs:
            raise LimitError(
                f"there are more than {search.max_runs} runs from any state; another "
                "method, such as query_order, needs none, and max_runs allows more"
            )
        runs = _doubled(runs)

    return search.run(
        lambda out: run_from_any_state(
            search.control, search.batch, search.mask, query, runs, least_confidence, out
        ),
        {NEED_RUNS: more_runs},
    )


def _free_runs(count: int, components: int, partitions: int) -> Runs:
    events, vlb, vub = (np.zeros((count + 1, components), dtype=np.int64) for _ in range(3))
    following = np.arange(1, count + 2, dtype=np.int64)
    following[count - 1] = NONE
    first_of = np.full(partitions, NONE, dtype=np.int64)
    free = np.array([0, count], dtype=np.int64)
    return Runs(events, vlb, vub, int64s(count + 1), following, first_of, free)


def _doubled(runs: Runs) -> Runs:
    count = len(runs.events) - 1
    added = np.arange(count + 1, 2 * count + 2, dtype=np.int64)
    added[count - 1] = runs.free[0]
    return runs._replace(
        events=grown(runs.events, 2 * count + 1),
        vlb=grown(runs.vlb, 2 * count + 1),
        vub=grown(runs.vub, 2 * count + 1),
        freshness=grown(runs.freshness, 2 * count + 1),
        following=np.concatenate([runs.following[:count], added]),
        free=np.array([count, runs.free[1] + count], dtype=np.int64),
    )
