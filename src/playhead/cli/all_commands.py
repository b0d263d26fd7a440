"""The command line with all commands."""

from collections.abc import Callable, Sequence

from playhead.cli import (
    across,
    contexts,
    differences,
    doctor,
    forward,
    journal,
    keys,
    promises,
    read,
    reasoning,
    rewinding,
    runs,
    scores,
    search,
    start,
    storage,
    suspects,
    tree,
    why,
)
from playhead.cli.application import new_application
from playhead.cli.archives import commands as moving

app = new_application()

_GROUPS: dict[str, Sequence[Callable[..., None]]] = {
    "Look": (runs.runs, runs.show, scores.scores, tree.tree, read.events, read.state, read.context, read.messages,
             contexts.tokens, read.content, read.watch),
    "Ask": (why.why, suspects.suspects, why.decisions, reasoning.reasoning, contexts.compressions,
            differences.diff, differences.compare, reasoning.explain, reasoning.ask_again),
    "Score": (scores.score,),
    "Rewind": (rewinding.resume, rewinding.fork, read.checkpoints),
    "Wait": (promises.promises, promises.approve, promises.deny, promises.answer, promises.interrupt),
}  # fmt: skip
for _group, _commands in _GROUPS.items():
    for _command in _commands:
        app.command(rich_help_panel=_group)(_command)
app.add_typer(across.app, name="across", rich_help_panel="Ask")
_SERVE = "Start a collector: on your Postgres, or on one that is started for you."
app.command("serve", help=_SERVE, rich_help_panel="Operate")(start.serve_command())
app.command("run", help=start.RUN, rich_help_panel="Operate", context_settings=start.AS_GIVEN)(start.run)
for _command in (start.demo, doctor.doctor, journal.journal, start.ship, start.migrate, storage.storage, moving.export,
                 storage.delete, storage.gc):  # fmt: skip
    app.command(rich_help_panel="Operate")(_command)
app.command("import", rich_help_panel="Operate")(moving.import_files)
app.add_typer(search.app, name="search", rich_help_panel="Ask")
app.add_typer(keys.app, name="keys", rich_help_panel="Operate")
app.add_typer(forward.app, name="forward", rich_help_panel="Operate")
