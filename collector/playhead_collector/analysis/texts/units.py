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


class _Alias(NamedTuple):
    """A unit: `number * factor + offset` is the number in the base unit of its kind. `words`: folded, see `fold`."""

    kind: str
    name: str
    factor: str
    words: str
    offset: str = "0"


_TABLE = (
    _Alias("length", "mm", "0.001", "mm millimeter millimeters millimetre millimetres milimetro milimetros millimetri"),
    _Alias("length", "cm", "0.01", "cm centimeter centimeters centimetre centimetres zentimeter centimetro centimetros "
         "centimetri 厘米 センチ см"),
    _Alias("length", "m", "1", "m meter meters metre metres metro metros metri 米 メートル м метр метра метров"),
    _Alias("length", "km", "1000", "km kms kilometer kilometers kilometre kilometres chilometro chilometri kilometro "
         "kilometros quilometro quilometros 公里 千米 キロ км километр километра километров"),
    _Alias("length", "in", "0.0254", 'in " ins inch inches zoll pouce pouces pulgada pulgadas pollici'),
    _Alias("length", "ft", "0.3048", "ft ' foot feet fuss pied pieds pie pies piedi"),
    _Alias("length", "yd", "0.9144", "yd yds yard yards"),
    _Alias("length", "mi", "1609.344", "mi mile miles meile meilen milla millas miglio miglia milhas"),
    _Alias("length", "nmi", "1852", "nmi seemeilen"),
    _Alias("time", "ms", "0.001", "ms msec millisecond milliseconds millisekunden millisecondes milisegundos"),
    _Alias("time", "s", "1", "s sec secs second seconds sekunde sekunden seconde secondes segundo segundos secondo "
         "secondi seconden 秒 секунда секунды секунд"),
    _Alias("time", "min", "60", "min mins minute minutes minuten minuto minutos minuti minuut 分钟 分鐘 分間 分 мин "
         "минута минуты минут"),
    _Alias("time", "h", "3600", "h hr hrs hour hours std stunde stunden heure heures hora horas ora ore uur uren "
         "小时 小時 時間 час часа часов"),
    _Alias("time", "days", "86400", "d day days tag tage tagen jour jours dia dias giorno giorni dag dagen 天 日間 "
         "день дня дней"),
    _Alias("time", "weeks", "604800", "wk wks week weeks woche wochen semaine semaines semana semanas settimana "
         "settimane weken 周 週 星期 週間 неделя недели недель"),
    _Alias("time", "fortnights", "1209600", "fortnight fortnights"),
    _Alias("months", "months", "1", "mo mos month months monat monate monaten mois mes meses mese mesi maand "
         "maanden 个月 個月 ヶ月 месяц месяца месяцев"),
    _Alias("months", "quarters", "3", "quarters quartale trimestres"),
    _Alias("months", "years", "12", "yr yrs year years jahr jahre jahren an ans annee annees ano anos anni jaar "
         "jaren 年 год года лет"),
    _Alias("months", "decades", "120", "decade decades"),
    # A year as days, and a month as people count its days.
    _Alias("days", "days", "1", ""),
    _Alias("days", "days", "30", "month months monat monate mois mes meses mese mesi"),
    _Alias("days", "days", "365", "year years jahr jahre an ans ano anos anni"),
    _Alias("mass", "mg", "0.001", "mg milligram milligrams milligramm"),
    _Alias("mass", "g", "1", "g gr grs gram grams gramm gramme grammes gramo gramos grammi grama gramas 克 грамм "
         "грамма граммов"),
    _Alias("mass", "kg", "1000", "kg kgs kilo kilos kilogram kilograms kilogramm kilogramme kilogrammes chilo "
         "chili quilo quilos 公斤 千克 キログラム кг килограмм килограмма килограммов"),
    _Alias("mass", "t", "1000000", "t ton tons tonne tonnes tonnen tonelada toneladas tonnellate 吨 噸 "
         "тонна тонны тонн"),
    _Alias("mass", "oz", "28.349523125", "oz ozs ounce ounces unze unzen"),
    _Alias("mass", "lb", "453.59237", "lb lbs pound pounds livre livres libra libras"),
    _Alias("mass", "st", "6350.29318", "stone"),
    _Alias("mass", "pfund", "500", "pfund"),
    _Alias("volume", "ml", "0.001", "ml mls milliliter milliliters millilitre millilitres cc"),
    _Alias("volume", "cl", "0.01", "cl centiliter centilitre centilitres"),
    _Alias("volume", "l", "1", "l lt liter liters litre litres litro litros litri 升 リットル литр литра литров"),
    _Alias("volume", "m³", "1000", "m3 m³ cbm"),
    _Alias("volume", "gal", "3.785411784", "gal gallon gallons"),
    _Alias("volume", "cups", "0.2365882365", "cup cups"),
    _Alias("volume", "pt", "0.473176473", "pint pints"),
    _Alias("volume", "qt", "0.946352946", "quart quarts"),
    _Alias("temperature", "°C", "1", "°c c celsius centigrade"),
    _Alias("temperature", "K", "1", "k kelvin", "-273.15"),
    _Alias("speed", "m/s", "3.6", "m/s mps"),
    _Alias("speed", "km/h", "1", "km/h kmh kph"),
    _Alias("speed", "mph", "1.609344", "mph mi/h"),
    _Alias("speed", "kn", "1.852", "kn knot knots knoten"),
    _Alias("area", "cm²", "0.0001", "cm2 cm²"),
    _Alias("area", "m²", "1", "m2 m² sqm qm"),
    _Alias("area", "km²", "1000000", "km2 km²"),
    _Alias("area", "ha", "10000", "ha hectare hectares hektar"),
    _Alias("area", "acres", "4046.8564224", "acre acres"),
    _Alias("area", "ft²", "0.09290304", "ft2 ft² sqft"),
    _Alias("energy", "J", "1", "j joule joules"),
    _Alias("energy", "kJ", "1000", "kj kilojoule kilojoules"),
    _Alias("energy", "kcal", "4184", "kcal cal calories kalorien"),
    _Alias("energy", "Wh", "3600", "wh"),
    _Alias("energy", "kWh", "3600000", "kwh"),
    _Alias("energy", "MWh", "3600000000", "mwh"),
    _Alias("power", "W", "1", "w watt watts"),
    _Alias("power", "kW", "1000", "kw kilowatt kilowatts"),
    _Alias("power", "MW", "1000000", "mw megawatt megawatts"),
    _Alias("power", "hp", "745.69987158227", "hp horsepower"),
    _Alias("power", "PS", "735.49875", "ps"),
    _Alias("pressure", "Pa", "1", "pa pascal"),
    _Alias("pressure", "hPa", "100", "hpa mbar"),
    _Alias("pressure", "kPa", "1000", "kpa"),
    _Alias("pressure", "bar", "100000", "bar bars"),
    _Alias("pressure", "psi", "6894.757293168", "psi"),
    _Alias("pressure", "atm", "101325", "atm"),
    _Alias("angle", "degrees", "1", "degree degrees grad °"),
    _Alias("angle", "rad", "57.29577951308232", "rad radian radians"),
    _Alias("frequency", "Hz", "1", "hz hertz"),
    _Alias("frequency", "kHz", "1000", "khz"),
    _Alias("frequency", "MHz", "1000000", "mhz"),
    _Alias("frequency", "GHz", "1000000000", "ghz"),
    _Alias("bits", "bit/s", "1", "bps bit bits"),
    _Alias("bits", "kbit/s", "1000", "kbps kbit kbit/s"),
    _Alias("bits", "Mbit/s", "1000000", "mbps mbit mbit/s"),
    _Alias("bits", "Gbit/s", "1000000000", "gbps gbit gbit/s"),
    _Alias("data", "bytes", "1", "byte bytes"),
    *(_Alias("data", name, str(base**power), words)
      for base in (1000, 1024)
      for power, name, words in ((1, "kB", "kb kilobyte kilobytes"), (2, "MB", "mb megabyte megabytes"),
                                 (3, "GB", "gb gigabyte gigabytes gig gigs"), (4, "TB", "tb terabyte terabytes"))),
    *(_Alias("data", name, str(1024**power), name.lower())
      for power, name in enumerate(("KiB", "MiB", "GiB", "TiB"), 1)),
    _Alias(SHARE, "", "0.01", "% percent pct prozent procent percento porcento pourcent процент процента процентов"),
    _Alias(COUNT, "", "12", "dozen dozens dutzend douzaine douzaines docena docenas dozzina dozzine duzia duzias"),
    _Alias(COUNT, "", "100", "hundred hundreds"),
    _Alias(COUNT, "", "1000", "k thousand thousands grand tsd tausend mil mila mille 千 тыс тысяча тысячи тысяч"),
    _Alias(COUNT, "", "1000000", "m mn mm mio million millions millionen millones milhoes milioni miljoen млн "
         "миллион миллиона миллионов"),
    _Alias(COUNT, "", "1000000000", "b bn billion billions mrd milliarde milliarden milliard milliards miliardi "
         "млрд миллиард миллиарда миллиардов"),
    _Alias(COUNT, "", "1000000000000", "tn trillion trillions billionen"),
    _Alias(COUNT, "", "10000", "万 萬"),
    _Alias(COUNT, "", "100000000", "亿 億"),
    _Alias(COUNT, "", "100000", "lakh lakhs lac lacs"),
    _Alias(COUNT, "", "10000000", "crore crores"),
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


def _conversion(unit: _Alias, target: _Alias) -> Conversion:
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
