"""The benchmark of layouts compares ways that give the same answers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from benchmarks.spark_layouts import Data, Question, answer, read, ways, write

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.mark.parametrize("question", [Question(3, 9 * 86_400, True), Question(2, 86_400)])
def test_all_ways_give_the_same_answers(
    spark: SparkSession, tmp_path: Path, question: Question
) -> None:
    data = Data("date folders", 40, 0.1)
    write(spark, tmp_path / "events", data, 800)
    events = read(spark, tmp_path / "events", data)
    answers = {way: answer(plan(events)) for way, plan in ways(question).items()}
    assert len(set(answers.values())) == 1
    assert answers["cepheid"][0] > 0
