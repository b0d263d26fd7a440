"""The shared vocabulary of SDK and collector: pure values and functions, no I/O, no clock.

Imports the standard library and orjson only; everything else may import it.
"""
