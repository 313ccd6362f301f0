"""The fuzzers run, and a short run finds nothing."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from random import Random

import pytest
from fuzz.guided import Bytes
from fuzz.targets import TARGETS, Target, run_case

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("name", TARGETS)
def test_the_same_cases_find_nothing(name: str) -> None:
    found = [run_case(TARGETS[name], seed) for seed in range(30)]
    assert [each for each in found if each is not None] == []


@pytest.mark.parametrize("name", ["texts", "tables"])
def test_bytes_make_a_case_again_and_other_bytes_another_one(name: str) -> None:
    make = TARGETS[name].make
    data = [Random(seed).randbytes(300) for seed in range(20)]
    cases = [make(Bytes(each))[0] for each in data]
    assert [make(Bytes(each))[0] for each in data] == cases
    assert len(set(cases)) > 15
    assert [run_case(TARGETS[name], each) for each in data] == [None] * 20


def test_a_raw_exception_is_a_finding() -> None:
    def make(_: Random) -> tuple[str, object]:
        return "a case", lambda: [][1]

    found = run_case(Target("broken", make, 1.0), 0)  # type: ignore[arg-type]
    assert found is not None
    assert found[0] == "a case"
    assert "IndexError" in found[1]


def test_a_run_tells_what_it_did(tmp_path: Path) -> None:
    options = ["--target", "texts", "--minutes", "0.05", "--output", str(tmp_path)]
    done = subprocess.run(
        [sys.executable, "-m", "fuzz", *options],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "texts: " in done.stdout, done.stderr
    assert json.loads((tmp_path / "texts.progress").read_text())["cases"] > 0
