"""What starts work whose calls belong together, and says when: frameworks, and asyncio.

celery      a task of a worker        starlette   a request, also of FastAPI        asyncio_tasks   `asyncio.gather`
"""
