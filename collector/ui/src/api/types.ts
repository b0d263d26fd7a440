// Names for the types that schema.d.ts has, which is generated from the collector's OpenAPI: `make ui-types`.
import type { components } from "./schema";

type Schemas = components["schemas"];
export type RunSummary = Schemas["RunSummary"];
export type RunDetail = Schemas["RunDetail"];
export type RecordedEvent = Schemas["RecordedEvent"];
export type ContextAt = Schemas["ContextAt"];
export type LlmCall = Schemas["LlmCall"];
export type DecisionDetail = Schemas["DecisionDetail"];
export type Attribution = Schemas["Attribution"];
export type ValueOrigin = Schemas["ValueOrigin"];
export type ContextQuote = Schemas["ContextQuote"];
export type CompressionAudit = Schemas["CompressionAudit"];
export type Compression = Schemas["RecordedCompression"];
export type LostFact = Schemas["LostFact"];
export type StateAt = Schemas["StateAt"];
export type Diff = Schemas["Diff"];
export type TokenTimeline = Schemas["TokenTimeline"];
export type TokenPoint = Schemas["TokenPoint"];
export type TraceSpan = Schemas["TraceSpan"];
export type Session = Schemas["Session"];
export type Comparison = Schemas["Comparison"];
export type CallPair = Schemas["CallPair"];
export type ContentAbout = Schemas["ContentAbout"];
export type ContentRun = Schemas["ContentRun"];
export type FoundDecision = Schemas["FoundDecision"];
export type FoundText = Schemas["FoundText"];
export type WaitedFor = Schemas["Promise"];
export type Population = Schemas["Population"];
export type SuccessRate = Schemas["SuccessRate"];
export type RunMoment = Schemas["RunMoment"];
export type Measured = Schemas["Measured"];
export type RunStatistics = Schemas["RunStatistics"];
export type CompressionOutcomes = Schemas["CompressionOutcomes"];
export type TransitionGraph = Schemas["TransitionGraph"];
export type DecisionPatterns = Schemas["DecisionPatterns"];
export type OutcomeDifference = Schemas["OutcomeDifference"];
export type OutcomeDifferences = Schemas["OutcomeDifferences"];
export type FailureCluster = Schemas["FailureCluster"];
export type FailureClusters = Schemas["FailureClusters"];
export type TaskDivergence = Schemas["TaskDivergence"];
export type Divergences = Schemas["Divergences"];
export type ContextContents = Schemas["ContextContents"];
export type Page<T> = { items: T[]; next_cursor: string | null };

/** What `/content/REF?as=messages` answers, which OpenAPI does not describe: its other answers are bytes. */
export type ThreadMessages = { thread: string; messages: (Message | null)[]; missing: string[] };

/** A message as the context answers it: a role, and parts of several kinds; unknown kinds are kept as they are. */
export type Message = { role: string; parts: Part[]; [key: string]: unknown };
export type Part = { type: string; [key: string]: unknown };
