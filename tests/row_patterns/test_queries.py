"""``cep.query`` and the command line with MATCH_RECOGNIZE."""

import json

import pytest
from row_patterns.row_cases import table
from typer.testing import CliRunner

import cepheid as cep
from cepheid.cli.app import app
from cepheid.errors import EvaluationError, LimitError, OptionError, QueryError

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


@pytest.mark.parametrize(
    "name", ["session", "restore", "match_stream", "diagnose", "automaton", "stacks"]
)
def test_what_does_not_exist_yet_says_so(name):
    with pytest.raises(EvaluationError, match=rf"MATCH_RECOGNIZE has no {name}\(\) yet: it runs"):
        getattr(cep.query(RISES), name)({})


def test_other_refusals():
    with pytest.raises(EvaluationError, match="cannot be part of a script yet"):
        cep.script(RISES)
    with pytest.raises(OptionError, match="group_by is for SASE"):
        cep.query(RISES, group_by={"b": "x"})
    with pytest.raises(OptionError, match="max_steps is a positive whole number, not 0"):
        cep.query(RISES).match(table("a"), max_steps=0)
    with pytest.raises(LimitError, match="the pattern has too many variables"):
        cep.query(f"MATCH_RECOGNIZE (PATTERN ({' '.join(f'v{n}' for n in range(201))}))")
    with pytest.raises(LimitError, match="nested too deeply"):
        cep.query(f"MATCH_RECOGNIZE (PATTERN ({'(' * 150}A{')*' * 150}))")


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
    [("--time", "t"), ("--type", "k"), ("--tie-break", "k"), ("--spark", "local"), ("--metrics",),
     ("--evaluation", "nfa_b"), ("--output", "first"), ("--max-runs", "5")],
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


def test_check_and_explain(folder):
    result = run("check", "rises.sql", "ticks.csv")
    assert result.stdout == (
        "rises.sql: ok, MATCH_RECOGNIZE, pattern A UP+, one row per match, 2 measures\n"
    )
    assert "go on after its last row" in run("explain", "rises.sql", "ticks.csv").stdout
    (folder / "wrong.sql").write_text(RISES.replace("price)", "prcie)"))
    wrong = run("check", "wrong.sql", "rises.sql", "ticks.csv", exit_code=1)
    assert "wrong.sql:4:45: the table has no column 'prcie'" in wrong.stderr
    assert "rises.sql: ok" in wrong.stdout
    assert "cannot be drawn yet" in run("explain", "rises.sql", "--svg", exit_code=2).stderr


@pytest.mark.parametrize("command", ["report", "diagnose"])
@pytest.mark.usefixtures("folder")
def test_other_commands_say_that_they_do_not_run_it(command):
    result = run(command, "rises.sql", "ticks.csv", exit_code=1)
    assert "MATCH_RECOGNIZE does not run here yet" in result.stderr
