// The parts of a message as what they show, in whatever dialect a part inside of a result is. Pure.
import type { Message, Part } from "../api/types";

export type ReadPart =
  | { kind: "text"; text: string }
  | { kind: "reasoning"; text: string }
  | { kind: "call"; name: string; given: unknown }
  /** `parts`: the result is a list of parts itself, such as a text and a picture; null: it is `value`. */
  | { kind: "result"; value: unknown; parts: Part[] | null }
  | { kind: "blob"; mime: string; base64: string }
  | { kind: "address"; what: string; address: string }
  /** A large part, stored as a content of its own. */
  | { kind: "apart"; target: string; of: string; bytes: number }
  | { kind: "other" };

/** A message of an answer, whose type says only that it is an object; null where it is no message. */
export function asMessage(value: unknown): Message | null {
  if (!isObject(value) || !Array.isArray(value.parts)) return null;
  return { ...value, role: typeof value.role === "string" ? value.role : "", parts: value.parts.filter(isPart) };
}

export function readPart(part: Part): ReadPart {
  switch (part.type) {
    case "text":
    case "refusal":
    case "input_text":
    case "output_text":
      return text(part.content ?? part.text ?? part.refusal, "text");
    case "reasoning":
      return text(part.content ?? part.text, "reasoning");
    case "tool_call":
      return { kind: "call", name: String(part.name ?? ""), given: part.arguments };
    case "tool_call_response":
      return result(part.response ?? part.result);
    case "blob":
      return blob(part.mime_type, part.content);
    case "uri":
      return address(part.modality, part.uri);
    case "file":
      return address(part.modality ?? "file", part.file_id);
    case "playhead.ref":
      return typeof part.ref === "string"
        ? { kind: "apart", target: part.ref, of: String(part.of ?? ""), bytes: Number(part.bytes ?? 0) }
        : { kind: "other" };
    case "image":
      return nativeImage(part);
    case "image_url":
      return nativeAddress(isObject(part.image_url) ? part.image_url.url : part.image_url);
    case "input_image":
      return nativeAddress(part.image_url);
    default:
      return { kind: "other" };
  }
}

/** The address of a picture that browsers draw and that cannot run anything; null for other kinds of bytes. */
export function imageSource(mime: string, base64: string): string | null {
  if (!/^image\/(png|jpe?g|gif|webp|avif|bmp)$/i.test(mime) || !/^[A-Za-z0-9+/_=\s-]*$/.test(base64)) return null;
  return `data:${mime.toLowerCase()};base64,${base64.replaceAll("-", "+").replaceAll("_", "/").replaceAll(/\s/g, "")}`;
}

function text(value: unknown, kind: "text" | "reasoning"): ReadPart {
  return typeof value === "string" ? { kind, text: value } : { kind: "other" };
}

function result(value: unknown): ReadPart {
  const parts = Array.isArray(value) && value.length > 0 && value.every(isPart) ? value : null;
  return { kind: "result", value, parts };
}

function blob(mime: unknown, content: unknown): ReadPart {
  return typeof content === "string"
    ? { kind: "blob", mime: String(mime ?? "bytes"), base64: content }
    : { kind: "other" };
}

function address(what: unknown, value: unknown): ReadPart {
  return typeof value === "string"
    ? { kind: "address", what: String(what ?? "file"), address: value }
    : { kind: "other" };
}

/** A picture as Anthropic and as MCP write it. */
function nativeImage(part: Part): ReadPart {
  if (isObject(part.source))
    return part.source.type === "base64"
      ? blob(part.source.media_type, part.source.data)
      : address("image", part.source.url ?? part.source.file_id);
  return blob(part.mimeType, part.data);
}

/** A picture as OpenAI writes it: the address of one, or the picture in the address. */
function nativeAddress(value: unknown): ReadPart {
  const inside = typeof value === "string" ? /^data:([^;,]+);base64,(.*)$/s.exec(value) : null;
  return inside === null ? address("image", value) : blob(inside[1], inside[2]);
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const isPart = (value: unknown): value is Part => isObject(value) && typeof value.type === "string";
