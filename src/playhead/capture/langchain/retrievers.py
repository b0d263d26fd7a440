"""LangChain's retrievers: records the query and the found documents."""

from functools import partial
from typing import Any, cast

from playhead.capture.frameworks import Begin, call, call_async, none_on_error, recorded_result, retriever
from playhead.capture.patching import Wrap
from playhead.model import names


@none_on_error
def _begin(instance: Any, args: Any, kwargs: Any) -> Begin:
    query = {"query": args[0] if args else kwargs.get("input")}
    options = {name: value for name, value in kwargs.items() if name not in ("input", "config")}
    return retriever(str(instance.get_name()), query | options)


def _as_documents(value: Any) -> Any:
    """Converts texts to documents; a fork may set texts as the result."""
    from langchain_core.documents import Document  # noqa: PLC0415 - of the library that is in use

    items = cast("list[Any]", value) if isinstance(value, list) else [value]
    return [Document(page_content=item) if isinstance(item, str) else item for item in items]


def _invoke(wrapped: Any, instance: Any, args: Any, kwargs: Any) -> Any:
    begin = _begin(instance, args, kwargs)
    if begin is None:
        return wrapped(*args, **kwargs)
    return call(begin, names.OUTPUT_REF, wrapped, args, kwargs, _as_documents)


_ainvoke = recorded_result(_begin, partial(call_async, output=names.OUTPUT_REF, fit=_as_documents))

_MODULE = "langchain_core.retrievers"
RETRIEVERS = (Wrap(_MODULE, "BaseRetriever.invoke", _invoke), Wrap(_MODULE, "BaseRetriever.ainvoke", _ainvoke))
