"""``%%sase`` in a notebook: the result is shown and assigned."""

import pytest
from IPython.core.interactiveshell import InteractiveShell

import cepheid as cep
from cepheid.matches.matches import Matches

EVENTS = {"ts": [1, 2, 3], "type": ["A", "B", "B"], "x": [5, 6, 7]}


@pytest.fixture
def shell():
    shell = InteractiveShell()
    shell.run_cell("%load_ext cepheid")
    shell.push({"events": EVENTS})
    return shell


def test_a_cell_is_shown_and_assigned(shell):
    shell.push({"T": 6})
    cell = "%%sase found --on events --set T\nPATTERN SEQ(A a, B b) WHERE b.x > T"
    result = shell.run_cell(cell).result
    assert isinstance(result, Matches)
    assert shell.user_ns["found"] is result
    assert result.bindings() == [{"a": 0, "b": 2}]


def test_keywords_and_parameters_are_given_in_the_line(shell):
    shell.push({"rows": {"at": [1, 2], "kind": ["A", "A"], "x": [5, 6]}})
    line = (
        "%%sase --on rows --time at --type kind --set LOW=5 --output all --option timed_out=False"
    )
    assert len(shell.run_cell(f"{line}\nEVENT A WHERE x > LOW").result) == 1
    assert shell.run_cell("%%sase q\nEVENT A").result is shell.user_ns["q"]
    shell.push({"frame": {"ts": [1, 2], "x": [5, 6]}})
    cell = "%%sase --on '{\"A\": frame}'\nEVENT A WHERE x > 5"
    assert len(shell.run_cell(cell).result) == 1


def test_the_text_says_which_language_it_is(shell):
    clause = "MATCH_RECOGNIZE (ORDER BY ts MEASURES B.x AS x PATTERN (A B))"
    for magic in ("sase", "match_recognize"):
        result = shell.run_cell(f"%%{magic} --on events\n{clause}").result
        assert result.to_dicts() == [{"x": 6}]
    script = shell.run_cell("%%sase --on events\nEVENT A RETURN X(v = A.x); EVENT X").result
    assert list(script) == ["X", "query_2"]


@pytest.mark.parametrize(
    ("cell", "message"),
    [
        ("%%sase --on events\nPATTERN SEQ(A a, B b) WHERE c.x > 1", "the pattern has no variable"),
        ("%%sase --on nothing\nEVENT A", "there is no variable 'nothing'"),
        ("%%sase 1a --on events\nEVENT A", "'1a' is not the name of a variable"),
        ("%%sase found --at events\nEVENT A", "unrecognized arguments"),
        ("%%sase --on events --set T\nEVENT A", "there is no variable 'T'"),
        ("%%sase --on none.csv\nEVENT A", "there is no file 'none.csv'"),
    ],
)
def test_faults_are_messages_without_a_traceback(shell, capsys, cell, message):
    assert not shell.run_cell(cell).success
    shown = capsys.readouterr()
    assert message in shown.err
    assert "Traceback" not in shown.out + shown.err


def test_results_are_shown_as_tables(capsys):
    found = cep.rules({"r": {"query": "PATTERN B b RETURN b.x AS x", "severity": "low"}})
    found.match(EVENTS).show(1)
    assert capsys.readouterr().out.splitlines() == [
        "rule  start  end  key  values  severity",
        "----  -----  ---  ---  ------  --------",
        "r         2    2       x=6     low",
        "1 of 2 matches",
    ]
    cep.script("EVENT A RETURN X(v = A.x); EVENT X").match(EVENTS).show()
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "X"
    assert "query_2" in lines
    cep.query("PATTERN SEQ(A a, B+ b[])").match(EVENTS).show(1, truncate=12)
    assert "ts=1, type=…" in capsys.readouterr().out
    with pytest.raises(cep.OptionError, match="number of rows"):
        cep.query("EVENT A").match(EVENTS).show(-1)
