"""The cache folder: whose code is executed, and what happens where it cannot be used."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

PROGRAM = """
import cepheid as cep
query = cep.query("PATTERN SEQ(A a, B b) WHERE a.x + b.x > {constant} WITHIN 10")
events = {{"ts": [1, 2], "type": ["A", "B"], "x": [1, 5]}}
print(len(query.match(events, evaluation="nfa_b")))
from cepheid.jit import cache
print(cache.FOLDER)
"""
Run = Callable[..., tuple[str, Path, str]]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Run a query in a process of its own: its answer, its cache folder and its warnings."""

    def run(root: Path, constant: int = 3, prelude: str = "", **environment: str | None):
        variables = os.environ | {"CEPHEID_CACHE_DIR": str(root), "PYTHONWARNINGS": "always"}
        for name, value in environment.items():
            variables.pop(name, None)
            if value is not None:
                variables[name] = value
        done = subprocess.run(
            [sys.executable, "-c", prelude + PROGRAM.format(constant=constant)],
            env=variables,
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        answer, folder = done.stdout.splitlines()
        return answer, Path(folder), done.stderr

    return run


def test_a_new_folder_is_private(run: Run, tmp_path: Path) -> None:
    root = tmp_path / "some" / "cache"
    answer, folder, warnings = run(root)
    assert (answer, folder.parent, warnings) == ("1", root, "")
    assert [path.stat().st_mode & 0o777 for path in (root, folder)] == [0o700, 0o700]


@pytest.mark.parametrize("mode", [0o777, 0o770, 0o702])
def test_a_folder_that_others_can_write_is_not_used(run: Run, tmp_path: Path, mode: int) -> None:
    root = tmp_path / "cache"
    root.mkdir()
    root.chmod(mode)
    answer, folder, warnings = run(root)
    assert (answer, folder.parent == root) == ("1", False)
    assert not folder.exists()  # It was private and temporary.
    assert warnings.count("CepheidWarning") == 1
    assert f"others can write to the cache folder {root}" in warnings


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a folder away")
def test_a_folder_of_another_user_is_not_used(run: Run, tmp_path: Path) -> None:
    root = tmp_path / "cache"
    root.mkdir()
    os.chown(root, 12345, 12345)
    answer, folder, warnings = run(root)
    assert (answer, folder.parent == root) == ("1", False)
    assert warnings.count("CepheidWarning") == 1


def test_a_generated_module_that_was_exchanged_is_not_executed(run: Run, tmp_path: Path) -> None:
    root, witness = tmp_path / "cache", tmp_path / "executed"
    _, folder, _ = run(root)
    (module,) = folder.glob("q_*.py")
    source = module.read_text()
    module.write_text(f"open({str(witness)!r}, 'w').close()\n{source}")
    answer, _, warnings = run(root)
    assert (answer, witness.exists(), warnings) == ("1", False, "")
    assert module.read_text() == source


@pytest.mark.parametrize("suffix", ["nbi", "nbc", "py"])
@pytest.mark.parametrize("part", [0.0, 0.5])
def test_empty_and_truncated_files_are_repaired(
    run: Run, tmp_path: Path, suffix: str, part: float
) -> None:
    root = tmp_path / "cache"
    _, folder, _ = run(root)
    files = list(folder.rglob(f"*.{suffix}"))
    assert files
    for file in files:
        data = file.read_bytes()
        file.write_bytes(data[: int(len(data) * part)])
    assert run(root)[0] == "1"
    assert all(file.stat().st_size > 20 for file in files)


def test_without_a_home_folder_a_temporary_one_is_used(run: Run, tmp_path: Path) -> None:
    nowhere = "import os; os.path.expanduser = lambda path: path\n"
    answer, folder, warnings = run(
        tmp_path, prelude=nowhere, CEPHEID_CACHE_DIR=None, HOME=None, XDG_CACHE_HOME=None
    )
    assert (answer, folder.exists()) == ("1", False)
    assert warnings.count("CepheidWarning") == 1
    assert "there is no home folder" in warnings
    assert not (tmp_path / "~").exists()


def test_a_file_where_the_folder_should_be(run: Run, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    answer, _, warnings = run(tmp_path / "file")
    assert answer == "1"
    assert warnings.count("CepheidWarning") == 1


def test_a_full_disk_costs_a_warning(run: Run, tmp_path: Path) -> None:
    full = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))\n"
    answer, _, warnings = run(tmp_path / "cache", prelude=full)
    assert answer == "1"
    assert warnings.count("CepheidWarning") == 1
    assert "cannot be stored" in warnings


@pytest.mark.skipif(os.getuid() != 0, reason="only root can run a process as another user")
def test_a_read_only_warm_cache_is_read(run: Run, tmp_path: Path) -> None:
    root = tmp_path / "cache"
    _, folder, _ = run(root)
    for path in (tmp_path, *tmp_path.parents[:-2]):
        path.chmod(path.stat().st_mode | 0o555)
    for path in (root, *root.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)
    other = "import os; os.setgid(12345); os.setuid(12345)\n"
    before = sorted(path for path in root.rglob("*"))
    answer, used, warnings = run(root, prelude=other, HOME=None)
    assert (answer, used, warnings) == ("1", folder, "")
    answer, used, warnings = run(root, constant=4, prelude=other)
    assert (answer, used) == ("1", folder)
    assert warnings.count("CepheidWarning") == 1
    assert sorted(path for path in root.rglob("*")) == before
