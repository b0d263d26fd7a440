"""script → [trajectories] → answers.  Recorded runs, to be played again: the answer that followed the same messages.

Many recorded runs start alike, so a client names the run it plays; the place in it is the number of its messages.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import orjson

from playhead.testing.answers import Recorded
from playhead.testing.request import TRAJECTORY_HEADER, InvalidRequest, JsonObject, check_messages, text_of

_TOOLS = "-tools"
# Under which key an entry of a file may have its messages.
_MESSAGE_KEYS = ("traj", "messages")


class UnreadableTrajectories(ValueError):
    """A file does not hold recorded runs as it should; the message names the file, the place and the reason."""


class NoSuchTurn(Exception):
    """The record has no answer to that request: `status` is 404 for an unknown run, 409 for messages not its own."""

    def __init__(self, status: int, sentence: str) -> None:
        super().__init__(sentence)
        self.status = status


@dataclass(frozen=True, slots=True)
class Trajectory:
    """One recorded run. `record` has what the file says about it beside the messages."""

    file: str
    index: int
    messages: tuple[JsonObject, ...]
    tools: tuple[JsonObject, ...] = ()
    record: JsonObject = field(default_factory=dict[str, Any])

    @property
    def key(self) -> str:
        return f"{self.file}/{self.index}"

    @property
    def headers(self) -> dict[str, str]:
        """What a client sends to be answered from this run, for instance as `extra_headers`."""
        return {TRAJECTORY_HEADER: self.key}

    @property
    def turns(self) -> tuple[int, ...]:
        """The positions of the model's answers: the input of the answer at `position` is `messages[:position]`.

        An assistant message that a run begins with answers nothing: no model call can be made of it.
        """
        return tuple(at for at, message in enumerate(self.messages) if at > 0 and message["role"] == "assistant")

    def answer(self, messages: list[JsonObject]) -> Recorded:
        """The recorded answer to exactly these messages; raises NoSuchTurn."""
        position = len(messages)
        for index, (given, recorded) in enumerate(zip(messages, self.messages, strict=False)):
            # A client that sends back what it was sent sends the same object on the wire, most of the time.
            if given != recorded and _differing(given, recorded):
                raise NoSuchTurn(409, f"Message {index} is not the one in {self.key}. {_difference(given, recorded)}")
        if position >= len(self.messages):
            raise NoSuchTurn(409, f"{self.key} ends after {len(self.messages)} messages; the request has {position}.")
        role = self.messages[position]["role"]
        if role != "assistant":
            raise NoSuchTurn(409, f"In {self.key} message {position} comes from {role}; it is not the model's turn.")
        return Recorded(self.messages[position])


class Trajectories:
    """Recorded runs by key. Iterates in the order of files and of runs in them."""

    def __init__(self, runs: Iterable[Trajectory] = ()) -> None:
        self._runs = {run.key: run for run in runs}

    @classmethod
    def load(cls, folder: Path | str, skipped: Callable[[str], None] | None = None) -> Trajectories:
        """Reads the recorded runs of every `*.json`: one list of messages, or objects with `traj` or `messages`.

        Other JSON is passed over.  Tool definitions come from the `*-tools.json` beside it whose name the file's name
        starts with, else from the only one there is.  A file or run that cannot be read raises UnreadableTrajectories;
        with `skipped`, that is called with the sentence and the others are read.  No runs at all always raises.
        """
        tell = skipped or _raise
        read = {path.stem: value for path in sorted(Path(folder).glob("*.json")) for value in _read(path, tell)}
        tools = {stem: _objects(value, stem) for stem, value in read.items() if stem.endswith(_TOOLS)}
        runs = [run for stem in read if stem not in tools for run in _runs_in(read[stem], stem, tools, tell)]
        if not runs:
            raise UnreadableTrajectories(
                f"{folder} has no recorded runs; expected *.json files, each a list of messages or of objects with "
                "'traj' or 'messages'"
            )
        return cls(runs)

    def __iter__(self) -> Iterator[Trajectory]:
        return iter(self._runs.values())

    def __len__(self) -> int:
        return len(self._runs)

    def __getitem__(self, key: str) -> Trajectory:
        return self._runs[key]

    def answer(self, key: str, messages: list[JsonObject]) -> Recorded:
        """The recorded answer of that run to exactly these messages; raises NoSuchTurn."""
        if run := self._runs.get(key):
            return run.answer(messages)
        keys = list(self._runs)
        known = f"keys go from {keys[0]} to {keys[-1]}" if keys else "none is loaded"
        raise NoSuchTurn(404, f"There is no recorded run {key!r}; {known}.")


def _raise(sentence: str) -> None:
    raise UnreadableTrajectories(sentence)


def _read(path: Path, tell: Callable[[str], None]) -> list[object]:
    """The file's JSON as the only item; no item when it could not be read, and that was told."""
    try:
        return [orjson.loads(path.read_bytes())]
    except (OSError, orjson.JSONDecodeError) as error:
        tell(f"{path}: {error}")
        return []


def _runs_in(
    value: object, stem: str, tools: dict[str, list[JsonObject]], tell: Callable[[str], None]
) -> Iterator[Trajectory]:
    definitions = tuple(_tools_for(stem, tools))
    for index, entry in enumerate(_entries(value)):
        try:
            messages, rest = _messages_of(entry, index)
        except InvalidRequest as error:
            tell(f"{stem}.json: {error}")
        else:
            yield Trajectory(stem, index, tuple(messages), definitions, rest)


def _entries(value: object) -> list[object]:
    """The runs that a file's JSON holds; none when it is something else."""
    if isinstance(value, dict):
        return [cast("object", value)] if _holds_messages(cast("object", value)) else []
    entries = cast("list[object]", value) if isinstance(value, list) else []
    if any(_holds_messages(entry) for entry in entries):
        return entries
    return [entries] if _holds_messages(entries) else []


def _holds_messages(entry: object) -> bool:
    """Whether this is meant as a run: an object with messages, or a list of objects of which one has a role."""
    if isinstance(entry, dict):
        return any(cast("JsonObject", entry).get(key) for key in _MESSAGE_KEYS)
    items = cast("list[object]", entry) if isinstance(entry, list) else []
    return any(isinstance(item, dict) and "role" in item for item in items)


def _messages_of(entry: object, index: int) -> tuple[list[JsonObject], JsonObject]:
    """The messages of a run, and what the file says beside them.  Raises BadRequest."""
    if isinstance(entry, list):
        return check_messages(cast("object", entry), f"[{index}]"), {}
    if not isinstance(entry, dict):
        raise InvalidRequest(f"'[{index}]' must be an object")
    fields = cast("JsonObject", entry)
    key = next((key for key in _MESSAGE_KEYS if key in fields), _MESSAGE_KEYS[0])
    messages = check_messages(fields.get(key), f"[{index}].{key}")
    return messages, {name: item for name, item in fields.items() if name != key}


def _objects(value: object, stem: str) -> list[JsonObject]:
    if not isinstance(value, list):
        raise UnreadableTrajectories(f"{stem}.json: should be a list of objects")
    for index, item in enumerate(cast("list[object]", value)):
        if not isinstance(item, dict):
            raise UnreadableTrajectories(f"{stem}.json: '[{index}]' must be an object")
    return cast("list[JsonObject]", value)


def _tools_for(stem: str, tools: dict[str, list[JsonObject]]) -> list[JsonObject]:
    named = [name for name in tools if stem.startswith(name.removesuffix(_TOOLS))]
    if named:
        return tools[max(named, key=len)]
    return next(iter(tools.values())) if len(tools) == 1 else []


def _differing(given: JsonObject, recorded: JsonObject) -> list[str]:
    """The keys in which two messages say different things.

    Client libraries add and leave out keys (null content, `refusal`, a tool result's `name`), so what carries the
    conversation must agree, and any other key only where both sides have it.
    """
    keys = sorted(_SPOKEN | {key for key in given if key in recorded and given[key] and recorded[key]})
    return [key for key in keys if _spoken(given, key) != _spoken(recorded, key)]


_SPOKEN = {"role", "content", "tool_calls", "function_call", "tool_call_id"}


def _spoken(message: JsonObject, key: str) -> object:
    value: Any = message.get(key)
    if key == "content" and isinstance(value, list) and all(_is_text(part) for part in cast("list[object]", value)):
        return text_of(message)
    if key == "tool_calls" and value:
        # `index` is left on calls that were put together from a stream.
        calls = cast("list[JsonObject]", value)
        return [{"type": "function", **{name: call[name] for name in call if name != "index"}} for call in calls]
    # Empty and absent say the same, and libraries turn one into the other.
    return cast("object", value or None)


def _is_text(part: object) -> bool:
    return isinstance(part, dict) and cast("JsonObject", part).get("type") == "text"


def _difference(given: JsonObject, recorded: JsonObject) -> str:
    key = _differing(given, recorded)[0]
    return f"Its {key} was {str(recorded.get(key))[:200]!r}, and is {str(given.get(key))[:200]!r} in the request."
