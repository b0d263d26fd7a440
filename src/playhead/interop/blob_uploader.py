"""OpenInference's blob uploader: images, audio and files go to the journal; spans get a URL of the collector.

Entry point `playhead` of the group `openinference_blob_uploader`, chosen with `OPENINFERENCE_BLOB_UPLOADER=playhead`.
"""

from typing import Any, Final

from playhead.calls import runtime
from playhead.interop.readable_spans import RecordedContent, is_recorded
from playhead.kernel.guard import guarded
from playhead.recording import current_settings


class PlayheadBlobUploader:
    """Records binary content in the journal.  Never raises, and never waits for the network."""

    def upload(self, blob: Any) -> str | None:
        """Records the data of a blob, and returns the URL under which the collector will have them. None: the data are
        not recorded, or there is no collector."""
        with guarded("record a blob"):
            to = runtime.current.recorder or runtime.recorder()
            if to is None or not to.content:
                return None
            contents = RecordedContent(to)
            ref = contents.content(blob.data)
            contents.keep()
            endpoint = current_settings().endpoint
            return f"{endpoint}/api/v1/content/{ref}" if endpoint is not None and is_recorded(ref) else None
        return None

    def shutdown(self, timeout_sec: float = 10.0) -> None:
        """Does nothing: the data are already in the journal."""


_UPLOADER: Final = PlayheadBlobUploader()


def blob_uploader() -> PlayheadBlobUploader:
    """Returns the uploader of this process."""
    return _UPLOADER
