"""[store]: `ports.ReadStore` over recorded runs that are in memory or in files.

    ports        `RecordSource`, the interface of a source of records
    memory       a source: records that were made in this process
    store        `RecordStore`: events, spans and contents of one run, projected when they are requested
    lists        lists of runs, and facts about many runs
    projecting   projects the records of a run, and decides which cached projections are still valid

It needs no database, and starts at once.  Everything is read on the caller's thread.
"""
