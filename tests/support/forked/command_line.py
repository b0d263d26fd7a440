"""The command `playhead`, for processes that are forked: what it imports by and by is imported here."""

import playhead.cli.application
import playhead.cli.rewinding  # noqa: F401
from playhead.cli import main

main()
