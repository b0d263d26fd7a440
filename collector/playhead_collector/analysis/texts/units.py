"""[analysis]: words for units and scales in several languages, and what a quantity is in other units. Pure.

A table of our own: a library of units takes a second to load, in each worker and each command that answers from the
journal.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import groupby
from typing import NamedTuple

from playhead_collector.analysis.texts.words import fold, plain_number

SHARE, COUNT = "share", "count"
_MAX_DECIMALS = 3
# A rounded number with fewer digits could be meant by many quantities.
_MIN_DIGITS = 2


class _Unit(NamedTuple):
    """A unit: `number * factor + offset` is the number in the base unit of its kind. `words`: folded, see `fold`."""

    kind: str
    name: str
    factor: str
    words: str
    offset: str = "0"


_TABLE = (
    _Unit("length", "mm", "0.001", "mm millimeter millimeters millimetre millimetres milimetro milimetros millimetri"),
    _Unit("length", "cm", "0.01", "cm centimeter centimeters centimetre centimetres zentimeter centimetro centimetros "
         "centimetri 厘米 センチ см"),
    _Unit("length", "m", "1", "m meter meters metre metres metro metros metri 米 メートル м метр метра метров"),
    _Unit("length", "km", "1000", "km kms kilometer kilometers kilometre kilometres chilometro chilometri kilometro "
         "kilometros quilometro quilometros 公里 千米 キロ км километр километра километров"),
    _Unit("length", "in", "0.0254", 'in " ins inch inches zoll pouce pouces pulgada pulgadas pollici'),
    _Unit("length", "ft", "0.3048", "ft ' foot feet fuss pied pieds pie pies piedi"),
    _Unit("length", "yd", "0.9144", "yd yds yard yards"),
    _Unit("length", "mi", "1609.344", "mi mile miles meile meilen milla millas miglio miglia milhas"),
    _Unit("length", "nmi", "1852", "nmi seemeilen"),
    _Unit("time", "ms", "0.001", "ms msec millisecond milliseconds millisekunden millisecondes milisegundos"),
    _Unit("time", "s", "1", "s sec secs second seconds sekunde sekunden seconde secondes segundo segundos secondo "
         "secondi seconden 秒 секунда секунды секунд"),
    _Unit("time", "min", "60", "min mins minute minutes minuten minuto minutos minuti minuut 分钟 分鐘 分間 分 мин "
         "минута минуты минут"),
    _Unit("time", "h", "3600", "h hr hrs hour hours std stunde stunden heure heures hora horas ora ore uur uren "
         "小时 小時 時間 час часа часов"),
    _Unit("time", "days", "86400", "d day days tag tage tagen jour jours dia dias giorno giorni dag dagen 天 日間 "
         "день дня дней"),
    _Unit("time", "weeks", "604800", "wk wks week weeks woche wochen semaine semaines semana semanas settimana "
         "settimane weken 周 週 星期 週間 неделя недели недель"),
    _Unit("time", "fortnights", "1209600", "fortnight fortnights"),
    _Unit("months", "months", "1", "mo mos month months monat monate monaten mois mes meses mese mesi maand "
         "maanden 个月 個月 ヶ月 месяц месяца месяцев"),
    _Unit("months", "quarters", "3", "quarters quartale trimestres"),
    _Unit("months", "years", "12", "yr yrs year years jahr jahre jahren an ans annee annees ano anos anni jaar "
         "jaren 年 год года лет"),
    _Unit("months", "decades", "120", "decade decades"),
    # A year as days, and a month as people count its days.
    _Unit("days", "days", "1", ""),
    _Unit("days", "days", "30", "month months monat monate mois mes meses mese mesi"),
    _Unit("days", "days", "365", "year years jahr jahre an ans ano anos anni"),
    _Unit("mass", "mg", "0.001", "mg milligram milligrams milligramm"),
    _Unit("mass", "g", "1", "g gr grs gram grams gramm gramme grammes gramo gramos grammi grama gramas 克 грамм "
         "грамма граммов"),
    _Unit("mass", "kg", "1000", "kg kgs kilo kilos kilogram kilograms kilogramm kilogramme kilogrammes chilo "
         "chili quilo quilos 公斤 千克 キログラム кг килограмм килограмма килограммов"),
    _Unit("mass", "t", "1000000", "t ton tons tonne tonnes tonnen tonelada toneladas tonnellate 吨 噸 "
         "тонна тонны тонн"),
    _Unit("mass", "oz", "28.349523125", "oz ozs ounce ounces unze unzen"),
    _Unit("mass", "lb", "453.59237", "lb lbs pound pounds livre livres libra libras"),
    _Unit("mass", "st", "6350.29318", "stone"),
    _Unit("mass", "pfund", "500", "pfund"),
    _Unit("volume", "ml", "0.001", "ml mls milliliter milliliters millilitre millilitres cc"),
    _Unit("volume", "cl", "0.01", "cl centiliter centilitre centilitres"),
    _Unit("volume", "l", "1", "l lt liter liters litre litres litro litros litri 升 リットル литр литра литров"),
    _Unit("volume", "m³", "1000", "m3 m³ cbm"),
    _Unit("volume", "gal", "3.785411784", "gal gallon gallons"),
    _Unit("volume", "cups", "0.2365882365", "cup cups"),
    _Unit("volume", "pt", "0.473176473", "pint pints"),
    _Unit("volume", "qt", "0.946352946", "quart quarts"),
    _Unit("temperature", "°C", "1", "°c c celsius centigrade"),
    _Unit("temperature", "K", "1", "k kelvin", "-273.15"),
    _Unit("speed", "m/s", "3.6", "m/s mps"),
    _Unit("speed", "km/h", "1", "km/h kmh kph"),
    _Unit("speed", "mph", "1.609344", "mph mi/h"),
    _Unit("speed", "kn", "1.852", "kn knot knots knoten"),
    _Unit("area", "cm²", "0.0001", "cm2 cm²"),
    _Unit("area", "m²", "1", "m2 m² sqm qm"),
    _Unit("area", "km²", "1000000", "km2 km²"),
    _Unit("area", "ha", "10000", "ha hectare hectares hektar"),
    _Unit("area", "acres", "4046.8564224", "acre acres"),
    _Unit("area", "ft²", "0.09290304", "ft2 ft² sqft"),
    _Unit("energy", "J", "1", "j joule joules"),
    _Unit("energy", "kJ", "1000", "kj kilojoule kilojoules"),
    _Unit("energy", "kcal", "4184", "kcal cal calories kalorien"),
    _Unit("energy", "Wh", "3600", "wh"),
    _Unit("energy", "kWh", "3600000", "kwh"),
    _Unit("energy", "MWh", "3600000000", "mwh"),
    _Unit("power", "W", "1", "w watt watts"),
    _Unit("power", "kW", "1000", "kw kilowatt kilowatts"),
    _Unit("power", "MW", "1000000", "mw megawatt megawatts"),
    _Unit("power", "hp", "745.69987158227", "hp horsepower"),
    _Unit("power", "PS", "735.49875", "ps"),
    _Unit("pressure", "Pa", "1", "pa pascal"),
    _Unit("pressure", "hPa", "100", "hpa mbar"),
    _Unit("pressure", "kPa", "1000", "kpa"),
    _Unit("pressure", "bar", "100000", "bar bars"),
    _Unit("pressure", "psi", "6894.757293168", "psi"),
    _Unit("frequency", "Hz", "1", "hz hertz"),
    _Unit("frequency", "kHz", "1000", "khz"),
    _Unit("frequency", "MHz", "1000000", "mhz"),
    _Unit("frequency", "GHz", "1000000000", "ghz"),
    _Unit("bits", "bit/s", "1", "bps bit bits"),
    _Unit("bits", "kbit/s", "1000", "kbps kbit"),
    _Unit("bits", "Mbit/s", "1000000", "mbps mbit"),
    _Unit("bits", "Gbit/s", "1000000000", "gbps gbit"),
    _Unit("data", "bytes", "1", "byte bytes"),
    *(_Unit("data", name, str(base**power), words)
      for base in (1000, 1024)
      for power, name, words in ((1, "kB", "kb kilobyte kilobytes"), (2, "MB", "mb megabyte megabytes"),
                                 (3, "GB", "gb gigabyte gigabytes gig gigs"), (4, "TB", "tb terabyte terabytes"))),
    *(_Unit("data", name, str(1024**power), name.lower())
      for power, name in enumerate(("KiB", "MiB", "GiB", "TiB"), 1)),
    _Unit(SHARE, "", "0.01", "% percent pct prozent procent percento porcento pourcent процент процента процентов"),
    _Unit(COUNT, "", "12", "dozen dozens dutzend douzaine douzaines docena docenas dozzina dozzine duzia duzias"),
    _Unit(COUNT, "", "100", "hundred hundreds"),
    _Unit(COUNT, "", "1000", "k thousand thousands grand tsd tausend mil mila mille 千 тыс тысяча тысячи тысяч"),
    _Unit(COUNT, "", "1000000", "m mn mm mio million millions millionen millones milhoes milioni miljoen млн "
         "миллион миллиона миллионов"),
    _Unit(COUNT, "", "1000000000", "b bn billion billions mrd milliarde milliarden milliard milliards miliardi "
         "млрд миллиард миллиарда миллиардов"),
    _Unit(COUNT, "", "1000000000000", "tn trillion trillions billionen"),
    _Unit(COUNT, "", "10000", "万 萬"),
    _Unit(COUNT, "", "100000000", "亿 億"),
    _Unit(COUNT, "", "100000", "lakh lakhs lac lacs"),
    _Unit(COUNT, "", "10000000", "crore crores"),
)  # fmt: skip
_FAHRENHEIT = frozenset(("°f", "f", "fahrenheit"))


@dataclass(frozen=True, slots=True)
class Conversion:
    """From a unit to another one: `number * factor + offset`. `unit`: the other one; "" for a number without one."""

    unit: str
    factor: Decimal
    offset: Decimal = Decimal(0)


@dataclass(frozen=True, slots=True)
class Unit:
    """What a word means after a number: its kind (`length`, `time`, SHARE, COUNT), and what it can be converted to."""

    kind: str
    conversions: Sequence[Conversion]


def units_of(word: str) -> Sequence[Unit]:
    """What a word or sign after a number may mean; empty if it is no unit."""
    return _UNITS.get(_key(word), ())


def names_of(word: str) -> Sequence[str]:
    """The names of the units that a word means, as conversions have them."""
    return _NAMES.get(_key(word), ())


def converted(number: Decimal, conversion: Conversion) -> Iterator[str]:
    """Yields the number in the other unit in its plain form: exact, and rounded to 0 to 3 decimals.

    A rounded form has at least two digits that say something.
    """
    exact = number * conversion.factor + conversion.offset
    if abs(exact.adjusted()) > 15:
        return
    forms = dict.fromkeys((round(exact, 9), *(round(exact, decimals) for decimals in range(_MAX_DECIMALS + 1))))
    for place, form in enumerate(forms):
        plain = plain_number(form) if form else None
        if plain is not None and (not place or len(plain.replace(".", "").strip("-0")) >= _MIN_DIGITS):
            yield plain


def _key(word: str) -> str:
    return fold("".join(word.split())).removesuffix(".")


def _conversion(unit: _Unit, target: _Unit) -> Conversion:
    factor = Decimal(target.factor)
    return Conversion(
        target.name, Decimal(unit.factor) / factor, (Decimal(unit.offset) - Decimal(target.offset)) / factor
    )


def _table() -> dict[str, list[Unit]]:
    units: dict[str, list[Unit]] = {}
    for kind, rows in groupby(_TABLE, key=lambda row: row.kind):
        of_kind = list(rows)
        for row in of_kind:
            if kind in (SHARE, COUNT):
                conversions = [Conversion("", Decimal(row.factor))]
            else:
                conversions = [_conversion(row, target) for target in of_kind if target is not row]
            for word in row.words.split():
                units.setdefault(word, []).append(Unit(kind, conversions))
    fifth = Decimal(5) / 9
    to_celsius = Conversion("°C", fifth, -32 * fifth)
    of_celsius = Conversion("°F", Decimal("1.8"), Decimal(32))
    for word in ("°c", "c", "celsius"):
        units[word].append(Unit("temperature", [of_celsius]))
    for word in _FAHRENHEIT:
        units[word] = [Unit("temperature", [to_celsius])]
    return units


_UNITS = _table()
_NAMES = {
    word: [row.name for row in _TABLE if row.name and word in row.words.split()]
    for word in {word for row in _TABLE for word in row.words.split()}
}
