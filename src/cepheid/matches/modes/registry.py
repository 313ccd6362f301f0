"""The registry of output modes.

To add one, write ``matches/modes/<name>.py`` and list its entry here. A program can add one with
:func:`register_mode`.
"""

from __future__ import annotations

from collections.abc import Sequence

from cepheid.errors import OptionError, unknown_name
from cepheid.matches.modes.first import FIRST
from cepheid.matches.modes.leftmost import LEFTMOST
from cepheid.matches.modes.longest import LONGEST
from cepheid.matches.modes.mode import ALL, COMPRESSED, OutputMode
from cepheid.matches.modes.non_overlapping import NON_OVERLAPPING

_BUILT_IN = (ALL, FIRST, LONGEST, LEFTMOST, NON_OVERLAPPING, COMPRESSED)
_MODES = {mode.name: mode for mode in _BUILT_IN}


def register_mode(mode: OutputMode) -> None:
    """Add an output mode, or replace one that was added before."""
    if mode.name in {each.name for each in _BUILT_IN}:
        raise OptionError(f"there is an output mode {mode.name!r} already; use another name")
    _MODES[mode.name] = mode


def unregister_mode(name: str) -> None:
    """Remove an output mode that was added."""
    assert _MODES[name] not in _BUILT_IN
    del _MODES[name]


def added_mode(name: str) -> OutputMode | None:
    """The mode with this name if a program has added it; other processes do not have it."""
    mode = _MODES[name]
    return None if mode in _BUILT_IN else mode


def listed_outputs() -> tuple[str, ...]:
    """The modes that list matches, available in every kind of run.

    >>> listed_outputs()
    ('all', 'first', 'longest', 'leftmost', 'non_overlapping')
    """
    return tuple(name for name, mode in _MODES.items() if not mode.needs_buffer)


def all_outputs() -> tuple[str, ...]:
    """All modes; modes that need a buffer are only for a whole stream in memory.

    >>> all_outputs()
    ('all', 'first', 'longest', 'leftmost', 'non_overlapping', 'compressed')
    """
    return tuple(sorted(_MODES, key=lambda name: _MODES[name].needs_buffer))


def output_mode(name: str) -> OutputMode:
    """The mode with this name."""
    if name not in _MODES:
        check_output(name, all_outputs())
    return _MODES[name]


def check_output(output: str, known: Sequence[str] | None = None) -> None:
    """Refuse an output mode that is not known; by default, the modes that list are known."""
    known = listed_outputs() if known is None else known
    if output not in known:
        raise OptionError(unknown_name("output mode", output, known))
