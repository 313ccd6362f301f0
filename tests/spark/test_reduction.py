"""Rare events first: what is kept, when it is chosen, and what is refused."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from agreement.strategies import absence_cases, cases
from hypothesis import strategies as st
from spark.rows import found_together, local_rows, spark_rows
from spark.test_agreement import TOGETHER, draw, numbered, outputs

import cepheid as cep

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.filterwarnings("ignore:no fast evaluation runs this query")

QUERIES = int(os.environ.get("CEPHEID_REDUCED", "12"))


@pytest.fixture
def interpreted(spark: SparkSession) -> Iterator[None]:
    """Spark compiles no code: that takes longer than plans for a handful of rows."""
    settings = {
        "spark.sql.codegen.wholeStage": "false",
        "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    }
    before = {name: spark.conf.get(name) for name in settings}
    for name, value in settings.items():
        spark.conf.set(name, value)
    yield
    for name, old in before.items():
        spark.conf.set(name, str(old))


@pytest.mark.usefixtures("interpreted")
def test_random_reduced_queries_have_the_same_matches(
    spark: SparkSession, tune: Callable[..., None]
) -> None:
    drawn = draw(st.tuples(cases(), outputs), QUERIES)
    drawn += draw(st.tuples(absence_cases(), outputs), QUERIES)
    plans = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cep.CepheidWarning)
        for number, (case, output) in enumerate(drawn):
            table = numbered(case)
            tune(reduce_broadcast=0 if number % 3 == 0 else 1e9)  # Joins with and without exchange.
            try:
                query = cep.query(case.query)
                frame = spark.createDataFrame(table)
                found = query.match(frame, tie_break="seq", reduce=True, **output)
                expected = query.match(table, tie_break="seq", **output).to_arrow()
            except (cep.QuerySemanticError, cep.EvaluationError):
                continue
            except cep.OptionError:  # What cannot be reduced is refused below.
                continue
            plans.append((case, expected, found))
    for low in range(0, len(plans), TOGETHER):
        together = plans[low : low + TOGETHER]
        everything = found_together([frame for _, _, frame in together])
        for (case, expected, _), rows in zip(together, everything, strict=True):
            assert rows == local_rows(expected), case
    print(f"{len(plans)} reduced queries agree")
    assert len(plans) >= QUERIES // 2


THEFT = """
PATTERN SEQ(Shelf a, ~(Register b), Exit c) WHERE [tag_id] WITHIN 100
RETURN a.tag_id AS item, a.ts AS taken, c.ts AS left_store
"""


def readings(count: int, rare: float, keys: int) -> pa.Table:
    """Readings of tags in no order; a share of them is at the exit."""
    random = np.random.default_rng(7)
    types = random.choice(["Exit", "Shelf", "Register", "Other"], count, p=_shares(rare))
    ts = random.integers(0, count, count)
    return pa.table({"ts": ts, "type": types, "tag_id": random.integers(0, keys, count)})


def _shares(rare: float) -> list[float]:
    return [rare, (1 - rare) / 2, (1 - rare) / 4, (1 - rare) / 4]


def frame_of(spark: SparkSession, table: pa.Table, folder: Path) -> DataFrame:
    folder.mkdir()
    pq.write_table(table, folder / "readings.parquet")
    return spark.read.parquet(str(folder))


def plan_of(frame: DataFrame) -> str:
    return str(frame._jdf.queryExecution().executedPlan().toString())


@pytest.fixture
def always_sampled(tune: Callable[..., None]) -> None:
    """Small inputs are sampled like large ones."""
    tune(reduce_bytes=0, reduce_sample_least=10)


@pytest.mark.usefixtures("always_sampled")
def test_a_rare_component_is_found_by_a_sample(spark: SparkSession, tmp_path: Path) -> None:
    table, query = readings(20_000, 0.01, 500), cep.query(THEFT)
    frame = frame_of(spark, table, tmp_path / "rare")
    found = query.match(frame)
    assert "BroadcastHashJoin" in plan_of(found)
    assert spark_rows(found) == local_rows(query.match(table).to_arrow())
    assert "reduced to events near Exit c by key and time, before the exchange; about" in (
        query.explain(frame)
    )
    assert "Join" not in plan_of(query.match(frame, reduce=False))
    assert "not reduced: reduce=False" in query.explain(frame, reduce=False)
    assert "bounds:\n" in query.explain(frame, reduce=False, bounds=True)


@pytest.mark.usefixtures("always_sampled")
def test_nothing_is_reduced_where_it_does_not_pay(spark: SparkSession, tmp_path: Path) -> None:
    query = cep.query(THEFT)
    frequent = frame_of(spark, readings(5_000, 0.3, 500), tmp_path / "frequent")
    assert "Join" not in plan_of(query.match(frequent))
    assert "no component is rare: the rarest has 3" in query.explain(frequent)
    few_keys = frame_of(spark, readings(20_000, 0.02, 2), tmp_path / "few")
    longer = cep.query(THEFT.replace("100", "9000"))
    assert "of the relevant rows are near rare ones" in longer.explain(few_keys)
    assert "would be computed twice" in query.explain(frequent.join(few_keys, "ts", "left_semi"))


def test_small_inputs_are_not_sampled(spark: SparkSession, tmp_path: Path) -> None:
    frame = frame_of(spark, readings(1_000, 0.01, 50), tmp_path / "small")
    assert "its input has less than 64 MiB" in cep.query(THEFT).explain(frame)


def test_many_rare_events_are_joined_where_the_events_are_partitioned(
    spark: SparkSession, tmp_path: Path, tune: Callable[..., None]
) -> None:
    tune(reduce_broadcast=0)
    table, query = readings(5_000, 0.05, 500), cep.query(THEFT)
    frame = frame_of(spark, table, tmp_path / "many")
    found = query.match(frame, reduce=True)
    plan = plan_of(found)
    assert "ShuffledHashJoin" in plan
    # One exchange of the events, and one for the distinct keys of the rare ones.
    assert plan.count("Exchange hashpartitioning") == 2
    assert spark_rows(found) == local_rows(query.match(table).to_arrow())
    assert "by key, after the exchange" in query.explain(frame, reduce=True)
    sliced = query.match(frame, reduce=True, slices=3)
    assert spark_rows(sliced) == spark_rows(found)


def test_negations_reach_beyond_the_window(spark: SparkSession) -> None:
    text = "PATTERN SEQ(~(X x) WITHIN 50, A a, R r, ~(Y y) WITHIN 70) WHERE [id] WITHIN 10"
    query = cep.query(text + " RETURN a.id AS id")
    rows = [(ts, kind, key) for key in range(4) for ts, kind in [(100, "A"), (109, "R")]]
    rows += [(51, "X", 1), (50, "X", 2), (178, "Y", 3), (179, "Y", 2)]
    names = ("ts", "type", "id")
    table = pa.table({name: [row[ix] for row in rows] for ix, name in enumerate(names)})
    found = query.match(spark.createDataFrame(table), reduce=True)
    expected = local_rows(query.match(table).to_arrow())
    assert spark_rows(found) == expected
    assert len(expected) == 2


@pytest.mark.parametrize(
    ("ts", "kind", "message"),
    [(None, "Other", "ts"), (5, None, "type"), (float("nan"), "Exit", "ts")],
)
def test_rows_without_time_or_type_are_an_error(
    spark: SparkSession, ts: float | None, kind: str | None, message: str
) -> None:
    times = pa.array([1.0, 2.0, ts], pa.float64())
    table = pa.table({"ts": times, "type": ["Shelf", "Exit", kind], "tag_id": [1, 1, 2]})
    with pytest.raises(cep.EventError) as expected:
        cep.query(THEFT).match(table)
    found = cep.query(THEFT).match(spark.createDataFrame(table), reduce=True)
    with pytest.raises(Exception, match="EventError") as raised:
        found.collect()
    assert str(expected.value).splitlines()[0][:20] in str(raised.value)
    assert message in str(raised.value)


def test_what_cannot_be_reduced_is_refused(spark: SparkSession) -> None:
    from pyspark.sql import functions as F  # noqa: N812

    frame = spark.createDataFrame(readings(10, 0.1, 2))
    for text, reason in [
        ("PATTERN SEQ(Shelf a, Exit c) WITHIN 5 EVENTS", "counts events"),
        ("PATTERN SEQ(Shelf a, Exit c) WHERE strict_contiguity WITHIN 5", "adjacent"),
        ("PATTERN SEQ(Shelf a, Exit c) WHERE c.INDEX = a.INDEX + 1 WITHIN 5", "counts events"),
        ("PATTERN SEQ(Shelf a, Exit c)", "neither a key nor a window"),
        ("PATTERN SEQ(Shelf a, Exit c) WITHIN 5 OUTPUT ALL WITH TIMED OUT", "TIMED OUT"),
    ]:
        with pytest.raises(cep.OptionError, match=reason):
            cep.query(text).match(frame, reduce=True)
    query = cep.query(THEFT)
    with pytest.raises(cep.OptionError, match="not deterministic"):
        query.match(frame.where(F.rand() < 2), reduce=True)
    with pytest.raises(cep.OptionError, match="the same rows for GlobalLimit and LocalLimit"):
        query.match(frame.limit(5), reduce=True)
    with pytest.raises(cep.OptionError, match="reduce is True, False or 'auto', not 'yes'"):
        query.match(frame, reduce="yes")
    with pytest.raises(cep.OptionError, match="'reduce' is for a query"):
        cep.script(f"{THEFT}; {THEFT}").match(frame, reduce=True)
    with pytest.raises(cep.OptionError, match="'reduce' is for"):
        query.match(readings(10, 0.1, 2), reduce=True)
