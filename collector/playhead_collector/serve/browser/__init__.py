"""[serve]: what only browsers need. Tokens of their sessions are in `serve.keyring`.

pages          the built UI from memory, with its headers; the API's description as a page
origin_guard   refuses requests of foreign websites
"""
