"""Recognises a provider's refusal of a context that is too long. Pure."""

import re

_TOO_LONG = re.compile(
    r"context[_ ]length[_ ]exceeded|maximum context length|prompt is too long|input is too long|context window"
    r"|exceeds? the (?:maximum|available) (?:number of tokens|context)|too many (?:input )?tokens"
    r"|string_above_max_length|request_too_large",
    re.IGNORECASE,
)
_LONGEST = 4_000


def says_too_long(error: BaseException) -> bool:
    """Whether the error of a model call says that the context is too long."""
    code = getattr(error, "code", None)
    text = f"{code if isinstance(code, str) else ''} {error}"
    return _TOO_LONG.search(text[:_LONGEST]) is not None
