// Values of scores as people type them. Pure.

const WORDS: Readonly<Record<string, boolean>> = { yes: true, true: true, no: false, false: false };

/** A number, yes or no, or else the name of a category. */
export function readScore(typed: string): number | boolean | string {
  const word = WORDS[typed.toLowerCase()];
  if (word !== undefined) return word;
  const number = Number(typed.replace(",", "."));
  return typed !== "" && Number.isFinite(number) ? number : typed;
}
