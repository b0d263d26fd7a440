// Values of scores as people type them, and the name that they give. Pure, but for the browser's storage.

const WORDS: Readonly<Record<string, boolean>> = { yes: true, true: true, no: false, false: false };

/** A number, yes or no, or else the name of a category. */
export function readScore(typed: string): number | boolean | string {
  const word = WORDS[typed.toLowerCase()];
  if (word !== undefined) return word;
  const number = Number(typed.replace(",", "."));
  return typed !== "" && Number.isFinite(number) ? number : typed;
}

const KEY = "author";
export const savedAuthor = (): string => localStorage.getItem(KEY) ?? "";
export const saveAuthor = (name: string): void => localStorage.setItem(KEY, name);
