"""The command as a process of its own: exit codes, pipes, terminals, and what is loaded."""

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

import cepheid

MAIN = "from cepheid.cli import main; main()"
HEAVY = ("numba", "pyspark", "pyarrow", "pandas")


@pytest.fixture(autouse=True)
def found_from_every_folder(monkeypatch):
    """The package that is tested is also the one that processes import."""
    monkeypatch.setenv("PYTHONPATH", str(Path(cepheid.__file__).parents[1]))
    # Without a buffer Python does not notice that a pipe took only a part of what was written.
    monkeypatch.delenv("PYTHONUNBUFFERED", raising=False)


def start(*arguments, code=MAIN, **options):
    return subprocess.run(
        [sys.executable, "-c", code, *arguments],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        **options,
    )


@pytest.mark.usefixtures("folder")
def test_answers_go_to_stdout_and_messages_to_stderr():
    done = start("match", "theft.sase", "events.csv")
    assert done.returncode == 0
    assert json.loads(done.stdout)["bindings"] == {"a": 0, "c": 3}
    assert done.stderr.startswith("1 match in ")


@pytest.mark.usefixtures("folder")
def test_the_module_is_the_command():
    done = subprocess.run(
        [sys.executable, "-m", "cepheid", "match", "theft.sase"],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 2
    assert done.stderr.startswith("Usage: cepheid match")


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["check", "theft.sase"], 0),
        (["match", "theft.sase", "nothing.csv"], 1),
        (["check", "nothing.sase"], 1),
        (["match", "theft.sase"], 2),
        (["nothing"], 2),
    ],
)
def test_the_exit_code_says_how_it_went(arguments, code):
    done = start(*arguments)
    assert done.returncode == code
    assert bool(done.stdout) is (code == 0)
    assert bool(done.stderr) is (code != 0)
    assert "Traceback" not in done.stderr


@pytest.mark.usefixtures("folder")
def test_a_query_may_come_through_a_pipe():
    done = start("check", "-", input="EVENT Shelf")
    assert done.stdout.startswith("stdin: ok")


@pytest.mark.parametrize("format", ["jsonl", "csv", "table"])
def test_a_reader_that_has_seen_enough_is_no_fault(folder, format):
    rows = "".join(f"{ts},{'A' if ts < 90 else 'B'}\n" for ts in range(180))
    (folder / "many.csv").write_text("ts,type\n" + rows)
    query = "PATTERN SEQ(A a, B b)"
    arguments = ["match", "-q", query, "many.csv", "--format", format, "--limit", "9000"]
    with subprocess.Popen(
        [sys.executable, "-c", MAIN, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline()
        process.stdout.close()
        said = process.stderr.read().decode()
        assert process.wait(timeout=60) == 0
    assert said == ""


def test_a_terminal_gets_a_table_and_no_parquet(folder):
    def on_terminal(*arguments):
        ours, theirs = pty.openpty()
        try:
            done = subprocess.run(
                [sys.executable, "-c", MAIN, *arguments],
                stdout=theirs,
                stderr=subprocess.PIPE,
                cwd=folder,
                timeout=120,
                check=False,
            )
            return done, os.read(ours, 65536).decode() if done.returncode == 0 else ""
        finally:
            os.close(ours)
            os.close(theirs)

    done, shown = on_terminal("match", "theft.sase", "events.csv")
    assert done.returncode == 0
    assert "item" in shown.splitlines()[0]
    assert not shown.startswith("{")
    done, _ = on_terminal("match", "theft.sase", "events.csv", "--format", "parquet")
    assert done.returncode == 2
    assert b"cannot be shown on a terminal" in b" ".join(done.stderr.split())


LOADED = f"""
import sys
from cepheid.cli import main
before = [name for name in {(*HEAVY, "typer", "rich", "lark")} if name in sys.modules]
try:
    main()
except SystemExit as done:
    after = [name for name in {HEAVY} if name in sys.modules]
    print(before, after, done.code or 0, file=sys.stderr)
"""


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("arguments", [["explain", "theft.sase"], ["check", "theft.sase"]])
def test_explain_and_check_load_nothing_heavy(arguments):
    assert start(*arguments, code=LOADED).stderr == "[] [] 0\n"


@pytest.mark.usefixtures("folder")
def test_numba_and_spark_are_not_loaded_to_look_at_the_columns_of_events():
    done = start("explain", "theft.sase", "events.csv", code=LOADED)
    assert "numba" not in done.stderr
    assert "pyspark" not in done.stderr


WITHOUT_PANDAS = f"""
import sys
class NoPandas:
    def find_spec(self, name, path=None, target=None):
        if name == "pandas":
            raise ImportError(name)
sys.meta_path.insert(0, NoPandas())
{MAIN}
"""


def test_pandas_is_not_needed_for_nanoseconds(folder):
    (folder / "ns.csv").write_text(
        "ts,type\n2024-03-01 09:00:00.000000001,A\n2024-03-01 09:00:01.000000002,B\n"
    )
    query = "PATTERN SEQ(A a, B b) RETURN b.ts - a.ts AS after, a"
    done = start("match", "-q", query, "ns.csv", code=WITHOUT_PANDAS)
    assert json.loads(done.stdout)["return"]["after"] == 1.0
    for format in ("csv", "table"):
        assert start("match", "-q", query, "ns.csv", "--format", format, code=WITHOUT_PANDAS).stdout
