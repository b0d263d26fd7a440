"""read → [analysis] → serve.  Questions about runs whose answers are computed, not recorded; one folder or module each.

    provenance    where is each argument of a tool call from, and why was the tool called?
    decisions     where did the agent choose, and what else was open?
    tree          which options were left, and how did runs end that took another one?
    causes        what does an event rest on, and what rests on it?
    compression   what did a compression of the context drop, and was it needed later?
    reasoning     what was the model thinking?
    ask_again     what would a model answer at a recorded call with other input?
    tokens        how did the context grow, and what did it cost?
    compare       how do two runs differ?
    suspects      which steps of a failed run went wrong?
    across        questions across many runs
    search        which decisions and texts of all runs match?

    transcript    a run as one entry per model call; the input of most questions
    texts         words, numbers, JSON records and passages of a text
    rules         the type of a rule: name, strength and meaning
    model_api     asks a model of the operator
    configuration settings of the operator that the analyses read

Questions that compute over a run or over many runs have a time budget, and run in a worker process if the collector
has any (`workers`). Only `app`, `serve` and `workers` import this package.
"""
