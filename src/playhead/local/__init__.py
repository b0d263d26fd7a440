"""Reads what was recorded on this machine, without a collector: the query API over the journal's files.

journal_records  the journal as a source of records
projections      stored projections of its runs
client           a client of the journal: the operations of the query API in this process
fallback         a client of the collector, and of the journal if nothing answers
answering        answers operations by their handlers, without HTTP
source           the journal for reading: its records, their projections, the store over both
opening          opens the journal, with a clear error if a library is missing
reading          `playhead.read_local`
session_files    sessions as JSON Lines

The collector's own handlers answer, in this process: `pip install 'playhead[cli]'` installs the libraries for that. No
server and no database are started.
"""
