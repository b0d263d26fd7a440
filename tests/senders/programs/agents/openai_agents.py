"""OpenAI Agents, by the instrumentation that OPENAI_AGENTS_BY names: an agent with a tool and a guardrail, which hands
the follow-up to another agent."""

import os

from agents import Agent, GuardrailFunctionOutput, Runner, function_tool, input_guardrail, set_tracing_disabled
from agents.models.openai_chatcompletions import OpenAIChatCompletionsModel
from openai import AsyncOpenAI
from scene import FOLLOW_UP, HANDOFF_TO, MODEL, QUESTION, SYSTEM, flush, look_up_weather, otlp

set_tracing_disabled(False)
by = os.environ["OPENAI_AGENTS_BY"]
providers = otlp() if by != "logfire" else ()
if by == "openinference":
    from openinference.instrumentation.openai_agents import OpenAIAgentsInstrumentor

    OpenAIAgentsInstrumentor().instrument()
elif by == "openllmetry":
    from opentelemetry.instrumentation.openai_agents import OpenAIAgentsInstrumentor

    OpenAIAgentsInstrumentor().instrument()
elif by == "genai":
    from opentelemetry.instrumentation.genai.openai import OpenAIInstrumentor
    from opentelemetry.instrumentation.genai.openai_agents import OpenAIAgentsInstrumentor

    OpenAIInstrumentor().instrument()  # the model calls
    OpenAIAgentsInstrumentor().instrument()
else:
    import logfire

    logfire.configure(send_to_logfire=False, console=False, service_name="clerk")
    logfire.instrument_openai_agents()


@input_guardrail
def polite(context, agent, question):
    return GuardrailFunctionOutput(output_info="polite", tripwire_triggered=False)


def made(name, **options):
    model = OpenAIChatCompletionsModel(model=MODEL, openai_client=AsyncOpenAI())
    return Agent(name=name, instructions=SYSTEM, model=model, **options)


clerk = made("clerk", tools=[function_tool(look_up_weather)], handoffs=[made(HANDOFF_TO)], input_guardrails=[polite])
first = Runner.run_sync(clerk, QUESTION)
Runner.run_sync(clerk, [*first.to_input_list(), {"role": "user", "content": FOLLOW_UP}])
flush(*providers)
