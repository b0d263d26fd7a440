"""Values that programs hold, for property tests of the model."""

from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

# Machines are noisy: how long an example takes says nothing.
checked = settings(
    max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)

# Lone surrogates included: they come out of truncated JSON and of broken terminals.
characters = st.characters(exclude_categories=())
texts = st.text(characters, max_size=20)
keys = st.text(characters, max_size=8)
numbers = st.integers() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False, allow_infinity=False)
scalars = st.none() | st.booleans() | numbers | texts


def json_values(scalar: st.SearchStrategy[Any] = scalars, leaves: int = 20) -> st.SearchStrategy[Any]:
    """What JSON can say, to any shape."""
    return st.recursive(
        scalar,
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(keys, inner, max_size=4),
        max_leaves=leaves,
    )


anything = json_values()


def shuffled(value: Any, random: Any) -> Any:
    """The same value with the keys of all its objects in another order."""
    if isinstance(value, dict):
        items = list(value.items())
        random.shuffle(items)
        return {key: shuffled(item, random) for key, item in items}
    if isinstance(value, list):
        return [shuffled(item, random) for item in value]
    return value


def nested(depth: int, value: Any = 1) -> Any:
    """A list in a list in a list."""
    for _ in range(depth):
        value = [value]
    return value


# --- messages --------------------------------------------------------------------------------------------------------

# Some larger than what stays inside a message.
long_texts = texts | st.builds(lambda text, times: text * times, texts, st.integers(1, 3_000))
parts = st.fixed_dictionaries(
    {"type": st.sampled_from(["text", "reasoning", "tool_call_response", "x"])},
    optional={"content": long_texts, "response": json_values(long_texts), "id": texts, "extra": anything},
)
messages: st.SearchStrategy[Any] = st.fixed_dictionaries(
    {"role": st.sampled_from(["system", "user", "assistant", "tool"]), "parts": st.lists(parts, max_size=4)},
    optional={"name": texts, "extra": st.dictionaries(keys, anything, max_size=2)},
)
