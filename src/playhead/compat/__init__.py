"""Workarounds that depend on internals of other libraries, one module per library.

httpx   imports it without its command line
"""
