"""What was the model thinking at a call: as its provider captured it, as it wrote it down, or as it can be inferred?"""

from typing import Final

TAG: Final = "reasoning"
"""The tag in which models write their reasoning, by default."""
