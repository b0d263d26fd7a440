"""How strong the evidence for a computed answer is."""

from typing import Literal

Strength = Literal["strong", "likely", "weak"]
"""Ordered, and no probability: it is fixed for each rule, and answers name the rule beside it."""
