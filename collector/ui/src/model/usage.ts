// Usage of model calls over a run, as it is drawn. Pure.
import type { TokenPoint } from "../api/types";

/** A call at its seq: tokens that the provider read anew, from a cache, and wrote; and the run's cost so far. */
export type CallUsage = { seq: number; fresh: number; cached: number; output: number; cost: number | null };

/** The calls whose usage is known, in order. The cost is null from the first call on that has no price. */
export function callUsages(points: readonly Pick<TokenPoint, "seq" | "usage" | "cost">[]): CallUsage[] {
  const found: CallUsage[] = [];
  let cost: number | null = 0;
  for (const { seq, usage, cost: own } of points) {
    const { input_tokens: input = 0, output_tokens: output = 0, cache_read_tokens: cached = 0 } = usage ?? {};
    if (input + output === 0) continue;
    cost = cost === null || own === null ? null : cost + own;
    found.push({ seq, fresh: Math.max(0, input - cached), cached: Math.min(cached, input), output, cost });
  }
  return found;
}
