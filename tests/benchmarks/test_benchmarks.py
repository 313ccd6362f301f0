"""Every benchmark runs, at a size at which it measures nothing."""

import csv
import json

import numpy as np
import pytest
from benchmarks import (
    auto_choice,
    beside_reference,
    buffers,
    feed_latency,
    figures,
    first_use,
    many_matches,
    nasdaq_leftmost,
    non_overlapping,
    parquet_file,
    registered_functions,
    scale,
    streaming_memory,
)
from benchmarks.agrawal08 import experiments
from benchmarks.agrawal08.__main__ import main as agrawal08
from benchmarks.c_bound import native
from benchmarks.c_bound.__main__ import main as c_bound
from benchmarks.flink_peer import __main__ as flink_peer
from benchmarks.kolchinsky17 import experiments as lazy_experiments
from benchmarks.kolchinsky17 import regions
from benchmarks.sessions import CompiledStocks, sorted_matches
from benchmarks.stocks import QUERIES, StockStream, query_text
from benchmarks.wu06.__main__ import main as wu06
from benchmarks.zhang10.__main__ import main as zhang10

import cepheid as cep

needs_gcc = pytest.mark.skipif(
    not native.has_compiler(), reason="the C queries are compiled with gcc, which is not installed"
)


def test_the_price_of_a_symbol_walks_by_one_and_goes_round_at_999():
    table = StockStream(0.7, seed=1).table(20_000)
    price = table["price"].to_numpy()[table["symbol"].to_numpy() == 1]
    steps = np.diff(price)
    assert set(steps.tolist()) <= {-1, 0, 1, -998, 998}
    assert price.min() >= 1
    assert price.max() <= 999
    assert np.mean(np.isin(steps, (1, -998))) == pytest.approx(0.7, abs=0.03)


def test_batches_are_pieces_of_one_stream():
    stream = StockStream(0.7, seed=1)
    first, second = stream.batches(2, 1_000)
    assert second.ticks[0] == first.ticks[-1] + 1
    for symbol in (1, 2):
        last, following = (
            part.table["price"].to_numpy()[part.table["symbol"].to_numpy() == symbol][ix]
            for part, ix in ((first, -1), (second, 0))
        )
        assert (following - last) % 999 in (0, 1, 998)


@pytest.mark.parametrize("name", QUERIES)
@pytest.mark.parametrize("algorithm", experiments.ALGORITHMS)
def test_counting_gives_the_number_of_matches_that_enumerating_makes(name, algorithm):
    events = StockStream(0.7, seed=1).events(4_000)
    stocks = CompiledStocks(query_text(name, 300), 300, events)
    made = stocks.enumerate(events, algorithm).metrics.matches
    assert made > 0
    assert stocks.count(events, algorithm).metrics.matches == made


def test_matches_are_sorted_by_last_and_then_by_first_event():
    ids, offsets = sorted_matches(np.array([5, 7, 2, 3, 7, 1, 4]), np.array([0, 2, 5, 7]))
    assert ids.tolist() == [1, 4, 2, 3, 7, 5, 7]
    assert offsets.tolist() == [0, 2, 5, 7]


def test_the_experiments_are_written_as_csv_and_json(tmp_path, capsys):
    agrawal08(["--windows-long", "2", "--rounds", "1", "--output", str(tmp_path)])
    assert "Experiment 6, table 3" in capsys.readouterr().out
    with (tmp_path / "agrawal08.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert {row["query"] for row in rows} == set(QUERIES)
    written = json.loads((tmp_path / "agrawal08.json").read_text())
    assert written["settings"]["windows_long"] == 2
    assert {"cpu", "numba", "cepheid"} <= set(written["machine"])


@pytest.mark.parametrize("only", ["aggregates", "buffer_updates"])
def test_parts_of_the_experiments_are_measured_alone(only, tmp_path):
    small = ["--windows-long", "1", "--rounds", "1"]
    agrawal08([*small, "--only", only, "--output", str(tmp_path)])
    rows = json.loads((tmp_path / f"agrawal08_{only}.json").read_text())["rows"]
    assert {row["window"] for row in rows} == {500, 1000}


def test_tests_are_pushed_down_and_not(tmp_path):
    wu06(["--tiny", "--only", "push_downs", "--output", str(tmp_path)])
    rows = json.loads((tmp_path / "wu06_push_downs.json").read_text())["rows"]
    assert {row["test"] for row in rows} == {"equivalence test", "window", "negation"}
    for row in rows:
        if row["test"] == "equivalence test":
            assert row["pais_sequences"] <= row["selection_sequences"]


def test_the_methods_for_uncertain_times_are_measured(tmp_path, capsys):
    small = ["--events", "300", "--point-events", "60"]
    zhang10([*small, "--output", str(tmp_path)])
    assert "default query" in capsys.readouterr().out
    rows = json.loads((tmp_path / "zhang10.json").read_text())["rows"]
    assert {row["method"] for row in rows} >= {"point", "any_state", "query_order", "selectivity"}


@needs_gcc
def test_c_finds_the_same_matches(tmp_path, capsys):
    c_bound(["--events", "5000", "--rounds", "1", "--output", str(tmp_path)])
    assert "counting_cepheid/c" in capsys.readouterr().out
    assert len(json.loads((tmp_path / "c_bound_profile.json").read_text())["rows"]) == 12


@needs_gcc
def test_stacks_find_what_c_finds_and_every_experiment_is_written(tmp_path, capsys):
    wu06(["--tiny", "--events", "60000", "--output", str(tmp_path)])
    assert "session/c" in capsys.readouterr().out
    rows = json.loads((tmp_path / "wu06.json").read_text())["rows"]
    assert {row["experiment"] for row in rows} == {1, 2, 3, 4, 5}


def test_a_file_goes_through_the_command_line(tmp_path, capsys):
    parquet_file.main(["--events", "3000", "--rounds", "1", "--output", str(tmp_path)])
    assert "peak_MB" in capsys.readouterr().out


def test_memory_is_sampled_along_the_stream(tmp_path, capsys):
    streaming_memory.main(["--batches", "3", "--batch-size", "2000", "--output", str(tmp_path)])
    assert "The peak grew by" in capsys.readouterr().out
    rows = json.loads((tmp_path / "streaming_memory.json").read_text())["rows"]
    assert [row["events"] for row in rows] == [2_000, 4_000, 6_000]
    assert all(row["snapshot_KiB"] > 0 for row in rows)


def test_small_batches_are_timed_by_percentiles(tmp_path, capsys):
    feed_latency.main(["--batches", "80", "--output", str(tmp_path)])
    assert "p99_us" in capsys.readouterr().out
    rows = json.loads((tmp_path / "feed_latency.json").read_text())["rows"]
    assert [row["events"] for row in rows] == [1, 10] * len(feed_latency.QUERIES)
    assert all(0 < row["p5_us"] <= row["p99_us"] for row in rows)


def test_a_process_tells_how_long_its_first_match_took():
    # With the cache of the user: to fill an empty one takes too long for a test.
    found = first_use.first_match(first_use.QUERY.format(number=-1), cache=None)
    assert 0 < found["import_s"] + found["query_s"] <= found["total_s"]


def test_a_registered_function_is_timed_beside_its_expression():
    assert registered_functions.ratio(2_000, 1) > 0


@pytest.mark.parametrize("way", many_matches.WAYS[1:])
def test_every_way_to_many_matches_finds_them_all(way):
    assert many_matches.run_way(way, bursts=3, size=6)["matches"] == 3 * (2**6 - 1)


def test_buffers_and_algorithms_are_compared(tmp_path):
    buffers.main(["--windows-long", "2", "--rounds", "1", "--output", str(tmp_path)])
    with (tmp_path / "buffers.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [row["query"] for row in rows] == [*QUERIES, "any"]
    for row in rows:
        assert int(row["basic_versioned_nodes"]) <= int(row["basic_nodes"])


def test_regions_are_as_frequent_as_they_have_stocks():
    table = regions.stream(100, 100, 1)
    counts = dict(
        zip(
            *np.unique(table["type"].to_numpy(zero_copy_only=False), return_counts=True),
            strict=True,
        )
    )
    total = sum(regions.STOCKS.values())
    assert counts["NACompany"] == pytest.approx(10_000 * 1400 / total, rel=0.05)
    assert all(len(history) == regions.HISTORY for history in table["history"].to_pylist())
    assert table["history"][5].as_py()[-1] == table["price"][5].as_py()


@pytest.mark.parametrize("name", ["AND3", "NEG-AND3"])
def test_an_eager_query_has_the_matches_of_a_conjunction(name, monkeypatch):
    monkeypatch.setattr(regions, "THRESHOLD", 0.3)
    regions.register()
    types = ("EuCompany", "MeCompany", "SaCompany", "AfrCompany")
    table = regions.stream(20, 30, 1, dict.fromkeys(types, 2))
    lazy = cep.query(regions.pattern_text(*regions.PATTERNS[name], 1))
    eager = cep.query(regions.eager_text(name, 1))
    options = {"time_unit": "s"}
    found = [
        sorted(str(sorted(match.items())) for match in found.bindings())
        for found in (
            lazy.match(table, evaluation="lazy_chain", **options),
            eager.match(table, evaluation="nfa_b", **options),
        )
    ]
    assert found[0] == found[1] != []


def test_the_experiments_on_lazy_automata_are_measured():
    regions.register()
    settings = lazy_experiments.Settings((1,), (3,), 20, 200, 2, 200, 1, 1)
    rows = [
        *lazy_experiments.measure_ratios(settings),
        *lazy_experiments.measure_changes(settings),
    ]
    assert {row["experiment"] for row in rows} == {"ratio", "change"}
    for name in regions.PATTERNS:
        for contestant in lazy_experiments.contestants_of(name, 5).values():
            assert "corr(" in cep.query(contestant.text).explain()


def test_matches_that_do_not_overlap_are_measured(tmp_path):
    non_overlapping.main(["--windows-long", "1", "--rounds", "1", "--output", str(tmp_path)])
    rows = json.loads((tmp_path / "non_overlapping.json").read_text())["rows"]
    assert [row["query"] for row in rows] == ["p3s2", "p3s3", "p3*s2", "p3*s3"]


def test_flink_must_have_the_same_answer(monkeypatch, tmp_path):
    def flink(_python, file, window, _rounds):
        found = flink_peer.summary(flink_peer.find(file, window))
        assert found[0] > 0
        return {"answer": [found[0] + wrong, *found[1:]], "seconds": [1.0], "of_processor": [1.0]}

    wrong = 0
    monkeypatch.setattr(flink_peer, "run_flink", flink)
    small = ["--count", "500", "--ids", "5", "--rounds", "1", "--output", str(tmp_path)]
    flink_peer.main(["--flink-python", "python", *small])
    assert json.loads((tmp_path / "flink_peer.json").read_text())["rows"][0]["events"] == 500
    wrong = 1
    with pytest.raises(AssertionError, match="Flink finds"):
        flink_peer.main(["--flink-python", "python", *small])


@pytest.mark.parametrize("series", scale.SERIES)
def test_a_stream_grows_in_every_direction(series):
    first, *_ = (case for case in scale.cases(full=False, shrink=1_000) if case.series == series)
    row = scale.run(first)
    assert row["M_events_per_s"] > 0
    assert row["snapshot_KiB"] > 0


def test_every_case_of_the_scale_is_drawn(tmp_path):
    rows = [
        {**scale.asdict(case), "matches_per_event": 0.1, "M_events_per_s": 1.0}
        | {"M_matches_per_s": 0.1, "peak_MiB": 200.0, "snapshot_KiB": 10.0}
        for case in scale.cases(full=True)
    ]
    assert not scale.draw(rows, tmp_path / "scale.svg") or (tmp_path / "scale.svg").exists()


def test_figures_are_listed_and_run_by_name(monkeypatch, tmp_path, capsys):
    figures.main(["--list"])
    assert "Zhang10 figure 4" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        figures.main(["nothing"])
    commands = []
    done = figures.subprocess.CompletedProcess([], 0)
    monkeypatch.setattr(
        figures.subprocess, "run", lambda command, **_: commands.append(command) or done
    )
    figures.main(["kolchinsky17_ratio", "--full", "--output", str(tmp_path)])
    assert commands[0][1:6] == ["-m", "benchmarks.kolchinsky17", "--only", "ratio", "--full"]


@pytest.mark.parametrize("name", figures.FIGURES)
def test_every_figure_is_a_benchmark(name):
    assert figures.find_spec(f"benchmarks.{figures.FIGURES[name].module}") is not None


def test_the_choice_is_measured(tmp_path, capsys):
    auto_choice.main(
        ["--rounds", "1", "--scale", "0.05", "--only", "wu06 SEQ3 [", "--output", str(tmp_path)]
    )
    assert "auto / best" in capsys.readouterr().out
    with (tmp_path / "auto_choice.csv").open(encoding="utf-8") as file:
        assert {row["auto takes"] for row in csv.DictReader(file)} <= {"nfa_b", "instance_stacks"}


def test_runs_find_what_the_reference_evaluation_finds(capsys):
    beside_reference.main(["--few", "60", "--many", "200"])
    assert "p3s3" in capsys.readouterr().out


def test_the_leftmost_rises_of_bars_are_those_of_a_loop(tmp_path, capsys):
    random = np.random.default_rng(5)
    steps = random.choice([1.0, 1.0, 1.0, -2.0], 3_000)
    lines = [
        f"{ix},{'XYZ'[ix % 3]},{1000 + each}" for ix, each in enumerate(np.cumsum(steps).tolist())
    ]
    path = tmp_path / "bars.csv"
    path.write_text("\n".join(["ts_strict_ms,type,close", *lines]))
    nasdaq_leftmost.main([str(path)])
    assert "3,000 bars of 3 symbols" in capsys.readouterr().out
