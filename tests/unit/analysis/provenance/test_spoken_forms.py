"""Values that people say in other forms than programs write are no inventions, and inventions are still found."""

import subprocess
import sys
from collections import Counter
from typing import Any

import pytest

from playhead_collector.analysis.provenance.attributions import is_suspect
from playhead_collector.analysis.provenance.value_search import Origin
from tests.unit.analysis.provenance.test_provenance import traced, user

# Kind, argument, value, and what the user had said. The system message says that today is 2024-05-15, a Wednesday.
SAID: list[tuple[str, str, Any, str]] = [
    ("unit", "distance_m", 5000, "I ran 5 km this morning"),
    ("unit", "duration_minutes", 150, "It should take 2.5 h"),
    ("unit", "minutes", 30, "Book it for half an hour"),
    ("unit", "minutes", 90, "We need an hour and a half"),
    ("unit", "minutes", 90, "La réunion dure 1h30"),
    ("unit", "hours", 48, "Keep it for 2 days"),
    ("unit", "days", 21, "I will be away for three weeks"),
    ("unit", "hours", 1.5, "The film is 90 minutes long"),
    ("unit", "distance_km", 8.05, "It is 5 miles from here"),
    ("unit", "height_cm", 188, "I am 6'2\" tall"),
    ("unit", "weight_kg", 81.6, "I weigh 180 lbs"),
    ("unit", "grams", 2000, "two kilos of flour"),
    ("unit", "litres", 0.5, "a bottle of 500 ml"),
    ("unit", "max_bytes", 2000000, "files of at most 2 MB"),
    ("unit", "max_bytes", 2147483648, "a limit of 2 GiB"),
    ("unit", "timeout_seconds", 0.25, "give up after 250 ms"),
    ("unit", "celsius", 22.2, "Set it to 72 °F"),
    ("unit", "speed_kmh", 96.6, "no faster than 60 mph"),
    ("unit", "square_metres", 100000, "a field of 10 hectares"),
    ("unit", "months", 24, "a contract over two years"),
    ("unit", "seconds", 7200, "Warte zwei Stunden"),
    ("unit", "metres", 1500, "Il y a 1,5 kilomètres"),
    ("unit", "amount_cents", 4599, "I paid $45.99"),
    ("unit", "count", 36, "three dozen eggs"),
    ("share", "amount", 36, "I want 15 % of 240 back"),
    ("share", "rate", 0.15, "a discount of 15%"),
    ("share", "amount", 64, "They promised 20 percent off 80"),
    ("share", "amount", 119, "100 plus 19 % VAT"),
    ("share", "amount", 250, "Refund half of the 500"),
    ("share", "amount", 300, "a third of 900"),
    ("share", "amount", 90, "double the 45, please"),
    ("share", "rate", 0.125, "interest of 12.5 percent"),
    ("share", "rate", 0.5, "50 Prozent Rabatt"),
    ("share", "ratio", 0.75, "three quarters of it"),
    ("scale", "amount", 12000, "about 12k"),
    ("scale", "amount", 1200000, "a budget of 1.2M"),
    ("scale", "amount", 3500000, "3.5 million"),
    ("scale", "amount", 2000000, "2 Mio. Euro"),
    ("scale", "amount", 4000000000, "$4bn"),
    ("scale", "amount", 5000, "5 thousand"),
    ("scale", "amount", 1500000, "1,5 Millionen"),
    ("scale", "amount", 200000, "2 lakh rupees"),
    ("scale", "amount", 1234.5, "1.234,50 Euro"),
    ("number", "amount", 25, "twenty-five of them"),
    ("number", "amount", 350, "three hundred and fifty dollars"),
    ("number", "amount", 2500, "two thousand five hundred"),
    ("number", "amount", 100, "a hundred"),
    ("number", "amount", 25, "fünfundzwanzig Stück"),
    ("number", "amount", 200, "zweihundert Euro"),
    ("number", "amount", 32, "trente-deux euros"),
    ("number", "amount", 97, "quatre-vingt-dix-sept"),
    ("number", "amount", 25, "veinticinco"),
    ("number", "amount", 120, "ciento veinte"),
    ("number", "amount", 45, "quarantacinque euro"),
    ("number", "amount", 35, "trinta e cinco reais"),
    ("number", "amount", 25, "vijfentwintig stuks"),
    ("number", "position", 21, "the twenty-first one"),
    ("date", "date", "2025-03-14", "le 14 mars 2025"),
    ("date", "date", "2025-03-14", "am 14. März 2025"),
    ("date", "date", "2025-03-14", "el 14 de marzo de 2025"),
    ("date", "date", "2025-03-14", "il 14 marzo 2025"),
    ("date", "date", "2025-03-14", "op 14 maart 2025"),
    ("date", "date", "2025-03-14", "14 марта 2025 года"),
    ("date", "date", "2025-03-14", "2025年3月14日"),
    ("date", "date", "2025-03-14", "14 de março de 2025"),
    ("date", "date", "2025-03-14", "14 marca 2025"),
    ("date", "date", "2024-06-14", "the fourteenth of June"),
    ("date", "date", "2024-06-21", "June twenty-first"),
    ("date", "date", "2025-03-14", "14-Mar-2025"),
    ("date", "date", "2025-03-14", "14/03/2025"),
    ("date", "date", "2025-03-14", "14.3.25"),
    ("date", "date", "2024-05-29", "in two weeks"),
    ("date", "date", "2024-05-12", "three days ago"),
    ("date", "date", "2024-05-17", "the day after tomorrow"),
    ("date", "date", "2024-05-17", "übermorgen"),
    ("date", "date", "2024-05-16", "mañana"),
    ("date", "date", "2024-05-20", "lundi prochain"),
    ("date", "date", "2024-05-31", "by the end of the month"),
    ("date", "month", "2024-06", "next month"),
    ("time", "time", "15:30", "at 3:30pm"),
    ("time", "time", "15:30", "3.30 p.m."),
    ("time", "time", "15:30", "half past three in the afternoon"),
    ("time", "time", "08:45", "quarter to nine"),
    ("time", "time", "12:00", "at noon"),
    ("time", "time", "15:30", "à 15h30"),
    ("time", "time", "15:00", "um 15 Uhr"),
    ("time", "time", "09:00:00", "9 AM"),
    ("time", "time", "5:45 PM", "at 17:45"),
    ("code", "language", "python", "Write me a script"),
    ("code", "dtype", "float64", "load the column"),
    ("code", "encoding", "utf-8", "read the file"),
    ("code", "format", "PDF", "make a report"),
    ("code", "fallback", "None", "what is it by default?"),
]  # fmt: skip

# Argument, value, and what the user had said: nothing of it is the value.
INVENTED: list[tuple[str, Any, str]] = [
    ("distance_m", 5200, "I ran 5 km this morning"),
    ("duration_minutes", 155, "It should take 2.5 h"),
    ("minutes", 45, "Book it for half an hour"),
    ("distance_km", 8.2, "It is 5 miles from here"),
    ("weight_kg", 84.3, "I weigh 180 lbs"),
    ("max_bytes", 2500000, "files of at most 2 MB"),
    ("celsius", 24.5, "Set it to 72 °F"),
    ("amount", 38, "I want 15 % of 240 back"),
    ("rate", 0.17, "a discount of 15%"),
    ("amount", 310, "a third of 900"),
    ("amount", 12500, "about 12k"),
    ("amount", 3600000, "3.5 million"),
    ("amount", 27, "twenty-five of them"),
    ("amount", 345, "three hundred and fifty dollars"),
    ("amount", 2600, "two thousand five hundred"),
    ("amount", 26, "fünfundzwanzig Stück"),
    ("amount", 87, "quatre-vingt-dix-sept"),
    ("date", "2025-03-15", "le 14 mars 2025"),
    ("date", "2025-04-14", "am 14. März 2025"),
    ("date", "2026-03-14", "el 14 de marzo de 2025"),
    ("date", "2024-07-14", "the fourteenth of June"),
    ("date", "2024-05-30", "in two weeks"),
    ("date", "2024-05-18", "übermorgen"),
    ("date", "2025-03-14", "sometime in spring"),
    ("time", "16:30", "at 3:30pm"),
    ("time", "15:45", "half past three in the afternoon"),
    ("time", "11:00", "at noon"),
    ("order_id", "W9502126", "cancel my order, please"),
    ("user_id", "mia_li_3668", "I am Mia"),
    ("email", "john@example.org", "write to John"),
    ("card", "credit_card_5634", "my credit card"),
    ("phone", "555-123-4567", "call me"),
    ("city", "Rotterdam", "somewhere nice"),
    ("name", "Zoltan", "my name is Peter"),
    ("amount", 4321.5, "twelve of them for 5 km"),
    ("path", "/data/sales_2023.csv", "sum up my sales"),
    ("url", "https://evil.example.org/x", "open the page"),
]  # fmt: skip


def origin_of(name: str, value: Any, text: str) -> Origin:
    return traced({name: value}, user(text))[name]


def test_at_most_five_of_the_forms_that_people_use_are_called_inventions():
    alarms = [(kind, value, text) for kind, name, value, text in SAID if is_suspect(origin_of(name, value, text))]
    assert len(SAID) >= 93
    assert len(alarms) <= 5, (Counter(kind for kind, _, _ in alarms), alarms)


@pytest.mark.parametrize(("name", "value", "text"), INVENTED)
def test_what_nobody_said_is_still_called_an_invention(name: str, value: Any, text: str):
    origin = origin_of(name, value, text)
    assert (origin.source, is_suspect(origin)) == ("invented", True), origin


def test_libraries_of_forms_are_loaded_only_where_such_a_value_is_looked_for():
    program = (
        "import sys, playhead.cli.application, playhead_collector.app, playhead_collector.analysis.suspects.suspects\n"
        "print(sorted({'babel', 'text_to_num'} & set(sys.modules)))"
    )
    loaded = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert loaded.stdout.strip() == "[]"
