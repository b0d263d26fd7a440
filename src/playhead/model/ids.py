"""Forms of the ids that spans and runs have."""

import re
from typing import Final

WHOLE_ID: Final = re.compile("[0-9a-f]{32}")
"""The id of a run, a trace or a promise. Compare with `fullmatch`."""
SPAN_ID: Final = re.compile("[0-9a-f]{16}")
