"""What a Python program that runs scripts sees, and what it is told of mistakes."""

import pytest

import cepheid as cep

EVENTS = {"ts": [1, 2, 3], "type": ["A", "B", "B"], "x": [10, 20, 30], "s": ["p", "q", "r"]}
MAKES = "PATTERN SEQ(A a, B b) RETURN Pair(v = a.x, w = b.s);\n"


def test_results_are_a_mapping_by_the_name_of_the_query():
    found = cep.script(MAKES + "EVENT Pair").match(EVENTS)
    assert {name: len(each) for name, each in found.items()} == {"Pair": 2, "query_2": 2}
    assert repr(found) == "Pair: 2 matches\nquery_2: 2 matches"
    with pytest.raises(KeyError, match="it has Pair and query_2"):
        found["pair"]


def test_a_script_comes_from_a_file_and_has_parameters(tmp_path):
    (tmp_path / "pairs.sase").write_text(MAKES + "PATTERN Pair p WHERE p.w = T")
    script = cep.read_script(tmp_path / "pairs.sase", parameters={"T": "r"})
    assert script.match(EVENTS)["query_2"].bindings() == [{"p": "Pair[1]"}]
    assert cep.script(str(script)).match(EVENTS)["query_2"].bindings() == [{"p": "Pair[1]"}]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            MAKES + "PATTERN SEQ(Pair p, B b) WHERE p.u > 1",
            "query:2:34: Pair has no attribute 'u'\n"
            "  2 | PATTERN SEQ(Pair p, B b) WHERE p.u > 1\n"
            "    |                                  ^\n"
            "Pair has end, start, ts, type, v and w.",
        ),
        (
            MAKES + "PATTERN SEQ(Pair p, B b) WHERE p.w > 1",
            "query:2:32: a string cannot be compared with an integer\n"
            "  2 | PATTERN SEQ(Pair p, B b) WHERE p.w > 1\n"
            "    |                                ^^^^^^^\n"
            "Write a string in quotes: '1'.",
        ),
        (
            "PATTERN SEQ(Pair p, B b) RETURN Pair(v = p.v)",
            "query:1:13: this query makes 'Pair' and cannot read it\n"
            "  1 | PATTERN SEQ(Pair p, B b) RETURN Pair(v = p.v)\n"
            "    |             ^^^^\n"
            "A query can read only the events of earlier queries. Rename the type in its RETURN.",
        ),
        (
            "PATTERN SEQ(Y y, A a) RETURN X(v = a.x); PATTERN X x RETURN Y(v = x.v)",
            "query:1:13: 'Y' is made by query 2, which comes after this one\n"
            "  1 | PATTERN SEQ(Y y, A a) RETURN X(v = a.x); PATTERN X x RETURN Y(v = x.v)\n"
            "    |             ^\n"
            "A query can read only the events of earlier queries. There is a cycle: query 1 reads "
            "'Y' of query 2 and query 2 reads 'X' of query 1.",
        ),
        (
            "PATTERN A a RETURN X(ts = a.x); PATTERN X x",
            "query:1:22: 'ts' is the time column; the time of X is its end\n"
            "  1 | PATTERN A a RETURN X(ts = a.x); PATTERN X x\n"
            "    |                      ^^^^^^^^\n"
            "Rename the item.",
        ),
        (
            "PATTERN A a RETURN X(s = a.x); PATTERN X x",
            "query:1:22: 's' is integer here, but string in the events\n"
            "  1 | PATTERN A a RETURN X(s = a.x); PATTERN X x\n"
            "    |                      ^^^^^^^\n"
            "An attribute has the same data type everywhere: rename the item.",
        ),
        (
            "PATTERN A a RETURN X(v = a.x); PATTERN B a RETURN X(w = a.x); PATTERN X x",
            "query:1:51: 'X' has w here, but v in query 1\n"
            "  1 | PATTERN A a RETURN X(v = a.x); PATTERN B a RETURN X(w = a.x); PATTERN X x\n"
            "    |                                                   ^^^^^^^^^^\n"
            "All events of a type must have the same attributes.",
        ),
        (
            "PATTERN A a WHERE a.x > 1 PATTERN B b",
            "query:1:27: unexpected 'PATTERN'\n"
            "  1 | PATTERN A a WHERE a.x > 1 PATTERN B b\n"
            "    |                           ^^^^^^^\n"
            "A query has one PATTERN. Separate the queries of a script with ';'.",
        ),
    ],
    ids=["attribute", "kind", "itself", "cycle", "time", "kinds", "shared", "semicolon"],
)
def test_a_mistake_is_shown_where_it_is(text, message):
    with pytest.raises(cep.QueryError) as caught:
        cep.script(text).match(EVENTS)
    assert str(caught.value) == message


def test_a_name_in_return_is_a_type_if_it_has_a_capital_or_is_read():
    assert cep.query("PATTERN A a RETURN Alert(x = a.x)").tree.returns.type_name == "Alert"
    assert cep.script("PATTERN A a RETURN alert(x = a.x); PATTERN alert b")
    for make in (cep.query, cep.script):
        with pytest.raises(cep.QuerySemanticError, match="no function 'uper'") as caught:
            make("PATTERN A a RETURN uper(a.s)")
        assert "Did you mean 'upper'?" in str(caught.value)
        assert "such as Uper" in str(caught.value)


def test_the_faults_of_all_queries_are_reported_at_once():
    with pytest.raises(cep.QuerySemanticError) as caught:
        cep.script("PATTERN A a WHERE b.x = 1; PATTERN B b WHERE c.x = 1")
    assert len(caught.value.faults) == 2


def test_a_misspelt_composite_type_gets_a_warning():
    with pytest.warns(cep.CepheidWarning, match="Did you mean 'Pair'"):
        cep.script(MAKES + "PATTERN SEQ(Pairs p, Pair q)").match(EVENTS)


def test_explain_checks_composite_attributes_where_columns_are_known():
    script = cep.script(MAKES + "PATTERN Pair p WHERE p.u > 1")
    assert "reads the events and Pair of query 1" in script.explain()
    with pytest.raises(cep.QuerySemanticError, match="Pair has no attribute 'u'"):
        script.explain({"A": {"x": "integer"}, "B": {"s": "string"}})


def test_snapshots_of_scripts_and_of_queries_are_told_apart():
    script, query = cep.script(MAKES + "EVENT Pair"), cep.query("EVENT A")
    session, other = script.session(), query.session()
    session.feed(EVENTS)
    other.feed(EVENTS)
    with pytest.raises(cep.SnapshotError, match="of a single query"):
        script.restore(other.snapshot())
    with pytest.raises(cep.SnapshotError, match="of a script"):
        query.restore(session.snapshot())
    with pytest.raises(cep.SnapshotError, match="of another script"):
        cep.script(MAKES + "EVENT A").restore(session.snapshot())


def test_a_diagnosis_is_of_one_query_over_what_it_reads():
    script = cep.script(MAKES + "PATTERN SEQ(Pair p, A a)")
    found = script.diagnose(EVENTS, "query_2")
    assert found.events == 5
    assert "p = Pair[" in str(found)
    with pytest.raises(cep.OptionError, match="it has Pair and query_2"):
        script.diagnose(EVENTS, "Pairs")


def test_errors_without_a_place_say_of_which_query_they_are():
    text = MAKES + "PATTERN SEQ(Pair p, B b) WHERE [s] WITHIN 5 EVENTS PER PARTITION"
    with pytest.raises(cep.EvaluationError, match=r"^query 2 \(query_2\): nfa_b cannot run"):
        cep.script(text).session(evaluation="nfa_b").feed(EVENTS)
    with pytest.raises(cep.LimitError, match=r"^query 1 \(Pair\): there are"):
        cep.script(MAKES + "EVENT Pair").match(EVENTS, max_matches=1)
    with pytest.raises(cep.OptionError, match=r"^query 2 \(query_2\): column 'ts' holds plain"):
        cep.script(MAKES + "EVENT Pair WITHIN 5 minutes").match(EVENTS)
