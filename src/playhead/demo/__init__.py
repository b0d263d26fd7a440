"""`playhead demo`: runs an example agent on a temporary collector, and shows its record.

stage     a collector with an embedded Postgres, and the SDK configured for it
sizes     the sizes of the record in bytes
support   runs examples/support_agent.py on it
show      prints what was recorded
"""

import importlib.util
import sys

from rich.console import Console

from playhead.errors import SettingInvalid

OK, INTERRUPTED = 0, 130


def run_demo() -> int:
    """Runs the example agent and shows its record; returns the exit code.  Raises PlayheadError."""
    _need_openai()
    # These modules need the extras `collector` and `openai`; to import this package, neither is needed.
    from playhead.demo.show import show_scene  # noqa: PLC0415
    from playhead.demo.stage import stage  # noqa: PLC0415
    from playhead.demo.support import support_scene  # noqa: PLC0415

    console = Console(highlight=False)
    try:
        with console.status("starting a collector") as waits, stage() as on:
            show_scene(console, scene := support_scene(on))
            waits.stop()
            if scene.page is not None and sys.stdin.isatty() and console.is_terminal:
                console.input("Enter ends the demo, and the collector with it. ")
    except KeyboardInterrupt:
        return INTERRUPTED
    return OK


def _need_openai() -> None:
    if importlib.util.find_spec("openai") is None:
        raise SettingInvalid('the demo\'s agents use the openai client: pip install "playhead[collector,openai]"')
