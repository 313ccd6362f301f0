"""What numba does more often than kernels need it, done once, so that they compile sooner.

A helper is called by kernels alone. Numba would optimise it, with all that it calls, and make
machine code of it; then again as a part of each that calls it, up to the kernel, which is the
only one that runs. And it would look up every operator at every place, several times over.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

from numba import types
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_lock import global_compiler_lock
from numba.core.types.functions import BaseFunction


class _Part(JITCodeLibrary):
    """The code of a helper, which waits for the kernel that it becomes a part of."""

    @property
    def codegen(self) -> Any:
        """What would tell machine code where its constants are, of which there is none."""
        return SimpleNamespace(set_env=lambda *_: None)

    def _optimize_final_module(self) -> None:
        """The kernel is optimised as a whole."""

    def _finalize_final_module(self) -> None:
        self._finalized = True


class PartCompiler(CompilerBase):
    """Compiles helpers: as numba does, but no further than a kernel needs them."""

    def define_pipelines(self) -> list[Any]:
        """Numba's own steps, which put the code where they are told."""
        state = self.state
        state.library = _Part(state.targetctx.codegen(), state.func_id.func_qualname)
        return [DefaultPassBuilder.define_nopython_pipeline(state)]


def of_any_value(compiled: Any) -> Any:
    """Let a helper be compiled once for each kind of arguments.

    Numba would compile it again for every constant that it is called with, and for every
    variable that begins as one.
    """
    template: Callable[..., Any] = compiled.get_call_template

    def without_constants(arguments: Any, keywords: Any) -> Any:
        plain = tuple(types.unliteral(argument) for argument in arguments)
        return template(plain, {name: types.unliteral(kind) for name, kind in keywords.items()})

    compiled.get_call_template = without_constants
    return compiled


_operators: dict[Any, Any] = {}


@contextmanager
def operators_remembered() -> Iterator[None]:
    """What is compiled in here looks up once what an operator gives for some kinds of operands.

    Numba would try dozens of candidates at each ``+`` and each index.
    """
    look_up = BaseFunction.get_call_type

    def remembered(function: Any, context: Any, arguments: Any, keywords: Any) -> Any:
        if keywords or getattr(function.typing_key, "__module__", "") != "_operator":
            return look_up(function, context, arguments, keywords)
        key = function, context, tuple(arguments)
        found = _operators.get(key)
        if found is None:
            found = _operators[key] = look_up(function, context, arguments, keywords)
        return found

    with global_compiler_lock:
        setattr(BaseFunction, "get_call_type", remembered)  # noqa: B010 - a method of numba
        try:
            yield
        finally:
            setattr(BaseFunction, "get_call_type", look_up)  # noqa: B010
