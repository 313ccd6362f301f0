"""What an editor shows for a text: faults with their places, completion and hover texts."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from paper_queries import PAPER_QUERIES

from cepheid.editing import assistance, descriptions
from cepheid.editing.document import Document
from cepheid.editing.known_events import first_rows, read_events
from cepheid.language.parser import KEYWORDS, OUTPUT_MODES, STRATEGIES

HEAD = "-- events: events.csv\n"
CLAUSE = "MATCH_RECOGNIZE (ORDER BY ts "


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "events.csv").write_text(
        "ts,type,tag_id,unit price\n1,Shelf,7,1.5\n2,Exit,7,2.5\n3,Exit,7,\n"
    )
    return tmp_path


def completed(text, folder=None):
    """The words that are offered at the bar."""
    offset = text.index("|")
    document = Document(text.replace("|", "", 1), folder)
    return {each.label: each for each in document.completions(offset)}


def found(text, folder=None):
    return [
        (text[each.start : each.end], each.message) for each in Document(text, folder).problems()
    ]


# --- faults


def test_all_faults_have_their_places():
    text = "PATTERN SEQ(A a, B+ b[]) WHERE c.x = 1 AND b.x = 2 WITHIN 5"
    assert found(text) == [
        ("c", "the pattern has no variable 'c'"),
        ("b.x", "'b' is a Kleene variable and needs an index here"),
    ]


def test_a_fault_at_the_end_of_the_text_marks_its_last_character():
    assert [marked for marked, _ in found("PATTERN SEQ(A a,  ")] == [","]
    assert [marked for marked, _ in found("PATTERN A a WHERE a.x >  ")] == [">"]


def test_each_query_of_a_script_has_its_syntax_error():
    text = "PATTERN SEQ(A a; PATTERN B b WHERE b.x = ';'; EVENT C WHERE"
    assert [marked for marked, _ in found(text)] == ["(", "E"]


def test_columns_and_types_of_declared_events_are_checked(folder):
    text = HEAD + "PATTERN SEQ(Shelf a, Exi b) WHERE a.tagid = 1 AND a.tag_id = 'x'"
    assert found(text, folder) == [
        ("Exi", "no event in events.csv has type 'Exi'"),
        ("tagid", "the events have no attribute 'tagid'"),
        ("a.tag_id = 'x'", "an integer cannot be compared with a string"),
    ]
    problems = Document(text, folder).problems()
    assert [each.is_warning for each in problems] == [True, False, False]
    assert [each.candidates for each in problems] == [("Exit",), ("tag_id",), ()]


def test_composite_events_are_known_to_later_queries(folder):
    text = HEAD + "PATTERN Shelf a RETURN Taken(tag = a.tag_id); PATTERN Taken t WHERE t.tga = 1"
    assert found(text, folder) == [("tga", "Taken has no attribute 'tga'")]


def test_events_that_cannot_be_read_are_a_warning_in_their_line(folder):
    (marked, message), *_ = found("-- events: none.csv\nEVENT A", folder)
    assert marked == "-- events: none.csv"
    assert "cannot read the events" in message


def test_parameters_of_a_rule_are_known():
    rule = "+++\nparameters = { T = 5 }\n+++\n"
    query = "PATTERN SEQ(A a, B b) WHERE a.x > T AND b.x >"
    assert found(f"{rule}{query} 1") == []
    assert found(f"{query} 1") == [("T", "the name 'T' has no value")]
    assert [marked for marked, _ in found(f"{rule}{query} >")] == [">"]


def test_a_list_that_nothing_bounds_is_a_warning():
    (problem,) = Document("PATTERN SEQ(A a, B+ b[])").problems()
    assert problem.is_warning
    assert problem.message.startswith("nothing bounds 'B+ b[]'")


def test_clauses_are_checked_wherever_they_are(folder):
    text = "SELECT n FROM x MATCH_RECOGNIZE (PATTERN (A) DEFINE B AS y = 1) WHERE n > 1"
    assert found(text) == [("B", "the pattern has no variable 'B'")]
    plain = HEAD + "SELECT * FROM x MATCH_RECOGNIZE (ORDER BY tz PATTERN (A))"
    assert found(plain, folder) == [("tz", "the table has no column 'tz'")]
    assert found("MATCH_RECOGNIZE (PATTERN (A")[0][0] == "("


@settings(max_examples=40)
@given(st.sampled_from([*PAPER_QUERIES.values()]), st.integers(0, 400), st.data())
def test_no_beginning_of_a_query_breaks_an_editor(text, length, data):
    part = text[:length] + data.draw(
        st.sampled_from(["", "'", "(", ".", "[", "-- x", "/*", "`", "\n"])
    )
    document = Document(part)
    for problem in document.problems():
        assert 0 <= problem.start <= problem.end <= len(part)
    offset = data.draw(st.integers(0, len(part)))
    document.completions(offset)
    document.hover(offset)


# --- completion


def test_keywords_are_those_that_the_grammar_allows():
    assert [*completed("|")] == ["PATTERN", "EVENT", "FROM"]
    assert [*completed("PATTERN A a |")][:2] == ["WHERE", "WITHIN"]
    assert "LONGEST" in completed("EVENT A OUTPUT |")
    assert [*completed("EVENT A WHERE x > CASE |")] == ["WHEN"]
    assert {"minutes", "EVENTS"} <= {*completed("EVENT A WITHIN 5 |")}
    assert [*completed("EVENT A WHERE skip_till_n|")] == ["skip_till_next_match"]


def test_types_columns_and_variables_come_from_the_events_and_the_pattern(folder):
    assert {"Shelf", "Exit", "SEQ"} <= {*completed(HEAD + "PATTERN SEQ(|", folder)}
    offered = completed(HEAD + "PATTERN SEQ(Shelf a, Exit+ e[]) WHERE |", folder)
    assert [*offered][:2] == ["a", "e"]
    assert offered["e"].detail == "a list of Exit events"
    assert "tag_id" not in offered
    assert [*completed(HEAD + "PATTERN Shelf a WHERE a.t| > 1", folder)] == ["ts", "type", "tag_id"]
    assert [*completed(HEAD + "PATTERN Exit+ e[] WHERE e.|", folder)] == ["LEN"]
    assert "tag_id" in completed(HEAD + "PATTERN Exit+ e[] WHERE e[i].|", folder)
    assert [*completed(HEAD + "PATTERN SEQ(Shelf a, Exit b) WHERE [ts, t|", folder)] == [
        "ts", "type", "tag_id",
    ]  # fmt: skip


def test_a_name_that_needs_backticks_gets_them_and_a_function_its_bracket(folder):
    offered = completed(HEAD + "PATTERN Shelf a WHERE a.|", folder)
    assert offered["unit price"].insert == "`unit price`"
    assert completed("PATTERN Shelf a WHERE ab|")["abs"].insert == "abs("


def test_clauses_are_completed(folder):
    assert "MEASURES" in completed(HEAD + CLAUSE + "|", folder)
    offered = completed(HEAD + CLAUSE + "MEASURES | PATTERN (S UP+)", folder)
    assert {"S", "UP", "tag_id", "LAST", "avg"} <= {*offered}
    assert "PREV" in completed(CLAUSE + "PATTERN (S UP+) DEFINE UP AS x > |")


def test_nothing_is_offered_in_comments_and_strings():
    assert not completed("EVENT A -- a |")
    assert not completed("EVENT A WHERE x = 'a |")


# --- hover


@pytest.mark.parametrize(
    ("word", "text"),
    [
        ("SEQ", "**SEQ**: All parts in order"),
        ("Exit", "`Exit`: 2 of 3 events in events.csv"),
        ("e[", "`e`: a list of Exit events"),
        ("skip till", "**skip_till_next_match**: A run selects the next event"),
        ("tag_id", "`tag_id`: integer (int64)"),
        ("abs", "`abs(number) → the same`"),
        ("avg", "`avg(a[].x)`: the mean"),
        ("LEN", "`LEN`: The number of events"),
    ],
)
def test_hover_texts(folder, word, text):
    query = HEAD + (
        "PATTERN SEQ(Shelf a, Exit+ e[]) WHERE skip till next match { abs(a.tag_id) > "
        "avg(e[].tag_id) AND e.LEN > 1 }"
    )
    hover = Document(query, folder).hover(query.index(word, len(HEAD)))
    assert hover is not None
    assert hover.text.startswith(text)


def test_a_sample_of_a_large_file_is_its_beginning(tmp_path, tune):
    path = tmp_path / "large.csv"
    path.write_text("ts,type\n" + "".join(f"{ix},A\n" for ix in range(1_000)))
    assert read_events(str(path)).is_whole
    tune(editor_sample_bytes=200)
    table, is_whole = first_rows(path, 10)
    assert (table.num_rows, is_whole) == (10, False)


def test_every_keyword_has_a_hover_text():
    assert {*KEYWORDS, *OUTPUT_MODES} <= {*descriptions.SASE_WORDS}
    assert {*STRATEGIES} == {*descriptions.STRATEGIES}
    offered = {label for labels in assistance._TERMINALS.values() for label in labels}
    assert {*KEYWORDS} <= offered
