"""Sigma rules on the command line."""

import json

import pytest

RULES = """\
title: Exit by the north door
id: 53c7cca0-2901-493a-95db-d00d6fcf0a37
description: |
    Two lines,
    ---
    and "more" 😀
logsource: {category: Exit}
detection: {selection: {zone|startswith: NORTH}, condition: selection}
level: medium
tags: [retail.exit]
---
title: Old
status: deprecated
logsource: {category: Exit}
detection: {selection: {zone: x}, condition: selection}
"""
BROKEN = """\
title: Broken
logsource: {category: Exit}
detection: {words: [x], condition: words}
"""


@pytest.fixture
def sigma(folder):
    found = folder / "sigma"
    (found / "doors").mkdir(parents=True)
    (found / "doors" / "north.yml").write_text(RULES, encoding="utf-8")
    return found


def test_rules_are_written_as_files_that_run(run, sigma, folder):
    outcome = run("rules", "from-sigma", sigma, "--out", "made")
    assert (outcome.code, outcome.err) == (0, "2 rules in made\n")
    names = sorted(path.name for path in (folder / "made" / "doors").iterdir())
    assert names == ["north-exit_by_the_north_door.sase", "north-old.sase"]
    outcome = run("rules", "match", "made", "events.csv")
    [line] = outcome.lines
    assert line["rule"] == "Exit by the north door"
    assert line["severity"] == "medium"
    assert line["tags"] == ["retail.exit", "sigma.53c7cca0-2901-493a-95db-d00d6fcf0a37"]
    checked = run("rules", "check", "made").out
    assert "Old: ok, disabled" in checked


def test_fields_survive_in_files(run, sigma):
    import cepheid as cep

    run("rules", "from-sigma", sigma, "--out", "made")
    rule = cep.rules("made")["Exit by the north door"]
    assert rule.description == 'Two lines,\n---\nand "more" 😀\n'


def test_without_a_folder_rules_are_printed(run, sigma):
    outcome = run("rules", "from-sigma", sigma / "doors" / "north.yml")
    assert outcome.code == 0
    assert "WHERE starts_with(lower(e.zone), 'north')" in outcome.out


def test_rules_that_cannot_be_written_are_reported(run, sigma, folder):
    (sigma / "broken.yml").write_text(BROKEN)
    (sigma / "bad.yml").write_text("a: [")
    (sigma / "list.yml").write_text("- a")
    outcome = run("rules", "from-sigma", sigma, "--out", "made")
    assert outcome.code == 1
    assert "2 rules in made" in outcome.err
    assert "3 rules cannot run" in outcome.err
    assert "the keyword 'x' has no field" in outcome.err
    assert "bad.yml is not YAML" in outcome.err
    assert "a document is a mapping, not list" in outcome.err
    outcome = run("rules", "from-sigma", sigma, "--out", "strict", "--strict")
    assert outcome.code == 1
    assert not (folder / "strict").exists()


def test_a_mapping_is_read_from_a_file(run, sigma, folder):
    (folder / "mapping.yaml").write_text(json.dumps({"fields": {"zone": "door"}}))
    outcome = run("rules", "from-sigma", sigma, "--mapping", "mapping.yaml")
    assert "lower(e.door)" in outcome.out


@pytest.mark.parametrize(
    ("mapping", "message"),
    [
        ({"field": {}}, "has no entry 'field'; there are fields, logsources"),
        ({"fields": ["x"]}, "fields maps names to values, not ['x']"),
        ({"fields": {"x": 5}}, "the field 'x' is the name of a column, not 5"),
        ({"fields": {"x": "a..b"}}, "'a..b' is not the name of a column"),
        ({"fields": {"x": {"column": "a", "type": "int"}}}, "the type of the field 'x' is string"),
        ({"logsources": [{"product": "windows"}]}, "an entry of logsources has a type"),
        ({"logsources": [{"type": "A"}]}, "an entry of logsources is wrong"),
        ({"keywords": "msg"}, "keywords is a list, not 'msg'"),
    ],
)
def test_a_wrong_mapping_is_an_error(run, sigma, folder, mapping, message):
    (folder / "mapping.yaml").write_text(json.dumps(mapping))
    outcome = run("rules", "from-sigma", sigma, "--mapping", "mapping.yaml")
    assert outcome.code == 1
    assert message in outcome.err


def test_a_folder_without_rules_is_an_error(run, folder):
    (folder / "empty").mkdir()
    for name, message in [("empty", "has no Sigma rules"), ("none", "there is no such folder")]:
        outcome = run("rules", "from-sigma", name)
        assert outcome.code == 1
        assert message in outcome.err
