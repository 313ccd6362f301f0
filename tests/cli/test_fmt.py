"""``cepheid fmt`` formats files in place, and stdin to stdout."""

from cli.conftest import THEFT

UGLY = "pattern seq(Shelf a,Exit c) -- both\nwhere [tag_id]"
NICE = "PATTERN SEQ(Shelf a, Exit c)  -- both\nWHERE [tag_id]\n"


def test_files_are_formatted_in_place(run, folder):
    (folder / "ugly.sase").write_text(UGLY)
    outcome = run("fmt", "ugly.sase", "theft.sase")
    assert (outcome.code, outcome.out) == (0, "")
    assert outcome.err == "1 file changed, 1 as they were\n"
    assert (folder / "ugly.sase").read_text() == NICE
    assert (folder / "theft.sase").read_text() == THEFT


def test_stdin_is_formatted_to_stdout(run):
    outcome = run("fmt", "-", text=UGLY)
    assert (outcome.code, outcome.out, outcome.err) == (0, NICE, "")


def test_check_and_diff_write_nothing(run, folder):
    (folder / "ugly.sase").write_text(UGLY)
    checked = run("fmt", "--check", "ugly.sase", "theft.sase")
    assert (checked.code, checked.out) == (1, "")
    assert checked.err == "ugly.sase is not formatted\n1 file would change, 1 as they were\n"
    assert run("fmt", "--check", "theft.sase").code == 0
    shown = run("fmt", "--diff", "ugly.sase")
    assert shown.code == 0
    assert "-where [tag_id]\n" in shown.out
    assert "+WHERE [tag_id]\n" in shown.out
    assert (folder / "ugly.sase").read_text() == UGLY


def test_a_file_with_faults_stays_and_the_others_are_formatted(run, folder):
    (folder / "bad.sase").write_text("pattern seq(A a")
    (folder / "ugly.sase").write_text(UGLY)
    outcome = run("fmt", "bad.sase", "ugly.sase", "missing.sase")
    assert outcome.code == 1
    assert "bad.sase:1:12: the bracket '(' is not closed" in outcome.err
    assert "cannot read the query 'missing.sase'" in outcome.err
    assert outcome.err.endswith("1 file changed, 0 as they were, 2 with errors\n")
    assert (folder / "bad.sase").read_text() == "pattern seq(A a"
    assert (folder / "ugly.sase").read_text() == NICE
