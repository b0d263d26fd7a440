"""The `playhead` command line.

group   a command line without commands: options about the collector, errors, exit codes
single  with one command, for a quick start              every   with all commands
"""
