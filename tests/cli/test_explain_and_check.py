"""``cepheid explain`` and ``cepheid check``: what is said of a query without running it."""

from pathlib import Path

import pyarrow as pa
import pyarrow.compute
import pyarrow.csv
import pyarrow.parquet
import pytest

import cepheid as cep


def test_explain_prints_what_the_query_explains(run, folder):
    text = (folder / "theft.sase").read_text()
    outcome = run("explain", "theft.sase")
    assert outcome.code == 0
    assert outcome.out == cep.query(text).explain() + "\n"
    assert outcome.err == ""
    assert run("explain", "-", text=text).out == outcome.out
    assert run("explain", "-q", text).out == outcome.out


def test_explain_says_which_evaluation_was_asked_for(run):
    outcome = run("explain", "theft.sase", "--evaluation", "reference")
    assert "evaluation:\n  reference: " in outcome.out


def test_explain_knows_the_values_of_parameters(run):
    query = "PATTERN Shelf a WHERE a.tag_id > T"
    assert "a.tag_id > 5" in run("explain", "-q", query, "--set", "T=5").out


def test_bounds_are_shown_on_request(run):
    query = "PATTERN SEQ(A a, B* b[]) WITHIN 9"
    assert "bounds" not in run("explain", "-q", query).out
    shown = run("explain", "-q", query, "--bounds").out
    assert "bounds 1:\n" in shown
    assert "bounds 2:\n" in shown
    lazy = run("explain", "-q", query, "--bounds", "--evaluation", "lazy_chain").out
    assert "bounds 1:\n  none are known for lazy_chain\n" in lazy
    for other in (("-q", query, "--svg"), ("-q", f"{query}; {query}")):
        assert "--bounds is for the text" in run("explain", *other, "--bounds").err


BAD = "PATTERN Shelf a WHERE a.tagid = 7 AND a.zone > 3"


@pytest.fixture
def many_forms(folder):
    """The same events in all forms that have a schema."""
    table = pyarrow.csv.read_csv(folder / "events.csv")
    pyarrow.parquet.write_table(table, "events.parquet")
    Path("day").mkdir()
    pyarrow.parquet.write_table(table.drop_columns(["zone"]), "day/1.parquet")
    pyarrow.parquet.write_table(table, "day/2.parquet")
    Path("day/notes.txt").write_text("not a table")
    shelf = table.filter(pa.compute.equal(table["type"], "Shelf"))
    pyarrow.csv.write_csv(shelf, "shelf.csv")
    return ["events.csv", "events.parquet", "day", "day/*.parquet", "Shelf=shelf.csv"]


@pytest.mark.parametrize("command", ["explain", "check"])
def test_events_are_checked_in_every_form(run, many_forms, command):
    for events in many_forms:
        outcome = run(command, "-q", BAD, events)
        assert outcome.code == 1, events
        assert outcome.out == ""
        assert "no attribute 'tagid'" in outcome.err
        assert "Did you mean 'tag_id'?" in outcome.err
        assert "Write a string in quotes" in outcome.err
        good = "PATTERN Shelf a WHERE a.tag_id = 7 AND a.zone > '3'"
        assert run(command, "-q", good, events).code == 0


@pytest.mark.usefixtures("many_forms")
def test_only_the_footer_of_a_parquet_file_is_read(run, monkeypatch):
    def refuse(_source):
        raise AssertionError("the whole file was read")

    monkeypatch.setattr("cepheid.events.sources.tables.read_source", refuse)
    assert run("explain", "theft.sase", "events.parquet").code == 0


@pytest.mark.usefixtures("many_forms")
def test_types_are_checked_where_each_has_a_table_or_a_declaration(run):
    for known in (["Shelf=shelf.csv"], ["--schema", '{"Shelf": ["tag_id"]}']):
        outcome = run("check", "-q", "PATTERN SEQ(Shelf a, Exits c)", *known)
        assert outcome.code == 1
        assert "there is no event type 'Exits'" in outcome.err
    both = run("check", "-q", BAD, "events.csv", "--schema", '{"Shelf": ["tag_id", "zone"]}')
    assert "Write a string in quotes" in both.err


def test_check_says_ok_and_what_the_query_is(run):
    outcome = run("check", "theft.sase")
    assert outcome.code == 0
    assert outcome.out == (
        "theft.sase: ok, 2 components and 1 negated, skip_till_any_match, within 12 hours, "
        "returns item and after\n"
    )
    assert outcome.err == ""


@pytest.mark.parametrize(
    ("query", "summary"),
    [
        ("EVENT Shelf", "1 component, skip_till_any_match, no window, returns Shelf"),
        (
            "PATTERN SEQ(A a, B+ b[]) WHERE strict_contiguity WITHIN 5 EVENTS",
            "2 components, strict_contiguity, within 5 EVENTS, returns a and b",
        ),
        (
            "PATTERN OR(A a, B a) RETURN a.x, a.x + 1",
            "2 components, skip_till_any_match, no window, returns a.x and a.x + 1",
        ),
    ],
)
def test_the_summary_of_a_query_is_one_line(run, query, summary):
    assert run("check", "-q", query).out == f"query: ok, {summary}\n"


def test_check_takes_several_queries_and_shows_the_faults_of_all(run, folder):
    (folder / "one.sase").write_text("PATERN A a")
    (folder / "two.sase").write_text("PATTERN SEQ(A a, B b) WHERE c.x = 1 AND foo(a.x) = b")
    outcome = run("check", "one.sase", "theft.sase", "two.sase")
    assert outcome.code == 1
    assert [line.split(",")[0] for line in outcome.out.splitlines()] == ["theft.sase: ok"]
    assert "one.sase:1:1: " in outcome.err
    assert "two.sase:1:29: the pattern has no variable 'c'" in outcome.err
    assert "two.sase:1:41: there is no function 'foo'" in outcome.err


def test_check_takes_queries_beside_events_and_a_text(run):
    outcome = run("check", "-q", "EVENT Shelf", "theft.sase", "events.csv")
    assert outcome.code == 0
    assert [line.split(":")[0] for line in outcome.out.splitlines()] == ["query", "theft.sase"]


def test_a_query_is_named_as_it_was_given(run, folder):
    (folder / "sub").mkdir()
    (folder / "sub" / "bad.sase").write_text("PATTERN")
    assert run("check", "sub/bad.sase").err.startswith("sub/bad.sase:1:")
    assert run("check", "-", text="PATTERN").err.startswith("stdin:1:")


def test_statistics_are_read_from_a_file(run, folder):
    file = folder / "statistics.json"
    file.write_text('{"A": 900, "B": 1, "a.x < b.x": 0.2}', encoding="utf-8")
    text = "PATTERN SEQ(A a, B b) WHERE a.x < b.x WITHIN 9"
    result = run("explain", "-q", text, "--statistics", file)
    assert "lazy_chain binds b, a" in result.out
    file.write_text("[1]", encoding="utf-8")
    assert "are not a JSON object" in run("explain", "-q", text, "--statistics", file).err
    file.write_text('{"A": 900, "B": 1, "a.x < b.y": 0.2}', encoding="utf-8")
    refused = run("explain", "-q", text, "--statistics", file)
    assert "'a.x < b.y', which is no condition of the query; there is 'a.x < b.x'" in refused.err


def test_check_warns_of_a_component_that_nothing_bounds(run):
    outcome = run("check", "-q", "PATTERN SEQ(Shelf a, Exit+ b[])")
    assert outcome.code == 0
    assert outcome.err.startswith("warning: nothing bounds 'Exit+ b[]': ")
    assert run("check", "-q", "PATTERN SEQ(Shelf a, Exit+ b[]) WITHIN 1 hour").err == ""
