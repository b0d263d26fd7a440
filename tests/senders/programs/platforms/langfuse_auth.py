"""The Langfuse SDK, which first asks whether its keys are right."""

import runpy
from pathlib import Path

from langfuse import get_client

assert get_client().auth_check()
runpy.run_path(str(Path(__file__).with_name("langfuse_openai.py")))
