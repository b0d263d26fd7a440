"""[store]: garbage collection: deletes runs, and contents that no run names.

    gate      a lock: shared by writers, exclusive for a deletion or a step of a sweep
    deletion  deletes a run at once
    sweep     deletes contents and threads that no run names any more, step by step
    marking   marks what a run, a content and a thread name
    packed    marks and deletes contents and thread nodes in packs

A sweep marks and then deletes. It never deletes marked data, nor data that was stored or named on or after the day of
its cutoff (`last_seen`). While a sweep runs, writers note the refs that they store or name (`gc_news`). Before each
deleting step, the sweep excludes writers and marks these refs with all that they name, so acknowledged data is never
deleted. Threads are deleted from their end, so that the rest stays valid.

Senders assume for at most an hour that contents they have sent are stored (`playhead.export.ship`). The grace period
has to be longer, or they would name deleted contents.
"""
