"""Texts and files in YAML, whoever wrote them: nesting and what aliases repeat are limited."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml

from cepheid.errors import OptionError

MOST_DEPTH = 100
"""Levels of lists and mappings within each other."""
MOST_REPEATED = 10_000
"""Values that aliases repeat, and those that they repeat within these."""

_FAILURES = (yaml.YAMLError, ValueError, LookupError, AttributeError, TypeError, ArithmeticError)
"""What reading a wrong value can raise: a date such as 2024-13-01 is a ValueError."""


class _Loader(yaml.SafeLoader):
    """Reads plain values only, within the limits."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._depth = self._count = self._repeated = 0
        self._sizes: dict[int, int] = {}

    def compose_node(self, parent: Any, index: Any) -> Any:
        """The next value, which an alias repeats with all that is in it."""
        is_alias = self.check_event(yaml.AliasEvent)
        if self._depth == MOST_DEPTH:
            raise yaml.YAMLError(f"more than {MOST_DEPTH} levels are within each other")
        before = self._count
        self._depth += 1
        node = super().compose_node(parent, index)
        self._depth -= 1
        if not is_alias:
            self._count += 1
            self._sizes[id(node)] = self._count - before
            return node
        if id(node) not in self._sizes:
            raise yaml.YAMLError("an alias is within what it repeats")
        self._repeated += self._sizes[id(node)]
        self._count += self._sizes[id(node)]
        if self._repeated > MOST_REPEATED:
            raise yaml.YAMLError(f"aliases repeat more than {MOST_REPEATED:,} values")
        return node


def load(text: str, what: str) -> Any:
    """The value of a text; a message begins with ``what``.

    >>> load("severity: high", "the text is")
    {'severity': 'high'}
    >>> load("a: &a [*a]", "the text is")
    Traceback (most recent call last):
    cepheid.errors.OptionError: the text is not YAML: an alias is within what it repeats
    """
    return _read(text, what, lambda loader: loader.get_single_data())


def load_all(text: str, what: str) -> list[Any]:
    """The documents of a text that are not empty.

    >>> load_all("a: 1\\n---\\nb: 2", "x.yml is")
    [{'a': 1}, {'b': 2}]
    """
    found: list[Any] = _read(text, what, _documents)
    return found


def _documents(loader: Any) -> list[Any]:
    found = []
    while loader.check_data():
        found.append(loader.get_data())
    return [each for each in found if each is not None]


def _read(text: str, what: str, read: Callable[[_Loader], Any]) -> Any:
    try:
        loader = _Loader(text)
        try:
            return read(loader)
        finally:
            loader.dispose()
    except RecursionError:
        raise OptionError(f"{what} not YAML: values are nested too deeply") from None
    except _FAILURES as error:
        raise OptionError(f"{what} not YAML: {' '.join(str(error).split())}") from None


def read_documents(path: Path) -> list[Any]:
    """The documents of a YAML file.

    Raises:
        OptionError: the file cannot be read, or is not YAML.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise OptionError(f"cannot read {str(path)!r}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise OptionError(f"cannot read {str(path)!r}: it is not UTF-8 text") from None
    return load_all(text, f"{path.name} is")
