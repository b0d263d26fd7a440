// How values are told apart before they are shown. Pure.
import { compact } from "./format";

const REF = /^sha256:[0-9a-f]{64}(:text|:bytes)?$/;
const SHORT = 48;

/** Whether a text names a content. */
export const isRef = (text: string): boolean => REF.test(text);

/** Whether a list or an object takes one line, and nothing in it is a link. */
export function isShort(value: object): boolean {
  const text = compact(value);
  return text.length <= SHORT && !text.includes('"seq":');
}
