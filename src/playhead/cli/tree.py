"""`playhead tree`: a run as a tree of its calls or, with `--decisions`, of its decisions.

In the tree of calls, each call is below its caller, so that parallel branches are apart. The tree of decisions has also
the options that the run did not take, and the outcomes of runs that decided differently.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer
from rich.console import Console
from rich.text import Text
from rich.tree import Tree

from playhead.cli import output
from playhead.cli.connection import ask, run_id
from playhead.cli.options import Json, Limit, Run, first_rows, note_if_more
from playhead.wire.operations import RecordedEvent, TraceSpan
from playhead.wire.operations.why import DecisionTree, RunOutcome, TreeBranch, TreeNode

if TYPE_CHECKING:
    from playhead.client.operations import BlockingClient


_SHORT, _LONG = 80, 10_000
_INPUT_NAMES = ("arguments", "input")
_OUTPUT_NAMES = ("result", "output")
_CALL_STYLES = {"agent": "bold magenta", "llm": "green", "tool": "blue", "error": "red", "open": "yellow"}
_EVENT_KINDS = (
    *("run_started", "run_completed", "message_added", "tool_called", "tool_completed"),
    *("step_started", "step_completed", "llm_called", "llm_completed"),
)


@dataclass(slots=True)
class CallValues:
    """Inputs, outputs and (of model calls) answers of a call, as short texts."""

    inputs: str = ""
    outputs: str = ""
    answers: list[str] = field(default_factory=list[str])


def tree(
    ctx: typer.Context,
    run: Run,
    values: Annotated[
        bool, typer.Option("--values", help=f"Values up to {_LONG:,} characters each, instead of {_SHORT}.")
    ] = False,
    limit: Limit = 1_000,
    decisions: Annotated[
        bool, typer.Option("--decisions", help="The decisions, what was left, and the runs that went another way.")
    ] = False,
    json: Json = False,
) -> None:
    """Show the calls of a run as a tree: agents, model calls and tools, with what went in, came out, or went wrong.

    With --decisions: the path of decisions that it took, the options that it left, and as branches its forks, the runs
    above it and the runs with the same context, each with its outcome.
    """
    with ask(ctx) as client:
        full_id = run_id(client, run)
        if decisions:
            tree = read_decision_tree(client, full_id, limit)
            note_if_more(ctx, "decisions", limit, is_more=tree["next_cursor"] is not None)
            output.answer_as(json, tree, lambda tree: _print(render_decision_tree(tree)))
            return
        spans = first_rows(ctx, "spans", client.spans(full_id, limit=limit + 1), limit)
        most = _LONG if values else _SHORT
        events = [] if json else list(client.events(full_id, preview=most, kinds=_EVENT_KINDS))
    output.answer_as(json, spans, lambda spans: _print(render_tree(spans, values_by_span(events))))


def _print(tree: Tree) -> None:
    Console(soft_wrap=not output.is_terminal(), highlight=False).print(tree)


def values_by_span(events: Iterable[RecordedEvent]) -> Mapping[str | None, CallValues]:
    """Returns the values in the previews of the events, by span."""
    by_span: defaultdict[str | None, CallValues] = defaultdict(CallValues)
    for event in events:
        values, previews = by_span[event["span"]], event.get("previews", {})
        values.inputs = next((previews[name] for name in _INPUT_NAMES if name in previews), values.inputs)
        values.outputs = next((previews[name] for name in _OUTPUT_NAMES if name in previews), values.outputs)
        if event["kind"] == "message_added" and event["data"].get("source") == "output" and "message" in previews:
            values.answers.append(previews["message"])
    return by_span


def render_tree(spans: Sequence[TraceSpan], values: Mapping[str | None, CallValues]) -> Tree:
    """Builds the tree to print. `spans` are in tree order, each after its parent."""
    root = Tree("", hide_root=True, guide_style="dim")
    above: list[Tree] = [root]
    for span in spans:
        del above[span["depth"] + 1 :]
        above.append(above[-1].add(Text("\n").join(_call_lines(span, values.get(span["span"]) or CallValues()))))
    return root


def _call_lines(span: TraceSpan, values: CallValues) -> Iterator[Text]:
    state = "open" if span["end"] is None else span["status"]
    name = Text(output.visible(span["name"]), style=_CALL_STYLES.get(span["kind"] or "", ""))
    yield Text.assemble(name, ("  " + _duration_and_tokens(span), _CALL_STYLES.get(state, "dim")))
    if state == "error":
        yield Text(f"! {_one_line(span['status_message']) or 'failed'}", style=_CALL_STYLES["error"])
    if values.inputs:
        yield Text.assemble(("in   ", "dim"), _one_line(values.inputs))
    for answer in values.answers:
        yield Text.assemble(("says ", "dim"), _one_line(answer))
    if values.outputs and not values.answers:
        yield Text.assemble(("out  ", "dim"), _one_line(values.outputs))


def _duration_and_tokens(span: TraceSpan) -> str:
    """Returns the duration of a call, and the tokens of a model call."""
    usage = [span["attributes"].get(f"gen_ai.usage.{which}_tokens") for which in ("input", "output")]
    tokens = f"{usage[0]} → {usage[1]} tokens" if None not in usage else None
    took = "still open" if span["end"] is None else output.seconds(span["elapsed_ms"])
    return ", ".join(filter(None, [took, tokens]))


def _one_line(text: str) -> str:
    return output.visible(" ".join(text.split()))


# --- the tree of decisions --------------------------------------------------------------------------------------------

_DECISIONS_PER_PAGE = 1_000


def read_decision_tree(client: "BlockingClient", run: str, limit: int) -> DecisionTree:
    """Reads the tree, with up to `limit` decisions."""
    answer = client.tree(run, limit=min(limit, _DECISIONS_PER_PAGE))
    while answer["next_cursor"] and len(answer["items"]) < limit:
        page = client.tree(
            run, limit=min(limit - len(answer["items"]), _DECISIONS_PER_PAGE), cursor=answer["next_cursor"]
        )
        page["items"] = [*answer["items"], *page["items"]]
        answer = page
    return answer


def render_decision_tree(answer: DecisionTree) -> Tree:
    """Builds the tree to print: a line for each decision, and below it options not taken and runs that decided
    differently."""
    root = Tree(_run_title(answer["name"] or answer["run"], answer["outcome"]), guide_style="dim")
    for node in answer["items"]:
        _add_branches(root.add(_decision_line(node)), node["branches"])
    _add_branches(root, answer["branches"])
    if answer["more_branches"]:
        root.add(Text("... and more runs than are shown", style="dim"))
    return root


def _decision_line(node: TreeNode) -> Text:
    text = Text.assemble(
        (f"{node['seq']} ", "dim"), (node["kind"], "bold"), "  ", _choice_text(node["chosen"]), overflow="fold"
    )
    if node["untaken"]:
        names = ", ".join(option["name"] for option in node["untaken"])
        text.append(f"\nleft  {output.shortened(output.visible(names))}", style="dim")
    return text


def _add_branches(tree: Tree, branches: Iterable[TreeBranch]) -> None:
    for branch in branches:
        how = "chose the same" if branch["same"] else _choice_text(branch["chosen"])
        named = f"{branch['kind']} {branch['run']} from {branch['seq']}"
        tree.add(Text.assemble(_run_title(named, branch["outcome"]), "\n", how))


def _run_title(name: str, outcome: RunOutcome) -> Text:
    status = outcome["status"]
    scores = "".join(f", {score['name']} {score['value']}" for score in outcome["scores"])
    coloured = (status, output.STATUS_COLOURS.get(status, ""))
    return Text.assemble(output.visible(name), "  ", coloured, output.visible(scores))


def _choice_text(chosen: Any) -> str:
    """Returns a choice on one line: the tools with their arguments, or the text."""
    value = cast(object, chosen)
    answer = cast(dict[str, Any], value) if isinstance(value, dict) else dict[str, Any]()
    if answer.get("tools"):
        value = "; ".join(f"{tool['name']}({output.compact(tool['arguments'])})" for tool in answer["tools"])
    elif answer.keys() == {"tools", "text"}:
        value = answer["text"]
    text = value if isinstance(value, str) else "" if value is None else output.compact(cast(object, value))
    return output.shortened(output.visible(text))
