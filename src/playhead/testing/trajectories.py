"""script → [trajectories] → answers. Recorded runs to play again: a request gets the answer that followed the same
messages.

Many recorded runs begin alike, so a client names the run; the position in the run is the number of messages in the
request.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson

from playhead.model.json_value import is_list, is_object, objects_of
from playhead.testing.answers import Recorded
from playhead.testing.request import TRAJECTORY_HEADER, InvalidRequest, JsonObject, check_messages, text_of

_TOOLS = "-tools"
# Keys under which an entry of a file may have its messages.
_MESSAGE_KEYS = ("traj", "messages")


class UnreadableTrajectories(ValueError):
    """A file has no valid recorded runs; the message names the file, the place and the reason."""


class NoSuchTurn(Exception):
    """The record has no answer to that request: `status` is 404 for an unknown run, 409 for messages that differ from
    the recorded ones."""

    def __init__(self, status: int, sentence: str) -> None:
        super().__init__(sentence)
        self.status = status


@dataclass(frozen=True, slots=True)
class Trajectory:
    """One recorded run. `record`: the fields of its entry in the file, without the messages."""

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
        """Headers with which a client gets its answers from this run, for example as `extra_headers`."""
        return {TRAJECTORY_HEADER: self.key}

    @property
    def turns(self) -> tuple[int, ...]:
        """The positions of the model's answers: the input of the answer at `position` is `messages[:position]`.

        An assistant message at the beginning of a run answers nothing, and is left out.
        """
        return tuple(
            index for index, message in enumerate(self.messages) if index > 0 and message["role"] == "assistant"
        )

    def answer(self, messages: list[JsonObject]) -> Recorded:
        """Returns the recorded answer to exactly these messages; raises NoSuchTurn."""
        position = len(messages)
        for index, (message, recorded) in enumerate(zip(messages, self.messages, strict=False)):
            # Mostly, clients send the messages back exactly as they got them.
            if message != recorded and _differing(message, recorded):
                raise NoSuchTurn(409, f"Message {index} is not the one in {self.key}. {_difference(message, recorded)}")
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

        Other JSON is ignored. Tool definitions of a file are in `NAME-tools.json` in the same folder, if the file's
        name begins with NAME; else in the only `*-tools.json` that there is. A file or run that cannot be read raises
        UnreadableTrajectories; with `skipped`, this is called with the message instead, and the others are read. Raises
        UnreadableTrajectories if there are no runs.
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
        """Returns the recorded answer of that run to exactly these messages; raises NoSuchTurn."""
        if run := self._runs.get(key):
            return run.answer(messages)
        keys = list(self._runs)
        available = f"keys go from {keys[0]} to {keys[-1]}" if keys else "none is loaded"
        raise NoSuchTurn(404, f"There is no recorded run {key!r}; {available}.")


def _raise(sentence: str) -> None:
    raise UnreadableTrajectories(sentence)


def _read(path: Path, tell: Callable[[str], None]) -> list[object]:
    """Returns a list with the file's JSON; an empty list if it could not be read, after a call of `tell`."""
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


def _entries(value: object) -> Sequence[object]:
    """Returns the runs in a file's JSON; none if it is something else."""
    if is_object(value):
        return [value] if _holds_messages(value) else []
    entries = value if is_list(value) else []
    if any(_holds_messages(entry) for entry in entries):
        return entries
    return [entries] if _holds_messages(entries) else []


def _holds_messages(entry: object) -> bool:
    """Whether a value is a run: an object with messages, or a list of objects of which one has a role."""
    if is_object(entry):
        return any(entry.get(key) for key in _MESSAGE_KEYS)
    items = entry if is_list(entry) else []
    return any(is_object(item) and "role" in item for item in items)


def _messages_of(entry: object, index: int) -> tuple[list[JsonObject], JsonObject]:
    """Returns the messages of a run, and the other fields of its entry. Raises InvalidRequest."""
    if is_list(entry):
        return check_messages(entry, f"[{index}]"), {}
    if not is_object(entry):
        raise InvalidRequest(f"'[{index}]' must be an object")
    fields = entry
    key = next((key for key in _MESSAGE_KEYS if key in fields), _MESSAGE_KEYS[0])
    messages = check_messages(fields.get(key), f"[{index}].{key}")
    return messages, {name: item for name, item in fields.items() if name != key}


def _objects(value: object, stem: str) -> list[JsonObject]:
    if not is_list(value):
        raise UnreadableTrajectories(f"{stem}.json: should be a list of objects")
    for index, item in enumerate(value):
        if not is_object(item):
            raise UnreadableTrajectories(f"{stem}.json: '[{index}]' must be an object")
    return objects_of(value)


def _tools_for(stem: str, tools: dict[str, list[JsonObject]]) -> list[JsonObject]:
    named = [name for name in tools if stem.startswith(name.removesuffix(_TOOLS))]
    if named:
        return tools[max(named, key=len)]
    return next(iter(tools.values())) if len(tools) == 1 else []


def _differing(message: JsonObject, recorded: JsonObject) -> list[str]:
    """Returns the keys in which two messages differ.

    Client libraries add and leave out keys (null content, `refusal`, a tool result's `name`), so only the keys in
    `_SPOKEN` must agree in any case; any other key only if both messages have it.
    """
    keys = sorted(_SPOKEN | {key for key in message if key in recorded and message[key] and recorded[key]})
    return [key for key in keys if _spoken(message, key) != _spoken(recorded, key)]


_SPOKEN = {"role", "content", "tool_calls", "function_call", "tool_call_id"}


def _spoken(message: JsonObject, key: str) -> object:
    value: Any = message.get(key)
    if key == "content" and is_list(value) and all(_is_text(part) for part in value):
        return text_of(message)
    if key == "tool_calls" and value:
        # Calls that were made from the chunks of a stream still have `index`.
        calls = objects_of(value)
        return [{"type": "function", **{name: call[name] for name in call if name != "index"}} for call in calls]
    # Empty and absent values mean the same: libraries replace one by the other.
    return value or None


def _is_text(part: object) -> bool:
    return is_object(part) and part.get("type") == "text"


def _difference(message: JsonObject, recorded: JsonObject) -> str:
    key = _differing(message, recorded)[0]
    return f"Its {key} was {str(recorded.get(key))[:200]!r}, and is {str(message.get(key))[:200]!r} in the request."
