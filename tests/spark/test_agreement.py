"""Spark gives the matches that a local run gives, however the events are spread over workers."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from agreement.strategies import Case, absence_cases, cases
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from spark.rows import found_together, local_rows

import cepheid as cep

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.filterwarnings("ignore:no fast evaluation runs this query")

Drawn = TypeVar("Drawn")

QUERIES = 130
TOGETHER = 44

Output = dict[str, Any]
"""Keywords that say which matches are reported."""

outputs = st.fixed_dictionaries(
    {
        "output": st.sampled_from((None, None, "first", "longest", "leftmost", "non_overlapping")),
        "at_most_once_per": st.sampled_from((None, None, None, 3)),
    }
)
bounds = st.lists(st.integers(0, 12), min_size=1, max_size=4, unique=True).map(sorted)


def draw(strategy: st.SearchStrategy[Drawn], count: int) -> list[Drawn]:
    """So many examples at once, for a job that runs them all."""
    found: list[Drawn] = []

    @settings(max_examples=count, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
    @given(strategy)
    def collect(example: Drawn) -> None:
        found.append(example)

    collect()
    return found


def numbered(case: Case) -> pa.Table:
    """The events with a column that orders them, and not in their order."""
    table = case.table()
    table = table.append_column("seq", pa.array(range(len(table)), pa.int64()))
    order = sorted(range(len(table)), key=lambda ix: ix * 7 % 11)
    return table.take(pa.array(order, pa.int64()))


def spread(
    query: cep.CompiledQuery, frame: DataFrame, limits: list[int], output: Output
) -> DataFrame:
    """The matches, with these limits of the slices where there are slices."""
    from cepheid.spark.batch.batch import by_slice
    from cepheid.spark.batch.preparation import prepare
    from cepheid.spark.batch.slices import why_not_sliced, with_reach

    prepared = prepare(query, frame.schema, tie_break="seq", **output)
    is_heavy = bool(limits[0] % 2)
    if why_not_sliced(prepared) is not None or (prepared.key and not is_heavy):
        return query.match(frame, tie_break="seq", **output)
    return by_slice(prepared, prepared.relevant(frame), with_reach(prepared, limits))


def planned(
    spark: SparkSession, drawn: list[tuple[Case, list[int], Output]]
) -> Iterator[tuple[Case, pa.Table, DataFrame]]:
    """For each case what a local run gives, and what Spark is to give."""
    for case, limits, output in drawn:
        table = numbered(case)
        try:
            query = cep.query(case.query)
            expected = query.match(table, tie_break="seq", **output).to_arrow()
        except (cep.QuerySemanticError, cep.EvaluationError):
            continue
        yield case, expected, spread(query, spark.createDataFrame(table), limits, output)


def test_random_queries_have_the_same_matches(spark: SparkSession) -> None:
    drawn = draw(st.tuples(cases(), bounds, outputs), QUERIES)
    drawn += draw(st.tuples(absence_cases(), bounds, outputs), QUERIES // 3)
    agreed = 0
    for low in range(0, len(drawn), TOGETHER):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", cep.CepheidWarning)
            plans = list(planned(spark, drawn[low : low + TOGETHER]))
        rows = found_together([frame for _, _, frame in plans])
        for (case, expected, _), found in zip(plans, rows, strict=True):
            assert found == local_rows(expected), case
            agreed += 1
    assert agreed >= 100


def test_random_queries_over_files_have_the_same_matches(
    spark: SparkSession, tmp_path: Path, tune: Callable[..., None]
) -> None:
    from cepheid.spark.files import files

    tune(file_rows_least=2, file_rows_most=2)
    drawn = draw(st.tuples(cases(), st.integers(1, 4), st.booleans()), QUERIES)
    plans: list[tuple[Case, pa.Table, DataFrame]] = []
    for number, (case, rows, reordered) in enumerate(drawn):
        table, file = case.table(), str(tmp_path / f"{number}.parquet")
        if reordered:
            table = with_neighbours_exchanged(table)
        pq.write_table(table, file, row_group_size=rows)
        try:
            query = cep.query(case.query)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", cep.CepheidWarning)
                found = files.match_files(query, spark, file)
        except (cep.QuerySemanticError, cep.EvaluationError, cep.OptionError):
            continue
        plans.append((case, query.match(table).to_arrow(), found))
    assert_as_expected(plans)
    assert len(plans) >= 40


def test_random_queries_over_frames_of_files_have_the_same_matches(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tune: Callable[..., None]
) -> None:
    from cepheid.spark.batch.preparation import prepare
    from cepheid.spark.files import files

    tune(file_rows_least=2, file_rows_most=2)
    monkeypatch.setattr(files, "_parallel_tasks", lambda _spark: 1)
    monkeypatch.setattr(files, "_most_together", lambda _groups: 2)
    drawn = draw(st.tuples(cases(), st.integers(1, 4), st.booleans()), QUERIES)
    plans: list[tuple[Case, pa.Table, DataFrame]] = []
    for number, (case, rows, reordered) in enumerate(drawn):
        table, file = case.table(), str(tmp_path / f"{number}.parquet")
        last = len(table) * (number % 2)  # Those of equal time may have to be turned around.
        table = table.append_column(
            "seq", pa.array([abs(last - ix) for ix in range(len(table))], pa.int64())
        )
        if reordered:
            table = with_neighbours_exchanged(table)
        pq.write_table(table, file, row_group_size=rows)
        try:
            query, frame = cep.query(case.query), spark.read.parquet(file)
            prepared = prepare(query, frame.schema, tie_break="seq")
            expected = query.match(table, tie_break="seq").to_arrow()
        except (cep.QuerySemanticError, cep.EvaluationError):
            continue
        found = files.match_plain_files(prepared, frame)
        if found is not None:
            plans.append((case, expected, found))
    assert_as_expected(plans)
    assert len(plans) >= 25


def with_neighbours_exchanged(table: pa.Table) -> pa.Table:
    """The same rows, each two of them in the other order: those of one row group, or of two."""
    order = [ix ^ 1 if ix ^ 1 < len(table) else ix for ix in range(len(table))]
    return table.take(pa.array(order, pa.int64()))


def assert_as_expected(plans: list[tuple[Case, pa.Table, DataFrame]]) -> None:
    """Run what was planned, much of it in one job, and compare."""
    for low in range(0, len(plans), TOGETHER):
        together = plans[low : low + TOGETHER]
        everything = found_together([frame for _, _, frame in together])
        for (case, expected, _), rows_found in zip(together, everything, strict=True):
            assert rows_found == local_rows(expected), case
