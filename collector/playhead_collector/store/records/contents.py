"""[store]: contents and threads of recorded runs, and the explanations of contents."""

from collections.abc import Mapping, Sequence

from playhead.model.canonical import Content, content_as
from playhead.model.ref import ContentRef
from playhead.model.thread import THREAD, ThreadNode, node_bytes
from playhead_collector.errors import ContentCorrupt, ContentMissing
from playhead_collector.store.ports.contents import ContentFacts, ThreadNodes
from playhead_collector.store.records.ports import RecordSource
from playhead_collector.store.records.projecting import RecordProjector, chain_to


class RecordContents:
    """Implements `ports.contents.ContentReader` over a source of records.  Explanations are kept in memory."""

    def __init__(self, source: RecordSource, projector: RecordProjector) -> None:
        self._source = source
        self._projector = projector
        self._explanations: dict[tuple[ContentRef, str], Content] = {}

    async def get(self, project_id: int, ref: ContentRef) -> Content:
        contents = await self.get_many(project_id, [ref])
        if ref not in contents:
            raise ContentMissing(f"nothing is stored under {ref}")
        return contents[ref]

    async def get_many(self, project_id: int, refs: Sequence[ContentRef]) -> Mapping[ContentRef, Content]:
        stored: dict[ContentRef, Content] = dict(self._source.contents(refs))
        stored |= {content.ref: content for content in self._explanations.values()}
        rest = {ref.plain for ref in refs} - stored.keys()
        for ref, node in self._source.last_nodes(rest).items():
            stored[ref] = Content(node_bytes(node.message, node.parent), THREAD)
        for ref, content in stored.items():
            if content.ref.digest != ref.digest:
                raise ContentCorrupt(f"what is stored under {ref} has another digest: record the run again")
        return {
            ref: content_as(stored_content, ref)
            for ref in refs
            if (stored_content := stored.get(ref.plain)) is not None
        }

    async def facts(self, project_id: int, ref: ContentRef) -> ContentFacts | None:
        return None

    async def refs_with_prefix(self, project_id: int, prefixes: Sequence[bytes]) -> Sequence[ContentRef]:
        return self._source.refs_with_prefix(prefixes)

    async def is_awaited(self, project_id: int, ref: ContentRef) -> bool:
        return any(ref.plain in projection.awaited for projection in self._projector.projections())

    async def thread(self, project_id: int, ref: ContentRef) -> Sequence[ThreadNode]:
        nodes = self._source.nodes([ref])
        if ref.plain not in nodes:
            raise ContentMissing(f"no thread is stored under {ref}")
        return chain_to(nodes, ref.plain)

    async def threads(self, project_id: int, refs: Sequence[ContentRef], most_nodes: int) -> ThreadNodes:
        nodes: dict[ContentRef, ThreadNode] = {}
        unread: set[ContentRef] = set()
        for ref in refs:
            more = self._source.nodes([ref])
            if nodes and len(nodes.keys() | more.keys()) > most_nodes:
                unread.add(ref)
            else:
                nodes |= more
        return ThreadNodes(nodes, unread)

    async def explanation(self, project_id: int, subject: ContentRef, model: str | None = None) -> ContentRef | None:
        texts = self._explanations.items()
        return next((text.ref for (of, by), text in texts if of == subject and model in (None, by)), None)

    async def keep_explanation(
        self, project_id: int, run: str, subject: ContentRef, model: str, explanation: Content
    ) -> None:
        self._explanations[subject, model] = explanation
