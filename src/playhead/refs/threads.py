"""Builds threads incrementally: of a model call's input, only messages that the previous calls did not have are hashed.

Each thread that a run has sent is remembered as a snapshot of its messages with the node ref of each. The next call's
messages are compared with the snapshots, which takes a few nanoseconds per message and notices a message that was
changed in place. Node refs of the equal prefix are reused.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from typing import Any, cast

import orjson

from playhead.kernel.guard import guarded
from playhead.model.canonical import JSON, canonical_json, parse_json
from playhead.model.json_changes import patch_between
from playhead.model.message import LARGE_PART_BYTES, Message, message_contents, plain_message_json, text_message
from playhead.model.objects.interrupts import is_meant_for_program, reraise_if_for_program
from playhead.model.objects.reading import reading
from playhead.model.ref import ContentRef
from playhead.model.thread import node_ref
from playhead.refs.intake import NewContentSink, PayloadIntake, Redact

ToMessage = Callable[[Mapping[str, Any]], Message]
FromMessage = Callable[[Message], Mapping[str, Any]]

# Parallel branches and sub-agents of one run each have a thread of their own.
_MAX_THREADS = 16
# So many refs of patches are listed in one content, so that a reader needs few steps.
_LISTED = 16


@dataclass(slots=True, eq=False)
class KnownThread:
    """The input of an earlier call: a snapshot of its messages as plain JSON values, and the thread's ref up to each.

    `exact`: for each message, the ref of how the messages up to it differ from their canonical form; None: they do not.
    `numeric`: positions of messages with numbers or booleans: Python says `1 == True == 1.0`, JSON does not. While
    another thread of the program appends, the lists may differ in length, and `messages` is the shortest.
    """

    messages: list[Any]
    nodes: list[ContentRef]
    numeric: list[int]
    exact: list[ContentRef | None]
    patches: list[ContentRef]
    """The refs in `exact`, each once."""
    generation: int = 0
    redact: Redact | None = None
    uncut_prefix: int = 0
    """How many of the first messages are known to need no cutting: see `dialect.anthropic`."""


def thread_ref(
    intake: PayloadIntake,
    messages: Sequence[Any],
    to_message: ToMessage,
    threads: list[KnownThread],
    sink: NewContentSink,
    redact: Redact | None = None,
) -> ContentRef | None:
    """Returns the ref of the thread of these provider messages; None if there are no messages.

    `threads` is the run's memory, most recent first; the thread of this call is added to it.
    """
    return sent_thread_refs(intake, messages, to_message, None, threads, sink, redact)[0]


def sent_thread_refs(
    intake: PayloadIntake,
    messages: Sequence[Any],
    to_message: ToMessage,
    from_message: FromMessage | None,
    threads: list[KnownThread],
    sink: NewContentSink,
    redact: Redact | None = None,
    uncut_prefix: int = 0,
) -> tuple[ContentRef | None, ContentRef | None]:
    """Returns the result of `thread_ref`, and the ref of how the messages differ from what `from_message` makes of
    their canonical form (None: they do not; see `_note_exact`). `uncut_prefix`: see `KnownThread`."""
    message_list: list[Any] = messages if type(messages) is list else list(messages)  # pyright: ignore[reportUnknownVariableType]
    if not message_list:
        return None, None
    thread = _prefix(message_list, threads, intake.generation, redact)
    nodes = thread.nodes
    parent = tip = nodes[-1] if nodes else None
    patches = thread.patches
    plain = _NO_ROLES if redact is not None or intake.redacts else _plain_roles(to_message, from_message)
    added: list[ContentRef] = []
    for message in message_list[len(nodes) :]:
        native, ref = _plain_text(intake, message, plain, sink)
        if ref is None:
            native, has_numbers = _snapshot(message)
            if has_numbers:
                thread.numeric.append(len(nodes))
            canonical, redacted = _canonical(native, to_message, intake, redact)
            ref = message_ref(intake, canonical, sink)
            if from_message is not None:
                _note_exact(intake, len(nodes), from_message(canonical), redacted, patches, sink)
        tip = node_ref(ref, tip)
        thread.exact.append(patches[-1] if patches else None)
        nodes.append(tip)
        thread.messages.append(native)
        added.append(ref)
    thread.uncut_prefix = uncut_prefix or thread.uncut_prefix
    _keep_thread(intake, nodes[-1], parent, added, sink)
    _remember(intake, thread, threads)
    return nodes[-1], patches[-1] if patches else None


@lru_cache(maxsize=64)
def _plain_roles(to_message: ToMessage, from_message: FromMessage | None) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The roles for which a plain text message is restored exactly as it was given: with the text as its content, and
    with a list of one text block.  Determined once per dialect."""
    plain: tuple[list[str], list[str]] = [], []
    for role, (content, roles) in product(_ROLES, zip(("text", [_block("text")]), plain, strict=True)):
        native = {"role": role, "content": content}
        canonical = to_message(native)
        if canonical == text_message(role, "text") and (from_message is None or from_message(canonical) == native):
            roles.append(role)
    return tuple(plain[0]), tuple(plain[1])


def _block(text: str) -> dict[str, str]:
    return {"type": "text", "text": text}


_ROLES = ("user", "assistant", "system")
_NO_ROLES: tuple[tuple[str, ...], tuple[str, ...]] = (), ()


def _plain_text(
    intake: PayloadIntake, message: Any, plain: tuple[tuple[str, ...], tuple[str, ...]], sink: NewContentSink
) -> tuple[dict[str, Any] | None, ContentRef | None]:
    """Returns a snapshot of a plain message, and its ref; None and None if the message is not plain."""
    kind: Any = type(message)  # pyright: ignore[reportUnknownVariableType]
    if kind is dict and len(message) == 2:
        role, content = message.get("role"), message.get("content")
        text, roles = content, plain[0]
        kind = type(content)  # pyright: ignore[reportUnknownVariableType]
        if kind is list and len(content) == 1:
            text, roles = _text_of(content[0]), plain[1]
        if type(text) is str and type(role) is str and role in roles:
            try:
                data = plain_message_json(role, text)
            except TypeError:
                return None, None
            if len(data) <= LARGE_PART_BYTES:
                snapshot = text if roles is plain[0] else [_block(text)]
                return {"role": role, "content": snapshot}, intake.content(data, JSON, sink)
    return None, None


def _text_of(block: Any) -> Any:
    """The text of a block that has nothing but a text; None for any other block."""
    kind: Any = type(block)  # pyright: ignore[reportUnknownVariableType]
    return block.get("text") if kind is dict and len(block) == 2 and block.get("type") == "text" else None


def _remember(intake: PayloadIntake, thread: KnownThread, threads: list[KnownThread]) -> None:
    """Adds the thread to the run's memory. Leaves out a thread of markers, which must not be taken for the real one
    later, and a thread from before a fork or a loss."""
    if not intake.full and thread.generation == intake.generation:
        threads.insert(0, thread)
        del threads[_MAX_THREADS:]


def _note_exact(
    intake: PayloadIntake,
    position: int,
    restored: object,
    native: object,
    patches: list[ContentRef],
    sink: NewContentSink,
) -> None:
    """Adds the ref of how the message at `position` was given, if its canonical form restores something else.

    The content is `{"parent", "place", "patch"}`: a linked list, latest first, so that a conversation's calls share it;
    `patch` is a JSON Patch of the restored message. Each 16th has `above`, too: the refs of the patches before its
    parent.
    """
    if restored == native and not _has_numbers(native):
        return
    patch = patch_between(restored, native)
    if not patch:
        return
    node: dict[str, Any] = {"parent": patches[-1] if patches else None, "place": position, "patch": patch}
    if len(patches) % _LISTED == _LISTED - 1:
        node["above"] = patches[-_LISTED:-1]
    patches.append(intake.content(canonical_json(node), JSON, sink))


def continues_conversation(messages: Sequence[Any], to_message: ToMessage, threads: Sequence[KnownThread]) -> bool:
    """Whether these are the messages of an earlier call followed by a model's answer. May raise."""
    message_list: list[Any] = messages if type(messages) is list else list(messages)  # pyright: ignore[reportUnknownVariableType]
    lengths = {len(thread.messages) for thread in tuple(threads) if _begins_with(message_list, thread)}
    return any(to_message(_native(message_list[length]))["role"] == "assistant" for length in lengths)


def _begins_with(messages: list[Any], thread: KnownThread) -> bool:
    """Whether these messages begin with the thread's messages, and are more."""
    count = len(thread.messages)
    return 0 < count < len(messages) and (_equal(messages, thread, count) or _common(messages, thread, count) == count)


def extend_thread(
    intake: PayloadIntake, messages: Sequence[Message], parent: ContentRef | None, sink: NewContentSink
) -> ContentRef | None:
    """Returns the ref of the thread with these canonical messages after `parent`; `parent` if there are no messages."""
    refs: list[ContentRef] = []
    tip = parent
    for message in messages:
        ref = message_ref(intake, message, sink)
        refs.append(ref)
        tip = node_ref(ref, tip)
    if tip is not None:
        _keep_thread(intake, tip, parent, refs, sink)
    return tip


def native_ref(
    intake: PayloadIntake, message: object, to_message: ToMessage, sink: NewContentSink, redact: Redact | None = None
) -> ContentRef:
    """Returns the ref of one provider message, the same as in a thread."""
    return message_ref(intake, _canonical(_native(message), to_message, intake, redact)[0], sink)


def message_ref(intake: PayloadIntake, message: Message, sink: NewContentSink) -> ContentRef:
    """Returns the ref of one canonical message. Large parts of it become contents of their own."""
    data = _plain_bytes(message) or canonical_json(message)
    if len(data) <= LARGE_PART_BYTES:
        return intake.content(data, JSON, sink)
    content, *parts = message_contents(message)
    for part in parts:
        intake.content(part.data, part.media_type, sink)
    return intake.content(content.data, content.media_type, sink)


def _plain_bytes(message: Message) -> bytes | None:
    """The canonical bytes of a message that has nothing but a text, such as most answers; None for any other."""
    parts = message["parts"]
    if len(message) == 2 and len(parts) == 1 and len(parts[0]) == 2 and parts[0].get("type") == "text":
        role, text = message["role"], parts[0].get("content")
        if type(text) is str and type(role) is str:
            try:
                return plain_message_json(role, text)
            except TypeError:  # it has a lone surrogate
                return None
    return None


def _keep_thread(
    intake: PayloadIntake, tip: ContentRef, parent: ContentRef | None, added: Sequence[ContentRef], sink: NewContentSink
) -> None:
    if added:
        digest, known_refs = tip.digest, intake.known
        if (
            digest not in known_refs
            and digest not in sink.new
            and not (known_refs.old and known_refs.get_from_old(digest))
        ):
            sink.thread(digest, tip, parent, added)


def _prefix(messages: list[Any], threads: list[KnownThread], generation: int, redact: Redact | None) -> KnownThread:
    """Returns a thread to append to: the longest run of leading messages that an earlier call had."""
    best: KnownThread | None = None
    most = 0
    for thread in tuple(threads):
        if thread.generation != generation or thread.redact is not redact:
            continue
        count = len(thread.messages)
        if _equal(messages, thread, count):
            if count >= most:
                try:
                    threads.remove(thread)  # the call being added takes its place
                except ValueError:  # another thread of the program was quicker
                    pass
                else:
                    return thread
        else:
            count = _common(messages, thread, count)
        if count > most:
            best, most = thread, count
    if best is None:
        return KnownThread([], [], [], [], [], generation, redact)
    numeric = [position for position in best.numeric if position < most]
    exact = best.exact[:most]
    patches = list(dict.fromkeys(ref for ref in exact if ref is not None))
    return KnownThread(best.messages[:most], best.nodes[:most], numeric, exact, patches, generation, redact)


def _equal(messages: list[Any], thread: KnownThread, count: int) -> bool:
    """Whether the first `count` messages equal the thread's first ones."""
    try:
        if messages[:count] != (thread.messages if count == len(thread.messages) else thread.messages[:count]):
            return False
    except BaseException as error:  # noqa: BLE001 - the user's code; with a block, a model call takes longer
        reraise_if_for_program(error)
        return False
    for position in thread.numeric:
        if position < count and _json(messages[position]) != _json(thread.messages[position]):
            return False
    return True


def _common(messages: list[Any], thread: KnownThread, count: int) -> int:
    """Number of equal leading messages. Messages that are not dictionaries are compared in their plain form."""
    numeric = frozenset(thread.numeric)
    for position, (message, remembered) in enumerate(zip(messages, thread.messages[:count], strict=False)):
        # Only dictionaries are compared by `==`: other objects may claim to equal anything.
        if type(message) is dict and position not in numeric:
            with guarded("compare messages", log=False):  # it is the user's code, and may raise anything
                if message == remembered:
                    continue
        if canonical_json(_native(message)) != canonical_json(remembered):
            return position
    return min(len(messages), count)


def _snapshot(message: Any) -> tuple[Any, bool]:
    """Returns the result of `_native`, and whether the message has numbers or booleans."""
    kind: Any = type(message)  # pyright: ignore[reportUnknownVariableType]
    if kind is dict and {*map(type, message), *map(type, message.values())} == _TEXT_ONLY:
        return message.copy(), False  # such as most results of tools
    native = _native(message)
    return native, _has_numbers(native)


def _native(message: Any) -> Any:
    """A snapshot of a provider's message as plain JSON values, whatever object it is."""
    if type(message) is dict:
        try:
            return _copied(message)
        except TypeError:
            pass
    arrived: list[BaseException] = []  # orjson turns any exception of `default` into a TypeError

    def plain(value: object) -> Any:
        try:
            return _plain(value)
        except BaseException as error:
            if is_meant_for_program(error):
                arrived.append(error)
            raise

    with guarded("copy a message", log=False):  # numbers beyond 64 bits, lone surrogates, foreign objects
        return orjson.loads(orjson.dumps(message, default=plain))
    if arrived:
        reraise_if_for_program(arrived[0])
    return parse_json(canonical_json(message))


def _copied(value: Any) -> Any:
    """Copies the containers and shares the texts: comparing a text with itself costs nothing, however long it is.

    Raises TypeError for anything but plain JSON values.
    """
    kind: Any = type(value)  # pyright: ignore[reportUnknownVariableType] - a cast is a call
    if kind is dict:
        copy: dict[str, Any] = {}
        for key, item in value.items():
            if type(key) is not str:
                raise TypeError
            copy[key] = item if type(item) is str else _copied(item)
        return copy
    if kind is list:
        return [item if type(item) is str else _copied(item) for item in value]
    if kind in _SCALARS:
        return value
    raise TypeError


_TEXT_ONLY: set[type] = {str}
_SCALARS = frozenset({str, int, float, bool, type(None)})


def _json(value: object) -> bytes:
    """JSON bytes; different values give different bytes."""
    with guarded("write a message as JSON", log=False):  # it is the user's code, and may raise anything
        return orjson.dumps(value)
    return canonical_json(value)


def _has_numbers(value: Any) -> bool:
    kind: Any = type(value)  # pyright: ignore[reportUnknownVariableType] - a cast is a call
    if kind is not dict and kind is not list:
        return kind is not str and value is not None
    for item in value.values() if kind is dict else value:  # noqa: SIM110 - a generator takes longer
        if type(item) is not str and _has_numbers(item):  # most are text, which is not worth a call
            return True
    return False


def _canonical(native: Any, to_message: ToMessage, intake: PayloadIntake, redact: Redact | None) -> tuple[Message, Any]:
    """Returns the canonical form of a message, and the message after the redaction hooks."""
    if redact is not None or intake.redacts:
        native = intake.redacted(native, redact)
    with guarded("read a message", log=False):  # it is the user's code, and may raise anything
        return to_message(native), native
    return {"role": "user", "parts": [{"type": "unparsed", "content": native}]}, native


def _plain(value: object) -> Any:
    """Returns a provider's own message object, which users put among messages, as a dictionary. Raises TypeError for
    other objects."""
    dump = getattr(cast(Any, type(value)), "model_dump", None)
    if dump is not None:
        with reading():
            return dump(value, mode="json", exclude_unset=True)
    if isinstance(value, Mapping):
        return dict(cast(Mapping[str, Any], value))
    raise TypeError(type(value).__name__)
