"""The `playhead` command: reads what a collector has recorded, and starts one.

    look      runs (runs, show), tree, read (events, state, context, messages, content, checkpoints, watch),
              contexts (tokens, compressions)
    ask       why (why, decisions), suspects, reasoning (reasoning, explain, ask-again), differences (diff, compare)
    score     scores (score, scores), scorers
    across    across, search
    rewind    rewinding (resume, fork), starting_again (starts the program for them)
    wait      promises (promises, approve, deny, answer, interrupt)
    operate   start (serve, run, demo, ship, migrate), doctor, journal, keys, projects, forward,
              storage (storage, contents, delete, gc)
    archives  commands (export, import)

    application   the table of all commands, and the command line
    connection    the collector, and the run that is meant  options      arguments and options of several commands
    output        tables, texts, JSON and progress

It needs the extra `cli`; a command that needs another one says which.
"""

from playhead.cli.application import app, collector_options, exit_code

__all__ = ["app", "collector_options", "exit_code", "main"]


def main() -> None:
    """Runs the `playhead` command."""
    app()
