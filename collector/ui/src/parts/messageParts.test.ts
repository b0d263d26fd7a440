import { expect, test } from "vitest";

import { partText, sizeOfBase64 } from "../model/context";
import { asMessage, imageSource, readPart } from "./messageParts";

const PIXEL = "iVBORw0KGgo=";

test("parts of the conventions are read", () => {
  expect(readPart({ type: "text", content: "hi" })).toEqual({ kind: "text", text: "hi" });
  expect(readPart({ type: "reasoning", content: "hm" })).toEqual({ kind: "reasoning", text: "hm" });
  expect(readPart({ type: "tool_call", id: "1", name: "f", arguments: { a: 1 } })).toEqual({
    kind: "call",
    name: "f",
    given: { a: 1 },
  });
  expect(readPart({ type: "blob", mime_type: "image/png", content: PIXEL })).toEqual({
    kind: "blob",
    mime: "image/png",
    base64: PIXEL,
  });
  expect(readPart({ type: "playhead.ref", of: "blob", ref: "sha256:1", bytes: 20000 })).toEqual({
    kind: "apart",
    target: "sha256:1",
    of: "blob",
    bytes: 20000,
  });
});

test("a picture in a result is found in each dialect", () => {
  const picture = { kind: "blob", mime: "image/png", base64: PIXEL };
  const anthropic = { type: "image", source: { type: "base64", media_type: "image/png", data: PIXEL } };
  expect(readPart(anthropic)).toEqual(picture);
  expect(readPart({ type: "image", data: PIXEL, mimeType: "image/png" })).toEqual(picture);
  expect(readPart({ type: "image_url", image_url: { url: `data:image/png;base64,${PIXEL}` } })).toEqual(picture);
  expect(readPart({ type: "input_image", image_url: `data:image/png;base64,${PIXEL}` })).toEqual(picture);
  expect(readPart({ type: "tool_call_response", response: [anthropic] })).toEqual({
    kind: "result",
    value: [anthropic],
    parts: [anthropic],
  });
});

test("a picture of another host is an address and nothing to load", () => {
  expect(readPart({ type: "image_url", image_url: { url: "https://example.com/a.png" } })).toEqual({
    kind: "address",
    what: "image",
    address: "https://example.com/a.png",
  });
});

test("a result that is a list of records is no list of parts", () => {
  expect(readPart({ type: "tool_call_response", response: [{ price: 1 }] })).toMatchObject({ parts: null });
  expect(readPart({ type: "tool_call_response", response: "x" })).toEqual({ kind: "result", value: "x", parts: null });
});

test("what is not known, or not as expected, is shown as it is", () => {
  expect(readPart({ type: "video_of_tomorrow", x: 1 })).toEqual({ kind: "other" });
  expect(readPart({ type: "text", content: { a: 1 } })).toEqual({ kind: "other" });
});

test("only pictures that cannot run anything are drawn", () => {
  expect(imageSource("image/png", "iVBO-_8=")).toBe("data:image/png;base64,iVBO+/8=");
  expect(imageSource("image/svg+xml", PIXEL)).toBeNull();
  expect(imageSource("image/png", '"><script>')).toBeNull();
  expect(sizeOfBase64("AAAA")).toBe(3);
  expect(sizeOfBase64("AA==")).toBe(1);
  const said = "[image/png, 3 B]";
  expect(partText({ type: "blob", mime_type: "image/png", content: "AAAA" })).toBe(said);
  const native = [
    { type: "image", source: { type: "base64", media_type: "image/png", data: "AAAA" } },
    { type: "image_url", image_url: { url: "data:image/png;base64,AAAA" } },
  ];
  expect(native.map(partText)).toEqual([said, said]);
  expect(partText({ type: "tool_call_response", response: [{ type: "text", content: "seen" }, ...native] })).toBe(
    `seen\n${said}\n${said}`,
  );
});

test("a message of an answer", () => {
  expect(asMessage({ role: "user", parts: [{ type: "text", content: "a" }, 3] })).toEqual({
    role: "user",
    parts: [{ type: "text", content: "a" }],
  });
  expect(asMessage({ text: "a" })).toBeNull();
  expect(asMessage(null)).toBeNull();
});
