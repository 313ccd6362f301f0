"""The output mode ``all``: every match is reported."""

from __future__ import annotations

from cepheid.matches.modes.mode import OutputMode

ALL = OutputMode("all", "every match")
