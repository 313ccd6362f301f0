"""The benchmark of sets of rules runs, at a size at which it measures nothing."""

import json
import sys

import pytest
from benchmarks import rules


@pytest.mark.parametrize("more", [[], ["--shapes"], ["--alone"]])
def test_rules_are_measured(tmp_path, more):
    sizes = ["--rules", "3", "--batches", "100", "--events", "300", "--out", str(tmp_path)]
    rules.main([*sizes, *more])
    (path,) = tmp_path.glob("*.json")
    rows = json.loads(path.read_text())["rows"]
    assert len(rows) == (2 if "--alone" in more else 1)
    assert {(row["rules"], row["batch"]) for row in rows} == {(3, 100)}
    assert len({row["matches"] for row in rows}) == 1
    assert all(row["events_per_s"] > 0 for row in rows)


def test_rules_of_templates_and_shapes_are_valid():
    assert len(rules.cep.rules(rules.rules_of_templates(20), strict=True)) == 20
    assert len(rules.cep.rules(rules.rules_of_shapes(200), strict=True)) == 200


def test_flink_is_left_out_where_it_cannot_be_had(tmp_path, monkeypatch, capsys):
    class Absent:
        def command(self):
            raise rules.CannotBeHad("mvn is not installed")

    monkeypatch.setattr(rules, "FLINK_CEP", Absent())
    sizes = ["--rules", "1", "--batches", "100", "--events", "300", "--out", str(tmp_path)]
    rules.main([*sizes, "--flink", "2"])
    assert "Flink CEP: mvn is not installed" in capsys.readouterr().out


def test_rules_are_the_same_in_flink(tmp_path, monkeypatch):
    """A stand-in answers with what the set of rules finds."""
    said = '{"answer": [0, 0]}\n{"seconds": 2.0}'
    script = tmp_path / "peer.py"
    script.write_text(f"print('''{said}''')")

    class StandIn:
        def command(self):
            return [sys.executable, str(script)]

    monkeypatch.setattr(rules, "FLINK_CEP", StandIn())
    found = rules.measure_flink(3, rules.stream(200))
    assert found == {"events_per_s": 100.0, "matches": 0}
