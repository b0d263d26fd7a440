"""Which fields of statements are encrypted: all that hold texts of users, of every statement."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from playhead_collector.errors import Refused
from playhead_collector.store.packing.cipher import Cipher
from playhead_collector.store.postgres import statements
from playhead_collector.store.postgres.encrypted_fields import EncryptedFields, decrypted, encrypted
from playhead_collector.store.postgres.statements import Statement, statements_in

CIPHER = Cipher(bytes(range(32)), 1)
FILES = Path(statements.__file__).with_name("sql")
STATEMENTS: dict[str, Statement] = statements_in("\n".join(path.read_text("utf-8") for path in FILES.glob("*.sql")))

# Columns that hold texts of users, by table.
COLUMNS = {
    "content": ("body",),
    "content_pack": ("body",),
    "span_page": ("body",),
    "event_page": ("body",),
    "run_snapshot": ("body",),
    "conversation_record": ("body",),
    "run": ("name", "session", '"user"', "labels", "search", "happened", "suspect", "processes"),
    "score": ("label", "author", "comment"),
    "score_in_time": ("label", "author", "comment"),
    "note": ("text", "label", "author"),
    "saved_view": ("name", "query", "author"),
    "promise": ("body", "answer"),
    "conversation": ("scope", "conversation_id", "parent_id"),
    "forward_outbox": ("reason",),
    "packed_run": ("body",),
    "pin": ("reason",),
    "run_age": ("labels",),
    "project": ("retention",),
    "forgetting": ("selector", "sessions"),
    "scorer": ("labels", "selection"),
    "scoring_due": ("error",),
}
# Statements that name such a column and neither return nor write a text of users.
HARMLESS = {
    **dict.fromkeys(("content_sizes", "dirty_runs", "dirty_runs_of", "contents_after", "record_sizes"), "lengths"),
    **dict.fromkeys(("first_content_sizes", "plain_content_sizes"), "of projects that are not encrypted"),
    "unmeasured": "rows of versions that did not encrypt",
    **dict.fromkeys(
        ("trained_contents", "encode_contents", "trained_packs", "encode_pack"),
        "only projects that are not encrypted have trained dictionaries",
    ),
    **dict.fromkeys(("event_digests", "snapshot_digests"), "digests of what is stored"),
    **dict.fromkeys(("forks_of", "wake_forks", "forks_of_others", "judges_of"), "labels of runs and of agents"),
    **dict.fromkeys(("mark_lost", "runs_without_uses"), "labels of statuses"),
    "read_threads": "roles of contents",
    **dict.fromkeys(
        ("archive_runs", "delete_runs", "end_forgetting", "add_due_scorings", "drop_project_work"), "texts are deleted"
    ),
    **dict.fromkeys(("scorers_of_runs", "runs_to_backfill"), "labels are compared as they are stored"),
    **dict.fromkeys(
        ("contents_to_move", "packs_to_move", "packed_here", "bring_back"),
        "bodies move as they are; decrypted where looked into",
    ),
    **dict.fromkeys(("large_waiting", "projects_with_large", "large_contents"), "lengths"),
    **dict.fromkeys(("point_content", "point_packs", "point_packed"), "digests of what is stored"),
    **dict.fromkeys(("settle_object", "unpoint_object", "packs_to_warm"), "whether there is a body"),
    **dict.fromkeys(
        ("take_entries", "keep_entries", "outbox_status", "retry_dead", "drop_entries"), "whether there is a reason"
    ),
}


def named_columns(statement: Statement) -> set[str]:
    """The columns with texts of users that a statement names, or has by `*`, of the tables that it names."""
    found: set[str] = set()
    for table in re.findall(r"\b(?:from|join|into|update) (\w+)", statement.text):
        for column in COLUMNS.get(table, ()):
            if re.search(rf"(?<![:\w]){re.escape(column)}(?!\w)", statement.text):
                found.add(f"{table}.{column}")
        if table in COLUMNS and re.search(r"(?<!count\()\*(?! )|\* from", statement.text):
            found.add(f"{table}.*")
    return found


def test_a_statement_with_texts_of_users_says_what_is_encrypted():
    silent = {
        name: columns
        for name, statement in STATEMENTS.items()
        if statement.fields is None and (columns := named_columns(statement))
    }
    assert silent.keys() == HARMLESS.keys(), {name: silent.get(name) for name in silent.keys() ^ HARMLESS.keys()}


def test_fields_name_parameters_and_belong_to_a_project():
    for name, statement in STATEMENTS.items():
        if (fields := statement.fields) is None:
            continue
        given = {field.name for field in (*fields.encrypts, *fields.blanks)} | set(fields.refuses)
        assert given <= set(statement.parameters), name
        if given:
            assert {"project_id", "projects"} & set(statement.parameters), name
        if fields.decrypts and "project_id" not in statement.parameters:
            assert re.search(r"\bproject_id\b", statement.text), name


# --- values -----------------------------------------------------------------------------------------------------------


def fields(text: str) -> EncryptedFields:
    found = EncryptedFields.of(text)
    assert found is not None
    return found


def test_bodies_texts_lists_and_nothing_come_back():
    both = fields("-- encrypts: one=a, text=a, many=a, none=a\n-- decrypts: one=a, text=a, many=a, none=a\n")
    values: dict[str, Any] = {"one": b"body", "text": "text", "many": [b"x", None], "none": None, "other": 5}
    sent = encrypted(both, CIPHER, values)
    assert (sent["none"], sent["other"], sent["many"][1]) == (None, 5, None)
    assert b"body" not in sent["one"]
    row = decrypted(both, CIPHER, sent)
    assert dict(row.items()) == values
    assert (row["text"], row[0], len(row), "one" in row, list(row)[4], row.get("no")) == (
        "text",
        b"body",
        5,
        True,
        5,
        None,
    )


def test_keys_in_json_are_encrypted_and_the_rest_stays():
    both = fields(
        "-- encrypts: rows.name=run, rows.moment.text=run\n-- blanks: rows.search\n"
        "-- decrypts: rows.name=run, rows.moment.text=run\n"
    )
    rows = [{"name": "n", "id": 1, "moment": {"text": "t", "kind": "k"}, "search": "n"}, {"id": 2, "moment": None}]
    sent = encrypted(both, CIPHER, {"rows": json.dumps(rows)})
    first, second = json.loads(sent["rows"])
    assert (first["id"], first["moment"]["kind"], first["search"], second) == (1, "k", "", rows[1])
    assert {first["name"], first["moment"]["text"]}.isdisjoint({"n", "t"})
    assert json.loads(decrypted(both, CIPHER, sent)["rows"]) == [{**rows[0], "search": ""}, rows[1]]


def test_labels_of_users_become_tokens_and_those_of_programs_stay():
    both = fields("-- encrypts: labels#\n-- decrypts: labels#\n")
    labels = ["agent:support", "tag:Ann", "user:Ann", "session:s", "status:failed", "tag:"]
    sent = encrypted(both, CIPHER, {"labels": labels})
    assert [label for label in sent["labels"] if label in labels] == ["agent:support", "status:failed"]
    assert [label.partition(":")[0] for label in sent["labels"]] == [label.partition(":")[0] for label in labels]
    assert encrypted(both, CIPHER, {"labels": labels}) == sent
    assert decrypted(both, CIPHER, sent)["labels"] == labels


@pytest.mark.parametrize(
    "name", ["chat", "", "langgraph-thread/t1", "langgraph-thread/", "history/sha256:ab", "playhead.notes"]
)
def test_ids_of_conversations_keep_the_beginnings_that_lists_know(name: str):
    both = fields("-- encrypts: id~conversation\n-- decrypts: id~conversation\n")
    sent = encrypted(both, CIPHER, {"id": name})
    kept = next(
        (each for each in ("langgraph-thread/", "history/sha256:", "playhead.notes") if name.startswith(each)), ""
    )
    assert sent["id"].startswith(kept)
    assert ("t1" in sent["id"][len(kept) :] or "chat" in sent["id"]) is False
    assert decrypted(both, CIPHER, sent)["id"] == name


def test_a_condition_on_a_text_that_is_not_stored_is_refused_and_an_empty_one_is_none():
    searched = fields("-- refuses: search\n")
    assert encrypted(searched, CIPHER, {"search": ""}) == {"search": ""}
    with pytest.raises(Refused, match="encrypted"):
        encrypted(searched, CIPHER, {"search": "Ann"})


def test_the_purpose_may_be_that_of_the_row_and_a_column_may_say_that_nothing_is_encrypted():
    read = fields("-- decrypts: body=@kind, other=content?encoding\n")
    row = {"kind": "span_page", "body": CIPHER.encrypt(b"x", "span_page"), "encoding": None, "other": b"plain"}
    assert decrypted(read, CIPHER, row)["body"] == b"x"
    assert decrypted(read, CIPHER, row)["other"] == b"plain"


@pytest.mark.parametrize("line", ["body", "body==x y", ""])
def test_a_line_that_names_no_field_is_an_error(line: str):
    if line == "body":
        assert EncryptedFields.of("-- refuses: body\n") is not None
        return
    with pytest.raises(ValueError, match="names no encrypted field"):
        EncryptedFields.of(f"-- encrypts: {line}\n")
