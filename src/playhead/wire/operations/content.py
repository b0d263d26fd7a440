"""Answers with stored content, by ref; and about instrumentation scopes with content that no dialect could read."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, NotRequired, TypedDict

from playhead.model.canonical import Content
from playhead.model.content_kinds import ContentKind
from playhead.model.names import PACK_LOOKED_AT_HEADER
from playhead.wire.operations.bounds import RUN_ID, Bounds, Cursor, Ref, Refs
from playhead.wire.operations.operation import READ, as_content, download, get, post
from playhead.wire.pack import PACK, Pack, decode_pack


class ContentValue(TypedDict):
    """A content of `size` bytes: `value` if it is JSON or text, else `base64`. `masked`: rules of the project have
    masked a part of it, so that its bytes are not those of its ref; absent if not."""

    media_type: str
    size: int
    value: NotRequired[Any]
    base64: NotRequired[str]
    masked: NotRequired[bool]


class ContentPlace(TypedDict):
    """An event that names a content.  `use`: the name of the ref, or `message` for a message that a call was given."""

    seq: int
    kind: str
    use: str
    time: str


class ContentRun(TypedDict):
    """A run that had a content; `calls` of its model calls were given it.  `places` has the first 20 events."""

    run: str
    name: str | None
    status: str
    started: str
    calls: int
    places: list[ContentPlace]
    more_places: bool


class ContentAbout(TypedDict):
    """What a content is, and who had it.

    `kind` is `message`, `thread`, `json`, `text` or `bytes`; `role` that of a message.  `content_kind` is what it is in
    runs (null: a thread, or not known yet), `tokens` an estimate (null for a thread).  `tier` says how much is kept of
    it.  `first_stored` and `last_named` are days (UTC): when it was first stored, and when something that arrived last
    named it; null: not known.  `calls` model calls of `runs`
    runs were given it, which makes `bytes_sent` bytes (`size` times `calls`).  `first_seen` and `last_seen`: when the
    first and the last of these runs began.  `items` is a page of the runs.  `complete` is false if there are so many
    runs that are not indexed yet (they go on, or ended only just) that not all of them were read, and if the project
    has cold or archived runs, which are in no index.  `masked`: rules of the project have masked a part of it.
    """

    ref: str
    kind: str
    role: str | None
    content_kind: ContentKind | None
    media_type: str
    size: int
    tokens: int | None
    tier: str | None
    first_stored: str | None
    last_named: str | None
    masked: bool
    first_seen: str | None
    last_seen: str | None
    runs: int
    calls: int
    bytes_sent: int
    complete: bool
    items: list[ContentRun]
    next_cursor: str | None


class ThreadMessages(TypedDict):
    """The messages of a thread, in order.  A message that is not stored is null, and its ref is in `missing`. `masked`:
    refs of those of which rules of the project have masked a part."""

    thread: str
    messages: list[dict[str, Any] | None]
    missing: list[str]
    masked: list[str]


class ScopeCount(TypedDict):
    """An instrumentation scope, and its number of spans and log events with content that no dialect could read."""

    scope: str
    count: int


class Scopes(TypedDict):
    """Scopes with content that no dialect could read, since the collector started; highest counts first.

    There are at most 51: after the first 50 scopes, all others are counted as `other`.
    """

    not_understood: list[ScopeCount]


# --- operations ------------------------------------------------------------------------------------------------------

View = Annotated[
    Literal["messages"] | None,
    Bounds(name="as", description="`messages`: return a thread as its list of messages."),
]
RunsAtMost = Annotated[int, Bounds(ge=1, le=100, description="Maximum number of runs in the answer.")]
OneRun = Annotated[
    str | None,
    Bounds(
        pattern=RUN_ID,
        description="Count this run alone, by its whole id: of a fork, also the events that it shares with its parent.",
    ),
]


def read_pack(body: bytes, headers: Mapping[str, str]) -> tuple[Pack, int]:
    """Reads a pack, and how many of the requested refs (from the first) it covers: the others are requested again."""
    return decode_pack(body), int(headers[PACK_LOOKED_AT_HEADER])


class ContentOperations:
    """Stored content, by ref."""

    @download(
        "/content/{ref}",
        scope=READ,
        tag="content",
        media_type="*/*",
        read=as_content,
        answer_text="The bytes, with their media type; JSON for `as=messages`.",
        also_answers={
            206: "The requested range.",
            304: "The caller has this content already (`If-None-Match`).",
        },
        also_refuses={410: "The content was forgotten.", 416: "The range lies outside the content."},
    )
    def content(self, ref: Ref, *, view: View = None) -> Content:
        """Bytes of a content, with its media type. A thread's ref gives its last node, or with `as=messages` its list.

        The bytes of a ref never change, so caches may keep them. `Range`, `If-Range` and `If-None-Match` are supported.
        Response headers forbid browsers to execute the content.
        """
        ...

    @get("/content/{ref}/about", scope=READ, tag="content")
    def about(self, ref: Ref, *, limit: RunsAtMost = 20, cursor: Cursor = None, run: OneRun = None) -> ContentAbout:
        """What a content is, how large, when it was first and last seen, and which runs and calls had it.

        `calls` counts model calls that were given it, so that `bytes_sent` is its size times that number.  With `run`,
        only that run counts, with up to 1,000 of its events that had the content instead of 20; `complete` is then
        false if its contexts are too many to be read.
        """
        ...

    @post("/content/batch", scope=READ, tag="content", also_refuses={413: ""}, route_name="batch")
    def contents(self, refs: Refs) -> dict[str, ContentValue]:
        """Several contents by ref. Refs that are not stored are absent from the answer."""
        ...

    @download(
        "/content/pack",
        method="POST",
        scope=READ,
        tag="content",
        media_type=PACK,
        read=read_pack,
        answer_text="The pack.",
        route_name="pack",
    )
    def content_pack(self, refs: Refs) -> tuple[Pack, int]:
        """Contents and threads by ref, as one pack: the body that `POST /v1/content` takes.

        A thread comes with all messages before it, by their refs. What is not stored is left out. When the pack is
        full, the rest of the refs is not looked at: the header `playhead-refs-looked-at` says how many were.
        """
        ...


class ScopeOperations:
    """Instrumentation scopes with content that no dialect could read."""

    @get("/scopes", scope=READ, tag="senders")
    def scopes(self) -> Scopes:
        """Instrumentation scopes with content that no dialect could read, since the collector started; most first."""
        ...
