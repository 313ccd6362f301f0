"""Files that commands write: complete, or not there at all."""

import os
import resource
import signal
import stat
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import pytest

import cepheid
from cepheid.errors import OptionError
from cepheid.files.output import open_output

MAIN = "from cepheid.cli import main; main()"
PAIRS = "PATTERN SEQ(A a, B b)"
WRITERS = [
    *(["match", "-q", PAIRS, "many.csv", "--format", each] for each in ("jsonl", "csv", "parquet")),
    ["match", "-q", PAIRS, "many.csv", "--format", "table", "--limit", "999"],
    ["report", "-q", PAIRS, "many.csv"],
    ["explain", "-q", PAIRS],
    ["explain", "-q", PAIRS, "--svg"],
    ["explain", "-q", "PATTERN SEQ(A a, B+ b[])", "--mermaid"],
]


@pytest.fixture(autouse=True)
def many(folder, monkeypatch):
    """Events with 2,500 matches."""
    rows = "".join(f"{ts},{'A' if ts < 50 else 'B'},value {ts}\n" for ts in range(100))
    (folder / "many.csv").write_text("ts,type,x\n" + rows)
    monkeypatch.setenv("PYTHONPATH", str(Path(cepheid.__file__).parents[1]))
    return folder


def left_in(folder):
    return sorted(each.name for each in folder.iterdir() if each.name not in INPUTS)


INPUTS = {"theft.sase", "events.csv", "many.csv"}


def start(*arguments, code=MAIN, **options):
    return subprocess.run(
        [sys.executable, "-c", code, *arguments],
        stderr=subprocess.PIPE,
        text=True,
        timeout=120,
        check=False,
        **options,
    )


def test_a_file_is_renamed_when_it_is_complete(folder):
    (folder / "out").write_text("before")
    with open_output(folder / "out") as sink:
        sink.write(b"after")
        sink.flush()
        assert (folder / "out").read_text() == "before"
    assert (folder / "out").read_text() == "after"
    assert left_in(folder) == ["out"]


@pytest.mark.parametrize("fault", [ValueError, KeyboardInterrupt, SystemExit, OSError])
@pytest.mark.parametrize("before", ["before", None])
def test_nothing_is_left_after_a_fault(folder, fault, before):
    if before is not None:
        (folder / "out").write_text(before)

    def write():
        with open_output(folder / "out") as sink:
            sink.write(b"a" * 100_000)
            raise fault

    with pytest.raises(fault):
        write()
    assert left_in(folder) == (["out"] if before else [])
    assert before is None or (folder / "out").read_text() == before


def test_the_mode_of_a_file_and_the_link_to_it_are_kept(folder):
    file, link = folder / "out", folder / "link"
    file.touch()
    file.chmod(0o640)
    link.symlink_to("out")
    with open_output(link) as sink:
        sink.write(b"x")
    assert link.is_symlink()
    assert file.read_bytes() == b"x"
    assert stat.S_IMODE(file.stat().st_mode) == 0o640
    before = os.umask(0o027)
    try:
        with open_output(folder / "new"):
            pass
    finally:
        os.umask(before)
    assert stat.S_IMODE((folder / "new").stat().st_mode) == 0o640


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("nothing/out.csv", "No such file or directory"),
        ("many.csv/out.csv", "Not a directory"),
        (".", "Is a directory"),
        ("/", "Is a directory"),
        ("x" * 300, "File name too long"),
    ],
)
def test_a_file_that_cannot_be_written_is_one_line(folder, name, why):
    with pytest.raises(OptionError) as caught, open_output(Path(name)):
        pass
    assert str(caught.value) == f"cannot write {name!r}: {why}"
    assert left_in(folder) == []


@pytest.fixture
def nobody():
    """A folder of a user without privileges, who runs the test, even if root started it."""
    with tempfile.TemporaryDirectory() as name:
        is_root = os.geteuid() == 0
        if is_root:
            os.chown(name, 65534, 65534)
            os.seteuid(65534)
        try:
            yield Path(name)
        finally:
            Path(name).chmod(0o755)
            if is_root:
                os.seteuid(0)


@pytest.mark.parametrize("locked", [".", "out.csv"])
def test_a_read_only_folder_and_a_read_only_file_are_left_alone(nobody, locked):
    file = nobody / "out.csv"
    file.write_text("before")
    (nobody / locked).chmod(0o555)
    denied = r"cannot write '.*out.csv': Permission denied"
    with pytest.raises(OptionError, match=denied), open_output(file):
        pass
    assert file.read_text() == "before"
    assert [each.name for each in nobody.iterdir()] == ["out.csv"]


def test_a_named_pipe_is_written_directly(run, folder):
    os.mkfifo(folder / "pipe")
    got = []
    reader = threading.Thread(target=lambda: got.append((folder / "pipe").read_text()))
    reader.start()
    assert run("match", "-q", PAIRS, "many.csv", "--format", "csv", "-o", "pipe").code == 0
    reader.join()
    assert len(got[0].splitlines()) == 2501
    assert stat.S_ISFIFO((folder / "pipe").stat().st_mode)


@pytest.mark.parametrize("name", ["/dev/stdout", "/dev/fd/1"])
def test_open_descriptors_are_not_replaced(folder, name):
    (folder / "log").write_text("before\n")
    with (folder / "log").open("a") as log:
        done = start("explain", "-q", "EVENT A", "-o", name, stdout=log)
    assert done.returncode == 0
    assert (folder / "log").read_text().startswith("before\nPATTERN A")
    assert left_in(folder) == ["log"]


@pytest.mark.parametrize("arguments", WRITERS, ids=" ".join)
def test_a_full_device_is_one_line(arguments):
    done = start(*arguments, "-o", "/dev/full")
    assert done.stderr == "error: cannot write '/dev/full': No space left on device\n"
    assert done.returncode == 1


@pytest.mark.parametrize("arguments", WRITERS, ids=" ".join)
def test_nothing_is_left_when_the_disk_is_full(folder, arguments):
    def no_room():
        resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))

    code = f"import cepheid.cache, sys; sys.dont_write_bytecode = True; {MAIN}"
    done = start(*arguments, "-o", "out.csv", code=code, preexec_fn=no_room)
    assert done.stderr.splitlines()[-1] == "error: cannot write 'out.csv': File too large"
    assert "Traceback" not in done.stderr
    assert done.returncode == 1
    assert left_in(folder) == []


@pytest.mark.parametrize(
    "arguments", [["explain", "theft.sase"], ["match", "-q", PAIRS, "many.csv"], ["demo"]]
)
def test_a_full_standard_output_is_one_line(arguments):
    with Path("/dev/full").open("w") as full:
        done = start(*arguments, stdout=full)
    said = "error: cannot write to standard output: No space left on device"
    assert done.stderr.splitlines() == [said]
    assert done.returncode == 1


def test_a_closed_standard_output_is_one_line_and_no_fault_with_a_file():
    def closed():
        os.close(1)

    done = start("explain", "-q", "EVENT A", preexec_fn=closed)
    assert done.returncode == 1
    assert done.stderr == "error: cannot write to standard output: Bad file descriptor\n"
    done = start("explain", "-q", "EVENT A", "-o", "plan.txt", preexec_fn=closed)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_nothing_is_left_after_a_signal(folder, number):
    # 2,500 matches take 25 s, so the command is stopped while it writes.
    slow = f"""
import cepheid.cli.formats as formats, time
plain = formats._json_object
formats._json_object = lambda *a: (time.sleep(0.01), plain(*a))[1]
{MAIN}
"""
    (folder / "out.jsonl").write_text("before")
    with subprocess.Popen(
        [sys.executable, "-c", slow, "match", "-q", PAIRS, "many.csv", "-o", "out.jsonl"],
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        for _ in range(600):
            if len(left_in(folder)) > 1:
                break
            time.sleep(0.1)
        process.send_signal(number)
        _, said = process.communicate(timeout=60)
    assert said == "interrupted\n"
    assert process.returncode == 128 + number
    assert left_in(folder) == ["out.jsonl"]
    assert (folder / "out.jsonl").read_text() == "before"


def test_the_files_of_a_script_are_complete_together(run, folder, monkeypatch):
    from cepheid.cli.running import scripts

    def fail(*arguments):
        output, sink = arguments[2:4]
        sink.write(b"x")
        if "B" in str(output.file):
            raise OptionError("no")
        return ""

    monkeypatch.setattr(scripts, "write_results", fail)
    script = "PATTERN A a RETURN A2(x = a.x); PATTERN B b RETURN B2(x = b.x)"
    assert run("match", "-q", script, "many.csv", "-o", "found").code == 1
    assert left_in(folder / "found") == []
