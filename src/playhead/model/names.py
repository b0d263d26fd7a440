"""All attribute names that we write or read, each once.

The comment behind a name, or directly above it, is its meaning in the reference (`docs/reference.md`); names of other
constants in it stand for their attributes. `gen_ai.*` names are from the OpenTelemetry GenAI semantic conventions; the
four `*_ref` names among them are those that OpenTelemetry's own content uploader sets. `playhead.*` names are ours.
"""

from typing import Final, Literal, get_args

# --- OpenTelemetry GenAI -------------------------------------------------------------------------------------------
OPERATION: Final = "gen_ai.operation.name"  # what the call is: chat, embeddings, execute_tool, invoke_agent, ...
PROVIDER: Final = "gen_ai.provider.name"  # who answered: openai, anthropic, aws.bedrock, ...
SYSTEM: Final = "gen_ai.system"  # the older name of PROVIDER; read, never written
CONVERSATION: Final = "gen_ai.conversation.id"  # the session, or the provider's id of the conversation
COMPACTED: Final = "gen_ai.conversation.compacted"  # true: the conversation starts anew with the provider's answer
AGENT_NAME: Final = "gen_ai.agent.name"  # the agent that the span is, or that made the call
AGENT_ID: Final = "gen_ai.agent.id"  # id of that agent, by its framework or provider
REQUEST_MODEL: Final = "gen_ai.request.model"  # the model that was asked for
REQUEST_STREAM: Final = "gen_ai.request.stream"  # true: a streamed answer was asked for
REQUEST_TEMPERATURE: Final = "gen_ai.request.temperature"  # temperature of the request
REQUEST_TOP_P: Final = "gen_ai.request.top_p"  # top_p of the request
REQUEST_MAX_TOKENS: Final = "gen_ai.request.max_tokens"  # most tokens that the answer may have
REQUEST_SEED: Final = "gen_ai.request.seed"  # seed of the request
REQUEST_CHOICES: Final = "gen_ai.request.choice.count"  # number of answers that were asked for
EMBEDDING_DIMENSIONS: Final = "gen_ai.embeddings.dimension.count"  # length of the vectors
PREVIOUS_RESPONSE: Final = "gen_ai.request.previous_response.id"  # the server has the conversation up to it
RESPONSE_MODEL: Final = "gen_ai.response.model"  # the model that answered
RESPONSE_ID: Final = "gen_ai.response.id"  # the provider's id of the answer
FINISH_REASONS: Final = "gen_ai.response.finish_reasons"  # why each answer ended: stop, tool_calls, length, ...
# Seconds until the first chunk of a streamed answer, a float.
TIME_TO_FIRST_CHUNK: Final = "gen_ai.response.time_to_first_chunk"
INPUT_TOKENS: Final = "gen_ai.usage.input_tokens"  # all input, cached tokens included
OUTPUT_TOKENS: Final = "gen_ai.usage.output_tokens"  # all output, reasoning included
CACHE_READ_TOKENS: Final = "gen_ai.usage.cache_read.input_tokens"  # included in INPUT_TOKENS: read from the cache
CACHE_WRITE_TOKENS: Final = "gen_ai.usage.cache_write.input_tokens"  # included in INPUT_TOKENS: written to the cache
CACHE_CREATION_TOKENS: Final = "gen_ai.usage.cache_creation.input_tokens"  # the older name of CACHE_WRITE_TOKENS
# Input of the provider's own summary of the context; not included in INPUT_TOKENS.
COMPACTION_INPUT_TOKENS: Final = "playhead.usage.compaction.input_tokens"
# Output of the same; not included in OUTPUT_TOKENS.
COMPACTION_OUTPUT_TOKENS: Final = "playhead.usage.compaction.output_tokens"
REASONING_TOKENS: Final = "gen_ai.usage.reasoning.output_tokens"  # included in OUTPUT_TOKENS: reasoning
AUDIO_INPUT_TOKENS: Final = "gen_ai.usage.audio.input_tokens"  # included in INPUT_TOKENS: sound
AUDIO_OUTPUT_TOKENS: Final = "gen_ai.usage.audio.output_tokens"  # included in OUTPUT_TOKENS: sound
TOOL_NAME: Final = "gen_ai.tool.name"  # the tool that was called
TOOL_CALL_ID: Final = "gen_ai.tool.call.id"  # the model's id of its request for the tool
TOOL_TYPE: Final = "gen_ai.tool.type"  # kind of tool: function, ..., or COMMAND for one that the program started
COMMAND: Final = "command"  # TOOL_TYPE of a command that the program started
PROMPT_NAME: Final = "gen_ai.prompt.name"  # the prompt that was asked of an MCP server
MCP_METHOD: Final = "mcp.method.name"  # the request to an MCP server: tools/call, resources/read, prompts/get
MCP_PROTOCOL: Final = "mcp.protocol.version"  # the version of MCP that client and server speak
MCP_RESOURCE: Final = "mcp.resource.uri"  # the resource that was read from an MCP server
ERROR_TYPE: Final = "error.type"  # class of the exception, or code of the error, with which the call ended
# An evaluation of a call or a run: a log event, an event of a span, or attributes of a span.
EVALUATION: Final = "gen_ai.evaluation.result"
EVALUATION_NAME: Final = "gen_ai.evaluation.name"  # with EVALUATION: what was evaluated: relevance, resolved, ...
EVALUATION_VALUE: Final = "gen_ai.evaluation.score.value"  # with EVALUATION: a number
# With EVALUATION: "pass", or the value of a score that is a category.
EVALUATION_LABEL: Final = "gen_ai.evaluation.score.label"
EVALUATION_EXPLANATION: Final = "gen_ai.evaluation.explanation"  # with EVALUATION: why, in words

# Content that others write inline; `lift` replaces it by the ref of the same name.
INPUT_MESSAGES: Final = "gen_ai.input.messages"  # messages of a request, as others write them inline
OUTPUT_MESSAGES: Final = "gen_ai.output.messages"  # messages of an answer, inline
SYSTEM_INSTRUCTIONS: Final = "gen_ai.system_instructions"  # the system prompt, inline
TOOL_DEFINITIONS: Final = "gen_ai.tool.definitions"  # tools that the model may ask for, inline
TOOL_ARGUMENTS: Final = "gen_ai.tool.call.arguments"  # arguments of a tool call, inline
TOOL_RESULT: Final = "gen_ai.tool.call.result"  # result of a tool call, inline

INPUT_MESSAGES_REF: Final = "gen_ai.input.messages_ref"  # thread of the messages of a request
OUTPUT_MESSAGES_REF: Final = "gen_ai.output.messages_ref"  # thread of the messages of an answer
SYSTEM_INSTRUCTIONS_REF: Final = "gen_ai.system_instructions_ref"  # the system prompt, where it is none of the messages
TOOL_DEFINITIONS_REF: Final = "gen_ai.tool.definitions_ref"  # JSON: the tools that the model may ask for
TOOL_ARGUMENTS_REF: Final = "gen_ai.tool.call.arguments_ref"  # JSON: arguments of a tool call
TOOL_RESULT_REF: Final = "gen_ai.tool.call.result_ref"  # result of a tool call

# --- ours ----------------------------------------------------------------------------------------------------------
INPUT_REF: Final = "playhead.input_ref"  # arguments of a call, unless TOOL_ARGUMENTS_REF has them
OUTPUT_REF: Final = "playhead.output_ref"  # result of a call, unless TOOL_RESULT_REF or OUTPUT_MESSAGES_REF has it
REQUEST_REF: Final = "playhead.request_ref"  # JSON: settings of a model call, without messages, system prompt and tools
EXACT_REF: Final = "playhead.exact_ref"  # JSON: how the request differs from its messages in canonical form
# Written where the library builds the provider's request from other arguments: see `playhead.capture.model_call`.
SENT_REF: Final = "playhead.sent_ref"  # JSON: the body that was sent last, if the library makes it of other arguments
SENT_MESSAGES_REF: Final = "playhead.sent_messages_ref"  # thread of the messages in the body that was sent last
# In a replayed run: digest of the request's settings that replay compares, if it does not compare all (not those that
# only say who asks). Not a ref: no content is stored for it.
COMPARED_SETTINGS: Final = "playhead.request.compared"
RESPONSE_REF: Final = "playhead.response_ref"  # JSON: the provider's response as it came
MESSAGE_REF: Final = "playhead.message_ref"  # the message, on an event or log record that is one
REASONING_REF: Final = "playhead.reasoning_ref"  # reasoning that the provider returned
STATE_REF: Final = "playhead.state_ref"  # state of a checkpoint
RESTORE_REF: Final = "playhead.restore_ref"  # what a result's content lacks: types, order of keys
ERROR_REF: Final = "playhead.error_ref"  # JSON: type, message, stacktrace and attributes of an exception

KIND: Final = "playhead.kind"  # kind of the call: agent, llm, tool, retriever, embedding, guardrail or step
RUN_ID: Final = "playhead.run.id"  # the run that the span or log event belongs to: 32 hex digits
RUN_NAME: Final = "playhead.run.name"  # name of the run
RUN_ATTEMPT: Final = "playhead.run.attempt"  # number of the attempt: 0 at first, one more with each resume
RUN_TAGS: Final = "playhead.run.tags"  # tags of the run
PROJECT_NAME: Final = "openinference.project.name"  # on a resource: Phoenix's group of traces
RUN_RETENTION: Final = "playhead.run.retention_seconds"  # on the root: how long the journal keeps the session
RUN_METADATA_REF: Final = "playhead.run.metadata_ref"  # JSON: metadata of the run
RUN_PROCESS: Final = "playhead.run.process"  # on the root: the process that began the run, for display
RUN_ROOT: Final = "playhead.run.root"  # true on the span with which the run begins and ends
LINKED_RUNS: Final = "playhead.run.linked"  # ids of other runs that the call's context named
RECORDED_VALUES: Final = "playhead.run.record"  # on the root: recorded values besides calls, "clock,random,uuid"
USER: Final = "user.id"  # the user for whom the run is
FORK_OF: Final = "playhead.fork.of"  # on the root of a fork: the run that it was forked from
FORK_AT: Final = "playhead.fork.at"  # the seq at which the fork was requested, if by a seq
FORK_ORDER: Final = "playhead.fork.order"  # CALL_ORDER of the parent's call at the fork point; always set
FORK_OPTIONS: Final = "playhead.fork.options"  # JSON text: the options with which the fork was requested
FORK_OUTCOME_REF: Final = "playhead.fork.outcome_ref"  # JSON: outcome set for the call at the fork point, if any
FORK_CUT: Final = "playhead.fork.cut"  # true: the fork's own call at the fork point, with its outcome
PROMPT_MODE: Final = "playhead.prompt.mode"  # on a model call: the mode of its system prompt (`playhead.Prompt`)
PROMPT_SECTIONS: Final = "playhead.prompt.sections"  # on a model call: names of the sections of its system prompt
PROMPT_SECTION_TOKENS: Final = "playhead.prompt.section_tokens"  # on a model call: estimated tokens of each section
# Which call of the run it is: names of the observed calls around it and its own, and # with a number.
CALL_KEY: Final = "playhead.call.key"
# Each process of a run numbers its span starts and log events 1, 2, 3, ...: a missing number is a lost record.
CALL_ORDER: Final = "playhead.call.order"
CALL_ENDED_AFTER: Final = "playhead.call.ended_after"  # position of the call's end: the last CALL_ORDER before it
CALL_END_ORDER: Final = "playhead.call.end_order"  # position of the call's end: a count of the ends
# The process that recorded a span, unless it began or resumed the run: 16 hex digits, random.
PROCESS_ID: Final = "playhead.process.id"
# On such a process's first calls: the call that started it, PROCESS#NUMBER, or #NUMBER.
PROCESS_AFTER: Final = "playhead.process.after"
# The flow of execution (thread or task) that made the call, unless the run began in it: NUMBER<PARENT.
FLOW: Final = "playhead.call.flow"
CODE: Final = "playhead.code"  # fingerprint of the code of the observed function
CODE_FUNCTION: Final = "code.function.name"  # on an agent: module and qualified name of its function
LAUNCH: Final = "playhead.launch"  # on the root: what switched recording on, if not the program itself: "playhead run"
# On the root: functions that were named to be recorded as tools, as `module:function`.
RECORDED_FUNCTIONS: Final = "playhead.recorded_functions"
PROGRAM: Final = "playhead.program"  # on the root: the script or `-m MODULE` of the process
OUTPUT_TYPE: Final = "playhead.output_type"  # text, bytes or json: equal bytes of different types have one ref
# On a model call that a fork edited: thread of the program's own messages.
ASKED_MESSAGES_REF: Final = "playhead.asked.messages_ref"
# On a model call that a fork edited: its own system prompt.
ASKED_SYSTEM_REF: Final = "playhead.asked.system_instructions_ref"
EDIT_REF: Final = "playhead.edit_ref"  # JSON: a list of edits, each with the beginning of the calls to which it applies
INPUT_CUT: Final = "playhead.input_cut"  # why a part of the arguments was not recorded: size, time
INPUT_DIGEST: Final = "playhead.input_digest"  # SHA-256 of arguments for which the journal had no room
OUTPUT_CUT: Final = "playhead.output_cut"  # why a part of the result was not recorded: size, time, or room
UNRESTORABLE: Final = "playhead.unrestorable"  # why a result cannot be restored
REPLAYABLE: Final = "playhead.replayable"  # true: answered from the record, even if calls of its kind are not
GRAPH_NODE: Final = "playhead.graph.node"  # the graph node or crew task that a step executes
REPORTED_COST: Final = "playhead.reported_cost_usd"  # cost of the session so far, as an agent's library reports it
CACHE: Final = "playhead.cache"  # on a step of `playhead.cached`: hit, miss, wait, or why the cache was not read
IDEMPOTENT: Final = "playhead.idempotent"  # true: running it twice is safe
# How the call ended, if neither by returning nor by an error: aborted, cancelled, interrupted, ....
OUTCOME: Final = "playhead.outcome"
MCP_SERVER: Final = "playhead.mcp.server"  # the MCP server's own name
PREFERRED: Final = "playhead.preferred"  # true: recorded by another instrumentation that the program prefers to ours
INTERRUPTED: Final = "interrupted"  # outcome of a call that Ctrl-C or the handler of a signal ended
WAITING: Final = "waiting"  # outcome of a call that a framework repeats after a person's answer
TRIPPED: Final = "tripped"  # outcome of a guardrail that stopped what it checked

# --- log events (OTLP log records, `event_name`) --------------------------------------------------------------------
STARTED: Final = "playhead.started"  # a call began; the log event is sent before the call
SPAN_NAME: Final = "playhead.span.name"  # with STARTED: the span's name
SCORE_TYPE: Final = "playhead.score.type"  # with our own EVALUATION: "number", "boolean" or "category"
SCORE_AUTHOR: Final = "playhead.score.author"  # with EVALUATION of a posted score: its author
SCORE_ID: Final = "playhead.score.id"  # with EVALUATION of a posted score: its id
EVALUATION_ON_SPAN: Final = "playhead.score.on_span"  # with a forwarded EVALUATION: its index on its span
SCORED_SPAN: Final = "playhead.score.span_id"  # with our own EVALUATION: the scored span, unless the run was scored
SPAN_PARENT: Final = "playhead.span.parent_id"  # with STARTED: the span around it
RESUMED: Final = "playhead.resumed"  # an attempt to go on with a run began
RESUMED_AFTER: Final = "playhead.resumed.after"  # with RESUMED: the attempt that this one continues
# With RESUMED: numbers (CALL_ORDER) that the record lacks, as first, last, ...: calls that the dead process began. They
# are repeated.
RESUMED_WITHOUT: Final = "playhead.resumed.without"
DIVERGED: Final = "playhead.diverged"  # a run that goes on from a record asked something else than the record has
STATE_CHANGED: Final = "playhead.state_changed"  # the program set a value in `run.state`
CHECKPOINT: Final = "playhead.checkpoint"  # the program made a checkpoint
CONTINUED: Final = "playhead.continued"  # another run continues this one
LOG_BODY: Final = "playhead.log.body"  # text of any log record, until lift makes it content
LOG_SEVERITY: Final = "playhead.log.severity"  # severity number of a log record, 1 to 24 (17 and above: an error)
LOG_PART: Final = "playhead.log.part"  # on a log record: the part of a coding agent's session
# Refs of input messages, on a log record that is one message of a call.
LOG_INPUT_MESSAGES: Final = "playhead.log.input_messages"
LOG_OUTPUT_MESSAGES: Final = "playhead.log.output_messages"  # refs of output messages, on a log record that is one
LOG_REPETITION: Final = "playhead.log.repetition"  # the number of equal records before it in its batch
LOG_DURATION: Final = "playhead.log.duration_ms"  # duration of a call in ms, on the log record of its end
SESSION_RUN: Final = "playhead.session.run"  # true: the run is the session of a coding agent
SESSION_TRACE: Final = "playhead.session.trace"  # on a span of a coding agent's session: the sender's trace id
CHECKPOINT_NAME: Final = "playhead.checkpoint.name"  # with CHECKPOINT: its name
CONTINUES: Final = "playhead.continues"  # on a root: the run that this one continues; with CONTINUED: the other run
HANDOFF: Final = "playhead.handoff"  # one agent handed over to another
APPROVAL_REQUESTED: Final = "playhead.approval_requested"  # the run waits for an approval
APPROVAL_RECEIVED: Final = "playhead.approval_received"  # a person approved or refused
INPUT_REQUESTED: Final = "playhead.input_requested"  # the run waits for an answer
INPUT_RECEIVED: Final = "playhead.input_received"  # the answer came
USER_INTERRUPTED: Final = "playhead.user_interrupted"  # a person asked the run to stop
EVENT: Final = "playhead.event"  # an event of the program's own (`playhead.event`)
METRIC: Final = "playhead.metric"  # a number that the program measured (`playhead.metric`)
CONTEXT_WARNING: Final = "playhead.context_warning"  # a model call's context came near the model's limit
ANNOTATION: Final = "playhead.annotation"  # a note of the program (`playhead.annotate`)
PLAN: Final = "playhead.plan"  # the agent wrote down a plan
COMPRESSED: Final = "playhead.compressed"  # the program says that it shortened the context (`playhead.compressed`)
MESSAGE_MARKED: Final = "playhead.message_marked"  # a message of a managed context has tags, or is preserved
# With DIVERGED: changed, inserted, renamed, kind_changed or not_called_again.
DIVERGENCE_HOW: Final = "playhead.divergence.how"
DIVERGENCE_CALL: Final = "playhead.divergence.call"  # with DIVERGED: path of the call that differs from the record
DIVERGENCE_REF: Final = "playhead.divergence_ref"  # JSON, with DIVERGED: kind of difference, report
VALUE_READ: Final = "playhead.value_read"  # a read of the clock, a random seed or a UUID
VALUE_OF: Final = "playhead.value.of"  # with VALUE_READ: what was read, and where in the code
VALUE: Final = "playhead.value"  # with METRIC, VALUE_READ: the value
STATE_KEY: Final = "playhead.state.key"  # with STATE_CHANGED: the key
VALUE_REF: Final = "playhead.value_ref"  # with STATE_CHANGED, EVENT, INPUT_RECEIVED: the value
# With HANDOFF, or on a span that is one: the next agent; empty: the next agent of the trace.
HANDOFF_TO: Final = "playhead.handoff.to"
TASK: Final = "playhead.task"  # on a model call: the task that it belongs to (`LlmTask`)
TURN: Final = "playhead.turn"  # on a model call: which call of its agent it is, from 1 (`Agent`)
EVENT_NAME: Final = "playhead.event.name"  # with EVENT: its name
EVENT_PRIORITY: Final = "playhead.event.priority"  # with EVENT: critical or normal
METRIC_NAME: Final = "playhead.metric.name"  # with METRIC: its name
METRIC_UNIT: Final = "playhead.metric.unit"  # with METRIC: its unit
CONTEXT_TOKENS: Final = "playhead.context.tokens"  # with CONTEXT_WARNING: tokens in the context
CONTEXT_WINDOW: Final = "playhead.context.window"  # with CONTEXT_WARNING: the model's limit in tokens
# On a request to a person and its answer: id of the promise, or the framework's own id.
WAIT_ID: Final = "playhead.wait.id"
PROMPT_REF: Final = "playhead.prompt_ref"  # JSON, with INPUT_REQUESTED: the question
APPROVED: Final = "playhead.approval.approved"  # with APPROVAL_RECEIVED: whether it was approved
REASON_REF: Final = "playhead.reason_ref"  # with an answer of a person: why
PROMISE_KEY: Final = "playhead.promise.key"  # names the question; the same in forks, which have other ids
PROMISE_ACTION: Final = "playhead.promise.action"  # the action to approve, or the question, in words
PROMISE_RISK: Final = "playhead.promise.risk"  # how risky the action is, in the program's words
ANSWERED_BY: Final = "playhead.answered.by"  # the person who answered a promise or requested an interrupt
WAITED_MS: Final = "playhead.waited_ms"  # with the answer of a person: time since the request
ANNOTATION_REF: Final = "playhead.annotation_ref"  # JSON, with ANNOTATION: the note
PLAN_REF: Final = "playhead.plan_ref"  # JSON: a list of steps, as texts or objects
COMPRESSION_STRATEGY: Final = "playhead.compression.strategy"  # with COMPRESSED: how, in the words of the program
COMPRESSION_BEFORE_REF: Final = "playhead.compression.before_ref"  # with COMPRESSED: thread of the context before
COMPRESSION_AFTER_REF: Final = "playhead.compression.after_ref"  # with COMPRESSED: thread of the context after
# With COMPRESSED: the message that stands for the others.
COMPRESSION_SUMMARY_REF: Final = "playhead.compression.summary_ref"
COMPRESSION_KEPT: Final = "playhead.compression.kept"  # with COMPRESSED: refs of the messages that were kept
# With COMPRESSED: refs of the messages that were summarised.
COMPRESSION_SUMMARISED: Final = "playhead.compression.summarised"
COMPRESSION_DROPPED: Final = "playhead.compression.dropped"  # with COMPRESSED: refs of the messages that were dropped
COMPRESSION_TOKENS_BEFORE: Final = "playhead.compression.tokens_before"  # with COMPRESSED: tokens of the context before
# On a model call whose context the provider edited: "clear_tool_uses_20250919", ....
CONTEXT_EDITS: Final = "playhead.context.edits"
# On a model call whose context the provider edited: tokens that it took out.
CONTEXT_CLEARED_TOKENS: Final = "playhead.context.cleared_tokens"
COMPRESSION_TOKENS_AFTER: Final = "playhead.compression.tokens_after"  # with COMPRESSED: tokens of the context after
COMPRESSION_NOTE: Final = "playhead.compression.note"  # with COMPRESSED: why, in the words of the program
COMPRESSION_TRIGGER: Final = "playhead.compression.trigger"  # with COMPRESSED: threshold, manual or limit_error
# With COMPRESSED: why the policy's fallback was used instead of its strategy.
COMPRESSION_FALLBACK: Final = "playhead.compression.fallback"
COMPRESSION_PRESERVED: Final = "playhead.compression.preserved"  # with COMPRESSED: refs of the preserved messages
COMPRESSION_POLICY_REF: Final = "playhead.compression.policy_ref"  # JSON, with COMPRESSED: the policy
MESSAGE_TAGS: Final = "playhead.message.tags"  # with MESSAGE_MARKED: its tags
MESSAGE_PRESERVED: Final = "playhead.message.preserved"  # with MESSAGE_MARKED: whether no compression removes it
# On a span or log event that another Playhead forwarded: list of the attributes that hold, as JSON text, the content of
# their former NAME_ref.
CONTENT_INLINE: Final = "playhead.content.inline"
# On the same: the forms that the definitions of tools had before they were sent; see `dialect.tool_definitions`.
TOOL_FORMS: Final = "playhead.tool.forms"
INLINE_BYTES: Final = "playhead.bytes"  # the only key of an object that represents bytes: their base64
RUN_URL: Final = "playhead.run.url"  # on forwarded spans: the page that shows this moment of the run

SCOPE: Final = "playhead"  # the instrumentation scope of our own spans
CallKind = Literal["agent", "llm", "tool", "retriever", "embedding", "guardrail", "step"]
KINDS: Final = get_args(CallKind)
VALUE_KINDS: Final = ("clock", "random", "uuid")  # values that a run can record besides its calls
# Kinds of single calls: several of them without an agent around them form one run, and each is marked RUN_ROOT.
CALL_KINDS = frozenset({"llm", "tool", "retriever", "embedding", "guardrail"})
REPLAYED_KINDS = frozenset({"llm", "tool", "retriever", "embedding"})  # answered from the record when a run is replayed
REF_SUFFIX: Final = "_ref"
# Refs of lists of messages, and of single messages; all other refs are of values.
THREAD_REFS: Final = frozenset({
    INPUT_MESSAGES_REF, OUTPUT_MESSAGES_REF, ASKED_MESSAGES_REF, COMPRESSION_BEFORE_REF, COMPRESSION_AFTER_REF,
})  # fmt: skip
ONE_MESSAGE_REFS: Final = frozenset({MESSAGE_REF, COMPRESSION_SUMMARY_REF})

# --- HTTP ------------------------------------------------------------------------------------------------------------
COLLECTOR_HEADER: Final = "playhead-collector"  # on every answer of a collector, and only there: its WIRE_VERSION
# Of the protocol between senders and the collector, not of the software. A collector takes what senders of older
# versions send; a sender of a newer version keeps its records until the collector is upgraded. See docs/wire.md.
WIRE_VERSION: Final = 1
PROJECT_HEADER: Final = "playhead-project"  # on a request of the operator: the project that it is about
PACK_LOOKED_AT_HEADER: Final = "playhead-refs-looked-at"  # with a pack: how many of the requested refs were looked at
MASKED_HEADER: Final = "playhead-masked"  # on a content of which a part is masked: the ref, which the bytes do not have
STORED_HEADER: Final = "playhead-stored"  # on an answer to OTLP: what was new in the request, as name=count, ...
TAKEN_OVER_HEADER: Final = "playhead-taken-over"  # the same: runs taken over by other attempts, run=attempt, ...
COLLECTOR_PATH: Final = "/v1/playhead"  # answers clients that test whether a collector is there; needs no key

# Our kind for each operation of the GenAI conventions.
KIND_OF_OPERATION: Final = {
    "chat": "llm",
    "generate_content": "llm",
    "text_completion": "llm",
    "fetch_response": "llm",
    "compact": "llm",
    "embeddings": "embedding",
    "retrieval": "retriever",
    "search_memory": "retriever",
    "execute_tool": "tool",
    "invoke_agent": "agent",
    "create_agent": "step",
    "invoke_workflow": "step",
    "plan": "step",
    "create_memory": "step",
    "update_memory": "step",
    "upsert_memory": "step",
    "delete_memory": "step",
    "create_memory_store": "step",
    "delete_memory_store": "step",
}
