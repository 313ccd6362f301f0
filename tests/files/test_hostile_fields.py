"""Fields in YAML and TOML from people that nobody knows: one clear message, soon."""

import pytest

import cepheid as cep
from cepheid.files import toml_text, yaml_text
from cepheid.rule_sets.reading import split_front_matter
from cepheid.rule_sets.testing import read_cases
from cepheid.visible import said

QUERY = "PATTERN A a WHERE a.x > T"
BOMB = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 12)
)
MERGED = "m0: &m0 {a: 1}\n" + "".join(
    f"m{n}: &m{n} {{<<: [{', '.join([f'*m{n - 1}'] * 9)}]}}\n" for n in range(1, 12)
)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        (f"---\n{BOMB}---\n", "aliases repeat more than 10,000 values"),
        (f"---\n{MERGED}---\n", "aliases repeat more than 10,000 values"),
        ("---\ntags: &a [*a]\n---\n", "an alias is within what it repeats"),
        (f"---\na: {'[' * 20_000}\n---\n", "more than 100 levels"),
        ("---\n" + "- " * 20_000 + "\n---\n", "nested too deeply|more than 100 levels"),
        ("---\nname: 2024-13-01\n---\n", "are not YAML"),
        ("---\nname: !!int ''\n---\n", "are not YAML"),
        ("---\nseverity: " + "9:" * 20_000 + "9\n---\n", "an integer of [0-9,]+ bits"),
        ("---\nparameters: {T: &a [1, [2]]}\n---\n", "list in a list"),
        ("---\nparameters: {5: 1, T: 2}\n---\n", "the name of a parameter is a string, not 5"),
        ('---\ndescription: "\\ud800"\n---\n', "lone surrogate"),
        (f"+++\na = {'[' * 20_000}\n+++\n", "nested too deeply"),
        (f"+++\n{'.'.join('a' * 20_000)} = 1\n+++\n", "more than 100 parts"),
        (f"+++\na = {'9' * 20_000}\n+++\n", "are not TOML"),
        (f"+++\nseverity = 0x{'f' * 20_000}\n+++\n", "an integer of 80,000 bits"),
    ],
)
def test_hostile_fields_are_one_fault(tmp_path, fields, message):
    (tmp_path / "rule.sase").write_text(fields + QUERY)
    with pytest.raises(cep.RuleSetError, match=message) as caught:
        cep.rules(tmp_path, strict=True)
    assert len(str(caught.value)) < 3_000


def test_aliases_and_long_strings_are_read():
    assert yaml_text.load("a: &a [1, 2]\nb: [*a, *a]", "it is")["b"] == [[1, 2], [1, 2]]
    long = "x" * 60_000
    assert toml_text.load(f'a = "{long}"', "it is") == {"a": long}
    assert split_front_matter(f'+++\ndescription = "{"a. " * 500}"\n+++\n{QUERY}')[0]


@pytest.mark.parametrize("text", ["options = 5", "[[case]]\noptions = 5", "case = 1", "a.b = 1"])
def test_a_test_file_with_wrong_values_is_a_fault(tmp_path, text):
    (tmp_path / "rule.sase").write_text("PATTERN A a")
    (tmp_path / "rule.test.toml").write_text(text)
    [fault] = read_cases(tmp_path)
    assert isinstance(fault, cep.RuleFault)


def test_a_quoted_value_is_short():
    assert len(said(dict.fromkeys(range(10000), "x" * 10000))) < 10_000
