"""The site has every page, and every name in the API reference exists."""

import importlib
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_every_page_is_in_the_navigation():
    nav = (ROOT / "mkdocs.yml").read_text().partition("\nnav:\n")[2]
    named = set(re.findall(r"\S+\.md", nav)) - {"ARCHITECTURE.md", "CONTRIBUTING.md"}
    docs = ROOT / "docs"
    pages = {*docs.rglob("*.md"), *(path.with_suffix(".md") for path in docs.rglob("*.ipynb"))}
    assert named == {page.relative_to(docs).as_posix() for page in pages}


def test_the_reference_names_what_there_is():
    page = (ROOT / "docs/reference/api.md").read_text()
    for name in re.findall(r"^::: (\S+)$", page, re.MULTILINE):
        module, _, member = name.rpartition(".")
        assert hasattr(importlib.import_module(module), member), name
