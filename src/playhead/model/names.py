"""Every attribute name that we write or read, once.

`gen_ai.*` names are the OpenTelemetry GenAI semantic conventions'; the four `*_ref` names among them are what
OpenTelemetry's own content uploader stamps.  `playhead.*` is ours.
"""

from typing import Final, Literal, get_args

# --- OpenTelemetry GenAI -------------------------------------------------------------------------------------------
OPERATION: Final = "gen_ai.operation.name"
PROVIDER: Final = "gen_ai.provider.name"
SYSTEM: Final = "gen_ai.system"  # the older name of PROVIDER; read, never written
CONVERSATION: Final = "gen_ai.conversation.id"
COMPACTED: Final = "gen_ai.conversation.compacted"  # true: the provider's answer begins the conversation anew
AGENT_NAME: Final = "gen_ai.agent.name"
AGENT_ID: Final = "gen_ai.agent.id"
REQUEST_MODEL: Final = "gen_ai.request.model"
REQUEST_STREAM: Final = "gen_ai.request.stream"
REQUEST_TEMPERATURE: Final = "gen_ai.request.temperature"
REQUEST_TOP_P: Final = "gen_ai.request.top_p"
REQUEST_MAX_TOKENS: Final = "gen_ai.request.max_tokens"
REQUEST_SEED: Final = "gen_ai.request.seed"
REQUEST_CHOICES: Final = "gen_ai.request.choice.count"
EMBEDDING_DIMENSIONS: Final = "gen_ai.embeddings.dimension.count"
RESPONSE_MODEL: Final = "gen_ai.response.model"
RESPONSE_ID: Final = "gen_ai.response.id"
FINISH_REASONS: Final = "gen_ai.response.finish_reasons"
TIME_TO_FIRST_CHUNK: Final = "gen_ai.response.time_to_first_chunk"  # seconds, a float
INPUT_TOKENS: Final = "gen_ai.usage.input_tokens"
OUTPUT_TOKENS: Final = "gen_ai.usage.output_tokens"
CACHE_READ_TOKENS: Final = "gen_ai.usage.cache_read.input_tokens"
CACHE_WRITE_TOKENS: Final = "gen_ai.usage.cache_write.input_tokens"
CACHE_CREATION_TOKENS: Final = "gen_ai.usage.cache_creation.input_tokens"  # the older name of CACHE_WRITE_TOKENS
REASONING_TOKENS: Final = "gen_ai.usage.reasoning.output_tokens"
AUDIO_INPUT_TOKENS: Final = "gen_ai.usage.audio.input_tokens"  # among INPUT_TOKENS
AUDIO_OUTPUT_TOKENS: Final = "gen_ai.usage.audio.output_tokens"  # among OUTPUT_TOKENS
TOOL_NAME: Final = "gen_ai.tool.name"
TOOL_CALL_ID: Final = "gen_ai.tool.call.id"
TOOL_TYPE: Final = "gen_ai.tool.type"
COMMAND: Final = "command"  # TOOL_TYPE of a command that the program started
PROMPT_NAME: Final = "gen_ai.prompt.name"
MCP_METHOD: Final = "mcp.method.name"
MCP_PROTOCOL: Final = "mcp.protocol.version"
MCP_RESOURCE: Final = "mcp.resource.uri"
ERROR_TYPE: Final = "error.type"
# An evaluation of a call, or of a run: an event (log record) of this name, an event of a span, or attributes of a span.
EVALUATION: Final = "gen_ai.evaluation.result"
EVALUATION_NAME: Final = "gen_ai.evaluation.name"
EVALUATION_VALUE: Final = "gen_ai.evaluation.score.value"  # a number
EVALUATION_LABEL: Final = "gen_ai.evaluation.score.label"  # "pass"; the only value of a score that is a category
EVALUATION_EXPLANATION: Final = "gen_ai.evaluation.explanation"

# Content that others put inline; lifted to the ref of the same name.
INPUT_MESSAGES: Final = "gen_ai.input.messages"
OUTPUT_MESSAGES: Final = "gen_ai.output.messages"
SYSTEM_INSTRUCTIONS: Final = "gen_ai.system_instructions"
TOOL_DEFINITIONS: Final = "gen_ai.tool.definitions"
TOOL_ARGUMENTS: Final = "gen_ai.tool.call.arguments"
TOOL_RESULT: Final = "gen_ai.tool.call.result"

INPUT_MESSAGES_REF: Final = "gen_ai.input.messages_ref"
OUTPUT_MESSAGES_REF: Final = "gen_ai.output.messages_ref"
SYSTEM_INSTRUCTIONS_REF: Final = "gen_ai.system_instructions_ref"
TOOL_DEFINITIONS_REF: Final = "gen_ai.tool.definitions_ref"
TOOL_ARGUMENTS_REF: Final = "gen_ai.tool.call.arguments_ref"
TOOL_RESULT_REF: Final = "gen_ai.tool.call.result_ref"

# --- ours ----------------------------------------------------------------------------------------------------------
INPUT_REF: Final = "playhead.input_ref"
OUTPUT_REF: Final = "playhead.output_ref"
REQUEST_REF: Final = "playhead.request_ref"
EXACT_REF: Final = "playhead.exact_ref"  # JSON: what the request said otherwise than its messages in canonical form do
# Of a library that makes the provider's request out of other arguments: the body that it sent last, whose list of
# messages is a thread of its own.  JSON: see `playhead.capture.sent_request`.
SENT_REF: Final = "playhead.sent_ref"
SENT_MESSAGES_REF: Final = "playhead.sent_messages_ref"
# In a run that goes on from its record, the digest of the settings that are compared, where others say who asks.  Not a
# ref, as nothing is stored under it.
COMPARED_SETTINGS: Final = "playhead.request.compared"
RESPONSE_REF: Final = "playhead.response_ref"
MESSAGE_REF: Final = "playhead.message_ref"  # of an event or log record that tells one message of a conversation
REASONING_REF: Final = "playhead.reasoning_ref"
STATE_REF: Final = "playhead.state_ref"
RESTORE_REF: Final = "playhead.restore_ref"  # what a result's own content does not say of it: types, order of keys
ERROR_REF: Final = "playhead.error_ref"  # JSON: type, message, stacktrace, attributes of what was raised

KIND: Final = "playhead.kind"  # agent | llm | tool | retriever | embedding | guardrail | step
RUN_ID: Final = "playhead.run.id"
RUN_NAME: Final = "playhead.run.name"
RUN_ATTEMPT: Final = "playhead.run.attempt"
RUN_TAGS: Final = "playhead.run.tags"
PROJECT_NAME: Final = "openinference.project.name"  # Phoenix's word for a group of traces, on a resource
RUN_RETENTION: Final = "playhead.run.retention_seconds"  # on the root: how long the journal keeps the session
RUN_METADATA_REF: Final = "playhead.run.metadata_ref"
RUN_PROCESS: Final = "playhead.run.process"  # on the root: the process that began the run, for people
RUN_ROOT: Final = "playhead.run.root"  # true on the span that the run begins and ends with
LINKED_RUNS: Final = "playhead.run.linked"  # ids of runs that a context named and that the call is not a part of
RECORDED_VALUES: Final = "playhead.run.record"  # on the root: what is recorded besides calls, "clock,random,uuid"
USER: Final = "user.id"
FORK_OF: Final = "playhead.fork.of"
FORK_AT: Final = "playhead.fork.at"  # the seq at which it parts, where that is what was asked for
FORK_ORDER: Final = "playhead.fork.order"  # CALL_ORDER of the parent's call at which it parts; always there
FORK_OPTIONS: Final = "playhead.fork.options"  # JSON text: what the fork was asked for: see `replay.fork_options`
FORK_OUTCOME_REF: Final = "playhead.fork.outcome_ref"  # JSON: what comes of that call in the fork, if it was said
FORK_CUT: Final = "playhead.fork.cut"  # true: the fork's own call is the one at which it parts, and has its outcome
CALL_KEY: Final = "playhead.call.key"
# Starts of spans and log events are counted 1, 2, 3, ... by each process of a run: a hole is a lost span.
CALL_ORDER: Final = "playhead.call.order"
# An end is placed after the last start that it saw, and among such ends by its own count.
CALL_ENDED_AFTER: Final = "playhead.call.ended_after"
CALL_END_ORDER: Final = "playhead.call.end_order"
# Which process recorded it, where that is not the one that began the run or goes on with it: 16 hex digits, random. And
# on what such a process was handed: after what it comes, PROCESS#NUMBER (#NUMBER: of the run's own process).
PROCESS_ID: Final = "playhead.process.id"
PROCESS_AFTER: Final = "playhead.process.after"
# Which flow of execution made the call, where that is not the one that the run began in: NUMBER<PARENT.
FLOW: Final = "playhead.call.flow"
CODE: Final = "playhead.code"
CODE_FUNCTION: Final = "code.function.name"  # of an agent: its function's module and qualified name
# On the root: how recording was switched on, where the program did not do that itself: "playhead run", for example.
LAUNCH: Final = "playhead.launch"
PROGRAM: Final = "playhead.program"  # on the root: the script, or `-m MODULE`, that the process was started with
OUTPUT_TYPE: Final = "playhead.output_type"  # text | bytes | json: equal bytes of several types have one ref
# Of a model call that a fork has edited: what the program asked, and which edit the model saw instead.
ASKED_MESSAGES_REF: Final = "playhead.asked.messages_ref"
ASKED_SYSTEM_REF: Final = "playhead.asked.system_instructions_ref"
EDIT_REF: Final = "playhead.edit_ref"  # JSON: a list of edits, each with what a call begins like for which it holds
INPUT_CUT: Final = "playhead.input_cut"  # why a part of the arguments is not recorded: size, time
INPUT_DIGEST: Final = "playhead.input_digest"  # SHA-256 of arguments for which the journal had no room
OUTPUT_CUT: Final = "playhead.output_cut"  # the same of the result
UNRESTORABLE: Final = "playhead.unrestorable"  # why a result cannot be given back as it was
REPLAYABLE: Final = "playhead.replayable"  # true: answered from the record although its kind is not
GRAPH_NODE: Final = "playhead.graph.node"  # the node of a graph, or task of a crew, that a step executes
REPORTED_COST: Final = "playhead.reported_cost_usd"  # what an agent's own library says that its session has cost so far
IDEMPOTENT: Final = "playhead.idempotent"  # true: running it twice does no harm
# aborted (generator closed early) | cancelled | interrupted (Ctrl-C, a signal's handler); absent otherwise
OUTCOME: Final = "playhead.outcome"
MCP_SERVER: Final = "playhead.mcp.server"  # the name that the server gives itself, for which there is no convention
PREFERRED: Final = "playhead.preferred"  # true: by another instrumentation, which the program prefers to ours
INTERRUPTED: Final = "interrupted"
WAITING: Final = "waiting"  # of a call that a framework will make again when a person has answered
TRIPPED: Final = "tripped"  # of a guardrail that stops what it checked

# --- log events (OTLP log records, `event_name`) --------------------------------------------------------------------
STARTED: Final = "playhead.started"
SPAN_NAME: Final = "playhead.span.name"  # with STARTED: what only the span itself says otherwise
SCORE_TYPE: Final = "playhead.score.type"  # with EVALUATION, of our own: "number", "boolean" or "category"
SCORE_AUTHOR: Final = "playhead.score.author"  # with EVALUATION, of a posted score: who gave it
SCORE_ID: Final = "playhead.score.id"  # the same: its id
EVALUATION_ON_SPAN: Final = "playhead.score.on_span"  # with EVALUATION, when forwarded: which one of a span's own
SCORED_SPAN: Final = "playhead.score.span_id"  # with EVALUATION, of our own: what was scored, if not the run
SPAN_PARENT: Final = "playhead.span.parent_id"
RESUMED: Final = "playhead.resumed"
RESUMED_AFTER: Final = "playhead.resumed.after"  # with RESUMED: the attempt that this one goes on from
RESUMED_WITHOUT: Final = "playhead.resumed.without"  # with RESUMED: CALL_ORDERs of which the record it goes on from has
# nothing, as first, last, first, last, ...: the dead process had begun these, and what they were is done again
DIVERGED: Final = "playhead.diverged"
STATE_CHANGED: Final = "playhead.state_changed"
CHECKPOINT: Final = "playhead.checkpoint"
CONTINUED: Final = "playhead.continued"  # in a run that another run continues
LOG_BODY: Final = "playhead.log.body"  # of a log record of any name: its text, until lift makes it content
LOG_SEVERITY: Final = "playhead.log.severity"  # its severity number, 1 to 24 (17 and above: an error)
LOG_PART: Final = "playhead.log.part"  # which part of a session a coding agent's record tells: see `lift.records`
# On a log record that is one message of a call: refs of the messages that it was asked or answered, a list; and the
# number of equal records before it in its batch.
LOG_INPUT_MESSAGES: Final = "playhead.log.input_messages"
LOG_OUTPUT_MESSAGES: Final = "playhead.log.output_messages"
LOG_REPETITION: Final = "playhead.log.repetition"
LOG_DURATION: Final = "playhead.log.duration_ms"  # of a call, on the record that tells of its end
# On spans and records of a coding agent whose run is its session: true, and the trace that the sender gave the span.
SESSION_RUN: Final = "playhead.session.run"
SESSION_TRACE: Final = "playhead.session.trace"
CHECKPOINT_NAME: Final = "playhead.checkpoint.name"
CONTINUES: Final = "playhead.continues"  # on a root: the run that this one continues; with CONTINUED: the other run
HANDOFF: Final = "playhead.handoff"
APPROVAL_REQUESTED: Final = "playhead.approval_requested"
APPROVAL_RECEIVED: Final = "playhead.approval_received"
INPUT_REQUESTED: Final = "playhead.input_requested"
INPUT_RECEIVED: Final = "playhead.input_received"
USER_INTERRUPTED: Final = "playhead.user_interrupted"
EVENT: Final = "playhead.event"
METRIC: Final = "playhead.metric"
CONTEXT_WARNING: Final = "playhead.context_warning"
ANNOTATION: Final = "playhead.annotation"
PLAN: Final = "playhead.plan"
COMPRESSED: Final = "playhead.compressed"
# With DIVERGED: changed | inserted | renamed | kind_changed | not_called_again.
DIVERGENCE_HOW: Final = "playhead.divergence.how"
DIVERGENCE_CALL: Final = "playhead.divergence.call"  # path of the call that is not as recorded
DIVERGENCE_REF: Final = "playhead.divergence_ref"  # JSON: how, report
VALUE_READ: Final = "playhead.value_read"  # the clock, a seed, a UUID
VALUE_OF: Final = "playhead.value.of"  # with VALUE_READ: what was read, and where
VALUE: Final = "playhead.value"
STATE_KEY: Final = "playhead.state.key"
VALUE_REF: Final = "playhead.value_ref"
HANDOFF_TO: Final = "playhead.handoff.to"  # also of a span that is a handoff; empty: the next agent of the trace
EVENT_NAME: Final = "playhead.event.name"  # with EVENT: its name, and `critical` or `normal`; its data is VALUE_REF
EVENT_PRIORITY: Final = "playhead.event.priority"
METRIC_NAME: Final = "playhead.metric.name"  # with METRIC: its name and unit; its number is VALUE
METRIC_UNIT: Final = "playhead.metric.unit"
CONTEXT_TOKENS: Final = "playhead.context.tokens"  # with CONTEXT_WARNING: tokens in the context, and how many fit
CONTEXT_WINDOW: Final = "playhead.context.window"
# With the events of what waits for a person: the promise's id, or the framework's own; what is asked (JSON, with
# INPUT_REQUESTED); whether it was approved. The answer to an input is VALUE_REF.
WAIT_ID: Final = "playhead.wait.id"
PROMPT_REF: Final = "playhead.prompt_ref"
APPROVED: Final = "playhead.approval.approved"
REASON_REF: Final = "playhead.reason_ref"
PROMISE_KEY: Final = "playhead.promise.key"  # what is asked and where: the same in forks, which have other ids
PROMISE_ACTION: Final = "playhead.promise.action"  # what is to be approved, in words
PROMISE_RISK: Final = "playhead.promise.risk"
ANSWERED_BY: Final = "playhead.answered.by"  # who answered a promise, or asked for an interrupt
WAITED_MS: Final = "playhead.waited_ms"  # from the request to the answer
ANNOTATION_REF: Final = "playhead.annotation_ref"
PLAN_REF: Final = "playhead.plan_ref"  # JSON: a list of steps, as texts or objects
# With COMPRESSED: two threads, a message, and (optional) which messages became what, as lists of refs.
COMPRESSION_STRATEGY: Final = "playhead.compression.strategy"
COMPRESSION_BEFORE_REF: Final = "playhead.compression.before_ref"
COMPRESSION_AFTER_REF: Final = "playhead.compression.after_ref"
COMPRESSION_SUMMARY_REF: Final = "playhead.compression.summary_ref"
COMPRESSION_KEPT: Final = "playhead.compression.kept"
COMPRESSION_SUMMARISED: Final = "playhead.compression.summarised"
COMPRESSION_DROPPED: Final = "playhead.compression.dropped"
COMPRESSION_TOKENS_BEFORE: Final = "playhead.compression.tokens_before"
# Of a model call whose context the provider edited before the model saw it (Anthropic's context management).
CONTEXT_EDITS: Final = "playhead.context.edits"  # what it did, "clear_tool_uses_20250919"
CONTEXT_CLEARED_TOKENS: Final = "playhead.context.cleared_tokens"
COMPRESSION_TOKENS_AFTER: Final = "playhead.compression.tokens_after"
# Of what another Playhead has sent on: the attributes, as a list, that hold as JSON text what NAME_ref referred to.
CONTENT_INLINE: Final = "playhead.content.inline"
INLINE_BYTES: Final = "playhead.bytes"  # the only key of an object that stands for bytes: their base64
RUN_URL: Final = "playhead.run.url"  # on spans that were sent on: the page that shows this moment of the run

SCOPE: Final = "playhead"  # the instrumentation scope of our own spans
CallKind = Literal["agent", "llm", "tool", "retriever", "embedding", "guardrail", "step"]
KINDS: Final = get_args(CallKind)
VALUE_KINDS: Final = ("clock", "random", "uuid")  # what a run may record besides its calls
# Calls rather than agents: several of them without an agent around them are one run, each of them marked RUN_ROOT.
CALL_KINDS = frozenset({"llm", "tool", "retriever", "embedding", "guardrail"})
REPLAYED_KINDS = frozenset({"llm", "tool", "retriever", "embedding"})  # answered from the record when a run goes on
REF_SUFFIX: Final = "_ref"
# Refs that name lists of messages, and one message; all others name values.
THREAD_REFS: Final = frozenset({
    INPUT_MESSAGES_REF, OUTPUT_MESSAGES_REF, ASKED_MESSAGES_REF, COMPRESSION_BEFORE_REF, COMPRESSION_AFTER_REF,
})  # fmt: skip
ONE_MESSAGE_REFS: Final = frozenset({MESSAGE_REF, COMPRESSION_SUMMARY_REF})

# --- HTTP ------------------------------------------------------------------------------------------------------------
COLLECTOR_HEADER: Final = "playhead-collector"  # on every answer of a collector, and of nobody else
PACK_LOOKED_AT_HEADER: Final = "playhead-refs-looked-at"  # with a pack: of the refs that were asked for, how many
STORED_HEADER: Final = "playhead-stored"  # with an answer to OTLP: what of the request was new, as name=count, ...
TAKEN_OVER_HEADER: Final = "playhead-taken-over"  # the same: runs that other attempts have taken over, run=attempt, ...
COLLECTOR_PATH: Final = "/v1/playhead"  # answers whoever asks whether a collector is there; needs no key

# Our kinds of the operations that the GenAI conventions name.
KIND_OF_OPERATION: Final = {
    "chat": "llm",
    "generate_content": "llm",
    "text_completion": "llm",
    "fetch_response": "llm",
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
