"""Parts that only browsers need: the web UI's files, sign-in, the API's description, protection from other websites.

ui_files       the built UI from memory, with its headers    sessions    signed cookies instead of keys
docs_page      the API's description as a page               origin_guard   refuses requests of foreign websites
sign_in        the routes that begin and end a session
"""

from fastapi import APIRouter

from playhead_collector.serve.attaching import attach
from playhead_collector.serve.browser import docs_page
from playhead_collector.serve.browser.ui_files import UiFiles


def router(prefix: str) -> APIRouter:
    """Returns the routes of the pages: the API's description below `prefix`, and the web UI. `sign_in` belongs to the
    API."""
    pages = APIRouter()
    attach(pages, docs_page.router(prefix), UiFiles().router())
    return pages
