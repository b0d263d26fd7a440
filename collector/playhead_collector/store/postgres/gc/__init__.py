"""[store]: garbage collection: deletes runs, and contents that no run names.

    gate      a lock: shared by writers, exclusive for a deletion or a step of a sweep
    deletion  deletes a run at once
    sweep     deletes contents and threads that no run names any more, step by step
    marking   marks what a run, a content and a thread name
    packed    marks and deletes contents and thread nodes in packs

A sweep marks and then deletes. It never deletes what is marked, nor what was stored or named on the day of its cutoff
or later (`last_seen`). While it runs, writers note the refs that they store or name (`gc_news`), and the sweep marks
these, with all that they name, before each deleting step, while it excludes writers: so acknowledged data is never
deleted. Threads are deleted from their end, so that the rest stays valid.

Senders rely for an hour at most on contents that they have sent (`playhead.export.ship`). The grace period has to be
longer, or they would name deleted contents.
"""
