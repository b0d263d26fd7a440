"""Redaction rules of a project: whatever way a secret takes into the collector, no table has it; and everything else is
as it was sent."""

import asyncio
import base64
import hashlib
import json
import tarfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from uuid import UUID

import asyncpg
import grpc
import httpx
import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2_grpc import TraceServiceStub
from typer.testing import CliRunner

import playhead
from playhead.cli import app
from playhead.client import Client
from playhead.errors import BadRequest, Conflict, MaskedContent, NotAuthorized
from playhead.model.canonical import BYTES, Content, content_of, parse_json
from playhead.model.message import text_message
from playhead.model.ref import ContentRef
from playhead.wire import export_layout as layout
from playhead.wire.pack import PACK, Pack, ThreadExtension, decode_pack, encode_pack
from playhead_collector.process import CollectorProcess
from tests.support.stored_texts import stored_in
from tests.support.sweep import PREFIX

OPERATOR = "the operator's key"
SECRET, PASSWORD, NAME = "jo.secret@example.com", "hunter2-zebra", "Zaphod"
SECRETS = (SECRET, PASSWORD, NAME)
HOOK = "tests.support.redaction_hooks:mask_names"


@dataclass
class Projects:
    """A collector with a project that has rules (blue), and others that have none."""

    url: str
    grpc: str
    dsn: str
    keys: dict[str, str]
    stored: Mapping[str, bytes] = field(default_factory=dict[str, bytes])
    """What the tables had when only blue had been sent anything."""

    def client(self, name: str) -> Client:
        return Client(self.url, self.keys[name])

    def http(self, name: str) -> httpx.Client:
        headers = {"authorization": f"Bearer {self.keys[name]}"}
        return httpx.Client(base_url=self.url, headers=headers, timeout=60, trust_env=False)


@pytest.fixture(scope="module")
def projects(module_database_url: str) -> Iterator[Projects]:
    env = {"PLAYHEAD_ADMIN_KEY": OPERATOR, "PLAYHEAD_REDACTION_HOOK": HOOK, "PLAYHEAD_SEAL_AFTER_SECONDS": "1"}
    with CollectorProcess(env=env, database_url=module_database_url) as collector:
        keys: dict[str, str] = {}
        for name in ("blue", "red", "green", "yellow"):
            with Client(collector.url, OPERATOR) as client:
                client.create_project(name)
            with Client(collector.url, OPERATOR, project=name) as client:
                keys[name] = client.create_key(f"all of {name}", ["ingest", "read", "admin"])["key"]
        made = Projects(collector.url, collector.grpc_url or "", module_database_url, keys)
        with made.client("blue") as client:
            client.set_redaction(keys=["password"], presets=["email"], hook=True)
        yield made
        assert "Traceback" not in collector.log()
        assert not any(secret in collector.log() for secret in SECRETS)


def says(text: str = "") -> str:
    return f"I am {NAME}, write to {SECRET} {text}"


def otlp(run: str, span: str = "1") -> dict[str, Any]:
    """A model call as another instrumentation reports it, with secrets wherever a span says something."""
    attributes = {
        "openinference.span.kind": "LLM",
        "llm.model_name": "gpt",
        "llm.input_messages.0.message.role": "user",
        "llm.input_messages.0.message.content": says("in a message"),
        "llm.output_messages.0.message.role": "assistant",
        "llm.output_messages.0.message.content": says("in an answer"),
        "llm.invocation_parameters": json.dumps({"password": PASSWORD, "user": SECRET}),
        "session.id": f"session of {SECRET}",
        "user.id": SECRET,
        "password": PASSWORD,
        "note": says("in an attribute"),
    }
    return {
        "resourceSpans": [{
            "resource": {"attributes": attributes_of({"service.name": "shop", "owner": SECRET})},
            "scopeSpans": [{
                "scope": {"name": "openinference.instrumentation.openai"},
                "spans": [{
                    "traceId": run, "spanId": span * 16, "name": f"chat for {SECRET}", "kind": 3,
                    "startTimeUnixNano": "1760000000000000000", "endTimeUnixNano": "1760000001000000000",
                    "attributes": attributes_of(attributes),
                    "status": {"code": 2, "message": f"failed for {SECRET}"},
                    "events": [{
                        "name": "exception", "timeUnixNano": "1760000000500000000",
                        "attributes": attributes_of({
                            "exception.type": "ValueError", "exception.message": says("in an error"),
                            "exception.stacktrace": f"Traceback: {SECRET}", "password": PASSWORD,
                        }),
                    }],
                    "links": [{"traceId": "9" * 32, "spanId": "9" * 16, "attributes": attributes_of({"to": SECRET})}],
                }],
            }],
        }],
    }  # fmt: skip


def attributes_of(values: dict[str, str]) -> list[dict[str, Any]]:
    return [{"key": key, "value": {"stringValue": value}} for key, value in values.items()]


def logs(run: str) -> dict[str, Any]:
    record = {
        "timeUnixNano": "1760000000600000000", "traceId": run, "spanId": "1" * 16, "eventName": "shop.said",
        "body": {"stringValue": says("in a log record")},
        "attributes": attributes_of({"event.name": "shop.said", "password": PASSWORD, "note": SECRET}),
    }  # fmt: skip
    evaluation = {
        "timeUnixNano": "1760000000700000000", "traceId": run, "spanId": "1" * 16,
        "eventName": "gen_ai.evaluation.result",
        "attributes": attributes_of({
            "event.name": "gen_ai.evaluation.result", "gen_ai.evaluation.name": "polite",
            "gen_ai.evaluation.score.label": "pass", "gen_ai.evaluation.explanation": says("in an evaluation"),
        }),
    }  # fmt: skip
    return {"resourceLogs": [{"scopeLogs": [{"scope": {"name": "shop"}, "logRecords": [record, evaluation]}]}]}


def sent_message() -> Content:
    return content_of(text_message("user", says("in a pack")))


def send_all(projects: Projects, name: str, run: str) -> None:
    """Sends secrets in every way in which something can be sent."""
    message, plain = sent_message(), content_of({"password": PASSWORD, "arguments": json.dumps({"mail": SECRET})})
    text, looks_like_bytes = content_of(says("in a text")), Content(says("in bytes").encode(), BYTES)
    pack = Pack((message, plain, text, looks_like_bytes), (ThreadExtension(None, (message.ref,)),))
    with projects.http(name) as http:
        stored = http.post("/v1/content", content=encode_pack(pack), headers={"content-type": PACK})
        assert stored.json()["stored"] == 4, stored.text
        assert http.post("/v1/traces", json=otlp(run)).status_code == 200
        assert http.post("/v1/logs", json=logs(run)).status_code == 200
        medium = says("in a medium").encode()
        digest = base64.b64encode(hashlib.sha256(medium).digest()).decode()
        about = {
            "contentType": "text/plain", "contentLength": len(medium), "sha256Hash": digest, "traceId": run,
            "observationId": "1" * 16, "field": "input",
        }  # fmt: skip
        url = http.post("/api/public/media", json=about).json()["uploadUrl"]
        assert (
            httpx.put(
                url, content=medium, headers={"content-type": "text/plain"}, trust_env=False, timeout=60
            ).status_code
            == 200
        )
    over_grpc(projects, name, run)
    with projects.client(name) as client:
        client.score(run, "polite", "rude", comment=says("in a comment"), author=SECRET)
        client.add_note(run, says("in a note"), label=SECRET, author=SECRET)
        client.open_promise(
            "a" * 32 if name == "blue" else "b" * 32, "input", "key", run=run, action=says("in a question"),
            details={"password": PASSWORD, "to": SECRET},
        )  # fmt: skip
        client.answer_promise(
            "a" * 32 if name == "blue" else "b" * 32, "answered", value={"mail": SECRET}, by=SECRET, reason=says("why")
        )
        client.save_conversation("records", revision=0, records=[json.dumps({"said": says("in a record")})])


def over_grpc(projects: Projects, name: str, run: str) -> None:
    from google.protobuf.json_format import ParseDict

    body = otlp(run, "2")
    for resource in body["resourceSpans"]:
        for scope in resource["scopeSpans"]:
            for span in scope["spans"]:
                span["traceId"] = base64.b64encode(bytes.fromhex(span["traceId"])).decode()
                span["spanId"] = base64.b64encode(bytes.fromhex(span["spanId"])).decode()
                span["links"] = []
    request = ParseDict(body, ExportTraceServiceRequest())
    with grpc.insecure_channel(projects.grpc.removeprefix("http://")) as channel:
        metadata = (("authorization", f"Bearer {projects.keys[name]}"),)
        TraceServiceStub(channel).Export(request, metadata=metadata, timeout=60)


BLUE, RED = "1a" * 16, "1b" * 16


@pytest.fixture(scope="module")
def sent(projects: Projects) -> Projects:
    send_all(projects, "blue", BLUE)
    settle(projects, "blue", BLUE)
    return replace(projects, stored=asyncio.run(stored_in(projects.dsn)))


def settle(projects: Projects, name: str, run: str) -> None:
    """Waits until the run is projected, sealed and indexed."""
    deadline = time.monotonic() + 120
    with projects.client(name) as client:
        client.run(run)
    while not asyncio.run(is_indexed(projects.dsn, run)):
        assert time.monotonic() < deadline
        time.sleep(0.2)


async def is_indexed(dsn: str, run: str) -> bool:
    connection = await asyncpg.connect(dsn)
    try:
        return bool(await connection.fetchval("select sealed and searched from run where run_id = $1", UUID(run)))
    finally:
        await connection.close()


def test_no_table_has_a_secret_whatever_way_it_came(sent: Projects):
    stored = sent.stored
    assert len(stored) > 45
    assert b"[masked:email]" in b"".join(stored.values())
    assert [(name, secret) for name, data in stored.items() for secret in SECRETS if secret.encode() in data] == []


def test_what_is_left_can_be_read_and_says_that_it_is_masked(sent: Projects):
    ref = sent_message().ref
    with sent.client("blue") as client:
        content = client.content(ref)
        assert content.is_masked
        assert content.ref == ref
        assert ContentRef.of(content.data) != ref
        said = "I am [a name of blue], write to [masked:email] in a pack"
        assert parse_json(content.data) == text_message("user", said)
        assert client.contents([ref])[ref].get("masked") is True
        [call] = list(client.llm_calls(BLUE))[:1]
        context = client.context(BLUE, at=call["seq"])
        assert "[masked:email] in a message" in json.dumps(context)
        row = client.run(BLUE)
        assert row["user"] == "[masked:email]"
        assert row["session"] == "session of [masked:email]"
        assert client.conversation("records", records_after=0)["masked"] is True
        [score] = [score for score in client.scores() if score["source"] == "api"]
        assert (score["comment"] or "").endswith("write to [masked:email] in a comment")


def test_a_conversation_that_is_masked_is_refused_and_can_be_deleted(sent: Projects, tmp_path: Path):
    playhead.configure(endpoint=sent.url, api_key=sent.keys["blue"], journal_dir=tmp_path)
    conv = playhead.conversation("masked")
    conv.append("user", says("in a conversation"))
    conv.save()
    again = playhead.conversation("masked")
    with pytest.raises(MaskedContent, match="redaction rules of its project"):
        _ = again.messages
    assert (again.delete(), playhead.conversation("masked").revision) == (True, 0)
    playhead.shutdown()


def test_the_header_says_so_and_caches_ask_again(sent: Projects):
    ref = sent_message().ref
    with sent.http("blue") as http:
        answer = http.get(f"{PREFIX}/content/{ref}")
        assert answer.headers["playhead-masked"] == ref
        assert "no-cache" in answer.headers["cache-control"]
        etag = answer.headers["etag"]
        assert http.get(f"{PREFIX}/content/{ref}", headers={"if-none-match": etag}).status_code == 304
        assert http.get(f"{PREFIX}/content/{ref}", headers={"if-none-match": f'"{ref}"'}).status_code == 200
        part = http.get(f"{PREFIX}/content/{ref}", headers={"range": "bytes=0-3"})
        assert part.status_code == 206
        assert part.headers["playhead-masked"] == ref


def test_the_search_finds_what_is_left_and_not_what_was_masked(sent: Projects):
    with sent.client("blue") as client:
        assert list(client.search_content("masked email"))
        assert not list(client.search_content("jo.secret"))


def test_a_pack_with_masked_contents_goes_on_as_masked(sent: Projects):
    ref = sent_message().ref
    with sent.client("blue") as client:
        pack, _ = client.content_pack([ref])
    [content] = pack.contents
    assert content.is_masked
    assert content.ref == ref
    body = encode_pack(pack)
    assert decode_pack(body).contents == (content,)
    with sent.http("yellow") as http:
        assert http.post("/v1/content", content=body, headers={"content-type": PACK}).json()["stored"] == 1
    with sent.client("yellow") as client:
        assert client.content(ref).data == content.data
        assert client.content(ref).is_masked
    # Whoever has the whole content replaces what somebody has said to be left of it.
    whole = Pack((sent_message(),), ())
    with sent.http("yellow") as http:
        assert (
            http.post("/v1/content", content=encode_pack(whole), headers={"content-type": PACK}).json()["stored"] == 1
        )
        assert http.post("/v1/content", content=body, headers={"content-type": PACK}).json()["stored"] == 1
    with sent.client("yellow") as client:
        assert client.content(ref) == sent_message()


def test_exports_and_bundles_say_what_is_masked_and_an_import_keeps_it(sent: Projects, tmp_path: Path):
    out, env = tmp_path / "out", {"PLAYHEAD_JOURNAL_DIR": str(tmp_path / "journal")}
    keys = {name: {**env, "PLAYHEAD_API_KEY": sent.keys[name]} for name in ("blue", "green")}
    command = ["--url", sent.url, "export", BLUE, "-o", str(out)]
    written = CliRunner().invoke(app, command, env=keys["blue"])
    assert written.exit_code == 0, written.output
    lines = [layout.read_content_line(line) for line in (out / layout.CONTENTS).read_bytes().splitlines()]
    masked = [line for line in lines if line.masked is not None]
    assert len(masked) >= 3
    for line in masked:
        data = (out / layout.content_file(line.ref.digest.hex())).read_bytes()
        assert hashlib.sha256(data).hexdigest() == line.masked != line.ref.digest.hex()
    read = CliRunner().invoke(app, ["--url", sent.url, "import", str(out)], env=keys["green"])
    assert read.exit_code == 0, read.output
    with sent.client("green") as client:
        for line in masked:
            assert client.content(line.ref).is_masked
    bundle = CliRunner().invoke(app, ["--url", sent.url, "import", str(bundle_of(sent, tmp_path))], env=keys["green"])
    assert bundle.exit_code == 0, bundle.output


def bundle_of(sent: Projects, folder: Path) -> Path:
    with sent.http("blue") as http:
        answer = http.get(f"{PREFIX}/runs/{BLUE}/bundle")
    assert answer.status_code == 200
    file = folder / "bundle.tar.gz"
    file.write_bytes(answer.content)
    with tarfile.open(file) as archive:
        contents = archive.extractfile(layout.CONTENTS)
        assert contents is not None
        assert b'"masked":' in contents.read()
    return file


def test_the_digest_is_verified_before_anything_is_masked(sent: Projects):
    body = bytearray(encode_pack(Pack((content_of(says("never sent")),), ())))
    body[-1] ^= 1
    with sent.http("blue") as http:
        refused = http.post("/v1/content", content=bytes(body), headers={"content-type": PACK})
        assert refused.status_code == 400
        assert "digest" in refused.text


def test_rules_of_a_project_are_no_others(sent: Projects):
    send_all(sent, "red", RED)
    with sent.client("red") as client:
        for content in (
            content_of(says("in a text")),
            content_of({"password": PASSWORD, "arguments": json.dumps({"mail": SECRET})}),
        ):
            assert client.content(content.ref).data == content.data
        assert client.run(RED)["user"] == SECRET
        assert client.redaction()["keys"] == []


def test_a_hook_that_fails_masks_the_whole_content_and_is_counted(sent: Projects):
    content = content_of(text_message("user", "break the hook"))
    with sent.http("blue") as http:
        pack = encode_pack(Pack((content,), ()))
        assert http.post("/v1/content", content=pack, headers={"content-type": PACK}).json()["stored"] == 1
    with sent.client("blue") as client:
        assert parse_json(client.content(content.ref).data) == text_message("user", "[masked:hook]")
    metrics = httpx.get(
        f"{sent.url}/metrics", headers={"authorization": f"Bearer {OPERATOR}"}, trust_env=False, timeout=60
    ).text
    [failures] = [line for line in metrics.splitlines() if line.startswith("playhead_redaction_hook_failures ")]
    assert float(failures.split()[1]) >= 1


def test_rules_are_set_shown_and_tested_by_admins(sent: Projects):
    with Client(sent.url, OPERATOR, project="blue") as operator:
        reader = operator.create_key("reads", ["read"])["key"]
    with Client(sent.url, reader) as client:
        assert client.redaction()["presets"] == ["email"]
        with pytest.raises(NotAuthorized):
            client.set_redaction()
    with sent.client("red") as client:
        with pytest.raises(BadRequest, match="end"):
            client.set_redaction(patterns={"slow": "a+b"})
        with pytest.raises(BadRequest, match="no preset"):
            client.set_redaction(presets=["nobody"])
        with pytest.raises(Conflict, match="no rules"):
            client.apply_redaction()
        assert client.try_redaction(SECRET) == {"value": SECRET, "changed": False}
        client.set_redaction(patterns={"ticket": r"TK-\d{4,8}"})
        assert client.try_redaction({"a": "TK-12345"}) == {"value": {"a": "[masked:ticket]"}, "changed": True}
        assert client.set_redaction()["patterns"] == {}


async def test_other_collectors_follow_within_seconds(sent: Projects, module_database_url: str):
    with (
        CollectorProcess(env={"PLAYHEAD_ADMIN_KEY": OPERATOR}, database_url=module_database_url) as other,
        Client(other.url, sent.keys["red"]) as client,
        sent.client("red") as here,
    ):
        assert client.try_redaction("TK-12345")["changed"] is False
        here.set_redaction(patterns={"ticket": r"TK-\d{4,8}"})
        deadline = time.monotonic() + 180
        while not client.try_redaction("TK-12345")["changed"]:
            assert time.monotonic() < deadline
            time.sleep(0.2)
        here.set_redaction()
    connection = await asyncpg.connect(module_database_url)
    assert await connection.fetchval("select count(*) from project where redaction is not null") == 1
    await connection.close()
