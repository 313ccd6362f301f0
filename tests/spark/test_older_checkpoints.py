"""A stream goes on from a checkpoint of an earlier version, or says what to do instead."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from fixtures.states.stored import REFUSED, WHAT_TO_DO, Case, cases, put, stream

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.mark.parametrize("case", cases("streams"), ids=str)
def test_an_older_checkpoint_is_restored_or_refused_with_advice(
    rocksdb: SparkSession, tmp_path: Path, case: Case
) -> None:
    from pyspark.errors import StreamingQueryException

    case.unpack_checkpoint(tmp_path)
    put(tmp_path, 2, case["after"])
    if case.version in REFUSED:
        with pytest.raises(StreamingQueryException, match=f"(?s)SnapshotError: .*({WHAT_TO_DO})"):
            stream(rocksdb, tmp_path, case.described)
        return
    assert stream(rocksdb, tmp_path, case.described) == case["expected"]
