"""Texts that make careless patterns and parsers slow: each is a short shape, repeated to a length."""

from collections.abc import Mapping
from string import punctuation

# What is repeated.  Between them they hold runs of every class of character that our patterns repeat, starts without
# an end, ends without a start, and pairs that could be read in many ways.
UNITS: Mapping[str, str] = {
    "letters": "a",
    "capitals": "A",
    "capitalised": "Aa",
    "capitalised words": "Aa ",
    "capitals and apostrophes": "A'",
    "words": "word ",
    "digits": "1",
    "digits and commas": "111,",
    "digits and dots": "1.",
    "digits and dashes": "1-",
    "digits and letters": "a1",
    "identifiers": "a_1-",
    "snake": "a_",
    "camel": "aA",
    "dates": "2024-05-20 ",
    "days": "May 3 and ",
    "day lists": "3, ",
    "slashes": "/a",
    "slashes alone": "/",
    "backslashes": "\\",
    "drive paths": "C:\\a ",
    "dots": ".",
    "dotted words": "a.",
    "mail": "a@",
    "mail with dots": "a@a.",
    "plus": "a+",
    "urls": "http://a",
    "double quotes": '"',
    "quoted": '"a" ',
    "single quotes": "'a ",
    "backticks": "`a ",
    "quotes and backslashes": '\\"',
    "quotes in quotes": '"\\',
    "open braces": "{",
    "open brackets": "[",
    "nested objects": '{"a":',
    "nested errors": '{"error":',
    "objects in texts": '{\\"a\\": \\"b\\", ',
    "members": '"a": 1, ',
    "array of texts": '["a", ',
    "closing": '"}]',
    "html": '<div class="a">text</div>\n',
    "open tags": "<option ",
    "tags without end": "<goal",
    "reasoning tags": "<reasoning>",
    "tag and spaces": "<reasoning \n",
    "names": "name='",
    "labels": "Goal: a\n",
    "bullets": "- a\n",
    "bullets and spaces": " - ",
    "spaces": " ",
    "tabs": "\t",
    "newlines": "\n",
    "blank lines": " \n",
    "hashes": "#",
    "stars": "*",
    "dashes": "-",
    "underscores": "_",
    "commas": ",",
    "semicolons": ";",
    "colons": ":",
    "operators": "1+",
    "parentheses": "(",
    "questions": "a? ",
    "accents": "a\u0301",
    "letters beyond ASCII": "\u00e9",
    "summary": "summary ",
    "make": "make ",
    "conversation": "the conversation ",
    "exit codes": "exit code ",
    "errors": "error ",
    "tracebacks": "Traceback (most recent call last):\n",
    "frames": '  File "a.py", line 1, in a\n',
    "brackets with numbers": "[1]",
    "data uris": "data:a/a;",
    "hexadecimal": "0123456789abcdef",
    "media types": "a/a; a=a",
    "versions": "-v1:123",
    "secrets": "password='\\'",
    "secrets without end": 'api_key: "\\',
    "parts of messages": '"parts":[',
    "closing tags": "</reasoning ",
    "lists of keys": '{"goal"  :  [',
    **{f"only {mark}": mark for mark in punctuation},
    **{f"{mark} and spaces": f"{mark}  " for mark in punctuation},
    **{f"{mark} and a letter": f"{mark}a" for mark in punctuation},
    **{f"{mark} and a digit": f"{mark}1" for mark in punctuation},
}
ON_PUNCTUATION = ("and spaces", "and a letter", "and a digit")
# What comes after the last: that no match is found at the end makes a pattern go back.
ENDS = ("", "!", '"', "\n", "}")


def text_of_shape(shape: str, length: int, end: str = "") -> str:
    """The shape, repeated to `length` characters, and then `end`."""
    unit = UNITS[shape]
    return (unit * (length // len(unit) + 1))[:length] + end


def all_different(length: int) -> str:
    """Identifiers, numbers, dates, names, quotations and paths, none of which stands there twice."""
    row = "Order #W%07d of Anna%d Berg%d costs %d.%02d on %04d-03-%02d, 'see %d here' in /data/%d/x%d.csv. "
    made = (row % (n, n, n, n + 100, n % 100, 1000 + n % 9000, n % 28 + 1, n, n, n) for n in range(length // 60 + 1))
    return "".join(made)[:length]


def pairs_of_few_words(length: int) -> str:
    """Identifiers of two words each, none twice, from a few words that each stand there often."""
    few = [f"{chr(97 + number // 26)}{chr(97 + number % 26)}" for number in range(200)]
    made = (f"{few[n // 200 % 200]}_{few[n % 200]}1 " for n in range(length // 6 + 1))
    return "".join(made)[:length]


def truncated_json(length: int) -> str:
    """What a browser tool returns, cut as logs cut it: JSON of HTML of JSON, without its end."""
    row = '{\\"id\\": \\"#W%07d\\", \\"html\\": \\"<a href=\\\\\\"/orders/%d\\\\\\">It\'s 2024-05-%02d</a>\\"}, '
    rows = "".join(row % (number, number, number % 28 + 1) for number in range(length // 60 + 1))
    return ('{"status": "ok", "content": "[' + rows)[:length]
