"""The benchmark of sets of rules runs, at a size at which it measures nothing."""

import json

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
