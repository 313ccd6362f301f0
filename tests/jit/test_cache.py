"""The folder of compiled code, and the lock for filling it."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import pytest

from cepheid import CepheidWarning, cache


def test_the_environment_chooses_the_folder(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("CEPHEID_CACHE_DIR", str(tmp_path / "own"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "user"))
    assert cache.cache_folder().parent == tmp_path / "own"


@pytest.mark.skipif(sys.platform != "linux", reason="XDG_CACHE_HOME is a convention of Linux")
def test_the_default_is_the_cache_folder_of_the_user(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("CEPHEID_CACHE_DIR", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache.cache_folder().parent == tmp_path / "cepheid"
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    with pytest.warns(CepheidWarning, match="cannot be used: "):
        assert cache.cache_folder().parent == Path(tempfile.gettempdir())


def test_a_task_is_first_until_it_has_finished(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(cache, "FOLDER", tmp_path)
    with pytest.raises(ZeroDivisionError), cache.first_time("task"):
        1 / 0  # noqa: B018 - it fails
    with cache.first_time("task") as is_first:
        assert is_first
    with cache.first_time("task") as is_first:
        assert not is_first
    with cache.first_time("another task") as is_first:
        assert is_first


def test_a_watch_is_told_when_the_cache_is_filled(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(cache, "FOLDER", tmp_path)
    monkeypatch.setattr(cache, "_WATCHES", [])
    said: list[bool] = []
    cache.watch_first_times(said.append)
    with cache.first_time("a task"):
        assert said == [True]
    with cache.first_time("a task"):
        assert said == [True, False]
