"""The memory limit of a Python worker; no JVM is needed to see it."""

import pyarrow as pa
import pytest

import cepheid as cep
from cepheid.budget import Available
from cepheid.sessions.run_settings import RunSettings
from cepheid.spark.worker import worker_settings
from cepheid.spark.worker.partition_run import run_partition
from cepheid.spark.worker.worker_settings import WorkerSettings

EVENTS = pa.table({"ts": list(range(40)), "type": ["A"] * 40})


def settings_with(**keywords: object) -> WorkerSettings:
    return WorkerSettings(
        text="PATTERN A+ a[]",
        run=RunSettings.of(keywords),
        ties=(),
        columns=("ts", "type"),
        result_schema=pa.schema([]),
        has_session=keywords.get("evaluation") != "reference",
    )


def test_workers_share_what_a_machine_has(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Available, "now", lambda: Available([80_000]))
    monkeypatch.setattr(worker_settings.os, "cpu_count", lambda: 4)
    assert settings_with().run_here().options.max_memory == 10_000
    assert settings_with(max_memory="30 kB").run_here().options.max_memory == 30_000
    monkeypatch.setenv("CEPHEID_MAX_MEMORY", "20 kB")
    assert settings_with().run_here().options.max_memory == 20_000


@pytest.mark.parametrize("evaluation", ["auto", "reference"])
def test_a_worker_stops_before_it_needs_too_much(evaluation: str) -> None:
    settings = settings_with(max_memory="20 MiB", evaluation=evaluation)
    with pytest.raises(cep.LimitError, match=r"memory limit of 20 MiB: .* 'A\+ a\[\]'"):
        list(run_partition(settings, EVENTS.to_batches()))
