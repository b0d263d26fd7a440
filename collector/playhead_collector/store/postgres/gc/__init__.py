"""[store]: what is deleted, and how nothing else is.

    gate      what stores enters first; a deletion or a step of a sweep enters alone
    deletion  a run, with all that is stored of it, at once
    sweep     contents and threads that no run names any more, step by step
    marking   what a run, a content and a thread name
    packed    what of packs stays, and what is taken out of them

A sweep marks and then deletes. It never deletes what is marked, nor what was stored or named on the day of its cutoff
or later (`last_seen`). While it is under way, whoever stores or names something says so (`gc_news`), and it marks that
with all that it names before each step that deletes, while nobody else stores: so what is acknowledged is never taken
away. Threads go from their end, so that what is left of one is whole.

Senders believe for an hour at most that what they have sent is here (`playhead.export.ship`); the grace period is
longer, or whoever relies on that belief would name what is gone.
"""
