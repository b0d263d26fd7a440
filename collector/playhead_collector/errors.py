"""The collector's errors. Each message is one sentence, and ends with what to do.

CollectorError                 everything the collector raises on purpose
├─ BadSetting                  a setting has a value that cannot be used
├─ CannotStart                 this process cannot start on this machine at present
│  ├─ AlreadyRunning           another collector holds the data directory
│  ├─ PortTaken                another process listens on our port
│  └─ EmbeddedPostgresFailed   the embedded Postgres cannot be set up, started or stopped
├─ DatabaseError               the database cannot be used as it is
│  ├─ DatabaseUnreachable      it does not answer, or refuses the login
│  ├─ DatabaseTooOld           its Postgres is older than the oldest supported version
│  ├─ MayNotMigrate            its role may not create tables
│  ├─ MayNotUseTables          its role may not read and write the tables
│  ├─ SchemaTooNew             a newer collector has migrated it
│  ├─ SchemaTooOld             it needs `playhead migrate`
│  └─ SchemaUnreleased         a version before the first release has created it
├─ StoreUnavailable            the database does not answer at present: nothing was stored, try again
│  ├─ StoreCollision           another transaction was in the way: nothing was stored, trying again is likely to work
│  ├─ ObjectStoreUnavailable   the object store does not do what is asked: what needs it has to wait
│  ├─ EncryptionMissing        an encrypted project needs the package `cryptography`
│  └─ WrongEncryptionKey       the operator's key does not unwrap the key of a project
├─ ContentMissing              nothing is stored under this ref
│  └─ ContentForgotten         it was erased, because somebody had it forgotten
├─ ContentCorrupt              what is stored no longer matches its ref
│  └─ CannotDecrypt            what is stored of an encrypted project was not encrypted with its key
└─ Refused                     a request that cannot be done as it is; has the HTTP status of the answer
   └─ KeyDestroyed             the project is encrypted, and its key was destroyed
"""

from collections.abc import Mapping
from types import MappingProxyType


class CollectorError(Exception):
    """Any error that the collector raises on purpose; `str(error)` is a message for the user."""


class BadSetting(CollectorError):
    """A setting has a value that cannot be used."""


class CannotStart(CollectorError):
    """This process cannot start on this machine at present."""


class AlreadyRunning(CannotStart):
    """Another collector holds the data directory."""


class PortTaken(CannotStart):
    """Another process listens on our port."""


class EmbeddedPostgresFailed(CannotStart):
    """The embedded Postgres cannot be set up, started or stopped."""


class DatabaseError(CollectorError):
    """The database cannot be used as it is."""


class DatabaseUnreachable(DatabaseError):
    """The database does not answer, or refuses the login."""


class DatabaseTooOld(DatabaseError):
    """The database's Postgres is older than the oldest supported version."""


class MayNotMigrate(DatabaseError):
    """The role may not change the database's schema."""


class MayNotUseTables(DatabaseError):
    """The role may not do with the tables what a collector does."""


class SchemaTooNew(DatabaseError):
    """A newer collector has migrated the database."""


class SchemaTooOld(DatabaseError):
    """The database needs `playhead migrate`."""


class SchemaUnreleased(DatabaseError):
    """A version before the first release has created the database: it cannot be migrated."""


class StoreUnavailable(CollectorError):
    """The database does not answer at present. The operation was not stored, and may be tried again."""


class StoreCollision(StoreUnavailable):
    """Another transaction was in the way; trying again at once is likely to work."""


class ObjectStoreUnavailable(StoreUnavailable):
    """The object store does not answer, is full or refuses: what needs it has to wait, all else goes on."""


class ContentMissing(CollectorError):
    """Nothing is stored under this ref: it has not arrived, or was deleted."""


class ContentForgotten(ContentMissing):
    """What was stored under this ref was erased, because somebody had it forgotten."""


class ContentCorrupt(CollectorError):
    """What is stored under this ref no longer matches it: the database was damaged."""


class CannotDecrypt(ContentCorrupt):
    """What is stored of an encrypted project was not encrypted with its key: the database was damaged or changed."""


class EncryptionMissing(StoreUnavailable):
    """A project is encrypted, and the package that can decrypt it is not installed: nothing was stored."""


class WrongEncryptionKey(StoreUnavailable):
    """The operator's key does not unwrap the key of a project: nothing was stored, and works once the key is right."""


class Refused(CollectorError):
    """A request that cannot be done as it is. Has the answer's HTTP status and headers, and a code for programs."""

    def __init__(self, status: int, code: str, message: str, headers: Mapping[str, str] = MappingProxyType({})) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.headers = headers


class KeyDestroyed(Refused):
    """The project is encrypted, and its key was destroyed, or is not in this database: nobody can read it."""

    def __init__(self) -> None:
        super().__init__(
            410,
            "key_destroyed",
            "the key of this project was destroyed, so that nothing of it can be read or added: the operator can "
            "delete it (`playhead projects delete`)",
        )


def refusal_of(error: CollectorError) -> Refused:
    """Returns an error of a question as the refusal that a client gets."""
    match error:
        case Refused():
            return error
        case ObjectStoreUnavailable():
            return Refused(503, "object_store_unavailable", str(error))
        case StoreUnavailable():
            return Refused(503, "store_unavailable", str(error))
        case ContentForgotten():
            return Refused(410, "content_forgotten", str(error))
        case ContentMissing():
            return Refused(404, "content_missing", str(error))
        case ContentCorrupt():
            return Refused(500, "content_corrupt", str(error))
        case _:
            return Refused(500, "internal", str(error))
