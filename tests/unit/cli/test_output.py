"""What was recorded is only ever text on the terminal of whoever looks at it."""

import json

import pytest

from playhead.cli import output

STEERING = "\x1b]0;title\x07\x9b31m\u202ereversed"


@pytest.mark.parametrize("value", [STEERING, [STEERING, "x"], (STEERING,), {"a": STEERING}])
@pytest.mark.parametrize("is_terminal", [True, False])
def test_no_value_steers_a_terminal(
    value: object, is_terminal: bool, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(output, "is_terminal", lambda: is_terminal)
    output.facts({"tools": value})
    output.table(["tools"], [[value]])
    said = capsys.readouterr().out
    assert "reversed" in said
    assert not {"\x1b]", "\x07", "\x9b", "\u202e"} & {said[at : at + n] for at in range(len(said)) for n in (1, 2)}


@pytest.mark.parametrize("is_terminal", [True, False])
def test_json_says_the_same_and_steers_nothing(
    is_terminal: bool, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(output, "is_terminal", lambda: is_terminal)
    output.as_json({"said": STEERING, "name": "Zoë"})
    said = capsys.readouterr().out
    assert json.loads(said) == {"said": STEERING, "name": "Zoë"}
    assert "Zoë" in said
    assert not set("\x1b\x07\x9b\u202e") & set(said)


@pytest.mark.parametrize("rows", [0, 1, 499, 500, 1_001])
def test_a_table_for_a_pipe_has_a_line_for_each_row_also_where_nothing_stands(
    rows: int, monkeypatch: pytest.MonkeyPatch
):
    written: list[str] = []
    monkeypatch.setattr(output.typer, "echo", written.append)
    output.table(["name"], ([None] for _ in range(rows)))
    assert "".join(f"{each}\n" for each in written) == "name\n" + "\n" * rows
    assert len(written) <= 1 + rows // 500, "each is a write"


_COLUMNS: output.Columns[dict[str, int]] = (("n", lambda item: item["n"]), ("twice", lambda item: 2 * item["n"]))


def test_a_list_is_printed_as_a_table_of_its_columns_or_as_json(capsys: pytest.CaptureFixture[str]):
    items = [{"n": 1}, {"n": 2}]
    output.list_as(False, items, _COLUMNS)
    assert capsys.readouterr().out == "n\ttwice\n1\t2\n2\t4\n"
    output.list_as(True, items, _COLUMNS)
    assert json.loads(capsys.readouterr().out) == items


def test_an_item_is_printed_at_once_as_a_row_or_as_json(capsys: pytest.CaptureFixture[str]):
    output.line_as(False, {"n": 3}, _COLUMNS)
    output.line_as(True, {"n": 3}, _COLUMNS)
    assert capsys.readouterr().out == '3\t6\n{"n": 3}\n'


@pytest.mark.parametrize(("value", "shown"), [(None, None), (0.0, "0.0000"), (1.5e-05, "<0.0001"), (0.01234, "0.0123")])
def test_an_amount_of_money_is_shown_in_one_form(value: float | None, shown: str | None):
    assert output.cost(value) == shown


def test_one_thing_is_no_plural():
    assert [output.counted(n, "message") for n in (0, 1, 2)] == ["0 messages", "1 message", "2 messages"]
