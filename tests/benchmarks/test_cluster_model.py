"""The model of a cluster: costs from measured runs, and what the simulation makes of them."""

import json
from dataclasses import replace

import pytest
from benchmarks.cluster_model.__main__ import check, main, stream_rows
from benchmarks.cluster_model.measure import Measured, costs_of
from benchmarks.cluster_model.simulation import Cluster, Costs, Job, simulate

COSTS = Costs(
    job=2.0,
    task=0.01,
    scan_row=1e-6,
    shuffle_row=2e-6,
    match_row=1e-6,
    shuffle_bytes_row=20.0,
    relevant=0.5,
    worker_base=2e8,
    worker_row=100.0,
)


def run(events: int, partitions: int, plan: str) -> Measured:
    """A run that takes exactly what the costs say."""
    relevant = events // 2
    row = {"scan": 1e-6, "idle": 2e-6, "match": 2.5e-6}[plan]
    seconds = 2.0 + 0.01 * partitions + events * row
    worker = 200_000_000 + 100 * relevant // partitions
    return Measured(
        "local[1]", events, partitions, plan, seconds, seconds, 20 * relevant, worker, relevant
    )


def test_costs_are_the_slopes_of_measured_runs():
    found = [run(n, 8, plan) for n in (100_000, 1_000_000) for plan in ("scan", "idle", "match")]
    found.append(run(100_000, 64, "match"))
    costs = costs_of(found)
    for name, value in COSTS.to_dict().items():
        assert getattr(costs, name) == pytest.approx(value, rel=1e-3), name


def test_the_simulation_agrees_with_a_run_on_one_core():
    found = check(run(4_000_000, 8, "match"), COSTS)
    assert abs(found["error"]) < 0.02
    assert found["predicted_worker_MiB"] == pytest.approx(found["measured_worker_MiB"], rel=0.01)


def test_more_cores_help_until_a_key_or_the_network_is_the_limit():
    job = Job(1e9, keys=1e7)
    seconds = [simulate(job, Cluster(cores), COSTS).seconds for cores in (10, 100, 1_000)]
    assert seconds[0] > 8 * seconds[1]
    assert seconds[1] > 2 * seconds[2]
    heavy = replace(job, heaviest_key=0.1)
    slowest = 1e9 * COSTS.relevant * 0.1 * (COSTS.shuffle_row + COSTS.match_row)
    assert simulate(heavy, Cluster(1_000), COSTS).seconds > slowest
    slow = simulate(job, Cluster(1_000, gbit=0.1), COSTS)
    assert slow.network_seconds > slow.match_seconds


def test_predictions_from_stored_costs_are_written(tmp_path, capsys):
    costs = tmp_path / "costs.json"
    costs.write_text(json.dumps({"settings": {"costs": COSTS.to_dict()}}))
    main(["--costs", str(costs), "--output", str(tmp_path)])
    rows = json.loads((tmp_path / "cluster_model.json").read_text())["rows"]
    assert {row["cores"] for row in rows} >= {10, 1_000}
    assert max(row["events"] for row in rows) == 1e12
    assert "Predicted" in capsys.readouterr().out


def test_streams_need_more_cores_for_more_events():
    rows = stream_rows()
    cores = [row["cores"] for row in rows if row["window_s"] == 60]
    assert cores == sorted(cores)
    assert cores[0] < cores[-1]
