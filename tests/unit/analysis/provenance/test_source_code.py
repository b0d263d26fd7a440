"""Code and commands that a model wrote: their literals and names are traced, each to who said it."""

from typing import Any

import pytest

from playhead.model.message import text_message
from tests.unit.analysis.provenance.test_provenance import result, traced, user

SAID = user("Sum up the revenue in /data/sales_2024.csv for customer AB12CD since 2024-03-01, above 12500.")
GIVEN = result({"columns": ["net_revenue", "region"], "host": "db7.example.com"})
CODE = """import pandas as pd
df = pd.read_csv("/data/sales_2024.csv", encoding="utf-8")
df = df[(df['customer'] == 'AB12CD') & (df.date >= "2024-03-01")]
print(df["net_revenue"].sum() > 12500, df.shape, 80)
"""


def literals(value: str, path: str = "code", *messages: Any) -> dict[str, str]:
    origin = traced({path: value}, *(messages or (SAID, GIVEN)), name="run")[path]
    assert (origin.source, origin.how) == ("derived", "code"), origin
    return {each.text: each.source for each in origin.literals}


def test_each_literal_has_its_own_source():
    found = literals(CODE)
    said = {"/data/sales_2024.csv", "customer", "AB12CD", "2024-03-01", "12500"}
    assert {text for text, source in found.items() if source == "user"} == said
    assert found["net_revenue"] == "tool_result"
    assert "invented" not in found.values()


def test_data_that_nobody_said_is_unfounded_and_the_model_s_own_words_are_not():
    origin = traced({"code": CODE.replace("AB12CD", "XY99ZZ").replace("12500", "77001")}, SAID, GIVEN)["code"]
    assert set(origin.unfounded) == {"XY99ZZ", "77001"}
    assert (origin.rule.name, origin.rule.strength) == ("code_mostly_known", "likely")


@pytest.mark.parametrize(
    ("path", "value", "expected"),
    [
        ("command", "grep AB12CD /data/sales_2024.csv | wc -l", {"AB12CD": "user", "/data/sales_2024.csv": "user"}),
        ("command", "curl https://evil.example.org/x", {"https://evil.example.org/x": "invented"}),
        ("sql", "SELECT net_revenue FROM t WHERE id = 'AB12CD'", {"net_revenue": "tool_result", "AB12CD": "user"}),
        ("argument", CODE, {"AB12CD": "user"}),
        ("script", "const id = 'AB12CD;\nlet x = \"net_revenue", {"net_revenue": "tool_result"}),
    ],
)
def test_commands_queries_and_cut_code_are_read_too(path: str, value: str, expected: dict[str, str]):
    assert expected.items() <= literals(value, path).items()


def test_code_that_somebody_else_wrote_is_theirs():
    command = "grep -c AB12CD /data/sales_2024.csv"
    assert traced({"command": command}, user(f"Run {command} for me"))["command"].source == "user"
    asked = text_message("assistant", f"Please run: {command}")
    assert traced({"command": command}, asked)["command"].source == "assistant"


@pytest.mark.parametrize("value", ["python", "sales_2024", "2024-03-01", "A red lamp. It is for Maria Lopez, I think."])
def test_what_is_no_code_is_none(value: str):
    assert traced({"note": value}, SAID)["note"].how != "code"


@pytest.mark.parametrize(
    "value",
    [
        "import pandas as pd\nfrom sklearn.linear_model import LinearRegression\nvalue = None if True else False\n",
        "def run(path, Mode=None):\n    return open(path, encoding='utf-8', errors='ignore').read()\n",
        "x = df.astype('float64')\nx.to_csv('out.csv', index=False)\nprint('Total for Region:', x, None)\n",
        "import hashlib, base64\nprint(hashlib.sha256(b'').hexdigest(), base64.b64encode, md5, mp4)\n",
        "from reportlab.pdfgen import canvas  # writes a PDF, or HTML\nc = canvas.Canvas('report.pdf')\n",
        "SELECT Name, COUNT(*) FROM Orders WHERE Status = 'Open' GROUP BY Name\nSELECT 1",
        "#!/usr/bin/env python3\nimport sys\nprint('Results in /tmp/out.txt', file=sys.stderr)\n",
        "const axios = require('axios');\nlet headers = {'Content-Type': 'application/json', Accept: 'text/html'};\n",
        "time.sleep(3600)\nfor Item in range(1024):\n    print(Item, 'Item Number')\n",
    ],
)
def test_names_keywords_imports_and_formats_of_code_are_no_data(value: str):
    assert traced({"code": value}, user("Do it, please"))["code"].unfounded == ()


@pytest.mark.parametrize(
    ("value", "unfounded"),
    [
        ("import x\npay('card_998877', 77001)\n", {"card_998877", "77001"}),
        ("import x\nbook(day='2024-07-09', to='zoe@example.org')\n", {"2024-07-09", "zoe@example.org"}),
        (
            "cat /data/other_2021.csv\ncurl https://evil.example.org/x\n",
            {"/data/other_2021.csv", "https://evil.example.org/x"},
        ),
    ],
)
def test_data_of_code_that_nobody_said_is_still_found(value: str, unfounded: set[str]):
    assert set(traced({"code": value}, user("Do it, please"))["code"].unfounded) == unfounded


@pytest.mark.parametrize("value", ["None", "PDF", "utf-8", "application/json", "os.path", "float64", "python", "DESC"])
def test_a_word_of_code_is_not_found_rather_than_invented(value: str):
    origin = traced({"option": value}, user("Do it, please"))["option"]
    assert (origin.source, origin.rule.name, origin.rule.strength) == ("not_found", "word_of_code", "weak")
