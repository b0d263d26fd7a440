/** `~` before a number of tokens that nobody counted. */
export function TokenBasis({ basis }: { basis: string }) {
  if (basis === "reported" || basis === "counted") return null;
  return <span title={`${basis}: not counted by the provider`}>~</span>;
}
