"""store → [project] → read.  A run's spans and log events become its events, its summary, and states to fold from.

attributes  what a span says, read tolerantly         tree      who encloses whom, who acts, what is a step
order       in which order it all happened            context   what a call added to its conversation; cuts
events_of   the events of a call's start and end      logs_of   the events of log records
sealing     seqs that never change again              summary   a run's row, and its snapshots
projector   all of it for one run: a pure function    runner    when runs are projected: the only one with I/O
"""
