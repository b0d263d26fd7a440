"""Contents of this process's threads, so that each turn does not read all messages again."""

from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from playhead.conversations.folder import ThreadContents
from playhead.conversations.heads import ConversationHead
from playhead.conversations.keeping import conversation_store
from playhead.conversations.messages import refuse_masked
from playhead.kernel.forks import ForkSafeLock
from playhead.model.canonical import Content
from playhead.model.ref import ContentRef

_MOST_BYTES: Final = 32 * 2**20


class RecentContents:
    """The contents that were used last, up to 32 MiB. Safe for threads."""

    def __init__(self, most_bytes: int = _MOST_BYTES) -> None:
        self._most_bytes = most_bytes
        self._lock = ForkSafeLock()
        self._data: OrderedDict[ContentRef, bytes] = OrderedDict()
        self._size = 0

    def add(self, contents: Iterable[Content]) -> None:
        """Keeps contents."""
        with self._lock:
            for content in contents:
                ref = content.ref.plain
                if ref not in self._data:
                    self._size += len(content.data)
                self._data[ref] = content.data
                self._data.move_to_end(ref)
            while self._size > self._most_bytes:
                self._size -= len(self._data.popitem(last=False)[1])

    def read(self, refs: Sequence[ContentRef], of: ConversationHead | None) -> Mapping[ContentRef, bytes]:
        """Returns contents of the conversation `of`, without those that are not stored. Raises CollectorUnreachable,
        MaskedContent."""
        with self._lock:
            found = {ref: data for ref in refs if (data := self._data.get(ref)) is not None}
        missing = [ref for ref in dict.fromkeys(refs) if ref not in found]
        if missing:
            known = ThreadContents()
            conversation_store().fetch(missing, known, of)
            read = {ref: known.contents[ref] for ref in missing if ref in known.contents}
            for ref, content in read.items():
                refuse_masked(content, f"a value of this thread ({ref})")
            self.add(read.values())
            found |= {ref: content.data for ref, content in read.items()}
        return found
