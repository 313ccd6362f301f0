"""``CEPHEID_CHECKED=1`` compiles kernels that raise at an index that is out of bounds."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

PROGRAM = """
import numpy as np
from cepheid.jit.decorators import I64, I64S, helper, kernel
from cepheid.jit.pointers import copy_numbers, write_sixteen

@helper
def read(numbers, at):
    return numbers[at]

@kernel(I64(I64S, I64))
def at_index(numbers, at):
    return read(numbers, at)

@kernel(I64(I64S, I64))
def copied(numbers, at):
    copy_numbers(numbers, 0, numbers, at, 4)
    return numbers[0]

@kernel(I64(I64S, I64))
def filled(numbers, at):
    write_sixteen(numbers, at, 7)
    return numbers[at]

for kernel, at in CASES:
    try:
        print(globals()[kernel](np.arange(20)[2:18].copy(), at))
    except IndexError:
        print("IndexError")
"""
CASES = {
    ("at_index", 15): "17",
    ("at_index", 16): "IndexError",
    ("at_index", -1): "IndexError",
    ("copied", 12): "14",
    ("copied", 13): "IndexError",
    ("copied", -1): "IndexError",
    ("filled", 0): "7",
    ("filled", 1): "IndexError",
    ("filled", -1): "IndexError",
}


def test_an_index_out_of_bounds_is_an_error(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(f"CASES = {[*CASES]}\n{PROGRAM}")
    done = subprocess.run(
        [sys.executable, program],
        env=os.environ | {"CEPHEID_CHECKED": "1", "CEPHEID_CACHE_DIR": str(tmp_path / "cache")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.split() == [*CASES.values()], done.stderr
