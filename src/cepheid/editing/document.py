"""A query text as an editor sees it: faults, completion, hover texts and layout.

The language server and the workbench both use it. It knows no protocol: places are offsets.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from cepheid.editing.assistance import Completion, Hover, completions, hover
from cepheid.editing.formatting import format_query
from cepheid.editing.known_events import DIRECTIVE, KnownEvents, declared_events
from cepheid.editing.problems import Problem, problems
from cepheid.errors import CepheidError


@dataclass(frozen=True)
class Document:
    """A text, the folder that the paths in it are relative to, and events it is about.

    A comment line ``-- events: PATH`` in the text wins over ``events``.

    >>> document = Document("PATTERN SEQ(A a, B b) WHERE a.x < c.x")
    >>> [problem.message for problem in document.problems()]
    ["the pattern has no variable 'c'"]
    >>> document.hover(12).text
    '`A`: a type of events'
    """

    text: str
    folder: Path | None = None
    events: KnownEvents | CepheidError | None = None

    @cached_property
    def _found_events(self) -> KnownEvents | CepheidError | None:
        if DIRECTIVE.search(self.text) is None:
            return self.events
        try:
            return declared_events(self.text, self.folder)
        except CepheidError as error:
            return error

    @property
    def known_events(self) -> KnownEvents | None:
        """The events, if they can be read."""
        found = self._found_events
        return None if isinstance(found, CepheidError) else found

    def problems(self) -> list[Problem]:
        """All faults and warnings, in the order of the text."""
        return problems(self.text, self._found_events)

    def completions(self, offset: int) -> list[Completion]:
        """The words that can be written at an offset."""
        return completions(self.text, offset, self.known_events)

    def hover(self, offset: int) -> Hover | None:
        """What the word at an offset means."""
        return hover(self.text, offset, self.known_events)

    def formatted(self) -> str:
        """The text in the one layout.

        Raises:
            CepheidError: the text has faults.
        """
        return format_query(self.text)
