"""Tests of rules in pytest: each case of a file ``*.test.toml`` is a test.

pytest loads this module wherever cepheid is installed. ``-p no:cepheid.rule_sets.pytest_plugin``
switches it off.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from cepheid.errors import RuleFault
from cepheid.rule_sets.reading import SUFFIXES
from cepheid.rule_sets.testing import SUFFIX, Case, CaseResult, read_cases


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> RuleTests | None:
    """Collect the test files in folders with rules; other programs may have such files, too."""
    if not file_path.name.endswith(SUFFIX) or not _has_rules(file_path.parent):
        return None
    found: RuleTests = RuleTests.from_parent(parent, path=file_path)
    return found


def _has_rules(folder: Path) -> bool:
    return any(each.suffix in SUFFIXES for each in folder.iterdir())


class RuleTests(pytest.File):
    """A file with cases."""

    def collect(self) -> Iterable[RuleTest]:
        """The cases of the file."""
        for each in read_cases(self.path):
            if isinstance(each, RuleFault):
                raise self.CollectError(each.message)
            yield RuleTest.from_parent(self, name=each.name, case=each)


class CaseFailed(Exception):
    """A rule did not find what it must find."""

    def __init__(self, result: CaseResult) -> None:
        super().__init__(str(result))


class RuleTest(pytest.Item):
    """A case of a rule."""

    def __init__(self, *, case: Case, **given: Any) -> None:
        super().__init__(**given)
        self._case = case

    def runtest(self) -> None:
        """Compare what the rule finds with what it must find."""
        result = self._case.run()
        if not result.passed:
            raise CaseFailed(result)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """The differences, without a traceback."""
        if isinstance(excinfo.value, CaseFailed):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, None, str]:
        """The place of the case in reports."""
        return self.path, None, f"{self._case.rule.stem}: {self.name}"
