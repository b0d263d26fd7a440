"""Reads what was recorded on this machine, without a collector: the journal's files behind the query API.

journal_records  the journal as a source of records      projections  what was projected of it, kept beside its index
replaying        `playhead.replay`                       finished     coroutines without an event loop
source           both, ready to be asked                 direct       the commonest questions, without HTTP
transport        the query API, in this process          client       a client that asks either
session_files    sessions as JSON Lines

The command line answers with the collector's own application, in its process: `pip install 'playhead[cli]'` brings
what that needs. It starts no server and no database.
"""
