"""[analysis]: questions across runs.

cohort          the runs that a question is about, which of them succeeded, and shares with Wilson intervals
same_task       finds succeeded runs of the same task

statistics      how much do runs take, over all and over time?
tool_sequences  the tool calls of runs: which tool follows which, what is chosen after which result, and how do such
                runs end?
differences     what distinguishes failed from succeeded runs?  (Fisher, Mann-Whitney, Benjamini-Hochberg)
compression     do runs with compressed contexts end differently?
failures        which failures are alike?
divergences     where do runs of one task first differ?
contents        which contents fill the contexts most?

A pattern needs at least `MIN_RUNS` runs. The computations are pure; the `answer_*` function of each module reads their
input through `store.ports`.
"""
