"""Document processing: a quarterly report becomes facts, an analysis, and a document, by one prompt each.

    python examples/scenarios/document_processing.py

Talks to the model that OPENAI_BASE_URL or OPENAI_API_KEY name, else to a mock model that plays this scenario.
"""

import os

import openai

import playhead
from playhead import observe
from playhead.testing import MockModelServer

REPORT = (
    "Northwind's revenue was 412 million in the third quarter, 18 % more than a year ago, at a margin of 24 %. One "
    "customer brings 22 % of it. The shares cost 14 times earnings."
)
STEPS = {
    "extract": "You extract the figures of a report. Answer with a JSON object.",
    "analyse": "You analyse figures. Answer with a JSON object: recommendation, confidence, reasons and risks.",
    "format": "You format an analysis as a document for investors, with an executive summary first.",
}


class DocumentProcessor:
    def __init__(self, client: openai.OpenAI, model: str = "gpt-4o-mini") -> None:
        self.client = client
        self.model = model

    @observe(kind="agent", name="document_processor")
    def process(self, report: str) -> str:
        facts = self.ask("extract", report)
        analysis = self.ask("analyse", facts)
        return self.ask("format", f"Figures: {facts}\nAnalysis: {analysis}")

    def ask(self, step: str, text: str) -> str:
        with observe(step) as call:
            answer = self.client.chat.completions.create(
                model=self.model,
                messages=[{"role": "system", "content": STEPS[step]}, {"role": "user", "content": text}],
            )
            said = answer.choices[0].message.content or ""
            call.output(said)
        return said


def model_client() -> openai.OpenAI:
    if "OPENAI_BASE_URL" in os.environ or "OPENAI_API_KEY" in os.environ:
        return openai.OpenAI()
    mock = MockModelServer(scenario="document_processing")
    return openai.OpenAI(api_key="none", http_client=mock.http_client())


def main() -> None:
    playhead.instrument("openai")
    with model_client() as client:
        print(DocumentProcessor(client).process(REPORT))


if __name__ == "__main__":
    main()
