"""The option ``max_memory``: how it is written, and its default."""

from pathlib import Path

import pytest

import cepheid as cep
from cepheid.budget import Available, Budget, left_in_cgroups, read_size, size_text
from cepheid.engines.base.options import read_options

EVENTS = {"ts": list(range(40)), "type": ["A"] * 40}


@pytest.mark.parametrize(
    ("given", "size"),
    [(5_000, 5_000), ("2GiB", 2 << 30), ("2 gb", 2 * 10**9), ("0.5 KiB", 512), ("7", 7)],
)
def test_a_size_has_a_unit(given: int | str, size: int) -> None:
    assert read_options({"max_memory": given}).max_memory == size


@pytest.mark.parametrize("given", [0, -1, True, "", "much", "2 Gi B", "-3 MB", 1.5, "0"])
def test_anything_else_is_refused(given: object) -> None:
    with pytest.raises(cep.OptionError, match="max_memory is a size such as '2 GiB'"):
        read_options({"max_memory": given})


def test_the_error_says_what_explodes_and_what_helps() -> None:
    with pytest.raises(cep.LimitError) as error:
        cep.query("PATTERN A+ a[]").match(EVENTS, max_memory="20 MiB")
    assert str(error.value) == (
        "the query needs more than the memory limit of 20 MiB: every choice of events for "
        "'A+ a[]' is a match of its own; a window (WITHIN), skip_till_next_match, an equivalence "
        "test such as [id], output='non_overlapping', output='compressed', count() or "
        "match_stream() needs less, and max_memory allows more"
    )


def test_the_environment_has_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CEPHEID_MAX_MEMORY", "40 MiB")
    with pytest.raises(cep.LimitError, match="memory limit of 40 MiB"):
        cep.query("PATTERN A+ a[]").match(EVENTS)
    with pytest.raises(cep.LimitError, match="memory limit of 50 MiB"):
        cep.query("PATTERN A+ a[]").match(EVENTS, max_memory="50 MiB")
    monkeypatch.setenv("CEPHEID_MAX_MEMORY", "much")
    with pytest.raises(cep.OptionError, match="CEPHEID_MAX_MEMORY is a size"):
        cep.query("PATTERN A+ a[]").match(EVENTS)


def test_half_of_what_is_available_is_the_default() -> None:
    available = Available([1_000, 800, 900])
    assert available.limit() == 400
    assert available.limit(besides=100) == 450
    assert available.limit(workers=4) == 100
    # An address space is that of one process.
    available = Available([1_000, 800, 900], [500])
    assert available.limit() == 250
    assert available.limit(workers=2) == 200
    assert Available([]).limit() is None


def _group(folder: Path, **files: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name.replace("__", ".")).write_text(text)


def test_cgroups_of_version_2_and_those_above(tmp_path: Path) -> None:
    (tmp_path / "cgroup").write_text("0::/a/b\n")
    stat = "anon 5\ninactive_file 300\n"
    _group(tmp_path / "fs/a", memory__max="5000", memory__current="1000", memory__stat=stat)
    _group(tmp_path / "fs/a/b", memory__max="max", memory__current="700")
    left = left_in_cgroups(str(tmp_path / "cgroup"), str(tmp_path / "fs"))
    assert list(left) == [4_300]


def test_cgroups_of_version_1(tmp_path: Path) -> None:
    (tmp_path / "cgroup").write_text("5:cpu:/x\n4:memory,hugetlb:/outside/of/the/container\n0::/\n")
    _group(
        tmp_path / "fs/memory",
        memory__limit_in_bytes="9000",
        memory__usage_in_bytes="4000",
        memory__stat="inactive_file 1\ntotal_inactive_file 500\n",
    )
    left = left_in_cgroups(str(tmp_path / "cgroup"), str(tmp_path / "fs"))
    assert list(left) == [5_500]


def test_small_runs_do_not_measure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Available, "now", lambda: pytest.fail("measured"))
    Budget().charge(1_000_000)


def test_sizes_are_shown_with_units() -> None:
    assert [size_text(read_size(each)) for each in ("1536 MiB", "10", "3 TiB")] == [
        "1.5 GiB",
        "10 bytes",
        "3 TiB",
    ]


@pytest.mark.parametrize(
    ("text", "is_unbounded"),
    [
        ("PATTERN SEQ(A a, B+ b[])", True),
        ("PATTERN SEQ(A a, B{2,} b[], C c)", True),
        ("PATTERN SEQ(A a, B{2,5} b[], C c)", False),
        ("PATTERN SEQ(A a, B+ b[]) WITHIN 10", False),
        ("PATTERN SEQ(A a, B+ b[]) WHERE skip_till_next_match", False),
        ("PATTERN SEQ(A a, B b)", False),
    ],
)
def test_explain_warns_of_components_that_nothing_bounds(text: str, is_unbounded: bool) -> None:
    assert ("nothing bounds 'B" in cep.query(text).explain()) == is_unbounded
