"""How strong the evidence for a computed answer is."""

from typing import Literal

Strength = Literal["strong", "likely", "weak"]
"""An ordered scale, not a probability. Each rule has a fixed strength; answers name the rule."""
