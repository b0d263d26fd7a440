"""The `playhead` command line.

group   a command line without commands: options for the collector, errors, exit codes
single  a command line with one command, which starts sooner
every   a command line with all commands
"""
