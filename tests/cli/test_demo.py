"""``cepheid demo``: the bundled scenarios, asked and answered."""

from pathlib import Path

import pytest

from cepheid.samples import SCENARIOS


def test_the_demo_shows_question_query_matches_and_time_of_every_scenario(run):
    outcome = run("demo")
    assert outcome.code == 0
    assert outcome.err == ""
    for number, scenario in enumerate(SCENARIOS, start=1):
        assert f"{number} of 3: {scenario.title}" in outcome.out
        assert scenario.question in outcome.out
        for line in scenario.query.splitlines():
            assert line in outcome.out
        assert f"The first of {scenario.default_count:,} events:" in outcome.out
        assert f"among {scenario.default_count:,} events in " in outcome.out
    assert "9 matches among 900 events" in outcome.out
    assert "T00184  steak" in outcome.out
    assert "; the first 10 are shown" in outcome.out
    assert "8 matches among 1,500 rows" in outcome.out
    assert "theft 4, busy_door 3\n" in outcome.out
    assert "Now busy_door looks at 10 minutes" in outcome.out
    page = next(line for line in outcome.out.splitlines() if line.endswith("cepheid-demo.html"))
    assert "<html" in Path(page).read_text(encoding="utf-8")


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda each: each.name)
def test_one_scenario_can_be_chosen(run, scenario):
    outcome = run("demo", "--scenario", scenario.name)
    shown = [each.title in outcome.out for each in SCENARIOS]
    assert shown == [each is scenario for each in SCENARIOS]
    assert " of 3" not in outcome.out


def test_no_line_is_wider_than_the_terminal(run, monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    lines = run("demo").out.splitlines()
    assert max(len(line) for line in lines if not line.endswith(".html")) <= 60
