"""Files in YAML."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from cepheid.errors import OptionError


def documents(text: str, name: str) -> list[Any]:
    """The documents of a YAML text; ``name`` is what a message calls it.

    >>> documents("a: 1\\n---\\nb: 2", "x.yml")
    [{'a': 1}, {'b': 2}]
    """
    try:
        return [each for each in yaml.safe_load_all(text) if each is not None]
    except (yaml.YAMLError, ValueError) as error:  # a ValueError for a date such as 2024-13-01
        raise OptionError(f"{name} is not YAML: {' '.join(str(error).split())}") from None


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
    return documents(text, path.name)
