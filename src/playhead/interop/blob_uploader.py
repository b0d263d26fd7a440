"""OpenInference's blob uploader: images, audio and files go to the journal; spans get an address of the collector.

Entry point `playhead` of the group `openinference_blob_uploader`, chosen with `OPENINFERENCE_BLOB_UPLOADER=playhead`.
"""

from typing import Any, Final

from playhead.api import runtime
from playhead.api.guard import swallowed
from playhead.interop.recorded_content import RecordedContent, is_recorded
from playhead.model.objects.interrupts import let_through
from playhead.recording import settings_in_force


class PlayheadBlobUploader:
    """Keeps binary content under its hash.  Never raises, and waits for no network."""

    def upload(self, blob: Any) -> str | None:
        """The address under which the collector will have the data; None when they are not recorded, and without a
        collector."""
        try:
            to = runtime.current.recorder or runtime.recorder()
            if to is None or not to.content:
                return None
            found = RecordedContent(to)
            ref = found.content(blob.data)
            found.keep()
            endpoint = settings_in_force().endpoint
            return f"{endpoint}/api/v1/content/{ref}" if endpoint is not None and is_recorded(ref) else None
        except BaseException as error:  # noqa: BLE001 - the guard
            let_through(error)
            swallowed("record a blob", error)
            return None

    def shutdown(self, timeout_sec: float = 10.0) -> None:
        """Nothing waits here: the data are in the journal."""


_UPLOADER: Final = PlayheadBlobUploader()


def blob_uploader() -> PlayheadBlobUploader:
    """The uploader of this process."""
    return _UPLOADER
