"""All attribute names that we write or read, each once.

`gen_ai.*` names are from the OpenTelemetry GenAI semantic conventions; the four `*_ref` names among them are those that
OpenTelemetry's own content uploader sets. `playhead.*` names are ours.
"""

from typing import Final, Literal, get_args

# --- OpenTelemetry GenAI -------------------------------------------------------------------------------------------
OPERATION: Final = "gen_ai.operation.name"
PROVIDER: Final = "gen_ai.provider.name"
SYSTEM: Final = "gen_ai.system"  # the older name of PROVIDER; read, never written
CONVERSATION: Final = "gen_ai.conversation.id"
COMPACTED: Final = "gen_ai.conversation.compacted"  # true: the conversation starts anew with the provider's answer
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
PREVIOUS_RESPONSE: Final = "gen_ai.request.previous_response.id"  # the server has the conversation up to it
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
AUDIO_INPUT_TOKENS: Final = "gen_ai.usage.audio.input_tokens"  # included in INPUT_TOKENS
AUDIO_OUTPUT_TOKENS: Final = "gen_ai.usage.audio.output_tokens"  # included in OUTPUT_TOKENS
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
EVALUATION_LABEL: Final = "gen_ai.evaluation.score.label"  # "pass", or the value of a score that is a category
EVALUATION_EXPLANATION: Final = "gen_ai.evaluation.explanation"

# Content that others write inline; `lift` replaces it by the ref of the same name.
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
EXACT_REF: Final = "playhead.exact_ref"  # JSON: how the request differs from its messages in canonical form
# For a library that builds the provider's request from other arguments: the body that it sent last, and its list of
# messages as a thread. JSON: see `playhead.capture.model_call`.
SENT_REF: Final = "playhead.sent_ref"
SENT_MESSAGES_REF: Final = "playhead.sent_messages_ref"
# In a replayed run: digest of the request's settings that replay compares, if it does not compare all (not those that
# only say who asks). Not a ref: no content is stored for it.
COMPARED_SETTINGS: Final = "playhead.request.compared"
RESPONSE_REF: Final = "playhead.response_ref"
MESSAGE_REF: Final = "playhead.message_ref"  # on an event or log record that is one message
REASONING_REF: Final = "playhead.reasoning_ref"
STATE_REF: Final = "playhead.state_ref"
RESTORE_REF: Final = "playhead.restore_ref"  # what a result's content lacks: types, order of keys
ERROR_REF: Final = "playhead.error_ref"  # JSON: type, message, stacktrace and attributes of an exception

KIND: Final = "playhead.kind"  # agent | llm | tool | retriever | embedding | guardrail | step
RUN_ID: Final = "playhead.run.id"
RUN_NAME: Final = "playhead.run.name"
RUN_ATTEMPT: Final = "playhead.run.attempt"
RUN_TAGS: Final = "playhead.run.tags"
PROJECT_NAME: Final = "openinference.project.name"  # on a resource: Phoenix's group of traces
RUN_RETENTION: Final = "playhead.run.retention_seconds"  # on the root: how long the journal keeps the session
RUN_METADATA_REF: Final = "playhead.run.metadata_ref"
RUN_PROCESS: Final = "playhead.run.process"  # on the root: the process that began the run, for display
RUN_ROOT: Final = "playhead.run.root"  # true on the span with which the run begins and ends
LINKED_RUNS: Final = "playhead.run.linked"  # ids of other runs that the call's context named
RECORDED_VALUES: Final = "playhead.run.record"  # on the root: recorded values besides calls, "clock,random,uuid"
USER: Final = "user.id"
FORK_OF: Final = "playhead.fork.of"
FORK_AT: Final = "playhead.fork.at"  # the seq at which the fork was requested, if by a seq
FORK_ORDER: Final = "playhead.fork.order"  # CALL_ORDER of the parent's call at the fork point; always set
FORK_OPTIONS: Final = "playhead.fork.options"  # JSON text: the requested options, see `replay.fork_options`
FORK_OUTCOME_REF: Final = "playhead.fork.outcome_ref"  # JSON: outcome set for the call at the fork point, if any
FORK_CUT: Final = "playhead.fork.cut"  # true: the fork's own call at the fork point, with its outcome
CALL_KEY: Final = "playhead.call.key"
# Each process of a run numbers its span starts and log events 1, 2, 3, ...: a missing number is a lost record.
CALL_ORDER: Final = "playhead.call.order"
# Position of a call's end: the last CALL_ORDER before it, and a count of the ends.
CALL_ENDED_AFTER: Final = "playhead.call.ended_after"
CALL_END_ORDER: Final = "playhead.call.end_order"
# The process that recorded a span, unless it began or resumed the run: 16 hex digits, random. On the first calls of
# such a process: the call that started it, as PROCESS#NUMBER (#NUMBER: a call of the run's own process).
PROCESS_ID: Final = "playhead.process.id"
PROCESS_AFTER: Final = "playhead.process.after"
# The flow of execution (thread or task) that made the call, unless the run began in it: NUMBER<PARENT.
FLOW: Final = "playhead.call.flow"
CODE: Final = "playhead.code"
CODE_FUNCTION: Final = "code.function.name"  # on an agent: module and qualified name of its function
# On the root: how recording was switched on, if not by the program itself, for example "playhead run".
LAUNCH: Final = "playhead.launch"
PROGRAM: Final = "playhead.program"  # on the root: the script or `-m MODULE` of the process
OUTPUT_TYPE: Final = "playhead.output_type"  # text | bytes | json: equal bytes of different types have one ref
# On a model call that a fork edited: the program's own request, and the edit that the model saw instead.
ASKED_MESSAGES_REF: Final = "playhead.asked.messages_ref"
ASKED_SYSTEM_REF: Final = "playhead.asked.system_instructions_ref"
EDIT_REF: Final = "playhead.edit_ref"  # JSON: a list of edits, each with the beginning of the calls to which it applies
INPUT_CUT: Final = "playhead.input_cut"  # why a part of the arguments was not recorded: size, time
INPUT_DIGEST: Final = "playhead.input_digest"  # SHA-256 of arguments for which the journal had no room
OUTPUT_CUT: Final = "playhead.output_cut"  # the same for the result, or room
UNRESTORABLE: Final = "playhead.unrestorable"  # why a result cannot be restored
REPLAYABLE: Final = "playhead.replayable"  # true: answered from the record, even if calls of its kind are not
GRAPH_NODE: Final = "playhead.graph.node"  # the graph node or crew task that a step executes
REPORTED_COST: Final = "playhead.reported_cost_usd"  # cost of the session so far, as an agent's library reports it
IDEMPOTENT: Final = "playhead.idempotent"  # true: running it twice is safe
# aborted (generator closed early) | cancelled | interrupted (Ctrl-C, a signal's handler); absent otherwise
OUTCOME: Final = "playhead.outcome"
MCP_SERVER: Final = "playhead.mcp.server"  # the MCP server's own name; there is no convention for it
PREFERRED: Final = "playhead.preferred"  # true: recorded by another instrumentation that the program prefers to ours
INTERRUPTED: Final = "interrupted"
WAITING: Final = "waiting"  # outcome of a call that a framework repeats after a person's answer
TRIPPED: Final = "tripped"  # outcome of a guardrail that stopped what it checked

# --- log events (OTLP log records, `event_name`) --------------------------------------------------------------------
STARTED: Final = "playhead.started"
SPAN_NAME: Final = "playhead.span.name"  # with STARTED: the span's name
SCORE_TYPE: Final = "playhead.score.type"  # with our own EVALUATION: "number", "boolean" or "category"
SCORE_AUTHOR: Final = "playhead.score.author"  # with EVALUATION of a posted score: its author
SCORE_ID: Final = "playhead.score.id"  # with EVALUATION of a posted score: its id
EVALUATION_ON_SPAN: Final = "playhead.score.on_span"  # with a forwarded EVALUATION: its index on its span
SCORED_SPAN: Final = "playhead.score.span_id"  # with our own EVALUATION: the scored span, unless the run was scored
SPAN_PARENT: Final = "playhead.span.parent_id"
RESUMED: Final = "playhead.resumed"
RESUMED_AFTER: Final = "playhead.resumed.after"  # with RESUMED: the attempt that this one continues
RESUMED_WITHOUT: Final = "playhead.resumed.without"  # with RESUMED: missing CALL_ORDERs, as first, last, ...:
# calls that the dead process began and that the record lacks; they are repeated
DIVERGED: Final = "playhead.diverged"
STATE_CHANGED: Final = "playhead.state_changed"
CHECKPOINT: Final = "playhead.checkpoint"
CONTINUED: Final = "playhead.continued"  # in a run that another run continues
LOG_BODY: Final = "playhead.log.body"  # text of any log record, until lift makes it content
LOG_SEVERITY: Final = "playhead.log.severity"  # severity number of a log record, 1 to 24 (17 and above: an error)
LOG_PART: Final = "playhead.log.part"  # the part of a coding agent's session: see `lift.records`
# On a log record that is one message of a call: a list of refs of input or output messages; and the number of equal
# records before it in its batch.
LOG_INPUT_MESSAGES: Final = "playhead.log.input_messages"
LOG_OUTPUT_MESSAGES: Final = "playhead.log.output_messages"
LOG_REPETITION: Final = "playhead.log.repetition"
LOG_DURATION: Final = "playhead.log.duration_ms"  # of a call, on the record of its end
# On spans and records of a coding agent whose run is its session: true, and the sender's trace id of the span.
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
DIVERGENCE_CALL: Final = "playhead.divergence.call"  # path of the call that differs from the record
DIVERGENCE_REF: Final = "playhead.divergence_ref"  # JSON: kind of difference, report
VALUE_READ: Final = "playhead.value_read"  # a read of the clock, a random seed or a UUID
VALUE_OF: Final = "playhead.value.of"  # with VALUE_READ: what was read, and where in the code
VALUE: Final = "playhead.value"
STATE_KEY: Final = "playhead.state.key"
VALUE_REF: Final = "playhead.value_ref"
HANDOFF_TO: Final = "playhead.handoff.to"  # also on a span that is a handoff; empty: the next agent of the trace
EVENT_NAME: Final = "playhead.event.name"  # with EVENT: its name; its data is VALUE_REF
EVENT_PRIORITY: Final = "playhead.event.priority"
METRIC_NAME: Final = "playhead.metric.name"  # with METRIC: its name; METRIC_UNIT: its unit; VALUE: its number
METRIC_UNIT: Final = "playhead.metric.unit"
CONTEXT_TOKENS: Final = "playhead.context.tokens"  # with CONTEXT_WARNING: tokens in the context, and the limit
CONTEXT_WINDOW: Final = "playhead.context.window"
# On requests to a person and their answers: id of the promise, or the framework's own id; the question (JSON, with
# INPUT_REQUESTED); whether it was approved. The answer to an input is VALUE_REF.
WAIT_ID: Final = "playhead.wait.id"
PROMPT_REF: Final = "playhead.prompt_ref"
APPROVED: Final = "playhead.approval.approved"
REASON_REF: Final = "playhead.reason_ref"
PROMISE_KEY: Final = "playhead.promise.key"  # names the question; the same in forks, which have other ids
PROMISE_ACTION: Final = "playhead.promise.action"  # the action to approve, in words
PROMISE_RISK: Final = "playhead.promise.risk"
ANSWERED_BY: Final = "playhead.answered.by"  # the person who answered a promise or requested an interrupt
WAITED_MS: Final = "playhead.waited_ms"  # from the request to the answer
ANNOTATION_REF: Final = "playhead.annotation_ref"
PLAN_REF: Final = "playhead.plan_ref"  # JSON: a list of steps, as texts or objects
# With COMPRESSED: the thread before and after, the summary message, and optional lists of refs of the messages that
# were kept, summarised or dropped.
COMPRESSION_STRATEGY: Final = "playhead.compression.strategy"
COMPRESSION_BEFORE_REF: Final = "playhead.compression.before_ref"
COMPRESSION_AFTER_REF: Final = "playhead.compression.after_ref"
COMPRESSION_SUMMARY_REF: Final = "playhead.compression.summary_ref"
COMPRESSION_KEPT: Final = "playhead.compression.kept"
COMPRESSION_SUMMARISED: Final = "playhead.compression.summarised"
COMPRESSION_DROPPED: Final = "playhead.compression.dropped"
COMPRESSION_TOKENS_BEFORE: Final = "playhead.compression.tokens_before"
# On a model call whose context the provider edited before the model saw it (Anthropic's context management).
CONTEXT_EDITS: Final = "playhead.context.edits"  # names of the edits, such as "clear_tool_uses_20250919"
CONTEXT_CLEARED_TOKENS: Final = "playhead.context.cleared_tokens"
COMPRESSION_TOKENS_AFTER: Final = "playhead.compression.tokens_after"
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
COLLECTOR_HEADER: Final = "playhead-collector"  # on every answer of a collector, and only there
PACK_LOOKED_AT_HEADER: Final = "playhead-refs-looked-at"  # with a pack: how many of the requested refs were looked at
STORED_HEADER: Final = "playhead-stored"  # on an answer to OTLP: what was new in the request, as name=count, ...
TAKEN_OVER_HEADER: Final = "playhead-taken-over"  # the same: runs taken over by other attempts, run=attempt, ...
COLLECTOR_PATH: Final = "/v1/playhead"  # answers clients that test whether a collector is there; needs no key

# Our kind for each operation of the GenAI conventions.
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
