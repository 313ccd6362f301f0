"""What ``--help`` says is true."""

import re
import shlex

import pyarrow as pa
import pyarrow.compute
import pyarrow.csv
import pyarrow.parquet
import pytest
import typer

import cepheid as cep
from cepheid.cli.app import app
from cepheid.cli.root import COMMANDS as COMMANDS_OF_HELP
from cepheid.samples import scenario

COMMANDS = ("match", "explain", "diagnose", "check", "demo")


def examples(run):
    for command in COMMANDS:
        text = run(command, "--help").out
        found = re.findall(r"^ +cepheid (.*)$", text.partition("Examples:")[2], re.MULTILINE)
        assert 1 <= len(found) <= 4
        # What runs on Spark is in tests/spark.
        yield from (example for example in found if "--spark" not in example)


def test_every_example_works(run, folder):
    theft = scenario("retail_theft")
    events = theft.events()
    (folder / "theft.sase").write_text(theft.query)
    (folder / "trend.sase").write_text(theft.query)
    pyarrow.parquet.write_table(events, "events.parquet")
    pyarrow.csv.write_csv(events.slice(0, 40), "few.csv")
    for name in ("Shelf", "Register", "Exit"):
        rows = events.filter(pa.compute.equal(events["type"], name)).drop_columns(["type"])
        pyarrow.csv.write_csv(rows, f"{name.lower()}.csv")
    for example in examples(run):
        outcome = run(*shlex.split(example))
        assert outcome.code == 0, example
        assert outcome.out or "-o" in example


def test_the_commands_are_listed_with_the_exit_codes(run):
    text = run("--help").out
    for command in COMMANDS:
        assert f"  {command} " in text
    assert re.findall(r"^ +(\d+)  ", text, re.MULTILINE) == ["0", "1", "2", "130", "143"]


def test_every_command_has_a_place_in_the_help():
    names = [name for group in COMMANDS_OF_HELP.values() for name in group]
    known = {each.name or each.callback.__name__ for each in app.registered_commands}
    assert sorted(names) == sorted(known | {each.name for each in app.registered_groups})


def test_the_usage_names_the_arguments_that_the_help_describes(run):
    assert "rules match [OPTIONS] FOLDER [EVENTS]..." in run("rules", "match", "--help").out
    assert "sql [OPTIONS] [STATEMENT] [TABLES]..." in run("sql", "--help").out
    assert "fmt [OPTIONS] FILE..." in run("fmt", "--help").out


def test_without_a_command_the_help_is_shown(run):
    outcome = run()
    assert outcome.out + outcome.err == run("--help").out


@pytest.mark.parametrize("command", COMMANDS)
def test_help_is_short_for_h(run, command):
    assert run(command, "-h").out == run(command, "--help").out


@pytest.mark.parametrize("command", [*COMMANDS, "report", "stream", "rules"])
def test_arguments_are_described_once_and_options_are_those_of_the_command(run, command):
    text = run(command, "--help").out
    assert "Arguments:" not in text
    named = re.findall(r"(?<!\S)-o\b", text.partition("Examples:")[0])
    assert bool(named) is bool(re.search(r"^  -o ", text, re.MULTILINE))


def test_the_version_is_that_of_the_package(run):
    assert run("--version").out == f"cepheid {cep.__version__}\n"


def test_match_has_few_parameters():
    match = typer.main.get_command(app).commands["match"]
    assert len(match.params) <= 20
