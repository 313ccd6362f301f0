"""Files in YAML."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from cepheid.errors import OptionError
from cepheid.files.yaml_text import load_all


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
