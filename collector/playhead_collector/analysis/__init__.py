"""read → [analysis] → serve.  Questions about a run whose answers are computed, not recorded; one folder per question.

    provenance    where is each argument of a tool call from, and why was the tool called?
    decisions     where did the agent choose, and what else was open?
    causes        what does an event rest on, and what rests on it?
    compression   what did a compression of the context drop, and was it needed later?
    reasoning     what was the model thinking?
    tokens        how did the context grow, and what did it cost?
    compare       how do two runs differ?
    suspects      which steps of a failed run went wrong?

    transcript    a run as one entry per model call; what all questions read
    texts         words, numbers, JSON records and passages of a text
    rules         what a rule is: its name, strength and meaning

Each question runs in a worker process with a time budget (`workers`); only `serve` and `workers` import this package.
"""
