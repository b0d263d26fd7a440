"""[analysis]: the usual words of code: keywords, types, modules, file formats, encodings. Pure."""

import builtins
import keyword
import re
import sys

from playhead_collector.analysis.texts.words import listed

_MAX_LENGTH = 64
_MODULES = sys.stdlib_module_names | set(
    listed(
        "numpy np pandas pd matplotlib plt seaborn sns scipy sklearn torch tensorflow tf keras requests "
        "httpx aiohttp bs4 "
        "lxml flask fastapi django sqlalchemy pydantic pytest click rich tqdm yaml openpyxl xlsxwriter "
        "reportlab pil cv2 "
        "boto3 redis celery networkx sympy nltk spacy transformers openai anthropic langchain polars pyarrow plotly "
        "selenium playwright psycopg2 pymongo react vue express axios lodash jquery"
    )
)
_FORMATS = listed(
    "pdf csv tsv json jsonl ndjson xml yaml yml toml ini html htm css md markdown txt text rtf doc docx "
    "xls xlsx ppt pptx "
    "odt ods png jpg jpeg gif svg webp bmp tiff ico mp3 mp4 wav avi mov webm zip tar gz tgz bz2 7z rar "
    "parquet avro orc "
    "sqlite db sql log ics vcf epub py ipynb js ts tsx jsx sh bash zsh java go rs rb php c cpp h cs kt swift scala r"
)
_LANGUAGES = listed(
    "python python2 python3 javascript typescript java kotlin swift golang rust ruby perl php c++ c# scala julia lua "
    "haskell bash shell powershell sql mysql postgres postgresql sqlite node nodejs deno graphql regex latex"
)
_OTHER_CODE_WORDS = listed(
    "null nil nan none undefined void true false self this cls args kwargs main init str string int "
    "integer float double "
    "number bool boolean char varchar object array list dict tuple set map date datetime timestamp bytes blob any enum "
    "struct const let var function func def return lambda async await select insert update delete where from join "
    "get post put patch head options connect trace asc desc ascending descending ascii latin1 unicode "
    "utc gmt debug info "
    "warning warn error critical fatal inner outer left right stdin stdout stderr localhost root admin utf8 unix "
    "dataframe series ndarray tensor"
)
_CODE_WORDS = _MODULES | {
    *map(str.lower, (*keyword.kwlist, *keyword.softkwlist, *dir(builtins))), *_FORMATS, *_LANGUAGES, *_OTHER_CODE_WORDS,
}  # fmt: skip
_CODE_SHAPE = re.compile(
    r"u?int\d{1,3}|[iuf]\d{1,3}|(?:float|complex|bfloat|datetime|timedelta|varchar|char|decimal)\d{1,3}(?:\[\w{1,4}\])?"
    r"|utf[-_]?\d{1,2}(?:[-_]?(?:le|be|sig))?|(?:iso|cp|windows|latin)[-_]?\d{1,4}(?:[-_]\d{1,2})?"
    r"|(?:sha|md|base|hmac|blake|aes|rsa|crc)[-_]?\d{1,4}[a-z]?|ipv[46]|oauth2?|http/?[123](?:\.[01])?|tls1?\.?\d?"
    r"|(?:[^\w%]{0,2}%[-#]?[aAbBcdDeFfGgHIjklmMnpPrRsSTuUVwWxXyYzZ]){1,12}"
    r"|(?:application|text|image|audio|video|multipart|font)/[\w.+-]{1,40}|\.[a-z0-9]{1,5}|py(?:thon)?\d(?:\.\d{1,2})?"
)


def is_code_word(value: object) -> bool:
    """Whether a text is a usual word of code: a keyword, a type, a module, a file format, an encoding, a media type."""
    if not isinstance(value, str) or not 0 < len(value) <= _MAX_LENGTH:
        return False
    word = value.strip().strip(".").lower()
    first = word.partition(".")[0]
    is_dotted = "." in word and all(part.isidentifier() for part in word.split("."))
    return word in _CODE_WORDS or (is_dotted and first in _MODULES) or _CODE_SHAPE.fullmatch(word) is not None
