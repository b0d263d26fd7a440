"""[store]: the part of the store that questions need, over recorded runs that are read from memory or from files.

sources, behind `ports.RecordSource`:
    memory      records that were taken in this process
store           `RecordStore`: events, spans and contents of one run, projected when they are asked for
lists           lists of runs, and facts about many of them
projecting      records of a run → its projection

It needs no database, and starts at once.  Everything is read on the caller's thread.
"""
