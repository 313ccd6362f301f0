"""Whichever change of a file fails, nothing is half-written, and there is one message."""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import count
from pathlib import Path

import numba
import pytest
from faults.injection import failing_file, full_after
from typer.testing import CliRunner, Result

from cepheid import CepheidWarning, OptionError, cache, sigma
from cepheid.cli.app import app
from cepheid.codegen import generated
from cepheid.jit import decorators as jit
from cepheid.rule_sets.testing import Case, write_cases
from cepheid.spark.stream.bucket import BucketState
from cepheid.spark.stream.bucket_copies import BucketCopies
from cepheid.studio.saving import save_case, save_rule

PAIRS = "PATTERN SEQ(A a, B b)"
SCRIPT = "PATTERN A a RETURN A2(x = a.x); PATTERN B b RETURN B2(x = b.x)"
WRITERS = [
    *(["match", "-q", PAIRS, "{}", "--format", each] for each in ("jsonl", "csv", "parquet")),
    ["match", "-q", PAIRS, "{}", "--format", "table", "--limit", "999"],
    ["match", "-q", PAIRS, "{}", "--count"],
    ["report", "-q", PAIRS, "{}"],
    ["explain", "-q", PAIRS, "--svg"],
]


@pytest.fixture
def events(tmp_path: Path) -> str:
    """A file of events with 2,500 pairs."""
    rows = "".join(f"{ts},{'A' if ts < 50 else 'B'},{ts}\n" for ts in range(100))
    file = tmp_path / "many.csv"
    file.write_text("ts,type,x\n" + rows)
    return str(file)


def run(arguments: list[str], events: str, text: str | None = None) -> Result:
    return CliRunner().invoke(app, [each.format(events) for each in arguments], input=text)


def assert_one_line(result: Result, reason: str = "No space left on device") -> None:
    assert result.exit_code == 1, result.output
    assert result.stderr.startswith("error: cannot ")
    assert result.stderr.endswith(f": {reason}\n")
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize("writer", WRITERS, ids=" ".join)
def test_an_output_file_is_complete_or_as_before(
    writer: list[str], tmp_path: Path, events: str
) -> None:
    folder = tmp_path / "out"
    folder.mkdir()
    file = folder / "file.csv"
    writer = [*writer, "-o", str(file)]
    run(writer, events)
    complete = file.stat().st_size
    for number in count(1):
        file.write_text("before")
        with failing_file(folder, number) as files:
            result = run(writer, events)
        if not files.has_failed:
            break
        assert_one_line(result)
        assert file.read_text() == "before"
        assert [*folder.iterdir()] == [file]
    assert number > 3
    assert (result.exit_code, file.stat().st_size > 6 or complete <= 6) == (0, True)
    for size in {0, 1, complete // 2, complete - 1}:
        file.write_text("before")
        with full_after(size):
            result = run(writer, events)
        assert_one_line(result, "File too large")
        assert file.read_text() == "before"
        assert [*folder.iterdir()] == [file]


def test_each_file_of_a_script_is_complete(tmp_path: Path, events: str) -> None:
    for number in count(1):
        folder = tmp_path / f"out{number}"
        with failing_file(folder, number) as files:
            result = run(["match", "-q", SCRIPT, "{}", "-o", str(folder)], events)
        sizes = [each.stat().st_size for each in folder.iterdir()] if folder.exists() else []
        assert all(size > 1_000 for size in sizes)
        if result.exit_code == 0:  # To make a folder that is there may fail.
            assert len(sizes) == 2
        else:
            assert_one_line(result)
        if not files.has_failed:
            break
    assert number > 6


def test_a_copy_of_standard_input(
    tmp_path: Path, events: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()
    arguments, text = ["match", "-q", PAIRS, "-", "--count"], Path(events).read_text()
    for number in count(1):
        with failing_file(tmp_path / "temporary", number) as files:
            result = run(arguments, events, text)
        if not files.has_failed:
            break
        assert_one_line(result)
    assert (number, result.stdout) == (3, "2500\n")
    with full_after(5):
        assert_one_line(run(arguments, events, text), "File too large")


def rewrite(tmp_path: Path) -> dict[str, tuple[Path, Callable[[], object]]]:
    """Files that are written anew, and what writes them."""
    sigma_rule = "title: t\nlogsource: {product: w}\ndetection: {s: {f: 1}, condition: s}\n"
    cases, rule, converted = (tmp_path / each for each in ("r.test.toml", "r.sase", "t.sase"))
    case = Case(rule, cases, "recorded", "a.csv", ({"end": 1},))
    return {
        "cases": (cases, lambda: write_cases(cases, [case] * 500)),
        "case": (cases, lambda: save_case(case)),
        "rule": (rule, lambda: save_rule(tmp_path, "r", PAIRS * 9, replaces=True)),
        "sigma": (converted, lambda: sigma.write(sigma_rule, tmp_path)),
    }


@pytest.mark.parametrize("writer", ["cases", "case", "rule", "sigma"])
def test_rules_and_their_tests_are_complete_or_as_before(tmp_path: Path, writer: str) -> None:
    file, write = rewrite(tmp_path)[writer]
    write()
    complete = file.read_text()
    for number in count(1):
        file.write_text("before = 1")
        with failing_file(tmp_path, number) as files, suppress(OptionError):
            write()
            assert len(file.read_text()) >= len(
                complete
            )  # To make a folder that is there may fail.
        if not files.has_failed:
            break
        assert file.read_text() == "before = 1" or len(file.read_text()) >= len(complete)
        assert [*tmp_path.iterdir()] == [file]
    assert number > 2


def twice(number):
    return 2 * number


@pytest.fixture
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Iterator[Path]]:
    """Empty cache folders, each in use until the next one is."""

    def fresh() -> Iterator[Path]:
        for number in count(1):
            folder = tmp_path / f"cache{number}"
            folder.mkdir()
            for module in (cache, generated):
                monkeypatch.setattr(module, "FOLDER", folder)
            monkeypatch.setattr(numba.config, "CACHE_DIR", str(folder))
            cache.warn_not_stored.cache_clear()
            yield folder

    yield fresh()
    cache.warn_not_stored.cache_clear()


SOURCE = """from numba import types
def predicate(number, context, event, run):
    return number + {}
"""


def use_cache(number: int) -> tuple[int, bool]:
    """Compile a kernel and a predicate: their answers."""
    kernel = jit.kernel(jit.I64(jit.I64))(twice)
    return kernel(21), generated.predicate_address(SOURCE.format(number)) > 0


def test_a_cache_that_cannot_be_written_costs_one_warning(folders: Iterator[Path]) -> None:
    for number, folder in enumerate(folders, 1):
        with (
            failing_file(folder, number) as files,
            warnings.catch_warnings(record=True) as caught,
        ):
            warnings.simplefilter("always")
            assert use_cache(number) == (42, True)
        assert all(issubclass(each.category, CepheidWarning) for each in caught)
        assert len(caught) <= 1
        assert not [*folder.rglob("*.tmp*")]
        assert use_cache(-number) == (42, True)
        if not files.has_failed:
            break
    assert number > 5
    assert not caught
    assert len([*folder.rglob("*.nbc")]) == 3  # of the kernel, and of two predicates


@pytest.mark.parametrize("size", [0, 10, 1_000])
def test_a_full_disk_costs_one_warning(folders: Iterator[Path], size: int) -> None:
    folder = next(folders)
    with full_after(size), pytest.warns(CepheidWarning, match="cannot be stored") as caught:
        assert use_cache(1_000 + size) == (42, True)
    assert len(caught) == 1
    assert not [*folder.rglob("*.tmp*")]
    assert use_cache(2_000 + size) == (42, True)


def test_a_copy_of_a_bucket_is_complete_or_not_used(tmp_path: Path) -> None:
    copies = BucketCopies("stream", tmp_path)
    old, new = BucketState([b"old" * 99], b"1", 1), BucketState([b"new" * 99], b"2", 2)
    for number in count(1):
        copies.write(7, "old", old)
        with failing_file(tmp_path, number) as files:
            copies.write(7, "new", new)
        if not files.has_failed:
            break
        assert copies.read(7, "new") is None
        assert copies.read(7, "old") is not None
        assert len([*tmp_path.iterdir()]) == 1
    assert number == 3
    with full_after(100):
        copies.write(7, "newest", old)
    found = copies.read(7, "new")
    assert found is not None
    assert (found.reached, bytes(found.session[0])) == (2, b"new" * 99)
    assert copies.read(7, "newest") is None
