// What a person typed, as the value that the program expects. Pure.

/** A value, or why the text is none; both end in what the form shows. */
export type Read = { value: unknown } | { problem: string };

/** JSON as it is; other text as a text, unless the schema (JSON Schema) expects something else than a text. */
export function readAnswer(typed: string, schema: unknown): Read {
  const expected = typesOf(schema);
  if (expected !== null && expected.length === 1 && expected[0] === "string") return { value: unquoted(typed) };
  try {
    return { value: JSON.parse(typed) as unknown };
  } catch {
    if (expected === null || expected.includes("string")) return { value: typed };
    return { problem: `This is no JSON. Expected: ${expected.join(" or ")}.` };
  }
}

/** The type names of a schema; null when it allows any, or has none. */
function typesOf(schema: unknown): string[] | null {
  if (schema === null || typeof schema !== "object" || !("type" in schema)) return null;
  const type = schema.type;
  return Array.isArray(type) ? type.map(String) : [String(type)];
}

/** `"main"` and `main` are the same text. */
function unquoted(typed: string): string {
  try {
    const value = JSON.parse(typed) as unknown;
    return typeof value === "string" ? value : typed;
  } catch {
    return typed;
  }
}

/** Values to choose from, when the schema lists them. */
export function choicesOf(schema: unknown): readonly unknown[] {
  if (schema === null || typeof schema !== "object") return [];
  if ("enum" in schema && Array.isArray(schema.enum)) return schema.enum;
  return "type" in schema && schema.type === "boolean" ? [true, false] : [];
}
