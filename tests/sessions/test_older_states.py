"""A session that an earlier version stored goes on as if nothing had happened, or is refused."""

from __future__ import annotations

import pytest
from fixtures.states.stored import REFUSED, WHAT_TO_DO, Case, cases, rest

import cepheid as cep


@pytest.mark.parametrize("case", cases("sessions"), ids=str)
def test_an_older_snapshot_is_restored_or_refused_with_advice(case: Case) -> None:
    if case.version in REFUSED:
        with pytest.raises(cep.SnapshotError, match=WHAT_TO_DO):
            rest(case.compiled.restore(case.snapshot, **case["keywords"]), case["after"])
        return
    session = case.compiled.restore(case.snapshot, **case["keywords"])
    assert rest(session, case["after"]) == case["expected"]
