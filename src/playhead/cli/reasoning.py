"""`playhead reasoning`, `explain` and `ask-again`: a model's reasoning, an explanation by another model, and the answer
of a model that is asked again."""

from pathlib import Path
from typing import Annotated, Any, cast

import typer

from playhead.cli import output
from playhead.cli.connection import ask, run_id
from playhead.cli.derived import derived_command
from playhead.cli.options import At, Json, Run
from playhead.errors import SettingInvalid
from playhead.model.canonical import parse_json
from playhead.wire.operations import Explanation, Quoted, Reasoning, StructuredReasoning
from playhead.wire.operations.reasoning import AskedAgain, ReasoningOperations

# A model may think for minutes before it begins to answer.
_EXPLAIN_SECONDS = 600.0


def _print_reasoning(answer: Reasoning) -> None:
    output.facts({"run": answer["run"], "call": answer["call"]["seq"], "captured": answer["captured"]})
    for written in answer["structured"]:
        _structured(written)
    _inferred(answer)
    if answer["explanation"] is not None:
        _explanation(answer["explanation"])


reasoning = derived_command(ReasoningOperations.reasoning, _print_reasoning)


def explain(
    ctx: typer.Context,
    run: Run,
    at: At = None,
    again: Annotated[bool, typer.Option("--again", help="Ask the model also when it was asked before.")] = False,
    json: Json = False,
) -> None:
    """Ask the model that the collector is configured with about a decision, or about the whole run."""
    with ask(ctx, _EXPLAIN_SECONDS) as client:
        answer = client.explain(run_id(client, run), at, again=again)
    output.answer_as(json, answer, _explanation)


def ask_again(
    ctx: typer.Context,
    run: Run,
    at: At = None,
    model: Annotated[str | None, typer.Option("--model", help="One of the collector's models.")] = None,
    system: Annotated[str | None, typer.Option("--system", help="Other system instructions.")] = None,
    messages: Annotated[
        Path | None,
        typer.Option(
            "--messages", help="A JSON file: a list of messages of Chat Completions, instead of the recorded."
        ),
    ] = None,
    setting: Annotated[
        list[str] | None,
        typer.Option("--setting", help="NAME=VALUE in place of a recorded setting, such as temperature=0.7; repeated."),
    ] = None,
    json: Json = False,
) -> None:
    """Ask a recorded model call again, of a model that the collector is configured with. The run stays as it is."""
    message_list = None if messages is None else _read_messages(messages)
    settings = None if not setting else dict(map(_read_setting, setting))
    with ask(ctx, _EXPLAIN_SECONDS) as client:
        answer = client.ask_again(
            run_id(client, run), at, model=model, system=system, messages=message_list, settings=settings
        )
    output.answer_as(json, answer, _print_answers)


def _print_answers(answer: AskedAgain) -> None:
    changed = ", ".join(answer["changed"]) or "nothing"
    facts = {"call": answer["seq"], "changed": changed, "model": answer["model"], "kept as": answer["ref"]}
    output.facts({**facts, **answer["usage"], "same answer": "yes" if answer["same"] else "no"})
    for name in ("recorded", "answer"):
        reply = answer[name]
        if reply is not None:
            calls = [f"{tool['name']}({output.compact(tool['arguments'])})" for tool in reply["tools"]]
            output.echo(f"\n{name}:\n" + "\n".join(filter(None, [reply["text"], *calls])))


def _read_setting(text: str) -> tuple[str, int | float | str | None]:
    """Splits `NAME=VALUE`. The value is read as JSON if it is a number or null, else as it stands."""
    name, equals, value = text.partition("=")
    if not name or not equals:
        raise SettingInvalid(f"{text!r} is no setting: give a name and a value, such as temperature=0.7")
    try:
        parsed = parse_json(value.encode())
    except ValueError:
        return name, value
    return name, parsed if parsed is None or isinstance(parsed, int | float) else value


def _read_messages(path: Path) -> list[dict[str, Any]]:
    try:
        value = parse_json(path.read_bytes())
    except (OSError, ValueError) as error:
        raise SettingInvalid(f"{path} cannot be read as JSON ({error}): give a file with a list of messages") from None
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in cast(list[object], value)):
        raise SettingInvalid(f'{path} has no list of messages: [{{"role": "user", "content": "..."}}]')
    return cast(list[dict[str, Any]], value)


def _structured(written: StructuredReasoning) -> None:
    facts: dict[str, Any] = {"written in": f"its {written['source']}, <{written['tag']}>"}
    facts |= {name: _texts(written[name]) for name in ("goal", "observation", "decision", "rest")}
    selected = written["selected_option"]
    facts |= {"selected option": selected and selected["text"], "rationale": _texts(written["rationale"])}
    output.facts(facts)
    for option in written["options"]:
        pros, cons = _texts(option["pros"]), _texts(option["cons"])
        about = "; ".join(filter(None, [_texts(option["about"]), pros and f"+ {pros}", cons and f"- {cons}"]))
        output.facts({"option": f"{option['name']['text']}: {about}" if about else option["name"]["text"]})
    for rejected in written["rejected_because"]:
        output.facts({"rejected": f"{rejected['option']['text']}, because: {_texts(rejected['because'])}"})


def _inferred(answer: Reasoning) -> None:
    inferred = answer["inferred"]
    output.facts(
        {
            "inferred": inferred["summary"],
            "pattern": inferred["pattern"],
            "goal": inferred["goal"] and inferred["goal"]["text"],
            "changed": inferred["changed"],
            "similar calls": inferred["similar_calls"],
            "same calls": inferred["same_calls"],
            "strength": inferred["strength"],
            "rule": inferred["rule"],
        }
    )


def _explanation(answer: Explanation) -> None:
    sections = {name: answer[name] for name in ("goal", "key_decisions", "mistakes", "alternatives")}
    is_read = any(sections.values())
    confidence = answer["confidence"]
    about = "the run" if answer["seq"] is None else f"the decision at {answer['seq']}"
    output.facts({"explains": f"{about}, by {answer['model']}, from {answer['shown']}"})
    if not is_read:
        output.echo(answer["text"])
        return
    for name, section in sections.items():
        for line in [section] if isinstance(section, str) else section or []:
            output.facts({name.replace("_", " "): line})
    if confidence is not None:
        output.facts({"confidence": f"{confidence:.0%}, by its own word"})


def _texts(quotes: list[Quoted]) -> str | None:
    return " / ".join(quote["text"] for quote in quotes) or None
