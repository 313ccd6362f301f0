"""Spark's workers on a machine that has compiled nothing; no JVM is needed to see them."""

from __future__ import annotations

import pyarrow as pa
import pytest
from pyspark.sql.types import LongType, StringType, StructType

import cepheid as cep
from cepheid.spark.batch.preparation import prepare
from cepheid.spark.worker import partition_run
from cepheid.spark.worker.partition_run import run_partition

pytestmark = pytest.mark.usefixtures("empty_cache")

QUERY = cep.query(
    "PATTERN SEQ(A a, ~(B b), C+ c[]) WHERE [k] WITHIN 9 RETURN a.k AS k, c[].ts AS at"
)
COUNT = 60
EVENTS = pa.table(
    {
        "ts": range(COUNT),
        "type": [*"ACBCAC"] * (COUNT // 6),
        "k": [number // 2 % 3 for number in range(COUNT)],
    }
)
SCHEMA = StructType().add("ts", LongType()).add("type", StringType()).add("k", LongType())


def found(starts: tuple[float, float] | None = None, **keywords: object) -> list[object]:
    settings = prepare(QUERY, SCHEMA, match_id=True, **keywords).settings
    batches = EVENTS.select(settings.columns).to_batches(max_chunksize=20)
    rows = [row for batch in run_partition(settings, batches, starts) for row in batch.to_pylist()]
    return sorted(rows, key=str)


@pytest.fixture
def sessions(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """The sessions that compiled code runs in, with an empty cache."""
    made: list[object] = []
    session = partition_run.WorkerSession

    def noted(*arguments: object, **keywords: object) -> object:
        made.append(arguments)
        return session(*arguments, **keywords)

    monkeypatch.setattr(partition_run, "WorkerSession", noted)
    return made


@pytest.mark.parametrize("starts", [None, (10, 40)])
def test_few_events_are_answered_by_the_definition(
    sessions: list[object], starts: tuple[float, float] | None
) -> None:
    soon = found(starts)
    assert not sessions
    assert soon == found(starts, evaluation="nfa_b")
    assert len(sessions) == 1
    assert soon


def test_more_events_have_a_session(sessions: list[object], tune: object) -> None:
    tune(first_run_events=COUNT - 1)
    found()
    assert len(sessions) == 1


def test_limits_of_the_user_have_a_session(sessions: list[object]) -> None:
    found(max_matches=1_000)
    assert len(sessions) == 1
