"""`playhead tree --decisions`: the decisions of a run, the options that it did not take, and the outcomes of runs that
decided differently."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, cast

import typer
from rich.console import Console
from rich.text import Text
from rich.tree import Tree

from playhead.cli import output
from playhead.cli.options import note_more
from playhead.wire.operations.why import DecisionTree, RunOutcome, TreeBranch, TreeNode

if TYPE_CHECKING:
    from playhead.client import Client

_PAGE = 1_000
_STYLES = {"completed": "green", "failed": "red", "cancelled": "yellow", "running": "yellow", "lost": "red"}


def read_decision_tree(client: "Client", run: str, limit: int) -> DecisionTree:
    """Reads the tree, with up to `limit` decisions."""
    answer = client.tree(run, limit=min(limit, _PAGE))
    while answer["next_cursor"] and len(answer["items"]) < limit:
        page = client.tree(run, limit=min(limit - len(answer["items"]), _PAGE), cursor=answer["next_cursor"])
        page["items"] = [*answer["items"], *page["items"]]
        answer = page
    return answer


def show_decision_tree(ctx: typer.Context, answer: DecisionTree, limit: int, *, json: bool) -> None:
    """Prints the tree."""
    note_more(ctx, "decisions", limit, is_more=answer["next_cursor"] is not None)
    if json:
        output.as_json(answer)
        return
    Console(soft_wrap=not output.is_terminal(), highlight=False).print(render_decision_tree(answer))


def render_decision_tree(answer: DecisionTree) -> Tree:
    """Builds the tree to print: a line for each decision, and below it options not taken and runs that decided
    differently."""
    root = Tree(_titled(answer["name"] or answer["run"], answer["outcome"]), guide_style="dim")
    for node in answer["items"]:
        _add_branches(root.add(_decision(node)), node["branches"])
    _add_branches(root, answer["branches"])
    if answer["more_branches"]:
        root.add(Text("... and more runs than are shown", style="dim"))
    return root


def _decision(node: TreeNode) -> Text:
    text = Text.assemble(
        (f"{node['seq']} ", "dim"), (node["kind"], "bold"), "  ", _value(node["chosen"]), overflow="fold"
    )
    if node["untaken"]:
        names = ", ".join(option["name"] for option in node["untaken"])
        text.append(f"\nleft  {output.shortened(output.visible(names))}", style="dim")
    return text


def _add_branches(tree: Tree, branches: Iterable[TreeBranch]) -> None:
    for branch in branches:
        how = "chose the same" if branch["same"] else _value(branch["chosen"])
        named = f"{branch['kind']} {branch['run']} from {branch['seq']}"
        tree.add(Text.assemble(_titled(named, branch["outcome"]), "\n", how))


def _titled(name: str, outcome: RunOutcome) -> Text:
    status = outcome["status"]
    scores = "".join(f", {score['name']} {score['value']}" for score in outcome["scores"])
    return Text.assemble(output.visible(name), "  ", (status, _STYLES.get(status, "")), output.visible(scores))


def _value(chosen: Any) -> str:
    """Returns a choice on one line: the tools with their arguments, or the text."""
    value = cast(object, chosen)
    answer = cast(dict[str, Any], value) if isinstance(value, dict) else dict[str, Any]()
    if answer.get("tools"):
        value = "; ".join(f"{tool['name']}({output.compact(tool['arguments'])})" for tool in answer["tools"])
    elif answer.keys() == {"tools", "text"}:
        value = answer["text"]
    text = value if isinstance(value, str) else "" if value is None else output.compact(cast(object, value))
    return output.shortened(output.visible(text))
