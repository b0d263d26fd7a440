/** JSON with one value a line; every other text as it is. Pure. */
export function prettyText(text: string): string {
  return prettyJson(text) ?? text;
}

/** JSON with one value a line, or null if the text is not JSON. */
export function prettyJson(text: string): string | null {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return null;
  }
}
