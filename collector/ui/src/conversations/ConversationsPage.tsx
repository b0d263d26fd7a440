// Conversations that go on over runs: those that were saved last first, and one of them with its messages and its runs.
import { Link, useSearchParams } from "wouter";

import type { Page, RunSummary, StoredConversation, ThreadMessages } from "../api/types";
import { useApi } from "../api/useApi";
import { ago, count } from "../model/format";
import { MessageView } from "../parts/MessageView";
import { Empty, Failed, Loading } from "../parts/Notices";
import { Said } from "../parts/Said";
import table from "../parts/Table.module.css";
import { useNow } from "../parts/useNow";
import styles from "./Conversations.module.css";

const SHOWN = "200";
const RUNS = "20";

export function ConversationsPage() {
  const [query] = useSearchParams();
  const id = query.get("id");
  return (
    <main className={styles.page} aria-label="Conversations">
      {id === null ? <All scope={query.get("scope")} /> : <One id={id} scope={query.get("scope") ?? ""} />}
    </main>
  );
}

const linkTo = (id: string, scope: string) => `/conversations?${new URLSearchParams({ id, scope }).toString()}`;

function All({ scope }: { scope: string | null }) {
  const now = useNow(60_000);
  const { data, error, again } = useApi<Page<StoredConversation>>("/conversations", {
    limit: SHOWN,
    ...(scope === null ? {} : { scope }),
  });
  return (
    <>
      <h1>Conversations</h1>
      {error !== null && <Failed error={error} what="the conversations" onAgain={again} />}
      {data === null && error === null && <Loading what="the conversations" />}
      {data !== null && data.items.length === 0 && (
        <Empty>
          No conversation is saved. A program begins one with <code>playhead.conversation("user-7/support")</code> and
          keeps it with <code>save()</code>.
        </Empty>
      )}
      {data !== null && data.items.length > 0 && (
        <div className={table.table}>
          <table>
            <thead>
              <tr>
                <th>conversation</th>
                <th>scope</th>
                <th className={table.r}>messages</th>
                <th className={table.r}>revision</th>
                <th>branch of</th>
                <th>saved</th>
              </tr>
            </thead>
            <tbody>
              {data.items.map((each) => (
                <tr key={`${each.scope} ${each.id}`}>
                  <td>
                    <Link className="link" href={linkTo(each.id, each.scope)}>
                      <Said>{each.id}</Said>
                    </Link>
                  </td>
                  <td>
                    <Said>{each.scope}</Said>
                  </td>
                  <td className={table.r}>{count(each.messages)}</td>
                  <td className={table.r}>{count(each.revision)}</td>
                  <td>
                    <Said>{each.parent?.id}</Said>
                  </td>
                  <td>{ago(each.updated, now)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      {data?.next_cursor != null && <p className="sub">The {SHOWN} that were saved last are shown.</p>}
    </>
  );
}

function One({ id, scope }: { id: string; scope: string }) {
  const now = useNow(60_000);
  const { data, error, again } = useApi<StoredConversation>("/conversation", { id, scope });
  const messages = useApi<ThreadMessages>(
    data?.head == null ? null : `/content/${data.head}`,
    { as: "messages" },
    true,
  );
  const runs = useApi<Page<RunSummary>>("/runs", { session: id, limit: RUNS });
  return (
    <>
      <h1>
        <Said>{id}</Said>
      </h1>
      <p className="sub">
        <Link className="link" href="/conversations">
          All conversations
        </Link>
        {data !== null &&
          ` · revision ${count(data.revision)} · ${count(data.messages)} messages · saved ${ago(data.updated, now)}`}
        {data !== null && data.parent !== null && (
          <>
            {" · branch of "}
            <Link className="link" href={linkTo(data.parent.id, scope)}>
              <Said>{data.parent.id}</Said>
            </Link>
          </>
        )}
      </p>
      {error !== null && <Failed error={error} what="the conversation" onAgain={again} />}
      {data === null && error === null && <Loading what="the conversation" />}
      <section aria-label="Runs of the conversation">
        <h2>Runs</h2>
        {runs.error !== null && <Failed error={runs.error} what="its runs" onAgain={runs.again} />}
        {runs.data !== null && runs.data.items.length === 0 && <p className="sub">No run has named it.</p>}
        <ul className={styles.runs}>
          {runs.data?.items.map((run) => (
            <li key={run.run}>
              <Link className="link" href={`/runs/${run.run}`}>
                <Said>{run.name ?? run.run}</Said>
              </Link>{" "}
              <span className="sub">{ago(run.started, now)}</span>
            </li>
          ))}
        </ul>
      </section>
      <section aria-label="Messages">
        <h2>Messages</h2>
        {messages.error !== null && <Failed error={messages.error} what="its messages" onAgain={messages.again} />}
        <ol className={styles.messages}>
          {messages.data?.messages.map((message, place) => (
            <li key={place}>
              <p className="sub">
                <Said>{message?.role ?? "not stored"}</Said>
              </p>
              <MessageView message={message} isPlain />
            </li>
          ))}
        </ol>
      </section>
    </>
  );
}
