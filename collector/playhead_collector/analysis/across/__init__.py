"""[analysis]: questions across runs.

cohort        the runs that a question is about, and which of them succeeded
rates         shares with Wilson intervals          significance   Fisher, Mann-Whitney, Benjamini-Hochberg
steps         the tool calls of runs, by name        same_task      runs of one task

statistics    how much do runs take?                transitions    which tool follows which?
patterns      what is chosen after which result, and how do such runs end?
differences   what distinguishes failed from succeeded runs?
compression   do runs with compressed contexts end differently?
failures      which failures are alike?             divergences    where do runs of one task first differ?
contents      which contents fill the contexts most?

A pattern needs at least `MIN_RUNS` runs. The computations are pure; the `answer_*` function of each module reads their
input through `store.ports`.
"""
