// The first of several aligned calls after which something differs. Pure, but for what it asks.

/**
 * The first number from 0 to `last` at which `differs` holds, asked from 0 on; `last` is known to differ. Nothing behind
 * the first one is asked.
 */
export async function firstDifference(last: number, differs: (n: number) => Promise<boolean>): Promise<number> {
  for (let n = 0; n < last; n++) if (await differs(n)) return n;
  return last;
}
