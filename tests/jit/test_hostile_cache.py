"""The cache folder: whose code is executed, and what happens where it cannot be used."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from cepheid import CepheidWarning, cache

PROGRAM = """
import cepheid as cep
query = cep.query("PATTERN SEQ(A a, B b) WHERE a.x + b.x > 3 WITHIN 10")
{query}
events = {{"ts": [1, 2], "type": ["A", "B"], "x": [1, 5]}}
print(len(query.match(events, evaluation="instance_stacks")))
from cepheid import cache
print(cache.FOLDER)
"""


def run(root: Path, query: str = "", prelude: str = "") -> tuple[str, Path, str]:
    """Run a query in a process of its own: its answer, its cache folder and its warnings."""
    done = subprocess.run(
        [sys.executable, "-c", prelude + PROGRAM.format(query=query)],
        env=os.environ | {"CEPHEID_CACHE_DIR": str(root), "PYTHONWARNINGS": "always"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    answer, folder = done.stdout.splitlines()
    return answer, Path(folder), done.stderr


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache that the query has filled."""
    root = tmp_path_factory.mktemp("cache") / "filled"
    answer, folder, warnings = run(root)
    assert (answer, folder.parent, warnings) == ("1", root, "")
    assert [path.stat().st_mode & 0o777 for path in (root, folder)] == [0o700, 0o700]
    return root


@pytest.fixture
def warm(filled: Path, tmp_path: Path) -> Path:
    root = tmp_path / "warm"
    shutil.copytree(filled, root)
    root.chmod(0o700)
    run(root)  # The code of generated modules belongs to the folder that they are in.
    return root


def folder_below(monkeypatch: pytest.MonkeyPatch, root: Path) -> Path:
    monkeypatch.setenv("CEPHEID_CACHE_DIR", str(root))
    return cache.cache_folder()


@pytest.mark.parametrize("mode", [0o777, 0o770, 0o702])
def test_a_folder_that_others_can_write_is_not_used(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, mode: int
) -> None:
    root = tmp_path / "cache"
    root.mkdir()
    root.chmod(mode)
    with pytest.warns(CepheidWarning, match="others can write to") as warned:
        folder = folder_below(monkeypatch, root)
    assert folder.parent != root
    assert folder.stat().st_mode & 0o777 == 0o700
    assert len(warned) == 1
    assert not list(root.iterdir())


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a folder away")
def test_a_folder_of_another_user_is_not_used(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    root = tmp_path / "cache"
    root.mkdir(mode=0o700)
    os.chown(root, 12345, 12345)
    with pytest.warns(CepheidWarning, match="others can write"):
        assert folder_below(monkeypatch, root).parent != root


def test_the_folder_of_this_version_must_be_private_too(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    folder = folder_below(monkeypatch, tmp_path / "cache")
    folder.chmod(0o777)
    with pytest.warns(CepheidWarning, match="others can write"):
        assert cache.cache_folder() != folder


def test_a_link_is_followed_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    own, other = tmp_path / "own", tmp_path / "other"
    link = tmp_path / "link"
    link.symlink_to(own)
    own.mkdir(mode=0o700)
    folder = folder_below(monkeypatch, link)
    link.unlink()
    link.symlink_to(other)  # Whoever made the link can change it afterwards.
    assert folder.parent == own.resolve()


def test_without_a_home_folder_a_temporary_one_is_used(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("CEPHEID_CACHE_DIR", "HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(os.path, "expanduser", lambda path: path)
    with pytest.warns(CepheidWarning, match="cannot be used: .*home"):
        assert cache.cache_folder().is_dir()
    assert not list(tmp_path.iterdir())


def test_a_file_where_the_folder_should_be(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.warns(CepheidWarning, match="cannot be used: "):
        assert folder_below(monkeypatch, tmp_path / "file").is_dir()


def test_a_generated_module_that_was_exchanged_is_not_executed(warm: Path, tmp_path: Path) -> None:
    witness = tmp_path / "executed"
    (module,) = warm.glob("*/q_*.py")
    source = module.read_text()
    module.write_text(f"open({str(witness)!r}, 'w').close()\n{source}")
    answer, _, warnings = run(warm)
    assert (answer, witness.exists(), warnings) == ("1", False, "")
    assert module.read_text() == source


@pytest.mark.parametrize("part", [0.0, 0.5])
def test_empty_and_truncated_files_are_repaired(warm: Path, part: float) -> None:
    files = [*warm.glob("*/q_*.py"), *warm.glob("*/kernels_*/*.nb*")]
    assert len(files) > 4
    for file in files:
        data = file.read_bytes()
        file.write_bytes(data[: int(len(data) * part)])
    answer, _, warnings = run(warm)
    assert (answer, warnings) == ("1", "")
    assert all(file.stat().st_size > 20 for file in files)


def test_a_full_disk_costs_a_warning(tmp_path: Path) -> None:
    full = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))\n"
    answer, _, warnings = run(tmp_path / "cache", prelude=full)
    assert answer == "1"
    assert warnings.count("CepheidWarning") == 1
    assert "cannot be stored" in warnings


READ_ONLY = """
import os, sys
def refuse(event, arguments):
    if event == "open" and str(arguments[0]).startswith({root!r}):
        mode, flags = arguments[1] or "", arguments[2] or 0
        if set(mode) & set("wax+") or flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
            raise PermissionError(13, "Permission denied")
sys.addaudithook(refuse)
"""


def test_a_read_only_warm_cache_is_read(warm: Path) -> None:
    for path in (warm, *warm.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)
    read_only = READ_ONLY.format(root=str(warm))
    before = sorted(warm.rglob("*"))
    answer, folder, warnings = run(warm, prelude=read_only)
    assert (answer, folder.parent, warnings) == ("1", warm, "")
    another = "query = cep.query('PATTERN SEQ(A a, B b) WHERE a.x * b.x > 3 WITHIN 10')\n"
    answer, folder, warnings = run(warm, prelude=read_only, query=another)
    assert (answer, folder.parent) == ("1", warm)
    assert warnings.count("CepheidWarning") == 1
    assert sorted(warm.rglob("*")) == before
