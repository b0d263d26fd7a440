import re
from pathlib import Path

from playhead_collector.store import postgres

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
