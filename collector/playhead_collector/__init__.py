"""The collector: receives spans and content, stores them once in Postgres, and answers what happened and why.

    receive → lift → store → project → read → analysis → serve

A process of its own. Of the SDK it imports what both halves share (`playhead.model`, `dialect`, `lift`, `project`,
`wire`) and the table of settings, and nothing else.
"""
