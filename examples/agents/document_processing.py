"""Document processing with tasks: a quarterly report becomes figures, an analysis, and a document.

    pip install 'playhead[agent,openai]'
    python examples/agents/document_processing.py

Talks to the model that OPENAI_BASE_URL or OPENAI_API_KEY name, else to a mock model that plays this scenario.
"""

import os
from typing import Literal

import openai
from pydantic import BaseModel

import playhead
from playhead.models import Model, OpenAIModel
from playhead.testing import MockModelServer

REPORT = (
    "Northwind's revenue was 412 million in the third quarter, 18 % more than a year ago, at a margin of 24 %. One "
    "customer brings 22 % of it. The shares cost 14 times earnings."
)


class Figures(BaseModel):
    company: str
    quarter: str
    revenue_millions: float
    growth_percent: float
    margin_percent: float
    price_to_earnings: float
    largest_customer_percent: float


class Analysis(BaseModel):
    recommendation: Literal["BUY", "HOLD", "SELL"]
    confidence: float
    reasons: list[str]
    risks: list[str]


def solve(model: Model) -> str:
    """Three model calls, each with its own prompt and type of answer."""
    extract = playhead.LlmTask("extract", model=model, system="You extract the figures of a report.", output=Figures)
    analyse = playhead.LlmTask("analyse", model=model, system="You analyse figures.", output=Analysis)
    write = playhead.LlmTask(
        "format", model=model, system="You format an analysis as a document, with an executive summary first."
    )
    with playhead.run("document_processing"):
        figures: Figures = extract(REPORT).parsed
        analysis: Analysis = analyse(figures.model_dump_json()).parsed
        return write(f"Figures: {figures.model_dump_json()}\nAnalysis: {analysis.model_dump_json()}").content


def model() -> Model:
    if "OPENAI_BASE_URL" in os.environ or "OPENAI_API_KEY" in os.environ:
        return OpenAIModel("gpt-4o-mini")
    mock = MockModelServer(scenario="document_processing")
    return OpenAIModel("gpt-4o-mini", client=openai.OpenAI(api_key="none", http_client=mock.http_client()))


if __name__ == "__main__":
    print(solve(model()))
