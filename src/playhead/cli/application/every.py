"""The command line with all commands."""

from collections.abc import Callable, Sequence

from playhead.cli import (
    compare,
    compression,
    decisions,
    diff,
    provenance,
    read,
    reasoning,
    rewinding,
    runs,
    suspects,
    tokens,
)
from playhead.cli.across import analytics, scores, search
from playhead.cli.answering import promises
from playhead.cli.application.group import new_application
from playhead.cli.moving import commands as moving
from playhead.cli.operate import deletion, doctor, forward, journal, keys, start, storage
from playhead.cli.trees import calls

app = new_application()

_GROUPS: dict[str, Sequence[Callable[..., None]]] = {
    "Look": (runs.runs, runs.show, scores.scores, calls.tree, read.events, read.state, read.context, read.messages,
             tokens.tokens, read.content, read.watch),
    "Ask": (provenance.why, suspects.suspects, decisions.decisions, reasoning.reasoning, compression.compressions,
            diff.diff, compare.compare, reasoning.explain, reasoning.ask_again),
    "Score": (scores.score,),
    "Rewind": (rewinding.resume, rewinding.fork, read.checkpoints),
    "Wait": (promises.promises, promises.approve, promises.deny, promises.answer, promises.interrupt),
}  # fmt: skip
for _group, _commands in _GROUPS.items():
    for _command in _commands:
        app.command(rich_help_panel=_group)(_command)
app.add_typer(analytics.app, name="across", rich_help_panel="Ask")
_SERVE = "Start a collector: on your Postgres, or on one that is started for you."
app.command("serve", help=_SERVE, rich_help_panel="Operate")(start.serve_command())
app.command("run", help=start.RUN, rich_help_panel="Operate", context_settings=start.AS_GIVEN)(start.run)
for _command in (start.demo, doctor.doctor, journal.journal, start.ship, start.migrate, storage.storage, moving.export,
                 deletion.delete, deletion.gc):  # fmt: skip
    app.command(rich_help_panel="Operate")(_command)
app.command("import", rich_help_panel="Operate")(moving.import_files)
app.add_typer(search.app, name="search", rich_help_panel="Ask")
app.add_typer(keys.app, name="keys", rich_help_panel="Operate")
app.add_typer(forward.app, name="forward", rich_help_panel="Operate")
