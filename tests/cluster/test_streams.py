"""A stream on a standalone cluster of two workers, one of whose executors is killed."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest
from benchmarks.stream_faults import QUERY, kill_executors, write_files

pytestmark = pytest.mark.skipif(
    "CEPHEID_CLUSTER" not in os.environ,
    reason="starts six JVMs, for a minute or more: set CEPHEID_CLUSTER=1, or make test-cluster",
)


def test_an_executor_that_is_killed_loses_nothing(tmp_path: Path) -> None:
    (tmp_path / "query").write_text(QUERY)
    write_files(tmp_path / "events", files=6, events=100)
    result = kill_executors(tmp_path, kills=1, generator=random.Random(4))
    assert result.kills == 1
    assert result.is_right, result
    assert result.found > 0
