"""Reads what was recorded on this machine, without a collector: the journal's files behind the query API.

journal_records  the journal as a source of records      transport  the query API for a client, in this process

Only the command line uses it: it needs what `playhead serve` needs (`pip install 'playhead[collector]'`), but starts no
server and no database.
"""
