"""``cepheid test`` runs the tests of rules."""

import json

import pytest

THEFT = "PATTERN SEQ(Shelf a, ~(Register b), Exit c) WHERE [tag_id] RETURN a.tag_id AS item"


@pytest.fixture
def rules(folder):
    found = folder / "rules"
    found.mkdir()
    (found / "theft.sase").write_text(THEFT)
    return found


def test_recorded_tests_pass_until_the_rule_changes(run, rules):
    outcome = run("test", rules, "--record", "events.csv")
    assert outcome.code == 0
    assert outcome.err == "1 case, 1 passed, 0 failed, 1 test file written\n"
    assert "'../events.csv'" in (rules / "theft.test.toml").read_text().replace('"', "'")
    assert run("test", rules).err == "1 case, 1 passed, 0 failed\n"
    (rules / "theft.sase").write_text(THEFT.replace("~(Register b), ", ""))
    outcome = run("test", rules)
    assert outcome.code == 1
    assert outcome.out.splitlines()[0] == "theft.test.toml: recorded from events.csv: FAILED"
    assert "+ found, not expected" in outcome.out
    updated = run("test", rules, "--update")
    assert (updated.code, updated.out) == (0, "")
    assert run("test", rules).code == 0


def test_recorded_events_may_have_columns_of_other_names(run, rules, folder):
    (folder / "log.csv").write_text("at;kind;tag_id\n1;Shelf;7\n5;Exit;7\n")
    outcome = run("test", rules, "--record", "log.csv")
    assert (outcome.code, "(--sep ';')" in outcome.out) == (1, True)
    named = ("--time", "at", "--type", "kind", "--sep", ";")
    assert "1 passed" in run("test", rules, "--record", "log.csv", *named).err
    assert run("test", rules).err == "1 case, 1 passed, 0 failed\n"
    assert "--time is for --record" in run("test", rules, "--time", "at").err


def test_results_are_written_as_junit(run, rules, folder):
    run("test", rules, "--record", "events.csv")
    assert run("test", rules, "--junit", "results.xml").code == 0
    assert 'tests="1"' in (folder / "results.xml").read_text()


def test_what_cannot_be_tested_is_said(run, rules):
    assert "1 rule without tests" in run("test", rules).err
    assert "there is no folder 'nowhere'" in run("test", "nowhere").err
    assert "there are no events" in run("test", rules, "--record", "none.csv").err
    (rules / "theft.test.toml").write_text("")
    outcome = run("test", rules)
    assert outcome.code == 1
    assert "1 test file cannot be read" in outcome.err
    (rules / "theft.test.toml").write_text('[[case]]\nevents = "none.csv"\nexpect = []')
    assert run("test", rules, "--update").code == 1


def test_a_similar_match_shows_only_what_differs(run, rules):
    run("test", rules, "--record", "events.csv")
    (rules / "theft.sase").write_text(THEFT.replace("a.tag_id AS item", "a.tag_id + 1 AS item"))
    outcome = run("test", rules / "theft.sase")
    assert outcome.out.splitlines()[1:] == [
        "  ~ the match from 2024-03-01T09:00:00 to 2024-03-01T09:30:00.500000 differs",
        "      values.item: expected 7, found 8",
    ]
    (rules / "other.sase").write_text("PATTERN Exit c")
    outcome = run("test", rules / "other.sase")
    assert "there is no test other.test.toml beside the rule other.sase" in outcome.err


def test_recorded_strings_may_have_any_characters(run, rules, folder):
    (rules / "theft.sase").write_text("PATTERN Exit c RETURN c.zone AS zone")
    strange = "door 😀 \x7f \\ 'x'"
    (folder / "strange.jsonl").write_text(
        json.dumps({"ts": "2024-03-01T09:00:00", "type": "Exit", "tag_id": 7, "zone": strange})
    )
    run("test", rules, "--record", "strange.jsonl")
    assert run("test", rules).err == "1 case, 1 passed, 0 failed\n"


def test_a_rule_that_is_wrong_does_not_stop_the_recording_of_others(run, rules):
    (rules / "broken.sase").write_text("PATTERN SEQ(Shelf a")
    outcome = run("test", rules, "--record", "events.csv")
    assert outcome.code == 1
    assert "rule broken:" in outcome.out
    assert "the bracket '(' is not closed" in outcome.out
    assert (rules / "theft.test.toml").exists()
    assert not (rules / "broken.test.toml").exists()
