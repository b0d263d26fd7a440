import json
import re
from pathlib import Path

import pytest

from playhead_collector.store import postgres
from playhead_collector.store.postgres.statements import Statement, statements_in

GOLDEN = Path(__file__).parents[2] / "golden/statements"
FOLDER = Path(postgres.__file__).parent
CALLED = re.compile(r'sql\.(?:rows|row|value|column|run)\(\s*conn,\s*"(\w+)"')


def test_every_statement_is_used_and_every_used_one_is_there():
    there = {name for path in (FOLDER / "sql").iterdir() for name in re.findall(r"-- name: (\w+)", path.read_text())}
    used = {name for path in FOLDER.rglob("*.py") for name in CALLED.findall(path.read_text())}
    assert used == there


def test_python_holds_no_sql():
    words = re.compile(r"\b(select|insert into|update|delete from)\b.*\b(from|where|set|values)\b")
    assert [
        path.name
        for path in FOLDER.rglob("*.py")
        for line in path.read_text().splitlines()
        if re.search(r'["\'].*' + words.pattern, line)
    ] == []


def test_every_statement_says_its_parameters():
    for path in (FOLDER / "sql").iterdir():
        for head in re.findall(r"-- name: .*", path.read_text()):
            assert re.fullmatch(r"-- name: \w+\((\w+(, \w+)*)?\)[\^$!]?", head), head


def test_all_statements_of_a_release_are_read_as_aiosql_read_them():
    """`files.sql` and what aiosql 15.0 made of it: neither changes when statements of the collector do."""
    expected = json.loads((GOLDEN / "read.json").read_text())
    read = statements_in((GOLDEN / "files.sql").read_text())
    assert {
        name: {"parameters": list(statement.parameters), "text": statement.text.split("\n")}
        for name, statement in read.items()
    } == expected


def test_a_parameter_is_a_name_after_one_colon_outside_quotes_and_comments():
    text = """-- name: a(run, at)^
-- It's a comment with :other.
select ':no', 'it''s :no', ":no", :run::text, (:at)::int, x[:at], :run -- not :this, it's one
from t;

-- name: b()
select 1;
"""
    assert statements_in(text) == {
        "a": Statement(
            """select ':no', 'it''s :no', ":no", $1::text, ($2)::int, x[$2], $1 -- not :this, it's one\nfrom t;""",
            ("run", "at"),
        ),
        "b": Statement("select 1;", ()),
    }


@pytest.mark.parametrize("head", ["a()", "a(run, other)"])
def test_a_statement_names_the_parameters_that_it_uses(head: str):
    with pytest.raises(ValueError, match="a names the parameters"):
        statements_in(f"-- name: {head}\nselect :run;\n")


def test_a_name_is_given_once():
    with pytest.raises(ValueError, match="two statements are named a"):
        statements_in("-- name: a()\nselect 1;\n-- name: a()\nselect 2;\n")
