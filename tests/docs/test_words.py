"""Pages and messages use the words of CONTRIBUTING.md, as far as a machine can tell."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [
    *(ROOT / name for name in ("README.md", "ARCHITECTURE.md", "SECURITY.md", "CHANGELOG.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
]
AVOIDED = re.compile(
    r"\b(refus(e|es|ed|al)\b|whole numbers?\b|raw text|JSON[ -]lines\b|manieth|go(es)? on\b|"
    r"make good|processor time|by the clock\b|forgets?\b|weighs?\b)"
)


def texts(module: Path) -> Iterator[tuple[int, str]]:
    """The strings of a module that are neither docstrings nor single words."""
    tree = ast.parse(module.read_text())
    statements = (node for node in ast.walk(tree) if isinstance(node, ast.Expr))
    docstrings = {id(node.value) for node in statements}
    for node in ast.walk(tree):
        match node:
            case ast.Constant(str(text)) if id(node) not in docstrings and " " in text:
                yield node.lineno, text


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_pages_use_the_words_of_the_list(page):
    for number, line in enumerate(page.read_text().splitlines(), 1):
        assert not AVOIDED.search(line), f"{page.name}:{number}: {line}"


def test_messages_use_the_words_of_the_list():
    for module in sorted((ROOT / "src/cepheid").rglob("*.py")):
        for number, text in texts(module):
            assert not AVOIDED.search(text), f"{module.relative_to(ROOT)}:{number}: {text}"


def test_the_readme_is_short():
    assert len((ROOT / "README.md").read_text().splitlines()) <= 130
