// The call that wrote the summary: with which instruction, from how much, at what cost.
import { Link } from "wouter";

import type { RunTurn } from "../../api/types";
import { useApi } from "../../api/useApi";
import { count, duration, money } from "../../model/format";
import { MessageView } from "../../parts/MessageView";
import { asMessage } from "../../parts/messageParts";
import { Failed, Loading } from "../../parts/Notices";
import { Said } from "../../parts/Said";
import { TurnLink } from "../../parts/TurnLink";
import { runPath, useOnPage } from "../OnPage";
import { Block } from "../turn/Block";
import styles from "./Compression.module.css";

/** `number` is that of its turn. */
export function Summariser({ number }: { number: number }) {
  const { run, go } = useOnPage();
  const { data, error, again } = useApi<RunTurn>(`${runPath(run.run)}/turns/${number}`, {}, run.status !== "running");
  const instruction =
    data?.new.added.find((each) => each.role === "system" || each.role === "developer") ?? data?.new.added[0];
  return (
    <Block
      label="Summariser"
      of={
        data !== null && (
          <TurnLink seq={data.seq} onGo={go}>
            turn {number}
          </TurnLink>
        )
      }
      margin={
        <Link className="go" href={`/runs/${run.run}/ask/${number}`}>
          Edit the instruction and ask again
        </Link>
      }
    >
      {data === null &&
        (error === null ? (
          <Loading what="who wrote the summary" />
        ) : (
          <Failed error={error} what="who wrote the summary" onAgain={again} />
        ))}
      {data !== null && (
        <>
          <p>
            <code>
              <Said className="ink-model">{data.model ?? "model"}</Said>
            </code>{" "}
            {data.saw.tokens !== null && (
              <>
                <span className="num">{count(data.saw.tokens)}</span> →{" "}
                <span className="num">{count(data.usage["output_tokens"] ?? 0)}</span> tokens ·{" "}
              </>
            )}
            {duration(data.model_ms)} · {money(data.cost)} · from {count(data.saw.messages)}{" "}
            {data.saw.messages === 1 ? "message" : "messages"}
          </p>
          {instruction?.value != null && (
            <div className={styles.instruction}>
              <MessageView message={asMessage(instruction.value)} mode="text" isPlain />
            </div>
          )}
        </>
      )}
    </Block>
  );
}
