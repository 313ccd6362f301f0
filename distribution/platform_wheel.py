"""Adds compiled kernels and tables of grammars to a wheel, for this Python, numba and platform.

python distribution/platform_wheel.py dist/cepheid-0.1.0-py3-none-any.whl

The new wheel is written beside the given one. It is for the platforms of the numba that compiles:
the code itself depends on no library.
"""

from __future__ import annotations

import argparse
import base64
import csv
import hashlib
import os
import platform
import re
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from importlib.metadata import distribution
from pathlib import Path


def compile_kernels(folder: Path) -> None:
    """Compile for the CPU that the environment names, in the process of this script."""
    from cepheid.jit.shipped import versions_folder
    from cepheid.jit.warming import kernel_modules, warm

    into = versions_folder(folder) / os.environ["NUMBA_CPU_NAME"]
    into.mkdir(parents=True)
    print(sum(warm(kernel_modules(), into=into)), "kernels for", into.name, flush=True)


def store_grammars(folder: Path) -> None:
    """Make the tables of both grammars, in the process of this script."""
    from cepheid.cache import FOLDER
    from cepheid.language.parser import query_grammar
    from cepheid.row_patterns.parser import clause_grammar

    folder.mkdir(parents=True, exist_ok=True)
    for make in (query_grammar, clause_grammar):
        make()
    for table in FOLDER.glob("grammar_*"):
        (folder / table.name).write_bytes(table.read_bytes())


def run(task: str, package: Path, **variables: str) -> None:
    """Run a task with the package in a process of its own, whose cache is empty."""
    with tempfile.TemporaryDirectory() as cache:
        places = {
            "PYTHONPATH": str(package),
            "CEPHEID_CACHE_DIR": str(Path(cache) / "own"),
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        command = [sys.executable, __file__, "--task", task, str(package / "cepheid" / "shipped")]
        subprocess.run(command, env=os.environ | places | variables, check=True)


def fill(package: Path) -> None:
    """Add what this platform needs to an unpacked wheel."""
    probe = "import cepheid.jit.shipped as s, platform; print(*s.CPUS[platform.machine()])"
    cpus = subprocess.run(
        [sys.executable, "-c", probe],
        env=os.environ | {"PYTHONPATH": str(package)},
        check=True,
        capture_output=True,
        text=True,
    ).stdout.split()
    run("grammars", package)
    for cpu in cpus:
        run("kernels", package, NUMBA_CPU_NAME=cpu, NUMBA_CPU_FEATURES="")


def tags() -> list[str]:
    """The tags of the numba that is installed: compiled code runs wherever it does."""
    wheel = distribution("numba").read_text("WHEEL") or ""
    return re.findall(r"^Tag: (\S+)", wheel, re.MULTILINE)


def recorded(package: Path, record: Path) -> Iterator[tuple[str, str, str]]:
    """The rows of RECORD."""
    for file in sorted(each for each in package.rglob("*") if each.is_file()):
        name = file.relative_to(package).as_posix()
        if file == record:
            yield name, "", ""
        else:
            data = file.read_bytes()
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=")
            yield name, f"sha256={digest.decode()}", str(len(data))


def pack(package: Path, pure: Path) -> Path:
    """Write the wheel for this platform; returns its path."""
    (information,) = package.glob("*.dist-info")
    described = re.sub(
        r"^(Tag|Root-Is-Purelib): .*\n", "", (information / "WHEEL").read_text(), flags=re.M
    )
    described = described.rstrip() + "\nRoot-Is-Purelib: false\n"
    (information / "WHEEL").write_text(described + "".join(f"Tag: {tag}\n" for tag in tags()))
    record = information / "RECORD"
    with record.open("w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows(recorded(package, record))
    python, abi = tags()[0].split("-")[:2]
    platforms = ".".join(tag.split("-")[2] for tag in tags())
    name = "-".join([*pure.name.split("-")[:2], python, abi, platforms])
    target = pure.with_name(f"{name}.whl")
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as packed:
        for file in sorted(each for each in package.rglob("*") if each.is_file()):
            # A fixed time: the same content is the same wheel.
            entry = zipfile.ZipInfo(file.relative_to(package).as_posix(), (2024, 1, 1, 0, 0, 0))
            entry.external_attr, entry.compress_type = 0o644 << 16, zipfile.ZIP_DEFLATED
            packed.writestr(entry, file.read_bytes())
    return target


def main() -> None:
    """Make a wheel for this platform of a pure one."""
    parser = argparse.ArgumentParser()
    parser.add_argument("path", type=Path)
    parser.add_argument("--task", choices=["grammars", "kernels"], help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.task == "grammars":
        store_grammars(given.path)
    elif given.task == "kernels":
        compile_kernels(given.path)
    else:
        with tempfile.TemporaryDirectory() as folder:
            package = Path(folder) / "package"
            with zipfile.ZipFile(given.path) as pure:
                pure.extractall(package)
            fill(package)
            wheel = pack(package, given.path)
        print(f"{wheel.name}: {wheel.stat().st_size / 1e6:.1f} MB for {platform.machine()}")


if __name__ == "__main__":
    main()
