"""The page of a report, as text and in a browser."""

import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import cepheid as cep
from cepheid.report import report_query
from cepheid.samples import scenario

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "chrome"))), None)


@pytest.fixture(scope="module")
def page_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    sample = scenario("contaminated_shipments")
    report = report_query(cep.query(sample.query), sample.events(), title="Shipments <b>")
    file = tmp_path_factory.mktemp("report") / "report.html"
    file.write_text(report.to_html(), "utf-8")
    return file


def test_the_page_needs_nothing_from_outside(page_file: Path):
    page = page_file.read_text("utf-8")
    assert not re.findall(r"(?:src|href)=|@import|url\((?!#)", page)
    assert "Shipments &lt;b&gt;" in page
    for part in ("timeline", "query", "automaton", "plan", "funnel", "metrics"):
        assert f'id="{part}"' in page


def test_a_text_of_an_event_cannot_leave_the_data():
    events = {"ts": [1], "type": ["A"], "x": ["</script><script>alert(1)</script>"]}
    page = report_query(cep.query("PATTERN A a RETURN a.x AS x"), events).to_html()
    assert "alert(1)" in page
    assert "<script>alert" not in page


def test_a_pattern_without_automaton_has_a_report():
    events = {"ts": [1, 2], "type": ["A", "B"], "x": ["m", "n"]}
    page = report_query(
        cep.query("PATTERN SEQ(A a, B b) WHERE a.x LIKE 'm' OR a.x = b.x"), events
    ).to_html()
    assert 'id="automaton"' not in page
    assert 'id="funnel"' in page


def test_a_returned_item_that_is_called_like_a_variable_is_shown_beside_it():
    events = {"ts": [1], "type": ["A"], "x": [5]}
    report = report_query(cep.query("PATTERN A a RETURN a.x AS a"), events)
    assert report.timeline.variables == ["a"]
    assert report.timeline.matches[0]["values"] == {"a (returned)": "5"}


@pytest.fixture
def browser_page(page_file: Path) -> Iterator[Any]:
    playwright = pytest.importorskip("playwright.sync_api")
    if CHROMIUM is None:
        pytest.skip("there is no Chromium on this machine")
    flags = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
    with playwright.sync_playwright() as running:
        browser = running.chromium.launch(executable_path=CHROMIUM, args=flags)
        page = browser.new_page(viewport={"width": 1200, "height": 900})
        faults: list[str] = []
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.goto(page_file.as_uri())
        yield page
        browser.close()
    assert faults == []


def test_clicks_show_events_and_zoom(browser_page: Any):
    page = browser_page
    assert page.inner_text("#summary").startswith("23 matches from 2024-03-04")
    whole = page.inner_text("#range")
    page.click("#zoom-in")
    assert page.inner_text("#range") != whole
    page.click("#reset")
    assert page.inner_text("#range") == whole
    page.click("#match-table tr[data-ix='2']")
    assert "Match 3" in page.inner_text("#detail")
    assert "farm 10" in page.inner_text("#detail")
    # The first match begins at the left edge, in the first lane.
    page.hover("#lanes", position={"x": 8, "y": 10})
    assert page.is_visible("#tip")
    assert "Alert" in page.inner_text("#tip")
    page.mouse.wheel(0, -300)
    page.wait_for_function(
        "whole => document.getElementById('range').textContent !== whole", arg=whole
    )
    page.click("#lanes", position={"x": 8, "y": 10})
    assert "Match 1" in page.inner_text("#detail")


def test_a_frame_of_spark_is_refused_with_advice() -> None:
    frame = type("DataFrame", (), {"__module__": "pyspark.sql.dataframe"})()
    with pytest.raises(cep.EventError, match=r"df\.limit\(100_000\)\.toArrow\(\)"):
        report_query(cep.query("PATTERN A a"), frame)
