/** JSON laid out, an object or list of a few short values on one line; other text as it is. */
export function prettyJson(text: string): string {
  const first = text.trimStart()[0];
  if (first !== "{" && first !== "[") return text;
  try {
    return laidOut(JSON.parse(text), "");
  } catch {
    return text;
  }
}

const LINE = 100;

function laidOut(value: unknown, indent: string): string {
  const line = oneLine(value);
  if (typeof value !== "object" || value === null || line.length + indent.length <= LINE) return line;
  const deeper = `${indent} `;
  const [open, close] = Array.isArray(value) ? "[]" : "{}";
  const inner = Array.isArray(value)
    ? value.map((each) => laidOut(each, deeper))
    : Object.entries(value).map(([name, each]) => `${JSON.stringify(name)}: ${laidOut(each, deeper)}`);
  return `${open}\n${inner.map((each) => deeper + each).join(",\n")}\n${indent}${close}`;
}

function oneLine(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(oneLine).join(", ")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const members = Object.entries(value).map(([name, each]) => `${JSON.stringify(name)}: ${oneLine(each)}`);
  return `{${members.join(", ")}}`;
}
