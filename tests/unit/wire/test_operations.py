"""Declared operations: what a declaration says, what a call sends, and which operation answers a request."""

import inspect
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Annotated, Any, Literal, TypedDict, Unpack, cast

import pytest
from pydantic import Field, TypeAdapter, ValidationError

from playhead.model.canonical import Content
from playhead.wire.operations.bounds import (
    NO_NUL,
    At,
    AtEvent,
    Bounds,
    Most,
    RunConditions,
    RunName,
    Time,
    split,
    wire_type,
)
from playhead.wire.operations.declared import PREFIX, DeclaredOperations, all_operations, operation_at
from playhead.wire.operations.operation import (
    ADMIN,
    NOTHING,
    READ,
    DeclaredOperation,
    NoSuchPath,
    Operation,
    as_content,
    delete,
    download,
    get,
    get_list,
    post,
    put,
    request_of,
    upload,
    watch,
)
from playhead.wire.operations.page import Page

Flag = Annotated[bool, Bounds()]


class Tags(TypedDict, total=False):
    tag: Annotated[str | None, Bounds(max_length=3)]


class Samples:
    @get("/runs/{run}/at/{seq}", scope=READ, tag="t")
    def at_event(self, run: RunName, at: AtEvent, *, exact: Flag = False) -> dict[str, Any]:
        """One."""
        ...

    @get_list("/things", scope=READ, tag="t", page_size=10, client_page=4)
    def things(self, *, limit: Most = None, since: Time = None, **where: Unpack[Tags]) -> Page[int]: ...

    @post("/things", scope=ADMIN, tag="t")
    def make(
        self,
        name: Annotated[str, Bounds(new=lambda: "made")],
        *,
        at: At = None,
        tags: Annotated[Sequence[str], Bounds()] = (),
        arguments: Annotated[Mapping[str, str] | None, Bounds(name="argument", as_pairs=True)] = None,
        details: Annotated[Any, Bounds()] = None,
    ) -> int: ...

    @put("/things/{thing}", scope=ADMIN, tag="t")
    def change(self, thing: Annotated[str, Bounds()], *, size: Annotated[int, Bounds(ge=1)] = 1) -> int: ...

    @delete("/things/{thing}", scope=ADMIN, tag="t")
    def remove(self, thing: Annotated[str, Bounds()], *, forks: Flag = False) -> int: ...

    @watch("/things/live", scope=READ, tag="t", answer_text="Events.")
    def live(self, *, limit: Annotated[int | None, Bounds(ge=1)] = None) -> int: ...

    @download("/things/{thing}/file", scope=READ, tag="t", media_type="a/b", read=as_content, answer_text="It.")
    def file(self, thing: Annotated[str, Bounds()]) -> Content: ...

    @upload("/things/file", scope=ADMIN, tag="t", media_type="a/b")
    def send(self, body: Annotated[bytes, Bounds()], *, name: Annotated[str, Bounds()] = "") -> int: ...


class Client:
    """Keeps what it is asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, Any]] = []

    def answer_of(self, call: Any) -> Any:
        self.asked.append(("answer", call))

    def items_of(self, call: Any) -> Any:
        self.asked.append(("items", call))

    def events_of(self, call: Any) -> Any:
        self.asked.append(("events", call))


class SampleClient(Samples, Client): ...


def sent(operation: DeclaredOperation, *args: Any, **kwargs: Any) -> Any:
    return request_of(operation.call(*args, **kwargs))


# --- declarations ----------------------------------------------------------------------------------------------------


def test_a_declaration_without_a_scope_cannot_be_made():
    with pytest.raises(TypeError, match="scope"):
        get("/x", tag="t")  # type: ignore[call-arg]


def test_a_parameter_without_bounds_is_an_error():
    class Unbound:
        @get("/x", scope=READ, tag="t")
        def ask(self, name: str) -> int: ...

    with pytest.raises(TypeError, match=r"parameter name of .*Unbound.ask has no bounds"):
        _ = Unbound.ask.parameters


def test_a_parameter_stands_where_its_method_and_its_path_say():
    assert [(each.wire_name, each.place) for each in Samples.at_event.parameters] == [
        ("run", "path"), ("seq", "path"), ("exact", "query")
    ]  # fmt: skip
    assert {each.place for each in Samples.make.parameters} == {"body"}
    assert [each.place for each in Samples.remove.parameters] == ["path", "query"]
    assert [each.place for each in Samples.send.parameters] == ["bytes", "body"]


def test_conditions_are_single_parameters_on_the_wire():
    assert [(each.name, each.is_condition) for each in Samples.things.parameters] == [
        ("limit", False), ("since", False), ("tag", True)
    ]  # fmt: skip


def test_every_declared_operation_can_be_read_and_is_described():
    for operation in all_operations():
        assert operation.description, operation
        assert operation.answer_type is not None
        assert all(parameter.wire is not None for parameter in operation.parameters)


def test_no_declaration_hides_another():
    pairs = [(each.facts.method, each.facts.path) for each in all_operations()]
    for operation in all_operations():
        path = PREFIX + operation.facts.path.replace("{", "").replace("}", "")
        answering = operation_at(operation.facts.method, path)
        assert answering is not None
        # A list and the same events live share a path, and the scope of it.
        assert answering.facts.path == operation.facts.path, (answering, operation)
        assert answering.facts.scope == operation.facts.scope
    assert len(pairs) - len(set(pairs)) == 1


def test_names_of_operations_are_used_once():
    names = [each.name for each in all_operations()]
    assert sorted(set(names)) == sorted(names)


def test_what_no_operation_answers_is_answered_by_none():
    assert operation_at("GET", "/api/v1/runs/a/state/x") is None
    assert operation_at("PATCH", "/api/v1/runs") is None
    assert operation_at("GET", "/runs") is None
    assert operation_at("HEAD", "/api/v1/runs") is DeclaredOperations.runs


# --- calls -----------------------------------------------------------------------------------------------------------


def test_a_client_has_each_operation_as_a_method_of_its_kind():
    client = SampleClient()
    for method in (client.at_event, client.things, client.live, client.file):
        assert "self" not in inspect.signature(method).parameters
    client.at_event("r", 7)
    client.things(tag="a")
    client.live(limit=3)
    assert [kind for kind, _ in client.asked] == ["answer", "items", "events"]
    assert client.at_event.__doc__ == "One."
    assert isinstance(Samples.at_event, Operation)


def test_a_call_that_does_not_fit_the_signature_is_a_type_error():
    client = SampleClient()
    with pytest.raises(TypeError, match="missing a required argument: 'at'"):
        client.at_event("r")  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="unexpected keyword argument 'colour'"):
        client.things(colour="red")  # type: ignore[call-arg]
    with pytest.raises(TypeError, match=r"at_event\(\) needs `run`, and got None"):
        client.at_event(None, 7)  # type: ignore[arg-type]


def test_only_what_differs_from_its_default_is_sent():
    request = sent(Samples.at_event, "last", 7, exact=False)
    assert (request.method, request.path, request.query, request.body) == ("GET", "runs/last/at/7", {}, None)
    assert sent(Samples.at_event, "last", "turn:2", exact=True).query == {"exact": True}
    assert sent(Samples.change, "x", size=1).body == {}
    assert sent(Samples.change, "x", size=2).body == {"size": 2}
    assert sent(Samples.remove, "a b", forks=True).path == "things/a%20b"


def test_times_moments_lists_and_pairs_are_sent_as_the_wire_has_them():
    when = datetime(2026, 1, 31, 12, tzinfo=UTC)
    assert sent(Samples.things, since=when, tag="a").query == {"since": "2026-01-31T12:00:00+00:00", "tag": "a"}
    body = sent(Samples.make, "n", at=7, tags=("a",), arguments={"id": "W1"}, details={"a": ()}).body
    assert body == {"name": "n", "at": "7", "tags": ["a"], "argument": ["id=W1"], "details": {"a": ()}}


def test_an_id_is_made_before_the_request():
    made = Samples.make.call(None)
    assert request_of(made).body == {"name": "made"}


def test_an_upload_sends_its_bytes():
    request = sent(Samples.send, b"abc")
    assert (request.content, request.media_type) == (b"abc", "a/b")


@pytest.mark.parametrize("name", ["", "a/b", ".", "..", "\udcff"])
def test_a_name_that_no_path_can_have_is_refused(name: str):
    with pytest.raises(NoSuchPath, match="there is no run"):
        sent(Samples.at_event, name, 7)


def test_bytes_are_read_as_the_declaration_says():
    assert Samples.file.read is not None
    assert Samples.file.read(b"x", {"content-type": "a/b"}) == Content(b"x", "a/b")


# --- bounds ----------------------------------------------------------------------------------------------------------

EDGES: list[tuple[Any, Bounds, list[Any]]] = [
    (int, Bounds(ge=1, le=1_000), [0, 1, 1_000, 1_001]),
    (int | None, Bounds(ge=0), [None, -1, 0]),
    (float, Bounds(gt=0, le=86_400), [0.0, 0.5, 86_400.5]),
    (str, Bounds(min_length=1, max_length=3), ["", "abc", "abcd"]),
    (str, Bounds(min_length=2, max_length=1), ["", "abc"]),
    (str | None, Bounds(max_length=300, pattern=NO_NUL), [None, "a", "a\x00", "a" * 301]),
    (str, Bounds(pattern="^[0-9a-f]{2}$"), ["0a", "0g", "0a\n"]),
    (list[str], Bounds(max_length=2), [["a"], ["a", "b", "c"]]),
    (list[str] | None, Bounds(min_length=1), [None, []]),
    (list[int], Bounds(), [[1], ["a"]]),
    (Literal["a", "b", "c"], Bounds(), ["a", "d"]),
    (Literal["a", "b"] | None, Bounds(), [None, "d"]),
    (str, Bounds(), [7]),
    (bool, Bounds(), [True, 7]),
    (dict[str, Any], Bounds(), [{"a": 1}, 7]),
]


@pytest.mark.parametrize(("annotation", "bounds", "value"), [(a, b, v) for a, b, values in EDGES for v in values])
def test_bounds_refuse_in_pydantic_s_words(annotation: Any, bounds: Bounds, value: Any):
    names = ("ge", "gt", "le", "min_length", "max_length", "pattern")
    keywords = {name: getattr(bounds, name) for name in names if getattr(bounds, name) is not None}
    adapter: TypeAdapter[Any] = TypeAdapter(cast(Any, Annotated)[annotation, Field(**keywords)])
    try:
        adapter.validate_python(value, strict=True)
        expected = None
    except ValidationError as error:
        expected = error.errors()[0]["msg"]
    assert bounds.refusal(value, annotation) == expected


def test_a_union_takes_what_one_of_its_members_takes():
    bounds = Bounds()
    annotation = bool | int | float | Annotated[str, Bounds(min_length=1)]
    assert [bounds.refusal(value, annotation) for value in (True, 7, 0.5, "a")] == [None] * 4
    assert bounds.refusal([], annotation) is not None


def test_a_refusal_names_the_parameter_as_over_http():
    (limit,) = [each for each in DeclaredOperations.suspects.parameters if each.name == "limit"]
    assert limit.refusal(0) == "query.limit: Input should be greater than or equal to 1"


def test_types_on_the_wire_are_those_of_json():
    assert wire_type(*unpacked(At)) == str | None
    assert wire_type(*unpacked(Time)) == str | None
    assert wire_type(Sequence[str], Bounds()) == list[str]
    assert wire_type(Sequence[Mapping[str, Any]] | None, Bounds()) == list[dict[str, Any]] | None
    assert next(each for each in Samples.make.parameters if each.name == "tags").wire == list[str] | None
    assert Samples.at_event.parameters[0].default is NOTHING
    assert "agent" in RunConditions.__annotations__


def unpacked(annotated: Any) -> tuple[Any, Bounds]:
    annotation, bounds = split(annotated)
    assert bounds is not None
    return annotation, bounds


@pytest.mark.parametrize("operation", all_operations(), ids=lambda operation: operation.key)
def test_every_parameter_is_described(operation: DeclaredOperation):
    described = {each.name: each.bounds.description or each.bounds.help for each in operation.parameters}
    assert [name for name, text in described.items() if not text] == []


def test_the_summary_is_the_first_sentence():
    def declare(self: object) -> str:
        """Sizes in bytes: of v1.2
        and later. 409 when there are none."""
        ...

    assert get("/sizes", scope=READ, tag="content")(declare).summary == "Sizes in bytes: of v1.2 and later"
