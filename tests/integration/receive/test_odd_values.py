"""Values that few programs and no database like, read back in every way that there is."""

import json
import tarfile
from collections.abc import Iterator
from io import BytesIO
from typing import Any

import httpx
import pytest
from typer.testing import CliRunner

from playhead.cli import app
from playhead.model import names
from playhead.model.canonical import Content
from playhead.model.ref import ContentRef
from playhead.outbound.otlp import logs_request, traces_request
from playhead.wire.pack import PACK, Pack, ThreadExtension, encode_pack
from playhead_collector.process import CollectorProcess
from tests.integration.read.recorded import Recorder

PROTOBUF = {"content-type": "application/x-protobuf"}
OURS, FOREIGN = "a1" * 16, "a2" * 16
PREFIX = "/api/v1"
# As JSON texts, which is how they come: not every one of them is JSON.
ODD = {
    "nul": r'"a\u0000b"',
    "lone surrogate": r'"\ud800 and \udfff"',
    "not a number": "NaN",
    "infinite": "-Infinity",
    "minus zero": "-0.0",
    "beyond 64 bits": "9223372036854775808",
    "10^400 as a float": "1e400",
    "10^400": "1" + "0" * 400,
    "5,000 digits": "7" * 5_000,
    "deep": "[" * 2_000 + "]" * 2_000,
    "keys twice": '{"a": 1, "a": 2}',
    "no UTF-8": '"\udcff"',
}
COMMANDS = (
    "show",
    "verdict",
    "turns",
    "events",
    "state",
    "context",
    "messages",
    "why",
    "decisions",
    "tokens",
    "tree",
    "diff",
    "compressions",
)
# Of the events, one in so many is asked about; no divisor of how many there are for each value.
ONE_IN = 9


def raw(text: str) -> Content:
    data = text.encode("utf-8", "surrogateescape")
    return Content(data, "application/json")


def odd_run() -> Recorder:
    """As our SDK sends it, by refs."""
    recorder = Recorder(OURS)
    refs: dict[str, ContentRef] = {}
    for name, text in ODD.items():
        for form in (text, f'{{"order": {text}}}'):
            content = raw(form)
            recorder.contents[content.ref] = content
            refs[name] = content.ref
            span = recorder.begin(
                "tool", f"execute_tool {name}", **{names.TOOL_NAME: name, names.TOOL_ARGUMENTS_REF: content.ref}
            )
            recorder.end(span, **{names.TOOL_RESULT_REF: content.ref})
            recorder.say(names.STATE_CHANGED, **{names.STATE_KEY: name, names.VALUE_REF: content.ref})
            recorder.say(names.CHECKPOINT, **{names.STATE_REF: content.ref})
            recorder.say(names.PLAN, **{names.PLAN_REF: content.ref})
        part = raw(f'{{"role": "user", "parts": [{{"type": "text", "content": {text}}}]}}')
        asked = f'{{"type": "tool_call", "id": {text}, "name": "x", "arguments": {text}}}'
        call = raw(f'{{"role": "assistant", "parts": [{asked}]}}')
        for message in (part, call):
            recorder.contents[message.ref] = message
        thread, answer = ThreadExtension(None, (part.ref, call.ref)), ThreadExtension(None, (call.ref,))
        recorder.threads += [thread, answer]
        model = {names.OPERATION: "chat", names.PROVIDER: "openai", names.REQUEST_MODEL: "gpt-4o"}
        request = {names.INPUT_MESSAGES_REF: thread.ref, names.REQUEST_REF: refs[name], names.REASONING_REF: refs[name]}
        span = recorder.begin("llm", "chat", **model, **request)
        recorder.end(span, **{names.OUTPUT_MESSAGES_REF: answer.ref})
    return recorder


def foreign() -> dict[str, Any]:
    """The same by somebody else's spans, inline."""
    spans: list[dict[str, Any]] = []
    for number, (name, text) in enumerate(ODD.items(), 1):
        shown = text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
        messages = f'[{{"role": "user", "parts": [{{"type": "text", "content": {shown}}}]}}]'
        attributes = {
            "gen_ai.operation.name": "chat", "gen_ai.request.model": "gpt-4o", "gen_ai.input.messages": messages,
            "gen_ai.output.messages": messages, "gen_ai.tool.call.arguments": shown, "gen_ai.tool.name": name,
            "gen_ai.system_instructions": shown, "gen_ai.tool.definitions": f"[{shown}]",
        }  # fmt: skip
        strings = [{"key": key, "value": {"stringValue": value}} for key, value in attributes.items()]
        numbers = [
            {"key": "gen_ai.usage.input_tokens", "value": {"doubleValue": "NaN"}},
            {"key": "gen_ai.usage.output_tokens", "value": {"intValue": "9223372036854775807"}},
            {"key": "gen_ai.request.temperature", "value": {"doubleValue": "Infinity"}},
            {"key": "gen_ai.request.top_p", "value": {"doubleValue": -0.0}},
        ]
        spans.append(
            {
                "traceId": FOREIGN, "spanId": f"{number:016x}", "name": "chat", "startTimeUnixNano": str(number * 1000),
                "endTimeUnixNano": str(number * 1000 + 5), "attributes": [*strings, *numbers],
            }
        )  # fmt: skip
    return {"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]}


@pytest.fixture(scope="module")
def collector(module_database_url: str) -> Iterator[CollectorProcess]:
    # A live stream of all runs ends only when its time is over.
    env = {"PLAYHEAD_STREAM_SECONDS": "0.05"}
    with CollectorProcess(database_url=module_database_url, env=env) as it:
        batch = odd_run().batch()
        pack = encode_pack(Pack(tuple(batch.contents), tuple(batch.threads)))
        with httpx.Client(base_url=it.url, timeout=60) as http:
            http.post("/v1/content", content=pack, headers={"content-type": PACK}).raise_for_status()
            http.post("/v1/traces", content=traces_request(batch.spans), headers=PROTOBUF).raise_for_status()
            http.post("/v1/logs", content=logs_request(batch.logs), headers=PROTOBUF).raise_for_status()
            http.post("/v1/traces", json=foreign()).raise_for_status()
        yield it
        it.stop()
        assert "Traceback" not in it.log()


def no_constant(name: str) -> Any:
    raise AssertionError(f"{name} is no JSON")


def questions(http: httpx.Client, run: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every GET about the run, with what makes it read values."""
    events = http.get(f"{PREFIX}/runs/{run}/events", params={"limit": 1000, "preview": 200}).json()["items"]
    seqs = [event["seq"] for event in events][::ONE_IN]
    assert len(seqs) > 2
    refs = sorted({ref for event in events for ref in event["refs"].values()})
    calls = [event["seq"] for event in events if event["kind"] == "llm_called"]
    span = next(event["span"] for event in events if event["span"] is not None)
    for seq in calls:
        yield f"{PREFIX}/runs/{run}/context", {"exact": "true", "at": seq}
        yield f"{PREFIX}/runs/{run}/context", {"form": "openai", "at": seq}
        yield f"{PREFIX}/runs/{run}/context", {"without": seq, "at": seq}
    described = http.get(f"{PREFIX}/openapi.json").json()["paths"]
    for path, methods in described.items():
        if "get" not in methods or not path.startswith(f"{PREFIX}/"):
            continue
        parameters = {each["name"] for each in methods["get"].get("parameters", ())}
        reading = {"hydrate": "true", "why": "true", "q": "a"}
        values = {name: value for name, value in reading.items() if name in parameters}
        for seq in seqs if "{seq}" in path else seqs[:1]:
            for ref in refs if "{ref}" in path else refs[:1]:
                others = {"b": FOREIGN, "destination": "none", "promise": "0" * 32, "span": span}
                others |= {"turn": "1", "note": "none", "name": "none", "job": "0" * 32}
                yield path.format(run=run, a=run, seq=seq, ref=ref, **others), values


@pytest.mark.parametrize("run", [OURS, FOREIGN])
def test_every_route_answers_in_json(collector: CollectorProcess, run: str):
    with httpx.Client(base_url=collector.url, timeout=60) as http:
        for path, values in questions(http, run):
            answer = http.get(path, params=values)
            assert answer.status_code < 500, (path, values, answer.text[:200])
            media_type = answer.headers["content-type"].partition(";")[0]
            if media_type == "text/x-python":
                compile(answer.text, path, "exec")
            elif media_type == "application/gzip":
                with tarfile.open(fileobj=BytesIO(answer.content)) as bundle:
                    assert bundle.getnames()
            elif "/content/" not in path and media_type != "text/event-stream":
                json.loads(answer.content.decode(), parse_constant=no_constant, parse_int=str)


@pytest.mark.parametrize("run", [OURS, FOREIGN])
@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_shows_it(collector: CollectorProcess, run: str, command: str):
    shown = CliRunner().invoke(app, [command, run], env={"PLAYHEAD_ENDPOINT": collector.url})
    assert (shown.exit_code, shown.exception) == (0, None), shown.output[-500:]


@pytest.mark.parametrize("name", ODD)
def test_what_a_program_asks_with_is_kept_or_refused(collector: CollectorProcess, name: str):
    promise, path = f"{list(ODD).index(name):032x}", f"{collector.url}{PREFIX}/promises"
    opened = f'{{"kind": "input", "key": "k", "id": "{promise}"'
    with httpx.Client(trust_env=False, headers={"content-type": "application/json"}, timeout=60) as http:

        def post(path: str, body: str) -> httpx.Response:
            return http.post(path, content=body.encode("utf-8", "surrogateescape"))

        asked = post(
            path, f'{opened[:-1]}, "id": "{promise}", "details": {{"of": {ODD[name]}}}, "schema": {ODD[name]}}}'
        )
        if asked.status_code == httpx.codes.OK:
            answered = post(f"{path}/{promise}", f'{{"outcome": "answered", "value": {ODD[name]}}}')
            assert answered.status_code == httpx.codes.OK, answered.text
            found = http.get(f"{path}/{promise}").json()
            assert found["details"] == {"of": found["schema"]}
            assert found["answer"]["value"] == found["schema"]
            if name in ("beyond 64 bits", "10^400", "lone surrogate", "keys twice", "nul"):
                assert found["schema"] == json.loads(ODD[name])
        else:
            assert asked.status_code in (400, 413, 422), asked.text
            assert asked.json()["error"]["code"]
