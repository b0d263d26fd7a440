"""receive → [redaction] → store: rules of a project that mask what must not be stored.  Pure.

patterns   regular expressions of people, of a kind whose time is bounded
presets    named patterns: e-mail addresses, card numbers, ...
rules      the rules of a project, as they are set and stored
masking    masks texts, JSON values and contents
records    masks spans, log events, and the events of runs
"""
