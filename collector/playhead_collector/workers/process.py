"""Controls one worker process: starts it when needed, sends it one question at a time, ends it.

Worker processes have a lower priority than the process that receives spans: somebody waits for the answers of some of
them, and nobody for the background work of others.
"""

import asyncio
import logging
import os
import sys
from collections.abc import Collection, Mapping
from contextlib import suppress
from typing import Any, Final

from playhead_collector.workers import protocol
from playhead_collector.workers.protocol import AnalysisFailed, Setup
from playhead_collector.workers.questions import AnalysisQuestion

log = logging.getLogger(__name__)

WORKER = "playhead_collector.workers.worker"
# A start takes half a second on an idle machine (imports). A question may stop waiting earlier; the start goes on.
_START_SECONDS = 60.0
# Time for a process to end by itself; it has nothing to finish.
_END_SECONDS = 5.0
_READ_BUFFER = 1 << 20
# While others use all cores, a process that is nicer by 5 gets a third of their time, and one by 15 a thirtieth.
QUESTIONS_NICE: Final = 5
BACKGROUND_NICE: Final = 15
_LOWEST_NICE: Final = 19


class WorkerProcess:
    """Holds at most one process: started at the first question, and started again at the next question after it has
    ended."""

    def __init__(
        self,
        setup: Setup,
        module: str = WORKER,
        *,
        nice: int = QUESTIONS_NICE,
        without: Collection[str] = (),
    ) -> None:
        """`nice`: how much lower its priority is than that of this process. `without`: environment variables that it
        does not get."""
        self._setup = setup
        self._nice = nice
        self._without = without
        self._module = module
        self._process: asyncio.subprocess.Process | None = None
        self._starting: asyncio.Task[asyncio.subprocess.Process] | None = None
        self._ending: asyncio.Task[int] | None = None

    @property
    def pid(self) -> int | None:
        """The process id; None while no process runs."""
        return None if self._process is None or self._process.returncode is not None else self._process.pid

    async def ask(self, question: AnalysisQuestion, begin_by: float) -> bytes:
        """Returns the answer. Kills the process when the question takes too long, or this is cancelled.

        `begin_by` is the time of the running loop until which this waits for a starting process.

        Raises Refused, AnalysisFailed, and the errors of the question itself.
        """
        process = await self._started(begin_by)
        message = {
            "name": question.name,
            "project": question.project_id,
            "runs": list(question.runs),
            "options": dict(question.options),
        }
        try:
            async with asyncio.timeout(self._setup.seconds):
                head, body = await _exchange(process, protocol.encode(message))
        except TimeoutError:
            await self._kill()
            log.warning("a question (%s) took longer than %g s", question.name, self._setup.seconds)
            raise protocol.took_too_long(self._setup.seconds) from None
        except (OSError, asyncio.IncompleteReadError):
            code = await self._kill()
            log.warning("a process for analysis ended with %s amid a question (%s)", code, question.name)
            raise protocol.ended(code) from None
        except BaseException:  # cancelled
            await self._kill()
            raise
        if head["last"]:
            await self.end()
        if "error" in head:
            raise protocol.from_json(head["error"])
        return body

    async def end(self) -> None:
        """Ends the process, if there is one: closes its stdin, and kills it if it has not ended in time."""
        if self._starting is not None:
            self._starting.cancel()
            await asyncio.wait([self._starting])
        if (process := self._process) is not None and process.stdin is not None:
            process.stdin.close()
            with suppress(TimeoutError):
                async with asyncio.timeout(_END_SECONDS):
                    await process.wait()
        await self._kill()

    async def _started(self, begin_by: float) -> asyncio.subprocess.Process:
        """Returns the process; starts it if there is none. Raises Refused when it is not ready in time; the start goes
        on."""
        if self._starting is None:
            if self._process is not None and self._process.returncode is None:
                return self._process
            self._starting = asyncio.create_task(self._ready())
            self._starting.add_done_callback(self._start_ended)
        try:
            async with asyncio.timeout_at(begin_by):
                return await asyncio.shield(self._starting)
        except TimeoutError:
            raise protocol.not_started("it was not ready within the question's time") from None

    def _start_ended(self, starting: asyncio.Task[asyncio.subprocess.Process]) -> None:
        self._starting = None
        if not starting.cancelled():
            starting.exception()  # it was logged; retrieved, in case that nobody waits any more

    async def _ready(self) -> asyncio.subprocess.Process:
        """Starts a process and returns it when it takes questions. Raises Refused."""
        await self._kill()  # closes the pipes of one that has ended
        try:
            async with asyncio.timeout(_START_SECONDS):
                self._process = process = await self._start()
                head, _ = await _exchange(process, protocol.encode(self._setup.to_json()))
        except (OSError, asyncio.IncompleteReadError) as error:  # TimeoutError is an OSError
            code = await self._kill()
            log.exception("a process for analysis cannot be started: it ended with %s", code)
            raise protocol.not_started(str(error) or type(error).__name__) from error
        except BaseException:
            await self._kill()
            raise
        log.info("process %s answers analysis questions", head["ready"])
        return process

    async def _start(self) -> asyncio.subprocess.Process:
        # A new interpreter, not a fork: this process has threads and connections. -P: modules are imported from our
        # path only, not from the working directory.
        environ = {name: value for name, value in os.environ.items() if name not in self._without}
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-P", "-m", self._module,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            limit=_READ_BUFFER,
            env={**environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        )  # fmt: skip
        lower_priority(process.pid, self._nice)  # before its imports, which take a core for half a second
        return process

    async def _kill(self) -> int | None:
        """Sends SIGKILL if the process still runs; returns its exit code once it has ended, None if there was none.
        Cancelling this does not stop the kill."""
        if self._process is not None:
            self._ending, self._process = asyncio.create_task(_kill_process(self._process)), None
        return None if self._ending is None else await asyncio.shield(self._ending)


async def _kill_process(process: asyncio.subprocess.Process) -> int:
    with suppress(ProcessLookupError):
        process.kill()
    code = await process.wait()
    if process.stdin is not None:
        process.stdin.close()
        with suppress(OSError):
            await process.stdin.wait_closed()
    return code


async def _exchange(process: asyncio.subprocess.Process, message: bytes) -> tuple[Mapping[str, Any], bytes]:
    """Sends a message and reads the reply. Raises OSError or IncompleteReadError when the process ends."""
    stdin, stdout = process.stdin, process.stdout
    if stdin is None or stdout is None:
        raise AnalysisFailed("a worker process without pipes")
    stdin.write(message)
    await stdin.drain()
    head, body = protocol.LENGTHS.unpack(await stdout.readexactly(protocol.LENGTHS.size))
    return protocol.head_of(await stdout.readexactly(head)), await stdout.readexactly(body)


def lower_priority(pid: int, by: int) -> None:
    """Lowers the priority of a process that was just started, relative to this one.  Does nothing on Windows."""
    if sys.platform == "win32":
        return
    with suppress(OSError):  # the process has ended already: its next question reports that
        os.setpriority(os.PRIO_PROCESS, pid, min(_LOWEST_NICE, os.getpriority(os.PRIO_PROCESS, 0) + by))
