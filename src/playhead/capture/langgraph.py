"""LangGraph's graphs: one that is started outside of a run begins one.  Its tools are LangChain's."""

from typing import Any

from playhead.api import wrappers
from playhead.capture.frameworks import Begin, Framework, agent, call, call_later, is_inside_run, quietly, wrap
from playhead.model import names

SUPPORTS = "langgraph >= 1.0"


def _patch(module: Any) -> None:
    for method, wrapper in (("invoke", _invoke), ("ainvoke", _ainvoke), ("stream", _stream), ("astream", _astream)):
        wrap(module.Pregel, method, wrapper)


_langgraph = Framework({"langgraph.pregel.main": _patch})
patch, unpatch = _langgraph.patch, _langgraph.unpatch


@quietly
def _begin(instance: Any, args: Any, kwargs: Any) -> Begin | None:
    if not _langgraph.on or is_inside_run():
        return None
    return agent(str(instance.name), args[0] if args else kwargs.get("input"))


def _invoke(wrapped: Any, instance: Any, args: Any, kwargs: Any) -> Any:
    begin = _begin(instance, args, kwargs)
    return wrapped(*args, **kwargs) if begin is None else call(begin, names.OUTPUT_REF, wrapped, args, kwargs)


def _ainvoke(wrapped: Any, instance: Any, args: Any, kwargs: Any) -> Any:
    begin, made = _begin(instance, args, kwargs), wrapped(*args, **kwargs)
    return made if begin is None else call_later(begin, names.OUTPUT_REF, made)


def _stream(wrapped: Any, instance: Any, args: Any, kwargs: Any) -> Any:
    begin, made = _begin(instance, args, kwargs), wrapped(*args, **kwargs)
    return made if begin is None else wrappers.iterate(begin, None, made)


def _astream(wrapped: Any, instance: Any, args: Any, kwargs: Any) -> Any:
    begin, made = _begin(instance, args, kwargs), wrapped(*args, **kwargs)
    return made if begin is None else wrappers.iterate_async(begin, None, made)
