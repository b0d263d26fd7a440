"""What only browsers need: the web UI's files, the API's description, protection from other websites.

pages   the built UI from memory, with its headers; the API's description as a page
origin_guard   refuses requests of foreign websites
"""
