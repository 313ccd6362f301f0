"""A page in Chromium: from the system's packages, or from Playwright."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

_CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "chrome"))), None)
_FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]


@contextmanager
def opened_page(url: str, width: int = 1200, colours: str = "light") -> Iterator[Any]:
    """The page, in a window of this width; an error if one of its scripts fails."""
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as running:
        if not Path(_CHROMIUM or running.chromium.executable_path).exists():
            pytest.skip("there is no Chromium on this machine; make browser installs it")
        browser = running.chromium.launch(executable_path=_CHROMIUM, args=_FLAGS)
        view = {"width": width, "height": 900}
        page = browser.new_page(viewport=view, color_scheme=colours)
        faults: list[str] = []
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.goto(url)
        yield page
        browser.close()
    assert faults == []
