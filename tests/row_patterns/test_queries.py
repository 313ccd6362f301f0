"""``cep.query`` and the command line with MATCH_RECOGNIZE."""

import json
import subprocess
import sys
from subprocess import DEVNULL, PIPE
from xml.etree import ElementTree

import pytest
from row_patterns.row_cases import table
from typer.testing import CliRunner

import cepheid as cep
from cepheid.cli.app import app
from cepheid.errors import EvaluationError, LimitError, OptionError, QueryError
from cepheid.report import report_query

RISES = """SELECT * FROM ticks MATCH_RECOGNIZE (
  PARTITION BY symbol ORDER BY ts
  MEASURES A.ts AS since, LAST(UP.ts) AS until
  PATTERN (A UP+) DEFINE UP AS price > PREV(price)
)"""
TICKS = "ts,symbol,price\n1,X,5\n2,X,6\n3,X,7\n1,Y,9\n2,Y,8\n"
ROW = {"symbol": "X", "since": 1, "until": 3}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rises.sql").write_text(RISES)
    (tmp_path / "ticks.csv").write_text(TICKS)
    return tmp_path


def run(*arguments: str, exit_code: int = 0, text: str | None = None):
    result = CliRunner().invoke(app, arguments, input=text)
    assert result.exit_code == exit_code, result.output
    return result


def test_a_text_tells_its_language():
    assert isinstance(cep.query(RISES), cep.RowPatternQuery)
    assert isinstance(cep.query("/* x */ match_recognize (pattern (a))"), cep.RowPatternQuery)
    assert isinstance(cep.query("PATTERN SEQ(A a, B b)"), cep.CompiledQuery)
    assert isinstance(cep.query("EVENT MATCH_RECOGNIZE"), cep.CompiledQuery)


def test_a_query_is_shown_as_text():
    q = cep.query("match_recognize (order by t pattern (a b*?))")
    assert str(q) == "MATCH_RECOGNIZE (\n  ORDER BY t\n  PATTERN (A B*?)\n)"
    assert eval(repr(q), {"cepheid": cep}).tree == q.tree
    assert "<pre>MATCH_RECOGNIZE" in q._repr_html_()


def test_a_query_is_read_from_a_file(folder):
    assert cep.read_query(folder / "rises.sql").match(folder / "ticks.csv").to_dicts() == [ROW]


def test_explain_checks_the_columns():
    q = cep.query(RISES)
    schema = cep.query("EVENT A").match({"ts": [1], "type": ["A"]}).schema
    assert "rows that agree on symbol" in q.explain()
    with pytest.raises(QueryError, match="the table has no column 'symbol'"):
        q.explain(schema)


def test_an_automaton_is_drawn():
    query = cep.query("MATCH_RECOGNIZE (PATTERN (^ A ({- B -} | B C)* D{2}? $) DEFINE B AS x > 1)")
    mermaid, svg = query.automaton(), query.automaton("svg")
    assert 's0 --->|"1 ^ A"| s1' in mermaid
    assert "-.->" in mermaid  # an exclusion
    assert "B: x #62; 1" in mermaid
    assert svg.count("<circle") == 1 + mermaid.count("((")
    ElementTree.fromstring(svg)
    with pytest.raises(OptionError, match="an automaton has no format 'png'"):
        query.automaton("png")
    with pytest.raises(EvaluationError, match="the automaton has 1001 states, and a drawing"):
        cep.query("MATCH_RECOGNIZE (PATTERN (A{1000}))").automaton()


@pytest.mark.parametrize("evaluation", ["auto", "reference"])
def test_a_report_shows_the_matches(evaluation):
    text = """MATCH_RECOGNIZE (ORDER BY t MEASURES count(*) AS n, FIRST(t) AS start
        PATTERN (A? {- B -} C*) DEFINE B AS x > 5, C AS x > 5)"""
    source = {"t": [1, 2, 3, 4], "x": [1, 7, 8, 2]}
    page = report_query(cep.query(text), source, evaluation=evaluation)
    (match,) = page.timeline.matches
    assert [(each["variable"], each["time"]) for each in match["events"]] == [
        ("A", 1), ("B", 2), ("C", 3)
    ]  # fmt: skip
    assert match["values"] == {"n": "3", "start (measure)": "1"}
    assert "rows in 1 partition" in page.to_html()
    nothing = report_query(cep.query("MATCH_RECOGNIZE (PATTERN (A) DEFINE A AS x > 9)"), source)
    assert nothing.timeline.total == 0
    unordered = report_query(cep.query("MATCH_RECOGNIZE (PATTERN (A A))"), {"k": ["a"] * 4})
    assert [each["start"] for each in unordered.timeline.matches] == [0, 2]


def test_memory_is_limited():
    query = cep.query("MATCH_RECOGNIZE (ORDER BY t AFTER MATCH SKIP TO NEXT ROW PATTERN (A+))")
    source = {"t": range(3_000)}
    with pytest.raises(LimitError) as error:
        query.match(source, max_memory="2 MB")
    assert str(error.value) == (
        "the clause needs more than the memory limit of 1.907 MiB: its matches have too many rows. "
        "WITHIN, AFTER MATCH SKIP PAST LAST ROW or an upper bound of quantifiers needs less, and "
        "max_memory allows more"
    )
    assert query.count(source, max_memory="50 MB") == 3_000
    with pytest.raises(OptionError, match="max_memory is a size such as"):
        query.match(source, max_memory="much")


def test_other_refusals():
    with pytest.raises(EvaluationError, match="cannot be part of a script, which passes on"):
        cep.script(RISES)
    with pytest.raises(OptionError, match="group_by is for SASE"):
        cep.query(RISES, group_by={"b": "x"})
    with pytest.raises(OptionError, match="max_steps is a positive integer, not 0"):
        cep.query(RISES).match(table("a"), max_steps=0)
    with pytest.raises(LimitError, match="the pattern has too many variables"):
        cep.query(f"MATCH_RECOGNIZE (PATTERN ({' '.join(f'v{n}' for n in range(201))}))")
    with pytest.raises(LimitError, match="nested too deeply"):
        cep.query(f"MATCH_RECOGNIZE (PATTERN ({'(' * 150}A{')*' * 150}))")
    with pytest.raises(LimitError, match="the clause has too many parts"):
        cep.query(f"MATCH_RECOGNIZE (PATTERN ({'A? ' * 20_000}))")
    for steps in (".x" * 5_000, "[1]" * 5_000):
        with pytest.raises(LimitError, match="nested too deeply"):
            cep.query(f"MATCH_RECOGNIZE (PATTERN (A) DEFINE A AS A.x{steps} = 1)")


def test_an_unused_parameter_is_a_warning():
    with pytest.warns(cep.CepheidWarning, match="does not use the parameter 'T'"):
        cep.query("MATCH_RECOGNIZE (PATTERN (A))", parameters={"T": 1})


@pytest.mark.usefixtures("folder")
def test_the_command_line_tells_the_language_by_the_text():
    assert json.loads(run("match", "rises.sql", "ticks.csv").stdout) == ROW
    assert json.loads(run("match", "-q", RISES, "ticks.csv").stdout) == ROW
    assert json.loads(run("match", "rises.sql", "-", text=TICKS).stdout) == ROW
    assert run("match", "rises.sql", "ticks.csv", "--count").stdout == "1\n"
    assert "1 match in" in run("match", "rises.sql", "ticks.csv").stderr


@pytest.mark.usefixtures("folder")
def test_the_command_line_writes_every_format():
    shown = run("match", "rises.sql", "ticks.csv", "--format", "table").stdout
    assert shown.splitlines()[0].split() == ["symbol", "since", "until"]
    assert run("match", "rises.sql", "ticks.csv", "--format", "csv").stdout.splitlines() == [
        '"symbol","since","until"',
        '"X",1,3',
    ]
    run("match", "rises.sql", "ticks.csv", "-o", "found.parquet")
    again = cep.query("MATCH_RECOGNIZE (MEASURES A.since AS s PATTERN (A))").match("found.parquet")
    assert again.to_dicts() == [{"s": 1}]


@pytest.mark.usefixtures("folder")
def test_the_command_line_says_how_many_rows_it_leaves_out():
    clause = "MATCH_RECOGNIZE (ALL ROWS PER MATCH PATTERN (A+))"
    result = run("match", "-q", clause, "ticks.csv", "--limit", "2")
    assert len(result.stdout.splitlines()) == 2
    assert "1 match, 5 rows, 3 not shown, in" in result.stderr


@pytest.mark.parametrize(
    "option",
    [("--time", "t"), ("--type", "k"), ("--tie-break", "k"), ("--metrics",),
     ("--output", "first"), ("--max-runs", "5")],
)  # fmt: skip
@pytest.mark.usefixtures("folder")
def test_options_of_sase_queries_are_refused(option):
    result = run("match", "rises.sql", "ticks.csv", *option, exit_code=2)
    assert f"{option[0]} is for SASE+ queries, not for" in result.stderr


def test_options_of_the_table_are_taken(folder):
    (folder / "ticks.csv").write_text(TICKS.replace(",", ";"))
    assert json.loads(run("match", "rises.sql", "ticks.csv", "--sep", ";").stdout) == ROW
    clause = "MATCH_RECOGNIZE (ORDER BY ts PATTERN (A+) WITHIN INTERVAL '1' SECOND)"
    result = run("match", "-q", clause, "ticks.csv", "--sep", ";", "--time-unit", "s", "--count")
    assert result.stdout == "3\n"


@pytest.mark.usefixtures("folder")
def test_the_evaluation_is_taken():
    for name in ("reference", "row_pattern"):
        assert (
            json.loads(run("match", "rises.sql", "ticks.csv", "--evaluation", name).stdout) == ROW
        )
    wrong = run("match", "rises.sql", "ticks.csv", "--evaluation", "nfa_b", exit_code=1)
    assert "MATCH_RECOGNIZE has no evaluation 'nfa_b'" in wrong.stderr
    little = run("match", "rises.sql", "ticks.csv", "--max-memory", "3", exit_code=1)
    assert "the memory limit of 3 bytes" in little.stderr


def test_check_and_explain(folder):
    result = run("check", "rises.sql", "ticks.csv")
    assert result.stdout == (
        "rises.sql: ok, MATCH_RECOGNIZE, pattern A UP+, one row per match, 2 measures\n"
    )
    assert "continue after its last row" in run("explain", "rises.sql", "ticks.csv").stdout
    (folder / "wrong.sql").write_text(RISES.replace("price)", "prcie)"))
    wrong = run("check", "wrong.sql", "rises.sql", "ticks.csv", exit_code=1)
    assert "wrong.sql:4:45: the table has no column 'prcie'" in wrong.stderr
    assert "rises.sql: ok" in wrong.stdout
    assert run("explain", "rises.sql", "--svg").stdout.startswith("<svg")
    for drawing in ("--stacks", "--buffer"):
        refused = run("explain", "rises.sql", drawing, exit_code=2)
        assert f"{drawing} is for SASE+ queries" in refused.stderr


def test_the_command_line_writes_a_report(folder):
    result = run("report", "rises.sql", "ticks.csv", "-o", "rises.html")
    assert "1 match in rises.html" in result.stderr
    assert "<title>rises</title>" in (folder / "rises.html").read_text()


def piped(*arguments: str, parts: list[str]) -> list[str]:
    """What a command writes after each part of its input, and at the end."""
    command = [sys.executable, "-m", "cepheid", "match", *arguments]
    with subprocess.Popen(command, stdin=PIPE, stdout=PIPE, stderr=DEVNULL, text=True) as run:
        assert run.stdin is not None
        assert run.stdout is not None
        lines = []
        for part in parts:
            run.stdin.write(part)
            run.stdin.flush()
            lines.append(run.stdout.readline())
        run.stdin.close()
        lines.append(run.stdout.read())
    return lines


def test_rows_on_stdin_are_matched_as_they_arrive():
    clause = "MATCH_RECOGNIZE (ORDER BY t MEASURES B.x AS x PATTERN (A B) DEFINE B AS x > 5)"
    parts = ["t,x\n1,2\n2,7\n", "3,9\n4,8\n", "5,1\n6,6\n7,7\n"]
    assert piped("-q", clause, "-", parts=parts) == ['{"x": 7}\n', '{"x": 8}\n', '{"x": 6}\n', ""]
    found = piped("-q", clause, "-", "--format", "csv", parts=parts)
    assert "".join(found) == '"x"\n7\n8\n6\n'


def test_the_last_match_on_stdin_is_given_at_its_end():
    lines = '{"ts":1,"symbol":"X","price":5}\n{"ts":2,"symbol":"X","price":6}\n'
    result = run("match", "-q", RISES, "-", text=lines)
    assert json.loads(result.stdout) == {"symbol": "X", "since": 1, "until": 2}
    assert "warning: the pattern has no longest match" in result.stderr
    assert "1 match in" in result.stderr
    clause = "MATCH_RECOGNIZE (ORDER BY ts ALL ROWS PER MATCH PATTERN (A A))"
    result = run("match", "-q", clause, "-", "--limit", "1", text=lines)
    assert len(result.stdout.splitlines()) == 1
    assert "stopped after 1 row (--limit)" in result.stderr


def test_a_clause_that_no_stream_answers_waits_for_the_end_of_stdin():
    clause = "MATCH_RECOGNIZE (ORDER BY t DESC MEASURES FIRST(t) AS t PATTERN (A $))"
    result = run("match", "-q", clause, "-", text="t\n1\n2\n")
    assert json.loads(result.stdout) == {"t": 1}
    said = "the query is run at the end of the input, not while it arrives: "
    assert f"{said}DESC cannot be used in a stream and" in result.stderr
    clause = "MATCH_RECOGNIZE (ORDER BY k MEASURES FIRST(k) AS k PATTERN (A))"
    result = run("match", "-q", clause, "-", text="k\nb\na\n")
    assert [json.loads(line)["k"] for line in result.stdout.splitlines()] == ["a", "b"]
    assert f"{said}a stream is in time order" in result.stderr


def test_rows_on_stdin_that_come_too_late_are_refused(tmp_path):
    clause = "MATCH_RECOGNIZE (ORDER BY t PATTERN (A B))"
    rows = "t,pad\n" + "".join(f"{at},{'x' * 1_000}\n" for at in range(5_000)) + "1,x\n"  # 5 MB
    result = run(
        "match", "-q", clause, "-", "-o", str(tmp_path / "x.jsonl"), text=rows, exit_code=1
    )
    assert "an event on stdin has an earlier time than events before it" in result.stderr


@pytest.mark.usefixtures("folder")
def test_the_command_line_diagnoses():
    assert "UP: 2 (price > PREV(price))" in run("diagnose", "rises.sql", "ticks.csv").stdout
    told = json.loads(run("diagnose", "rises.sql", "ticks.csv", "--format", "json").stdout)
    assert (told["rows"], told["starts"]) == (5, 2)
    refused = run("diagnose", "rises.sql", "ticks.csv", "--time", "t", exit_code=2)
    assert "--time is for SASE+ queries" in refused.stderr


def test_a_message_does_not_list_thousands_of_unknown_columns():
    columns = ", ".join(f"c{number}" for number in range(3_000))
    query = cep.query(f"MATCH_RECOGNIZE (PARTITION BY {columns} PATTERN (A))")
    with pytest.raises(cep.QuerySemanticError) as caught:
        query.match(table("a"))
    assert len(str(caught.value)) < 30_000
