"""``cepheid report``."""

from pathlib import Path

from typer.testing import CliRunner

from cepheid.cli.app import app

QUERY = "PATTERN SEQ(Shelf a, Exit c) WHERE [tag] WITHIN 10"


def run(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(app, ["report", *arguments])
    return result.exit_code, result.output


def test_a_query_with_events_and_a_file_of_matches(tmp_path: Path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("events.csv").write_text("ts,type,tag\n1,Shelf,7\n4,Exit,7\n")
    code, said = run("-q", QUERY, "events.csv", "-o", "page.html", "--title", "Pairs")
    assert (code, said) == (0, "1 match in page.html\n")
    assert "<title>Pairs</title>" in Path("page.html").read_text()
    for name in ("matches.parquet", "matches.jsonl"):
        CliRunner().invoke(app, ["match", "-q", QUERY, "events.csv", "-o", name])
        assert run(name) == (0, "1 match in report.html\n")
        assert f"<title>{name}</title>" in Path("report.html").read_text()


def test_events_are_not_matches(tmp_path: Path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("events.csv").write_text("ts,type,tag\n1,Shelf,7\n")
    code, said = run("events.csv")
    assert code == 1
    assert "there is no column 'start' among ts, type, tag" in said
