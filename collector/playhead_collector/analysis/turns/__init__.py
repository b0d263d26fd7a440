"""A run as it is read: which turns it had, what a turn saw, answered and called, and what came of the run.

A turn is a model call with the tool calls that it led to.  `outline` makes turns, agents, cuts and waits of events,
without content; `requested` says which turn asked for a tool call; `loading` reads the part of a run that an answer
needs.  The answers: `rows` (the list), `one_turn` with `turn_context` and `turn_state`, `verdict` with `errors` and
`stack_text`, `run_search`.
"""
