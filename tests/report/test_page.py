"""The page of a report, as text and in a browser."""

import re
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from browser import opened_page

import cepheid as cep
from cepheid.report import report_query
from cepheid.samples import scenario


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
    events = {"ts": [1, 2], "type": ["A", "B"]}
    long = ", ".join(f"A a{number}" for number in range(33))
    with pytest.warns(cep.CepheidWarning, match="reference evaluation may take long"):
        page = report_query(cep.query(f"PATTERN SEQ({long})"), events).to_html()
    assert 'id="automaton"' not in page
    assert 'id="funnel"' in page


def test_a_returned_item_that_is_called_like_a_variable_is_shown_beside_it():
    events = {"ts": [1], "type": ["A"], "x": [5]}
    report = report_query(cep.query("PATTERN A a RETURN a.x AS a"), events)
    assert report.timeline.variables == ["a"]
    assert report.timeline.matches[0]["values"] == {"a (returned)": "5"}


@pytest.fixture
def browser_page(request: pytest.FixtureRequest) -> Iterator[Any]:
    """The page in a browser; the parameter is its file and the width of the window."""
    asked = getattr(request, "param", {})
    page_file: Path = request.getfixturevalue(asked.get("file", "page_file"))
    with opened_page(page_file.as_uri(), asked.get("width", 1200)) as page:
        yield page


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


@pytest.fixture(scope="module")
def week_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A week of matches with many columns and long strings."""
    first = datetime(2024, 3, 4, 9)
    kinds = ["A", "B"] * 12
    events = {
        "ts": [first + timedelta(hours=7 * ix) for ix in range(24)],
        "type": kinds,
        **{f"column_{ix}": [f"a rather long value {ix} " * 3] * 24 for ix in range(8)},
    }
    query = cep.query("PATTERN SEQ(A a, ~(B n), A b) WHERE n.column_0 = 'x' WITHIN 1 day")
    file = tmp_path_factory.mktemp("report") / "week.html"
    file.write_text(report_query(query, events, title="A week").to_html(), "utf-8")
    return file


@pytest.mark.parametrize("browser_page", [{"file": "week_file"}], indirect=True)
def test_the_tip_stays_in_its_box_and_above_the_details(browser_page: Any):
    page = browser_page
    page.click("#match-table tr[data-ix='0']")
    page.hover("#lanes", position={"x": 8, "y": 10})
    box = page.evaluate(
        """() => {
            const tip = document.getElementById("tip"), box = tip.getBoundingClientRect();
            const table = tip.querySelector("table").getBoundingClientRect();
            const detail = document.getElementById("detail").getBoundingClientRect();
            return [table.right <= box.right, box.right <= innerWidth, box.bottom <= detail.top];
        }"""
    )
    assert box == [True, True, True]


@pytest.mark.parametrize("browser_page", [{"file": "week_file"}], indirect=True)
def test_a_week_has_several_labels(browser_page: Any):
    labels = browser_page.get_attribute("#counts", "data-labels").split("|")
    assert 3 <= len(labels) <= 8
    assert all(re.fullmatch(r"2024-03-\d\d", label) for label in labels)


@pytest.mark.parametrize(
    "browser_page", [{"file": "week_file", "width": 375}, {"width": 375}], indirect=True
)
def test_the_page_fits_a_phone(browser_page: Any):
    wide = browser_page.evaluate("document.documentElement.scrollWidth")
    assert wide <= 375


def test_bars_show_partial_matches_and_the_last_one_matches():
    events = {"ts": [1, 2, 3, 4], "type": ["A", "A", "B", "C"], "x": [1, 1, 1, 1]}
    # A filter removes what the engine builds: the condition is about both ends.
    query = cep.query("PATTERN SEQ(A a, ~(B b), C c) WHERE b.x < a.x + c.x WITHIN 10")
    page = report_query(query, events).to_html()
    table = page[page.index('<table class="funnel">') :].partition("</tr>")[2]
    rows = re.findall(r"<tr><th>(.*?)</th>.*?width:([\d.]+)%.*?<td>([^<]*)</td></tr>", table)
    shown = {re.sub(r"<.*?>", " ", name).split()[0]: (width, count) for name, width, count in rows}
    assert shown["matches"] == ("0.00", "0")
    assert shown["A"][0] == "100.00"
    assert "matches</th><td>0</td>" in page
    query = cep.query("PATTERN SEQ(A a, C c) WITHIN 10 OUTPUT NON_OVERLAPPING")
    assert "before the output mode</th><td>2</td>" in report_query(query, events).to_html()


def test_a_frame_of_spark_is_refused_with_advice() -> None:
    frame = type("DataFrame", (), {"__module__": "pyspark.sql.dataframe"})()
    with pytest.raises(cep.EventError, match=r"df\.limit\(100_000\)\.toArrow\(\)"):
        report_query(cep.query("PATTERN A a"), frame)
