// One of the views of a content. Whatever it says is drawn as text or as a picture, and never executed.
import { useEffect, useMemo } from "react";

import { apiUrl } from "../api/client";
import type { ContentAbout, Message, ThreadMessages } from "../api/types";
import { useApi } from "../api/useApi";
import { bytesText } from "../model/bytes";
import { inkOf, partText } from "../model/context";
import { Failed, Loading } from "../parts/Notices";
import { prettyJson } from "./pretty";
import { HexRows, Pieces, readsOn, TextRows } from "./Rows";
import { MOST_TEXT, type ReadText, useText } from "./ranges";
import { MessageView } from "../parts/MessageView";
import { Said } from "../parts/Said";
import styles from "./Content.module.css";

export const VIEWS = [
  { id: "rendered", name: "Rendered" },
  { id: "raw", name: "Raw" },
  { id: "json", name: "JSON" },
  { id: "hex", name: "Hex" },
] as const;
export type ViewId = (typeof VIEWS)[number]["id"];

/** Kinds of pictures that browsers only draw; SVG may contain scripts, and is shown as text. */
const PICTURES = new Set(["image/png", "image/jpeg", "image/gif", "image/webp", "image/avif"]);
/** Above this size, JSON is shown as it was recorded: a browser would stand still for too long. */
const MOST_JSON = 4 * 1024 * 1024;

type Props = {
  about: ContentAbout;
  target: string;
  view: ViewId;
  find: string;
  hit: number;
  onFound: (count: number) => void;
};

export function ContentView(props: Props) {
  const { about, target, view } = props;
  if (about.size === 0) return <div className="notice">It is empty: a content of 0 bytes.</div>;
  if (view === "hex") return <HexRows target={target} size={about.size} />;
  if (view === "rendered" && PICTURES.has(about.media_type))
    return (
      <div className={styles.picture}>
        <img src={apiUrl(`/content/${target}`)} alt="the recorded content" />
      </div>
    );
  if (view === "rendered" && about.kind === "thread") return <Thread {...props} />;
  if (view !== "raw" && about.kind === "bytes")
    return (
      <div className="notice">These are bytes of the type {about.media_type}: see them as hex, or download them.</div>
    );
  return <TextView {...props} />;
}

function TextView({ about, target, view, find, hit, onFound }: Props) {
  const read = useText(target, about.size);
  const isFormatted =
    view === "json" || (view === "rendered" && about.kind !== "text" && about.media_type.includes("json"));
  const isLarge = about.size > MOST_JSON;
  const needsAll = find !== "" || (isFormatted && !isLarge);
  const { rest } = read;
  useEffect(() => {
    if (needsAll) rest();
  }, [needsAll, rest]);
  const json = useMemo(
    () => (isFormatted && read.isWhole && !isLarge ? prettyJson(read.text) : null),
    [isFormatted, read.isWhole, read.text, isLarge],
  );
  const message = useMemo(
    () => (view === "rendered" && about.kind === "message" && read.isWhole ? messageOf(read.text) : null),
    [view, about.kind, read.isWhole, read.text],
  );
  if (read.error !== null) return <Failed error={read.error} />;
  if (read.text === "" && !read.isWhole) return <Loading what="the text" />;
  if (message !== null) return <Messages messages={[message]} find={find} onFound={onFound} />;
  if (isFormatted && json === null && !isLarge) {
    if (!read.isWhole) return <Loading what="the JSON" />;
    if (view === "json") return <div className="notice">This is no JSON: see it rendered or raw.</div>;
  }
  return (
    <>
      {isFormatted && isLarge && (
        <p className="notice sub">JSON of more than {bytesText(MOST_JSON)} is shown as it was recorded.</p>
      )}
      <TextRows text={json ?? read.text} find={find} hit={hit} onFound={onFound} {...readsOn(read)} />
      <Cut read={read} size={about.size} />
    </>
  );
}

function Cut({ read, size }: { read: ReadText; size: number }) {
  if (read.isWhole || size <= MOST_TEXT) return null;
  return (
    <p className="notice sub">
      Of {bytesText(size)}, the first {bytesText(MOST_TEXT)} are shown and searched: the rest is there in hex, and in
      the download.
    </p>
  );
}

/** The messages of a thread, in order. */
function Thread({ target, find, onFound }: Props) {
  const { data, error } = useApi<ThreadMessages>(`/content/${target}`, { as: "messages" }, true);
  if (error !== null) return <Failed error={error} />;
  if (data === null) return <Loading what="the messages" />;
  const messages = data.messages.filter((message): message is Message => message !== null);
  return (
    <>
      {data.missing.length > 0 && <div className="failed notice">{data.missing.length} messages have not arrived.</div>}
      {data.masked.length > 0 && (
        <div className="notice sub">Of {data.masked.length} messages, a part was masked by rules of the project.</div>
      )}
      <Messages messages={messages} find={find} onFound={onFound} />
    </>
  );
}

function Messages({
  messages,
  find,
  onFound,
}: {
  messages: readonly Message[];
  find: string;
  onFound: (count: number) => void;
}) {
  const texts = useMemo(() => messages.map((message) => message.parts.map(partText)), [messages]);
  const found = useMemo(() => {
    const wanted = find.toLowerCase();
    return wanted === "" ? 0 : texts.flat().reduce((sum, text) => sum + text.toLowerCase().split(wanted).length - 1, 0);
  }, [texts, find]);
  useEffect(() => onFound(found), [found, onFound]);
  return (
    <div className={styles.messages} tabIndex={0} role="region" aria-label="Messages">
      {messages.map((message, n) => (
        <div key={n} className={styles.message}>
          <span className={styles.number}>{n + 1}</span>
          <Said className={inkOf(message.role)}>{message.role}</Said>
          <div className={styles.said}>
            {find === "" ? (
              <MessageView message={message} mode="text" />
            ) : (
              texts[n]?.map((text, k) => (
                <p key={k}>
                  <Pieces text={text} find={find} />
                </p>
              ))
            )}
          </div>
        </div>
      ))}
    </div>
  );
}

/** A message in the form of Playhead's model; null: it is of another form. */
function messageOf(text: string): Message | null {
  try {
    const value = JSON.parse(text) as Partial<Message> | null;
    return typeof value?.role === "string" && Array.isArray(value.parts) ? (value as Message) : null;
  } catch {
    return null;
  }
}
