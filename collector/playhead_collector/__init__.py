"""The collector: receives spans and content, stores them once in Postgres, and answers what happened and why.

    receive → lift → store → projection → read → analysis → serve

Runs as its own process. From the SDK it imports only the packages that both share (`playhead.model`, `dialect`, `lift`,
`projection`, `outbound`, `wire`) and the table of settings.
"""
