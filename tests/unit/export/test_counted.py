from playhead.export.destinations.delivery import SpanCounter
from playhead.model import names
from playhead.model.ref import ContentRef
from playhead.model.span import Span
from playhead.outbound.counting import needs_run

START_NS = 1_760_000_000_000_000_000
ASKED = str(ContentRef.of(b"asked"))
CLIENT, FRAMEWORK = "openinference.instrumentation.openai", "openinference.instrumentation.langchain"


def call(number: int, parent: int | None, scope: str, trace: str = "a" * 32) -> Span:
    """A model call; one with a smaller number is around those with larger ones."""
    attributes = {names.KIND: "llm", names.INPUT_MESSAGES_REF: ASKED, names.REQUEST_MODEL: "m"}
    return Span(
        trace, f"{number:016x}", None if parent is None else f"{parent:016x}", "chat", START_NS + number,
        START_NS + 100 - number, attributes, scope=scope,
    )  # fmt: skip


def test_a_duplicate_of_a_call_that_has_gone_out_is_a_step_without_messages():
    counted = SpanCounter()
    client, framework = call(2, 1, CLIENT), call(1, None, FRAMEWORK)
    assert counted.count([client], ())[client.span_id].kind == "llm"
    second = counted.count([framework], ())[framework.span_id]
    assert second.kind == "step"
    ours, theirs = call(4, None, names.SCOPE, "b" * 32), call(5, 4, CLIENT, "b" * 32)
    found = counted.count([theirs, ours], ())
    assert (found[ours.span_id].kind, found[theirs.span_id].kind) == ("llm", "step")
    assert names.INPUT_MESSAGES_REF not in found[theirs.span_id].span.attributes
    assert names.INPUT_MESSAGES_REF in theirs.attributes


def test_calls_of_other_runs_are_no_duplicates():
    counted = SpanCounter()
    one, other = call(2, 1, CLIENT, "a" * 32), call(2, 1, CLIENT, "b" * 32)
    assert counted.count([one], ())[one.span_id].kind == "llm"
    assert counted.count([other], ())[other.span_id].kind == "llm"


def test_calls_that_only_we_recorded_need_no_other_spans():
    ours = call(1, None, names.SCOPE)
    declared = Span("a" * 32, "1" * 16, None, "ask", START_NS, START_NS, {names.KIND: "llm"}, scope=names.SCOPE)
    assert not needs_run([ours], ())
    assert needs_run([declared], ())
    assert needs_run([call(1, None, CLIENT)], ())
