"""[store]: `ports.ReadStore` over recorded runs that are in memory or in files.

    ports        `RecordSource`, the interface of a source of records
    memory       a source: records that were made in this process
    store        `RecordStore`: events, spans and contents of one run, projected when they are requested
    lists        lists of runs, and facts about many runs
    projecting   decides which cached projections are still valid
    making       makes a new projection from the records of a run

It needs no database, and starts at once.  Everything is read on the caller's thread.
"""
