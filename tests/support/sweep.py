"""Every question of the query API about every event of a run: what is asked follows from what the run is.

`RULES` has one rule for each operation that the collector's OpenAPI document names.  A rule gives the questions with
the status that each must have, so that a refusal where there is an answer counts as much as a failure.  An operation
without a rule, and a rule without an operation, end the sweep before it begins.
"""

import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import httpx

PREFIX = "/api/v1"
_REFS_AT_ONCE = 100
_DELETING = {"delete /runs/{run}", "post /gc"}


@dataclass(frozen=True, slots=True)
class Question:
    """A request, the status that its answer must have, and what its body must be besides."""

    path: str
    params: dict[str, Any] = field(default_factory=dict[str, Any])
    status: int = 200
    holds: Callable[[Any], bool] | None = None
    body: Any = None


@dataclass(slots=True)
class Swept:
    """A run as its lists tell of it: from these follows what can be asked."""

    run: str
    others: Sequence[str]
    events: list[dict[str, Any]]
    decisions: list[dict[str, Any]]
    one_in: int = 1
    arguments: set[int] = field(default_factory=set[int])
    """Seqs of the tool calls that a model requested: each is the decision for its arguments, which the tree has."""
    calls: list[int] = field(init=False)
    refs: set[str] = field(init=False)
    seqs: list[int] = field(init=False)
    _by_seq: dict[int, dict[str, Any]] = field(init=False)

    def __post_init__(self) -> None:
        self._by_seq = {event["seq"]: event for event in self.events}
        self.seqs = list(self._by_seq)
        self.calls = [event["seq"] for event in self.events if event["kind"] == "llm_called"]
        self.refs = {ref for event in self.events for ref in event["refs"].values()}

    @property
    def some(self) -> list[int]:
        """The events that are asked about where an answer is not about an event by itself."""
        return self.seqs[:: self.one_in]

    def spans_of(self, *kinds: str) -> set[str]:
        return {event["span"] for event in self.events if event["kind"] in kinds and event.get("span")}

    def at(self, seq: int) -> dict[str, Any]:
        return self._by_seq[seq]

    def path(self, question: str = "") -> str:
        return f"{PREFIX}/runs/{self.run}{question}"


@dataclass(slots=True)
class Findings:
    """What was asked, how long the answers took in ms, and which were not what they must be."""

    times: defaultdict[str, list[float]] = field(default_factory=lambda: defaultdict[str, list[float]](list))
    wrong: list[str] = field(default_factory=list[str])

    @property
    def asked(self) -> int:
        return sum(map(len, self.times.values()))


Rule = Callable[[Swept], Iterable[Question]]


def forgotten(description: dict[str, Any]) -> set[str]:
    """Operations without a rule, and rules without an operation.  Those that delete have tests of their own."""
    paths = ((path, methods) for path, methods in description["paths"].items() if path.startswith(PREFIX))
    operations = {f"{method} {path.removeprefix(PREFIX)}" for path, methods in paths for method in methods}
    return (operations - _DELETING) ^ RULES.keys()


def sweep(
    http: httpx.Client,
    runs: Sequence[str],
    *,
    one_in: int = 1,
    tell: Callable[[int, Findings], None] = lambda done, found: None,
) -> Findings:
    """Asks everything about these runs.  Raises AssertionError when the rules are not those of the interface.

    `one_in`: of the events that a question has nothing to say about, of pages, and of other ways to ask the same, so
    many are left out that one in this number is asked.
    """
    description = http.get(f"{PREFIX}/openapi.json").raise_for_status().json()
    assert not forgotten(description), f"the sweep has no rule, or one too many, for {sorted(forgotten(description))}"
    found, refs = Findings(), set[str]()
    for number, run in enumerate(runs):
        events, decisions = _all(http, f"{PREFIX}/runs/{run}/events"), _all(http, f"{PREFIX}/runs/{run}/decisions")
        nodes = _all(http, f"{PREFIX}/runs/{run}/tree")
        arguments = {node["seq"] for node in nodes} - {decision["seq"] for decision in decisions}
        swept = Swept(run, [runs[number - 1]], events, decisions, one_in, arguments)
        swept.refs -= refs
        refs |= swept.refs  # contents are shared by runs: each is asked for once
        for operation, rule in RULES.items():
            for question in rule(swept):
                _ask(http, operation, question, found)
        tell(number + 1, found)
    return found


def _all(http: httpx.Client, path: str) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = []
    asked: dict[str, Any] = {"limit": 1000}
    while asked.get("cursor", "") is not None:
        page = http.get(path, params=asked).raise_for_status().json()
        items += page["items"]
        asked["cursor"] = page["next_cursor"]
    return items


def _ask(http: httpx.Client, operation: str, question: Question, found: Findings) -> None:
    method = operation.partition(" ")[0].upper()
    began = time.perf_counter()
    answer = http.request(method, question.path, params=question.params, json=question.body)
    found.times[operation].append((time.perf_counter() - began) * 1e3)
    where = f"{method} {answer.request.url.raw_path.decode()}"
    if answer.status_code != question.status:
        found.wrong.append(f"{where}: {answer.status_code} instead of {question.status}: {answer.text[:300]}")
    elif answer.status_code == 200 and question.holds is not None and not question.holds(answer.json()):
        found.wrong.append(f"{where}: the answer is not about what was asked: {answer.text[:300]}")


# --- rules ------------------------------------------------------------------------------------------------------------


def _page(question: str, kinds: Sequence[str] | None = None, **params: Any) -> Rule:
    """A list: whole, and pages from its events on; `kinds` are the events that its items stand at."""

    def rule(run: Swept) -> Iterator[Question]:
        counted = None if kinds is None else sum(event["kind"] in kinds for event in run.events)
        whole = {"limit": 1000} | params

        def is_whole(body: Any) -> bool:
            return counted is None or len(body["items"]) == counted

        yield Question(run.path(question), whole, holds=is_whole)
        for seq in run.some:
            yield Question(run.path(question), {"limit": 2, "cursor": str(seq)}, holds=lambda body: _within(body, 2))

    return rule


def _within(body: Any, limit: int) -> bool:
    return len(body["items"]) <= limit


def _turns(run: Swept) -> Iterator[Question]:
    """Each model call is one line, in order; pages begin anywhere."""

    def holds(body: Any) -> bool:
        return [row["seq"] for row in body["items"] if row["kind"] == "turn"] == run.calls or body["next_cursor"]

    yield Question(run.path("/turns"), {"limit": 1000}, holds=holds)
    for seq in run.some:
        yield Question(run.path("/turns"), {"limit": 2, "after": seq}, holds=lambda body: _within(body, 2))
        yield Question(run.path("/turns"), {"limit": 2, "cursor": str(seq)}, holds=lambda body: _within(body, 2))


def _turn(run: Swept) -> Iterator[Question]:
    for number, call in enumerate(run.calls, 1):
        asked = {"why": number % max(1, run.one_in) == 1 % max(1, run.one_in)}
        yield Question(run.path(f"/turns/{number}"), asked, holds=lambda body, call=call: body["seq"] == call)
    yield Question(run.path(f"/turns/{len(run.calls) + 1}"), status=404)


def _verdict(run: Swept) -> Iterator[Question]:
    yield Question(run.path("/verdict"), holds=lambda body: body["turns"] == len(run.calls))


def _search_run(run: Swept) -> Iterator[Question]:
    for text in ("e", "转账", "\\", "İ"):
        yield Question(run.path("/search"), {"q": text, "limit": 1000}, holds=lambda body: _within(body, 1000))
    for seq in run.some:
        asked = {"q": "a", "limit": 2, "cursor": f"{seq}.0"}
        yield Question(run.path("/search"), asked, holds=lambda body: _within(body, 2))


def _each(question: str, is_answered: Callable[[Swept, int], bool]) -> Rule:
    """A question about each event, by its seq and by its id; 404 where the run has nothing to say."""

    def rule(run: Swept) -> Iterator[Question]:
        some = {*run.some}
        for seq in run.seqs:
            status = 200 if is_answered(run, seq) else 404
            ways = [str(seq)] if status == 200 or seq in some else []
            ways += [run.at(seq)["id"]] if seq in some else []
            for at in ways:
                yield Question(run.path(f"/{question}/{at}"), status=status, holds=lambda body: body["run"] == run.run)

    return rule


def _after_a_call(run: Swept, seq: int) -> bool:
    """The event is part of a model call, or one has begun."""
    kinds = ("context_compressed", "message_added", "llm_completed", "llm_failed")
    here = run.at(seq)
    within = here["kind"] in kinds and here.get("span") in run.spans_of("llm_called")
    return within or any(call <= seq for call in run.calls)


def _in_a_tool(run: Swept, seq: int) -> bool:
    return run.at(seq).get("span") in run.spans_of("tool_called")


def _in_a_decision(run: Swept, seq: int) -> bool:
    seqs = run.arguments | {decision["seq"] for decision in run.decisions}
    return run.at(seq).get("span") in {run.at(each).get("span") for each in seqs} - {None} or seq in seqs


def _state(run: Swept) -> Iterator[Question]:
    for seq in run.seqs:
        about = {"at": seq, "hydrate": seq % 5 == 0}
        yield Question(run.path("/state"), about, holds=lambda body, seq=seq: body["seq"] == seq)


def _context(run: Swept) -> Iterator[Question]:
    for seq in {*run.some, *run.calls}:
        status = 200 if _after_a_call(run, seq) else 404
        yield Question(run.path("/context"), {"at": seq}, status, lambda body: body["run"] == run.run)
    for call in run.calls:
        yield Question(
            run.path("/context"),
            {"at": call, "form": "openai"},
            holds=lambda body, call=call: (
                body["call"]["seq"] == call and len(body["messages"]) == body["call"]["messages"]
            ),
        )


def _diff(run: Swept) -> Iterator[Question]:
    for one, other in (*pairwise(run.calls), *((b, a) for a, b in pairwise(run.calls)), *pairwise(run.some)):
        yield Question(
            run.path("/diff"),
            {"from": one, "to": other},
            holds=lambda body, at=(one, other): (body["from"]["seq"], body["to"]["seq"]) == at,
        )


def _messages(run: Swept) -> Iterator[Question]:
    added = [event["seq"] for event in run.events if event["kind"] == "message_added"]

    def is_upto(body: Any, seq: int) -> bool:
        return [item["seq"] for item in body["items"]] == [each for each in added if each <= seq]

    for seq in {*run.some, run.seqs[-1]}:
        about = {"at": seq, "limit": 1000, "hydrate": seq % 5 == 0}
        yield Question(run.path("/messages"), about, holds=lambda body, seq=seq: is_upto(body, seq))


def _causes(run: Swept) -> Iterator[Question]:
    ways = ("both", "back", "forward")
    for seq in run.seqs:
        asked = {"direction": ways[seq % 3]}
        yield Question(run.path(f"/causes/{seq}"), asked, holds=lambda body, seq=seq: body["seq"] == seq)


def _decision(run: Swept) -> Iterator[Question]:
    yield from _each("decisions", _in_a_decision)(run)
    for decision in run.decisions:
        yield Question(
            run.path(f"/decisions/{decision['seq']}"),
            holds=lambda body, seq=decision["seq"]: body["seq"] == seq and body["context"] is not None,
        )


def _tree(run: Swept) -> Iterator[Question]:
    """Its path is the list of decisions, and the arguments of each tool call that a model requested."""
    path = [decision["seq"] for decision in run.decisions]

    def holds(body: Any) -> bool:
        return [node["seq"] for node in body["items"] if node["seq"] not in run.arguments] == path

    yield Question(run.path("/tree"), {"limit": 1000}, holds=holds)
    for seq in run.some:
        yield Question(run.path("/tree"), {"limit": 2, "cursor": str(seq)}, holds=lambda body: _within(body, 2))


def _counted(question: str) -> Rule:
    """A list whose cursor counts what was shown."""

    def rule(run: Swept) -> Iterator[Question]:
        yield Question(run.path(question), {"limit": 1000}, holds=lambda body: body["next_cursor"] is None)
        for shown in run.some:
            asked = {"limit": 3, "cursor": str(shown)}
            yield Question(run.path(question), asked, holds=lambda body: _within(body, 3))

    return rule


def _spans_by_id(run: Swept) -> Iterator[Question]:
    known = sorted({event["span"] for event in run.events if event["span"] is not None})
    for span in known[:3]:
        yield Question(run.path(f"/spans/{span}"), holds=lambda body, span=span: body["span"] == span)
    yield Question(run.path(f"/spans/{'0' * 16}"), status=404)


_ACROSS = (
    "statistics", "transitions", "patterns", "differences", "compression", "compression-timing", "failures",
    "divergences", "contents",
)  # fmt: skip


def _across(question: str) -> Rule:
    """A question about all runs, asked again for each run: by its tools, and with the sweep's own score."""

    def rule(run: Swept) -> Iterator[Question]:
        tools = sorted({event["data"]["name"] for event in run.events if event["kind"] == "tool_called"})
        for more in ({"outcome": "swept"}, *({"tool": tool[:300]} for tool in tools[:1])):
            asked = {"runs": 20, **more}
            yield Question(f"{PREFIX}/analytics/{question}", asked, holds=lambda body: "population" in body)

    return rule


def _score(run: Swept) -> Iterator[Question]:
    posted = {"name": "swept", "value": True, "id": "sweep"}
    for _ in range(2):
        yield Question(run.path("/scores"), body=posted, holds=lambda body: body["value"] is True and body["latest"])
    yield Question(run.path("/scores"), body=posted | {"value": 2}, status=409)


def _note(run: Swept) -> Iterator[Question]:
    posted = {"text": "swept", "label": "sweep", "at": str(run.seqs[-1]), "id": "sweep"}
    for _ in range(2):
        yield Question(run.path("/notes"), body=posted, holds=lambda body: body["seq"] == run.seqs[-1])
    yield Question(run.path("/notes"), body=posted | {"text": "another"}, status=409)
    yield Question(run.path("/notes"), body={"author": "nobody"}, status=422)


def _delete_note(run: Swept) -> Iterator[Question]:
    for deleted in (True, False):
        yield Question(run.path("/notes/sweep"), holds=lambda body, deleted=deleted: body["deleted"] is deleted)


def _save_conversation(run: Swept) -> Iterator[Question]:
    path, posted = f"{PREFIX}/conversation", {"id": "swept/chat", "scope": "sweep", "head": None, "revision": 0}
    for _ in range(2):
        yield Question(path, body=posted, holds=lambda body: body["revision"] == 1 and body["messages"] == 0)
    yield Question(path, body=posted | {"revision": 7}, status=409)
    yield Question(path, body=posted | {"revision": 1, "head": f"sha256:{'0' * 64}"}, status=422)
    yield Question(path, body=posted | {"parent_id": "swept/chat"}, status=422)


def _conversation(run: Swept) -> Iterator[Question]:
    path, named = f"{PREFIX}/conversation", {"id": "swept/chat", "scope": "sweep"}
    yield Question(path, named, holds=lambda body: body["revision"] == 1 and body["parent"] is None)
    yield Question(path, named | {"scope": ""}, status=404)


def _delete_conversation(run: Swept) -> Iterator[Question]:
    named = {"id": "swept/chat", "scope": "sweep"}
    for deleted in (True, False):
        yield Question(f"{PREFIX}/conversation", named, holds=lambda body, deleted=deleted: body["deleted"] is deleted)


def _overview(run: Swept) -> Iterator[Question]:
    for conditions in ({}, {"outcome": ["failed", "unknown"], "steps": 5}, {"score": "swept"}):
        yield Question(
            f"{PREFIX}/runs/overview",
            conditions,
            holds=lambda body: body["runs"] == sum(step["runs"] for step in body["histogram"]["steps"]),
        )


def _has_score(body: Any) -> bool:
    return "sweep" in {score["id"] for score in body["items"]} and body["next_cursor"] is None


def _test_file(run: Swept) -> Iterator[Question]:
    """A run becomes a test if its model can be played."""
    yield Question(run.path("/test"), status=200 if run.calls else 409)


def _bundle(run: Swept) -> Iterator[Question]:
    yield Question(run.path("/bundle"))


def _lease(holder: str, status: int, **more: Any) -> Question:
    return Question("", status=status, body={"holder": holder, "seconds": 60} | more)


def _take(run: Swept) -> Iterator[Question]:
    for holder, status in (("sweep", 200), ("another", 409)):
        yield replace(_lease(holder, status, process=holder), path=run.path("/lease"))


def _promise(run: Swept) -> dict[str, Any]:
    return {"id": run.run[::-1], "kind": "approval", "key": "k", "run": run.run, "action": "delete"}


def _is_open(body: Any) -> bool:
    return body["action"] == "delete"


def _expired(run: Swept) -> Iterator[Question]:
    yield Question(f"{PREFIX}/promises", body={**_promise(run), "id": "f" * 32}, holds=_is_open)
    for _ in range(2):
        path = f"{PREFIX}/promises/{'f' * 32}/expire"
        yield Question(path, body={}, holds=lambda body: body["answer"]["outcome"] == "expired")


def _answered(run: Swept) -> Iterator[Question]:
    path = f"{PREFIX}/promises/{_promise(run)['id']}"
    yield Question(f"{PREFIX}/promises", body=_promise(run), holds=_is_open)
    yield Question(path, body={"outcome": "answered"}, status=400)
    yield Question(path, body={"outcome": "approved", "by": "eve"}, holds=lambda body: body["answer"]["by"] == "eve")
    yield Question(path, body={"outcome": "denied"}, status=409)


def _renew(run: Swept) -> Iterator[Question]:
    for holder, status in (("sweep", 200), ("another", 409)):
        yield replace(_lease(holder, status), path=run.path("/lease"))


def _release(run: Swept) -> Iterator[Question]:
    # Released twice is released: the last holder stays known.
    for holder, is_released in (("another", False), ("sweep", True), ("sweep", True)):
        released = {"released": is_released}
        yield Question(run.path("/lease"), {"holder": holder}, holds=lambda body, released=released: body == released)


def _keys(run: Swept) -> Iterator[Question]:
    """None is made here: from then on every question would need one."""
    yield Question(f"{PREFIX}/keys", holds=lambda body: body == {"items": []})


def _new_key(run: Swept) -> Iterator[Question]:
    yield Question(f"{PREFIX}/keys", status=409, body={"name": "ci", "scopes": ["read"]})
    yield Question(f"{PREFIX}/keys", status=422, body={"name": "ci", "scopes": []})


def _revoke(run: Swept) -> Iterator[Question]:
    yield Question(f"{PREFIX}/keys/1", status=404)


def _destinations(run: Swept) -> Iterator[Question]:
    """None is configured."""
    yield Question(f"{PREFIX}/forward", holds=lambda body: body == {"items": []})


def _dead_letters(run: Swept) -> Iterator[Question]:
    empty = {"items": [], "next_after": None}
    yield Question(f"{PREFIX}/forward/langfuse/dead", holds=lambda body: body == empty)


def _drop_forward(run: Swept) -> Iterator[Question]:
    yield Question(f"{PREFIX}/forward/langfuse/drop", body={}, holds=lambda body: body == {"entries": 0})


def _retry_forward(run: Swept) -> Iterator[Question]:
    yield Question(f"{PREFIX}/forward/langfuse/retry", status=404, body={"entries": [1]})


def _backfill(run: Swept) -> Iterator[Question]:
    yield Question(f"{PREFIX}/forward/langfuse/backfill", status=404, body={"run": run.run})


def _explain(run: Swept) -> Iterator[Question]:
    """Nobody has set a model that could."""
    yield Question(run.path("/explain"), status=409, body={})
    for decision in run.decisions:
        yield Question(run.path("/explain"), status=409, body={"seq": decision["seq"]})


def _ask_again(run: Swept) -> Iterator[Question]:
    """Nobody has set a model that could be asked."""
    yield Question(run.path("/ask-again"), status=409, body={})
    for call in run.calls:
        yield Question(run.path("/ask-again"), status=409, body={"at": call, "system": "Be brief."})


def _suspects(run: Swept) -> Iterator[Question]:
    """Alone, and beside another run."""

    def holds(body: Any) -> bool:
        return body["run"] == run.run and body["steps"] == len(run.calls) and len(body["items"]) <= body["total"]

    yield Question(run.path("/suspects"), {"limit": 1000}, holds=holds)
    yield Question(run.path("/suspects"), {"sibling": run.others[0], "limit": 1}, holds=holds)


def _judge(run: Swept) -> Iterator[Question]:
    """Nobody has set a model that could."""
    yield Question(run.path("/compressions/1/judge"), status=409, body={})


def _rerank(run: Swept) -> Iterator[Question]:
    """Nobody has set a model that could."""
    yield Question(run.path("/suspects/rerank"), status=409, body={})


def _runs(run: Swept) -> Iterator[Question]:
    yield Question(
        f"{PREFIX}/runs", {"limit": 1000}, holds=lambda body: run.run in {each["run"] for each in body["items"]}
    )
    yield Question(f"{PREFIX}/runs", {"text": "a", "status": "completed", "limit": 5})


def _search_decisions(run: Swept) -> Iterator[Question]:
    """Sealed runs are found, and a run is sealed some time after it has ended."""
    path = f"{PREFIX}/search/decisions"
    yield Question(path, {"limit": 3}, holds=lambda body: _within(body, 3))
    for event in run.events:
        if event["kind"] == "tool_called":
            yield Question(path, {"tool": event["data"]["name"], "result": "ok"})
    yield Question(path, {"argument": "no sign"}, status=400)


def _search_content(run: Swept) -> Iterator[Question]:
    path = f"{PREFIX}/search/content"
    yield Question(path, {"q": "order", "limit": 3}, holds=lambda body: _within(body, 3))
    for ref in sorted(run.refs)[:3]:
        yield Question(path, {"ref": ref}, holds=lambda body: len(body["items"]) <= 1)
    yield Question(path, {"q": "-order"}, status=400)
    yield Question(path, status=400)


def _content(run: Swept) -> Iterator[Question]:
    """A thread's ref names its last node."""
    for ref in sorted(run.refs):
        yield Question(f"{PREFIX}/content/{ref}")


def _about(run: Swept) -> Iterator[Question]:
    """The run is among those that had the content; some refs of events name what is no content of a call."""
    for ref in sorted(run.refs)[:: run.one_in]:
        yield Question(
            f"{PREFIX}/content/{ref}/about",
            {"limit": 100},
            holds=lambda body: body["runs"] >= len(body["items"]) and body["complete"],
        )


def _batch(run: Swept) -> Iterator[Question]:
    refs = sorted(run.refs)
    for start in range(0, len(refs), _REFS_AT_ONCE):
        some = refs[start : start + _REFS_AT_ONCE]
        yield Question(
            f"{PREFIX}/content/batch", body={"refs": some}, holds=lambda body, some=some: body.keys() == {*some}
        )


def _pack(run: Swept) -> Iterator[Question]:
    """The same refs as one pack, which is no JSON."""
    refs = sorted(run.refs)
    for start in range(0, len(refs), _REFS_AT_ONCE):
        yield Question(f"{PREFIX}/content/pack", body={"refs": refs[start : start + _REFS_AT_ONCE]})
    yield Question(f"{PREFIX}/content/pack", status=400, body={"refs": ["no ref"]})


def _otlp(run: Swept) -> Iterator[Question]:
    yield Question(run.path("/otlp"), {"limit": 16}, holds=lambda body: len(body["items"]) > 0)
    yield Question(run.path("/otlp"), {"limit": 1, "cursor": str(2**62)}, holds=lambda body: body["items"] == [])


def _compare(run: Swept) -> Iterator[Question]:
    """With itself, and with others, both ways."""

    def holds(body: Any, one: str, other: str) -> bool:
        return (body["a"]["run"], body["b"]["run"]) == (one, other) and (one != other or body["parts"] is None)

    for one, other in ((run.run, run.run), *((run.run, each) for each in run.others), (run.others[0], run.run)):
        path = f"{PREFIX}/runs/{one}/compare/{other}"
        yield Question(path, holds=lambda body, one=one, other=other: holds(body, one, other))
        yield Question(path, {"limit": 1, "cursor": "1"}, holds=lambda body: _within(body, 1))


_COMPRESSED = ("context_compressed",)
RULES: dict[str, Rule] = {
    "get /runs/overview": _overview,
    "post /runs/{run}/notes": _note,
    "get /runs/{run}/notes": lambda run: [
        Question(run.path("/notes"), holds=lambda body: [note["id"] for note in body["items"]] == ["sweep"])
    ],
    "delete /runs/{run}/notes/{note}": _delete_note,
    "post /views": lambda run: [
        Question(f"{PREFIX}/views", body={"name": "swept", "query": f"q={run.run}"}, holds=lambda body: body["query"])
    ],
    "get /views": lambda run: [
        Question(f"{PREFIX}/views", holds=lambda body: [view["name"] for view in body["items"]] == ["swept"])
    ],
    "delete /views/{name}": lambda run: [Question(f"{PREFIX}/views/swept", holds=lambda body: body["deleted"] is True)],
    "put /conversation": _save_conversation,
    "get /conversation": _conversation,
    "get /conversations": lambda run: [
        Question(
            f"{PREFIX}/conversations",
            {"scope": "sweep"},
            holds=lambda body: [each["id"] for each in body["items"]] == ["swept/chat"],
        )
    ],
    "delete /conversation": _delete_conversation,
    "get /project": lambda run: [Question(f"{PREFIX}/project", holds=lambda body: body["refused"] is None)],
    # Nobody is the operator where there is no key for one.
    "get /project/retention": lambda run: [
        Question(f"{PREFIX}/project/retention", holds=lambda body: body["tiers"]["hot"] > 0)
    ],
    "put /project/retention": lambda run: [
        Question(f"{PREFIX}/project/retention", body={"policy": {"default": {"hot": "9y"}}}),
        Question(f"{PREFIX}/project/retention", body={"policy": {"default": {"hot": 9}}}, status=422),
    ],
    "get /retention/plan": lambda run: [Question(f"{PREFIX}/retention/plan", holds=lambda body: body["items"] == [])],
    "post /retention": lambda run: [Question(f"{PREFIX}/retention", holds=lambda body: body["complete"] is True)],
    "get /retention/log": lambda run: [Question(f"{PREFIX}/retention/log", holds=lambda body: body["items"] == [])],
    "put /runs/{run}/pin": lambda run: [
        Question(run.path("/pin"), body={"reason": "swept"}, holds=lambda body: body["reason"] == "swept")
    ],
    "delete /runs/{run}/pin": lambda run: [
        Question(run.path("/pin"), holds=lambda body: body["unpinned"] is True),
        Question(run.path("/pin"), holds=lambda body: body["unpinned"] is False),
    ],
    "get /projects": lambda run: [Question(f"{PREFIX}/projects", status=409)],
    "post /projects": lambda run: [Question(f"{PREFIX}/projects", status=409, body={"name": "swept"})],
    "put /projects/{name}": lambda run: [Question(f"{PREFIX}/projects/swept", status=409, body={})],
    "delete /projects/{name}": lambda run: [Question(f"{PREFIX}/projects/swept", status=409)],
    "delete /projects/{name}/key": lambda run: [Question(f"{PREFIX}/projects/swept/key", status=409)],
    "get /keys": _keys,
    "post /keys": _new_key,
    "delete /keys/{number}": _revoke,
    "get /forward": _destinations,
    "get /forward/{destination}/dead": _dead_letters,
    "post /forward/{destination}/retry": _retry_forward,
    "post /forward/{destination}/drop": _drop_forward,
    "post /forward/{destination}/backfill": _backfill,
    "get /storage": lambda run: [
        Question(f"{PREFIX}/storage", holds=lambda body: body["project"]["contents"]["value"] > 0)
    ],
    "get /session": lambda run: [Question(f"{PREFIX}/session", holds=lambda body: body["needs_key"] is False)],
    "delete /session": lambda run: [Question(f"{PREFIX}/session", holds=lambda body: body["scopes"] == [])],
    "post /session": lambda run: [Question(f"{PREFIX}/session", status=401, body={"key": "none"})],
    "get /scopes": lambda run: [Question(f"{PREFIX}/scopes", holds=lambda body: body.keys() == {"not_understood"})],
    "get /runs": _runs,
    "get /runs/{run}": lambda run: [Question(run.path(), holds=lambda body: body["events"] == len(run.events))],
    "get /runs/{run}/events": _page("/events"),
    **{f"get /analytics/{each}": _across(each) for each in _ACROSS},
    "post /runs/{run}/scores": _score,
    "get /runs/{run}/scores": lambda swept: [Question(swept.path("/scores"), {"limit": 1000}, holds=_has_score)],
    "get /scores": lambda swept: [Question(f"{PREFIX}/scores", {"run": swept.run, "limit": 1000}, holds=_has_score)],
    "get /runs/{run}/turns": _turns,
    "get /runs/{run}/turns/{turn}": _turn,
    "get /runs/{run}/verdict": _verdict,
    "get /runs/{run}/search": _search_run,
    "get /runs/{run}/state": _state,
    "get /runs/{run}/context": _context,
    "get /runs/{run}/diff": _diff,
    "get /runs/{a}/compare/{b}": _compare,
    "get /runs/{run}/messages": _messages,
    "get /runs/{run}/llm-calls": _page("/llm-calls", ("llm_called",), hydrate=True),
    "get /runs/{run}/tool-calls": _page("/tool-calls", ("tool_called",), hydrate=True),
    "get /runs/{run}/spans": _counted("/spans"),
    "get /runs/{run}/spans/{span}": _spans_by_id,
    "get /runs/{run}/logs": _counted("/logs"),
    "get /runs/{run}/checkpoints": _page("/checkpoints", ("checkpoint_created",), preview=100),
    "get /runs/stream": lambda swept: [Question(f"{PREFIX}/runs/stream", {"since": "2000-01-01", "limit": 1})],
    "post /runs/{run}/lease": _take,
    "put /runs/{run}/lease": _renew,
    "delete /runs/{run}/lease": _release,
    "get /promises": lambda swept: [
        Question(f"{PREFIX}/promises", {"state": "all"}, holds=lambda body: "items" in body)
    ],
    "post /promises": lambda swept: [Question(f"{PREFIX}/promises", body=_promise(swept), holds=_is_open)],
    "get /promises/{promise}": lambda swept: [Question(f"{PREFIX}/promises/{'0' * 32}", status=404)],
    "post /promises/{promise}": _answered,
    "post /promises/{promise}/expire": _expired,
    "get /runs/{run}/decisions": _page("/decisions"),
    "get /runs/{run}/decisions/{seq}": _decision,
    "get /runs/{run}/tree": _tree,
    "get /runs/{run}/attributions": _page("/attributions", ("tool_called",)),
    "get /runs/{run}/attributions/{seq}": _each("attributions", _in_a_tool),
    "get /runs/{run}/causes/{seq}": _causes,
    "get /runs/{run}/reasoning/{seq}": _each("reasoning", _after_a_call),
    "get /runs/{run}/tokens": _page("/tokens", split=True),
    "get /runs/{run}/waterfall": _page("/waterfall", ("llm_called", "tool_called", "step_started")),
    "get /runs/{run}/compressions": _page("/compressions", _COMPRESSED),
    "get /runs/{run}/compressions/{seq}": _each("compressions", lambda run, seq: run.at(seq)["kind"] in _COMPRESSED),
    "post /runs/{run}/compressions/{seq}/judge": _judge,
    "post /runs/{run}/explain": _explain,
    "post /runs/{run}/ask-again": _ask_again,
    "get /runs/{run}/suspects": _suspects,
    "post /runs/{run}/suspects/rerank": _rerank,
    "get /search/decisions": _search_decisions,
    "get /search/content": _search_content,
    "get /content/{ref}": _content,
    "get /content/{ref}/about": _about,
    "post /content/batch": _batch,
    "post /content/pack": _pack,
    "get /runs/{run}/otlp": _otlp,
    "get /runs/{run}/test": _test_file,
    "get /runs/{run}/bundle": _bundle,
}
