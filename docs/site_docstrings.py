"""Convert docstrings for the site: examples become code blocks, references become code."""

import re
from typing import Any

import griffe

_ROLE = re.compile(r":(?:meth|func|class|mod):`~?([^`]+)`")


class Docstrings(griffe.Extension):
    """Converts the docstring conventions of the code into Markdown."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Rewrite the docstring of a module, class, function or attribute."""
        if obj.docstring is not None:
            obj.docstring.value = to_markdown(obj.docstring.value)


def to_markdown(text: str) -> str:
    """The docstring with fenced examples.

    An example begins with ``>>>`` and ends at the next empty line.
    """
    lines: list[str] = []
    in_example = False
    for line in _ROLE.sub(r"`\1`", text).split("\n"):
        if line.startswith(">>>") and not in_example:
            lines.append("```python")
            in_example = True
        elif not line.strip() and in_example:
            lines.append("```")
            in_example = False
        lines.append(line)
    return "\n".join([*lines, "```"] if in_example else lines)
