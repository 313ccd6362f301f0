"""`cepheid warm` compiles what queries need, so that none of them waits for it."""

from __future__ import annotations

import pytest
from typer.testing import CliRunner

from cepheid.cli.app import app
from cepheid.jit import warming
from cepheid.jit.decorators import Compilable
from cepheid.jit.warming import kernel_modules, warm


def test_modules_with_kernels_are_found() -> None:
    found = kernel_modules()
    assert "cepheid.engines.nfa_b.kernels.advance" in found
    assert "cepheid.engines.nfa_b.variants.kernels.versioned" in found
    assert not [each for each in found if each.endswith("__init__")]


def test_kernels_are_counted_in_the_module_that_defines_them() -> None:
    modules = ["cepheid.engines.negation.kernels.violations", "cepheid.events.kernels.string_codes"]
    assert sum(warm(modules, jobs=1)) >= len(modules)


def test_a_kernel_of_two_widths_is_compiled_for_both() -> None:
    from cepheid.matches.kernels import match_columns

    assert isinstance(match_columns.list_columns, Compilable)
    assert match_columns.list_columns.compile() == 2


def test_the_command_says_how_much_is_ready(monkeypatch: pytest.MonkeyPatch) -> None:
    few = ["cepheid.events.kernels.string_codes"]
    monkeypatch.setattr(warming, "kernel_modules", lambda: few)
    ran = CliRunner().invoke(app, ["warm", "--jobs", "1"])
    assert ran.exit_code == 0
    assert "ready in" in ran.stdout
