"""The collector's errors. Each message is one sentence, and ends with what to do.

CollectorError                 everything the collector raises on purpose
├─ BadSetting                  a setting has a value that cannot be used
├─ CannotStart                 this process cannot do its work here and now
│  ├─ AlreadyRunning           another collector holds the data directory
│  ├─ PortTaken                something else listens where we should
│  └─ EmbeddedPostgresFailed   the Postgres that we bring along cannot be set up, started or stopped
├─ DatabaseError               the database cannot be used as it is
│  ├─ DatabaseUnreachable      no answer, or it will not let us in
│  ├─ DatabaseTooOld           its Postgres is older than the oldest we know
│  ├─ MayNotMigrate            its role may not make tables
│  ├─ SchemaTooNew             a newer collector has migrated it
│  ├─ SchemaTooOld             it needs `playhead migrate`
│  └─ SchemaUnreleased         a version before the first release has made it
├─ StoreUnavailable            the database does not answer for now: try again, nothing was stored
│  └─ StoreCollision           another transaction was in the way: nothing was stored, and again is likely to work
├─ ContentMissing              nothing is stored under this ref
├─ ContentCorrupt              what is stored no longer matches its ref
└─ Refused                     a request that cannot be done as it is; knows the HTTP answer to give
"""

from collections.abc import Mapping
from types import MappingProxyType


class CollectorError(Exception):
    """Everything the collector raises on purpose; `str(error)` is for the user to read."""


class BadSetting(CollectorError):
    """A setting has a value that cannot be used."""


class CannotStart(CollectorError):
    """This process cannot do its work here and now."""


class AlreadyRunning(CannotStart):
    """Another collector holds the data directory."""


class PortTaken(CannotStart):
    """Something else listens where we should."""


class EmbeddedPostgresFailed(CannotStart):
    """The Postgres that we bring along cannot be set up, started or stopped."""


class DatabaseError(CollectorError):
    """The database cannot be used as it is."""


class DatabaseUnreachable(DatabaseError):
    """No answer from the database, or it will not let us in."""


class DatabaseTooOld(DatabaseError):
    """The database's Postgres is older than the oldest we know."""


class MayNotMigrate(DatabaseError):
    """The role may not change the database's schema."""


class SchemaTooNew(DatabaseError):
    """A newer collector has migrated the database."""


class SchemaTooOld(DatabaseError):
    """The database needs `playhead migrate`."""


class SchemaUnreleased(DatabaseError):
    """A version before the first release has made the database: it cannot be migrated."""


class StoreUnavailable(CollectorError):
    """The database does not answer for now; what was being done is not stored, and may be tried again."""


class StoreCollision(StoreUnavailable):
    """Another transaction was in the way; the same again is likely to work at once."""


class ContentMissing(CollectorError):
    """Nothing is stored under this ref: it has not arrived, or was deleted."""


class ContentCorrupt(CollectorError):
    """What is stored under this ref no longer matches it: the database was damaged."""


class Refused(CollectorError):
    """A request that cannot be done as it is: the HTTP status and headers to answer with, and a word for programs."""

    def __init__(self, status: int, code: str, message: str, headers: Mapping[str, str] = MappingProxyType({})) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.headers = headers
