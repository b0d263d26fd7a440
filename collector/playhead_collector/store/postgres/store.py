"""The store on Postgres: one class per subject, all on one pool of connections.

The first parameter of most methods is the id of the project: the data of projects is separate. Most methods are one
transaction or one statement. Only data that never changes is cached in memory.
"""

import time
from collections.abc import Callable, Sequence

from playhead_collector.store.operator_key import OperatorKey
from playhead_collector.store.ports.objects import ObjectStore
from playhead_collector.store.postgres.changes import PostgresChanges
from playhead_collector.store.postgres.connection import Database, DatabaseTimeouts
from playhead_collector.store.postgres.contents import PostgresContents
from playhead_collector.store.postgres.conversations import PostgresConversations
from playhead_collector.store.postgres.dictionaries import DictionaryTrainer
from playhead_collector.store.postgres.events import PostgresEvents
from playhead_collector.store.postgres.garbage import PostgresGarbage
from playhead_collector.store.postgres.ingest import StoreMemory
from playhead_collector.store.postgres.keys import PostgresKeys
from playhead_collector.store.postgres.leases import PostgresLeases
from playhead_collector.store.postgres.moving import PostgresMoves
from playhead_collector.store.postgres.notes import PostgresNotes
from playhead_collector.store.postgres.objects import PostgresObjects
from playhead_collector.store.postgres.outbox import PostgresOutbox
from playhead_collector.store.postgres.outcomes import PostgresOutcomes
from playhead_collector.store.postgres.projections import PostgresProjections
from playhead_collector.store.postgres.projects import PostgresProjects
from playhead_collector.store.postgres.promises import PostgresPromises
from playhead_collector.store.postgres.recipients import Recipient
from playhead_collector.store.postgres.runs import PostgresRuns
from playhead_collector.store.postgres.scores import PostgresScores
from playhead_collector.store.postgres.search import PostgresSearch
from playhead_collector.store.postgres.spans import PostgresSpans
from playhead_collector.store.postgres.storage import PostgresStorage
from playhead_collector.store.postgres.tiers import PostgresTiers
from playhead_collector.store.postgres.uses import PostgresUses

POOL_SIZE = 10


async def connect(
    dsn: str,
    *,
    pool_size: int = POOL_SIZE,
    timeouts: DatabaseTimeouts = DatabaseTimeouts(),  # noqa: B008 - immutable
    clock: Callable[[], int] = time.time_ns,
    recipients: Sequence[Recipient] = (),
    kept_pages: int = 0,
    objects: ObjectStore | None = None,
    operator_key: OperatorKey | None = None,
) -> "PostgresStore":
    """Opens a store on a database that has the schema. Raises StoreUnavailable.  `clock`: current time in ns since
    1970. `recipients`: the destinations in whose outboxes ingest enters what arrives.
    `kept_pages`: so many pages of events that were read stay decoded in memory. `objects`: where large contents and
    packs of warm runs are. `operator_key` unwraps the keys of encrypted projects."""
    db = await Database.open(dsn, pool_size, timeouts, operator_key)
    return PostgresStore(db, clock, recipients, kept_pages, objects)


class PostgresStore:
    """All that is stored, by subject. Implements `ports.ReadStore`."""

    def __init__(
        self,
        db: Database,
        clock: Callable[[], int],
        recipients: Sequence[Recipient] = (),
        kept_pages: int = 0,
        objects: ObjectStore | None = None,
    ) -> None:
        self._db = db
        memory = StoreMemory()
        self.objects = PostgresObjects(db, objects, clock)
        memory.packs.part_reader = self.objects
        self.moves = PostgresMoves(db, memory.packs, self.objects)
        trainer = DictionaryTrainer(db, memory.packs.dictionaries)
        self.contents = PostgresContents(db, clock, memory, trainer)
        self.spans = PostgresSpans(db, clock, memory, trainer, recipients)
        self.events = PostgresEvents(db, kept_pages, self.objects)
        self.runs = PostgresRuns(db)
        self.outcomes = PostgresOutcomes(db)
        self.scores = PostgresScores(db, clock, recipients)
        self.uses = PostgresUses(db, memory.packs)
        self.projections = PostgresProjections(db, clock, memory)
        self.changes = PostgresChanges(db, self.objects)
        self.search = PostgresSearch(db, self.contents.refs_with_prefix)
        self.outbox = PostgresOutbox(db, clock, self.objects)
        self.promises = PostgresPromises(db)
        self.leases = PostgresLeases(db, clock)
        self.projects = PostgresProjects(db)
        self.keys = PostgresKeys(db)
        self.notes = PostgresNotes(db)
        self.conversations = PostgresConversations(db, clock, memory.packs)
        self.storage = PostgresStorage(db, memory.packs)
        self.garbage = PostgresGarbage(db, clock, memory.packs)
        self.tiers = PostgresTiers(db, clock, self.objects)

    async def ready(self) -> None:
        """Returns if the database answers; otherwise raises StoreUnavailable."""
        await self._db.ready()

    async def close(self) -> None:
        """Closes the connections. Later calls raise."""
        await self._db.close()
