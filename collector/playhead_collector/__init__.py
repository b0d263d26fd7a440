"""The collector: receives spans and content, stores them once in Postgres, and answers what happened and why.

    receive → lift → store → project → read → serve

A process of its own. Of the SDK it imports the shared vocabulary, `playhead.model`, and nothing else.
"""
