"""All that is in the files of an object store in a folder, as the product reads it."""

from pathlib import Path

import asyncpg

from playhead_collector.store.packing import packed_runs
from playhead_collector.store.postgres.dictionaries import Dictionaries


async def texts_in_objects(connection: asyncpg.Connection, folder: Path) -> list[bytes]:
    """Returns each file as it is, and each part that a row names decompressed. Fails for a part that is not there."""
    files = {path.relative_to(folder).as_posix(): path.read_bytes() for path in files_in(folder)}
    found, dictionaries = list(files.values()), Dictionaries()
    rows = await connection.fetch(
        "select key, part.kind as kind, part.project_id, part.object_start as start, part.object_length as length,"
        " coalesce(content.encoding, content_pack.encoding) as encoding"
        " from object_part as part join stored_object using (object)"
        " left join content on part.kind = 'content' and content.object = part.object"
        " left join content_pack on part.kind = 'pack' and content_pack.object = part.object"
        "   and content_pack.object_start = part.object_start"
    )
    for row in rows:
        part = files[row["key"]][row["start"] : row["start"] + row["length"]]
        if row["kind"] == "run":
            found += packed_runs.decode(part).texts()
        else:
            found.append(await dictionaries.plain(connection, row["project_id"], row["encoding"], part))
    return found


def files_in(folder: Path) -> list[Path]:
    """Returns the files below a folder."""
    return [path for path in folder.rglob("*") if path.is_file()]
