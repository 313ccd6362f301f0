"""When private parts of numba change, answers stay the same and a log message says what changed."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from contextlib import redirect_stdout
from pathlib import Path

import pytest

from cepheid.jit import numba_internals

# Each change leaves numba working, as a new version would.
CHANGES = {
    "helpers without machine code": """
from numba.core.codegen import JITCodeLibrary
optimize = JITCodeLibrary._optimize_final_module
JITCodeLibrary._optimize_final_module = lambda self, level=3: optimize(self)
""",
    "helpers compiled once for all constants": """
from numba.core.dispatcher import Dispatcher
template = Dispatcher.get_call_template
Dispatcher.get_call_template = lambda self, args, kws, target=None: template(self, args, kws)
""",
    "calls without dispatch": """
from numba.core.dispatcher import Dispatcher
insert = Dispatcher.add_overload
Dispatcher.add_overload = lambda self, *given: insert(self, *given)
""",
    "a cache that may fail": """
from numba.core.caching import Cache
save = Cache.save_overload
Cache.save_overload = lambda self, *given: save(self, *given)
""",
    "operators looked up once": """
from numba.core.types.functions import BaseFunction
call_type = BaseFunction.get_call_type
BaseFunction.get_call_type = lambda self, *given: call_type(self, *given)
""",
    "no negative indices": """
from numba.np import arrayobj
fix = arrayobj.fix_integer_index
arrayobj.fix_integer_index = lambda *given: fix(*given)
""",
    "these options": """
from numba.core import cpu, options
del cpu.CPUTargetOptions.__mro__[1]._nrt
""",
}
WHEEL = "compiled code of the wheel"  # asked for only by an installed wheel, and by who builds one
WHEEL_CHANGE = """
from numba.core.compiler import CompileResult
rebuild = CompileResult._rebuild
CompileResult._rebuild = classmethod(lambda cls, *given: rebuild(*given))
"""
WHEEL_RUN = """
from cepheid.jit import numba_internals
print(numba_internals.code_as_bytes(None), numba_internals.code_from_bytes(None, b""))
"""
RUN = """
import numpy as np
from cepheid.jit.decorators import I64, I64S, helper, kernel

@helper
def add(one, other):
    return one + other

@kernel(I64(I64S))
def total(numbers):
    result = 0
    for ix in range(len(numbers)):
        result = add(result, numbers[ix])
    return add(add(result, 1), 2)

print([total(np.arange(5)) for _ in range(3)])
"""
QUERY = """
import cepheid as cep
query = cep.query("PATTERN SEQ(A a, B+ b[], C c) WHERE a.x < c.x AND sum(b[].x) > 3 WITHIN 9")
events = {"type": [*"ABBAC"], "ts": [1, 2, 3, 4, 5], "x": [1, 2, 3, 9, 4]}
print(query.match(events, evaluation="nfa_b").bindings())
"""


def run(change: str, tasks: str, cache: Path) -> tuple[str, str]:
    """What a process prints and logs that runs tasks with a changed numba."""
    script = cache / "script.py"
    script.write_text(f"import numba\n{change}\n{tasks}")
    environment = {"CEPHEID_CACHE_DIR": str(cache), "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-W", "error", script], env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr


@pytest.mark.parametrize("part", CHANGES)
def test_each_part_can_change(part: str, tmp_path: Path) -> None:
    printed, logged = run(CHANGES[part], RUN, tmp_path)
    assert printed == "[13, 13, 13]\n"
    assert logged.count("has changed") == 1
    assert f"works without {part}, but is slower" in logged


def test_the_code_of_a_wheel_can_change(tmp_path: Path) -> None:
    printed, logged = run(WHEEL_CHANGE, WHEEL_RUN, tmp_path)
    assert printed == "None False\n"
    assert f"works without {WHEEL}, but is slower" in logged


def test_a_query_gives_the_same_answer_without_any_part(tmp_path: Path) -> None:
    printed, logged = run("\n".join(CHANGES.values()), QUERY, tmp_path)
    assert logged.count("has changed") == len(CHANGES)
    expected = io.StringIO()
    with redirect_stdout(expected):
        exec(QUERY, {})
    assert printed == expected.getvalue()
    assert "'a': 0" in printed


def test_the_numba_that_is_installed_has_every_part(tmp_path: Path) -> None:
    assert run("", RUN, tmp_path) == ("[13, 13, 13]\n", "")


def test_every_part_is_tried() -> None:
    assert CHANGES.keys() | {WHEEL} == {*numba_internals._PARTS, "these options"}
