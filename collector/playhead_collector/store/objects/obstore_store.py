"""[store]: an object store by `obstore`: S3 and what speaks its protocol, Google Cloud Storage, Azure, a folder.

Credentials and the endpoint come from the environment, as the clouds' own tools read them (AWS_ACCESS_KEY_ID,
AWS_ENDPOINT_URL, GOOGLE_APPLICATION_CREDENTIALS, AZURE_STORAGE_ACCOUNT_NAME, ...).
"""

import asyncio
import os
from collections.abc import Awaitable, Collection, Sequence
from contextlib import suppress
from datetime import timedelta
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast
from urllib.parse import unquote, urlsplit

from playhead_collector.errors import BadSetting, ObjectStoreUnavailable
from playhead_collector.store.ports.objects import ObjectGone

if TYPE_CHECKING:
    from obstore.store import ObjectStore as Obstore

T = TypeVar("T")

SCHEMES = ("s3", "gs", "az", "file")
# Nobody waits for a write: the mover does, in the background. 16 MiB at 1 Mbit/s.
WRITE_SECONDS = 150.0
# Parts that are nearer to each other than this are read in one request: a request takes as long as so many bytes.
_COALESCED_BYTES = 256 * 1024
_LONGEST_REASON = 300


def open_object_store(url: str, read_seconds: float, write_seconds: float = WRITE_SECONDS) -> "ObstoreStore":
    """Returns the object store at `s3://bucket/prefix`, `gs://...`, `az://account/container/prefix` or
    `file:///folder`. `read_seconds`, `write_seconds`: the longest time for one read, and for one write.  Connects to
    nothing yet.

    Raises BadSetting, also when the package `obstore` is missing.
    """
    if find_spec("obstore") is None:
        raise BadSetting("PLAYHEAD_OBJECT_STORE needs the package obstore: pip install 'playhead[objects]'")
    scheme = urlsplit(url).scheme
    folder = Path(unquote(urlsplit(url).path)) if scheme == "file" else None
    try:
        return ObstoreStore(
            _opened(url, read_seconds), _opened(url, write_seconds), read_seconds, write_seconds, folder
        )
    except Exception as error:
        raise BadSetting(f"PLAYHEAD_OBJECT_STORE cannot be used ({_reason(error)}): see docs/objects.md") from error


def _opened(url: str, seconds: float) -> "Obstore":
    from obstore import store  # noqa: PLC0415 - an optional package

    if urlsplit(url).scheme == "file":
        return store.LocalStore(unquote(urlsplit(url).path), mkdir=True)
    return store.from_url(
        url,
        client_options={
            "timeout": timedelta(seconds=seconds),
            "connect_timeout": timedelta(seconds=min(seconds, 5.0)),
            "allow_http": True,  # only where the operator's endpoint begins with http://
        },
        retry_config={"max_retries": 2, "retry_timeout": timedelta(seconds=seconds)},
    )


class ObstoreStore:
    """Implements `ports.objects.ObjectStore`."""

    def __init__(
        self,
        reading: "Obstore",
        writing: "Obstore",
        read_seconds: float,
        write_seconds: float,
        folder: Path | None = None,
    ) -> None:
        """`folder`: where the objects are files, which are synced to the disk when they are written."""
        self._reading, self._writing = reading, writing
        self._read_seconds, self._write_seconds = read_seconds, write_seconds
        self._folder = folder

    async def put(self, key: str, data: bytes) -> None:
        import obstore  # noqa: PLC0415
        from obstore.exceptions import AlreadyExistsError, NotSupportedError  # noqa: PLC0415

        try:
            await self._answered(
                obstore.put_async(self._writing, key, data, mode="create", use_multipart=False), self._write_seconds
            )
        except AlreadyExistsError:
            pass  # an attempt before this one, whose answer was lost; the caller reads what is there
        except NotSupportedError:  # a store that cannot create only: keys are unique all the same
            await self._answered(obstore.put_async(self._writing, key, data, use_multipart=False), self._write_seconds)
        if self._folder is not None:
            try:
                await asyncio.to_thread(_sync, self._folder, key)
            except OSError as error:
                raise _unavailable(error) from error

    async def get_ranges(self, key: str, ranges: Sequence[tuple[int, int]]) -> Sequence[bytes]:
        import obstore  # noqa: PLC0415

        starts, lengths = [start for start, _ in ranges], [length for _, length in ranges]
        try:
            found = await self._answered(
                obstore.get_ranges_async(self._reading, key, starts=starts, lengths=lengths, coalesce=_COALESCED_BYTES),
                self._read_seconds,
            )
        except FileNotFoundError as error:
            raise ObjectGone(key) from error
        except ObjectStoreUnavailable as error:
            # An error, too, for a range behind the end of an object that is shorter than it was written.
            last = max(start + length for start, length in ranges)
            if "range" not in str(error).lower() or (await self.size(key) or 0) >= last:
                raise
            return [b""] * len(ranges)
        return [bytes(part) for part in found]

    async def size(self, key: str) -> int | None:
        import obstore  # noqa: PLC0415

        try:
            return (await self._answered(obstore.head_async(self._reading, key), self._read_seconds))["size"]
        except FileNotFoundError:
            return None

    async def delete(self, keys: Collection[str]) -> None:
        import obstore  # noqa: PLC0415

        try:
            await self._answered(obstore.delete_async(self._writing, list(keys)), self._write_seconds)
        except FileNotFoundError:
            # Some stores stop at the first object that is not there: one after the other then.
            for key in keys:
                with suppress(FileNotFoundError):
                    await self._answered(obstore.delete_async(self._writing, key), self._write_seconds)

    async def keys(self, prefix: str = "") -> Sequence[str]:
        import obstore  # noqa: PLC0415

        async def listed() -> list[str]:
            found: list[str] = []
            listing: Any = cast(Any, obstore).list  # its types need a package that is not installed
            async for portion in listing(self._reading, prefix or None, chunk_size=1_000):
                found += [entry["path"] for entry in portion]
            return found

        return await self._answered(listed(), self._write_seconds)

    async def _answered(self, request: Awaitable[T], seconds: float) -> T:
        """Waits for a request. Raises ObjectStoreUnavailable; errors that say that there is such an object already, or
        none, or that the request is not supported, pass."""
        from obstore.exceptions import AlreadyExistsError, BaseError, NotSupportedError  # noqa: PLC0415

        try:
            async with asyncio.timeout(seconds):
                return await request
        except (AlreadyExistsError, FileNotFoundError, NotSupportedError):
            raise
        except TimeoutError as error:
            raise ObjectStoreUnavailable(
                f"the object store did not answer within {seconds:g} s: try again, and see that it runs"
            ) from error
        except (BaseError, OSError) as error:
            raise _unavailable(error) from error


def _unavailable(error: Exception) -> ObjectStoreUnavailable:
    return ObjectStoreUnavailable(
        f"the object store does not do what is asked ({_reason(error)}): see that it runs, has room, and that its "
        "credentials are right"
    )


def _reason(error: Exception) -> str:
    """Returns the first line of the error, shortened: what the object store says may be long."""
    text = str(error).strip() or type(error).__name__
    return text.splitlines()[0][:_LONGEST_REASON]


def _sync(folder: Path, key: str) -> None:
    """Makes a written file durable: its bytes, and its names in the folders above it."""
    path = folder / key
    synced: list[Any] = [path, *[parent for parent in path.parents if parent == folder or folder in parent.parents]]
    for each in synced:
        descriptor = os.open(each, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
