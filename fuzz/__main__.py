"""``python -m fuzz``: run the fuzzers; ``make fuzz MINUTES=30``.

Each target runs in a process of its own. The process writes the seed of a case before it runs the
case, so that a crash or a hang is reported with its seed. Findings are in ``build/fuzz``, one file
each; ``python -m fuzz --target texts --seed 12`` runs one case again. With atheris, which
``make fuzz`` installs where it can, the seed of most cases is some bytes: ``--seed x0b2f``.
"""

from __future__ import annotations

import argparse
import faulthandler
import json
import os
import resource
import secrets
import subprocess
import sys
import time
from pathlib import Path

from fuzz import guided
from fuzz.targets import TARGETS, Target, run_case

FIRST_SECONDS = 120
"""A process may compile for so long before its first case has ended."""
MOST_BYTES = 4 << 30
"""The address space of a process beyond what it has when it begins."""


def main() -> int:
    """Run what the arguments say; the exit code is 1 if there are findings."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--minutes", type=float, default=3.0, help="for all targets together")
    parser.add_argument("--target", choices=TARGETS, action="append")
    parser.add_argument("--seed", type=_seed, help="run this one case, in this process")
    parser.add_argument("--output", type=Path, default=Path("build/fuzz"))
    parser.add_argument("--progress", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    names = given.target or list(TARGETS)
    if given.progress is not None:
        return _work(TARGETS[names[0]], given.seed, given.progress, given.output)
    if given.seed is not None:
        finding = run_case(TARGETS[names[0]], given.seed)
        print("nothing found" if finding is None else "\n".join(finding))
        return finding is not None
    found = sum(
        _fuzz(TARGETS[name], 60 * given.minutes / len(names), given.output) for name in names
    )
    print(f"{found} findings" + (f" in {given.output}" if found else ""))
    return found > 0


def _fuzz(target: Target, seconds: float, output: Path) -> int:
    """Run a target for some time, in one process after another; the number of findings."""
    output.mkdir(parents=True, exist_ok=True)
    progress = output / f"{target.name}.progress"
    end = time.monotonic() + seconds
    seed = secrets.randbelow(2**31)
    cases = crashes = hangs = raw = 0
    while time.monotonic() < end:
        progress.write_text(json.dumps({"seed": seed, "cases": 0, "findings": 0}))
        module = guided.MODULE if target.is_guided and guided.is_installed() else "fuzz"
        command = [sys.executable, "-m", module, "--target", target.name, "--seed", str(seed)]
        errors = output / f"{target.name}.stderr"
        with errors.open("w") as stderr:
            process = subprocess.Popen(
                [*command, "--progress", str(progress), "--output", str(output)],
                stderr=stderr,
                env=os.environ | {"PYTHONFAULTHANDLER": "1"},
            )
            hung = _watch(process, progress, target.seconds, end)
        at = json.loads(progress.read_text())
        cases, raw = cases + at["cases"], raw + at["findings"]
        if hung or process.returncode:
            kind = "hang" if hung else "crash"
            crashes, hangs = crashes + (not hung), hangs + hung
            name = _finding(output, target, kind, at["seed"])
            name.write_text(
                f"{kind}, exit code {process.returncode}: python -m fuzz --target {target.name} "
                f"--seed {at['seed']}\n{errors.read_text()[-20_000:]}"
            )
        seed += at["cases"] + 1
    print(
        f"{target.name}: {cases} cases, {crashes} crashes, {hangs} hangs, {raw} raw exceptions",
        flush=True,
    )
    return crashes + hangs + raw


def _seed(text: str) -> int | bytes:
    return bytes.fromhex(text[1:]) if text.startswith("x") else int(text)


def _finding(output: Path, target: Target, kind: str, seed: int | str) -> Path:
    """The file for a finding; its name has the beginning of the seed."""
    return output / f"{target.name}-{kind}-{str(seed)[:60]}.txt"


def _watch(process: subprocess.Popen[bytes], progress: Path, seconds: float, end: float) -> bool:
    """Wait for a process until the time is over or it hangs, and end it; whether it hung."""
    last, since = "", time.monotonic()
    while process.poll() is None:
        time.sleep(0.2)
        now = progress.read_text()
        if now != last:
            last, since = now, time.monotonic()
        first = '"cases": 0' in now
        if time.monotonic() - since > (FIRST_SECONDS if first else seconds):
            process.kill()
            process.wait()
            return True
        if time.monotonic() > end and not first:
            process.terminate()
            process.wait()
            process.returncode = 0
    return False


def _work(target: Target, seed: int, progress: Path, output: Path) -> int:
    """Run cases from a seed on, for ever; what is found is written as a file."""
    faulthandler.enable()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    findings = cases = 0
    size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (size + MOST_BYTES, size + MOST_BYTES))
    seen: set[str] = set()
    with progress.open("r+") as file:

        def run(given: int | bytes) -> None:
            nonlocal findings, cases
            shown = f"x{given.hex()}" if isinstance(given, bytes) else given
            file.seek(0)
            file.write(json.dumps({"seed": shown, "cases": cases, "findings": findings}))
            file.truncate()
            file.flush()
            found = run_case(target, given)
            cases += 1
            if found is not None and found[1] not in seen:
                seen.add(found[1])
                findings += 1
                if findings <= 100:
                    text = "\n".join((f"--seed {shown}", *found))
                    name = _finding(output, target, "raw", shown)
                    name.write_text(text, errors="backslashreplace")

        if target.is_guided and guided.is_installed():
            guided.fuzz(run, seed, output / f"corpus-{target.name}")
        for each in range(seed, seed + guided.RUNS):  # Then a new process, to return memory.
            run(each)
    return 0


if __name__ == "__main__":
    sys.exit(main())
