"""Groups the calls of one unit of work into one run, where a framework or asyncio starts and ends it.

celery      a task of a worker        starlette   a request, also of FastAPI        asyncio_tasks   `asyncio.gather`
"""
