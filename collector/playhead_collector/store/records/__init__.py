"""[store]: `ports.ReadStore` over recorded runs that are in memory or in files.

    ports        `RecordSource`, the interface of a source of records
    memory       a source: records that were made in this process
    store        `RecordStore`: all below, on one source; runs are projected when they are requested
    contents     contents and threads
    events       events and spans of one run
    runs         lists of runs, and facts about many runs
    scores       scores that programs recorded
    uses         which runs had a content or a context
    projecting   projects the records of a run, and decides which cached projections are still valid

It needs no database, and starts at once.  Everything is read on the caller's thread.
"""
