"""Reads what was recorded on this machine, without a collector: the query API over the journal's files.

journal_records  the journal as a source of records      projections  stored projections of its runs
replaying        `playhead.replay`                       finished     runs coroutines without an event loop
source           records, projections and their store    direct       the most frequent requests, without HTTP
transport        the query API in this process           client       a client of the journal
session_files    sessions as JSON Lines

The command line runs the collector's own application in its process: `pip install 'playhead[cli]'` installs the
libraries for that. It starts no server and no database.
"""
