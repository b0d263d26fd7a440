"""Reads what was recorded on this machine, without a collector: the query API over the journal's files.

journal_records  the journal as a source of records
projections      stored projections of its runs
client           a client of the journal: the operations of the query API in this process
source           the journal for reading, and direct answers to the most frequent requests
transport        HTTP transports over the journal, for all other requests
opening          opens the journal, with a clear error if a library is missing
replaying        `playhead.replay`
session_files    sessions as JSON Lines

The command line runs the collector's own application in its process: `pip install 'playhead[cli]'` installs the
libraries for that. It starts no server and no database.
"""
