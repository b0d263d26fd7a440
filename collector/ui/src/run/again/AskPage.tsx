// Edit and ask again: what is asked, beside the recorded answer, and what came back, how often.
import { useState } from "react";
import { Link, useSearchParams } from "wouter";

import type { AskedAgain, ContextAt, RunDetail, RunTurn } from "../../api/types";
import { useApi } from "../../api/useApi";
import { count, shortId } from "../../model/format";
import { Dialog } from "../../parts/Dialog";
import { Failed, Loading } from "../../parts/Notices";
import { Said } from "../../parts/Said";
import { Command } from "../acts/Command";
import { forkWithAnswer, forkWithEdits } from "../acts/commands";
import { CopyTest } from "../acts/CopyTest";
import { runPath } from "../OnPage";
import { AskedAnswers, Recorded } from "./Answers";
import styles from "./AskPage.module.css";
import { editOutcome } from "./edits";
import { Question } from "./Question";
import { useAsked } from "./useAsked";
import { useDraft } from "./useDraft";

/**
 * `?edit=3` opens the message with this number, from 0; `?without=27` asks as if the compression at this event had not been.
 */
export function AskPage({ run: name, turn: number }: { run: string; turn: number }) {
  const [query] = useSearchParams();
  const without = query.get("without");
  const run = useApi<RunDetail>(runPath(name));
  const turn = useApi<RunTurn>(`${runPath(name)}/turns/${number}`);
  const context = useApi<ContextAt>(turn.data === null ? null : `${runPath(name)}/context`, {
    at: turn.data?.seq,
    form: "openai",
    ...(without !== null && { without }),
  });
  const failed = [run, turn, context].find((each) => each.error !== null);
  if (failed?.error != null)
    return (
      <main>
        <Failed error={failed.error} isPage what="the turn" onAgain={failed.again} />
      </main>
    );
  if (run.data === null || turn.data === null || context.data === null)
    return (
      <main>
        <Loading what="the turn" />
      </main>
    );
  const edit = query.get("edit");
  return (
    <Ask
      key={`${turn.data.seq} ${without}`}
      run={run.data}
      turn={turn.data}
      context={context.data}
      isUncut={without !== null}
      wanted={edit === null ? null : Number(edit)}
    />
  );
}

type Props = { run: RunDetail; turn: RunTurn; context: ContextAt; isUncut: boolean; wanted: number | null };

function Ask({ run, turn, context, isUncut, wanted }: Props) {
  const draft = useDraft(context, isUncut);
  const asked = useAsked(`${runPath(run.run)}/ask-again`);
  const [shown, setShown] = useState<"test" | "edits" | null>(null);
  const [forked, setForked] = useState<AskedAgain["answer"] | null>(null);
  const first = asked.outcomes.find((each) => "answer" in each)?.answer;
  const at = turn.ended_seq ?? turn.seq;
  // A fork's edits name the positions of the recorded messages.
  const edits = isUncut || context.missing.length > 0 ? null : editOutcome(draft.messages, draft.texts, draft.system);
  return (
    <main className={styles.page}>
      <section className={styles.head} aria-label="Ask again">
        <h1>
          Ask turn {turn.number} again{isUncut && ` with all ${count(draft.messages.length)} messages`}
        </h1>
        <span className="ink-soft">
          <Link className="go" href={`/runs/${run.run}?at=${turn.seq}`}>
            <Said>{run.name ?? "run"}</Said> {shortId(run.run)}
          </Link>
          ,{" "}
          <code>
            <Said>{turn.model ?? "model"}</Said>
          </code>{" "}
          → <Said>{turn.calls.length > 0 ? turn.calls.map((call) => call.name).join(", ") : "its answer"}</Said>
        </span>
        <span className={styles.acts}>
          <button type="button" className="button" onClick={() => setShown("test")}>
            Make it a test
          </button>
          {edits !== null && (
            <button type="button" className="button main" onClick={() => setShown("edits")}>
              Fork from here with these changes
            </button>
          )}
          {first !== undefined && (
            <button type="button" className="button main" onClick={() => setForked(first.answer)}>
              Fork from here with answer 1
            </button>
          )}
        </span>
      </section>
      <div className={styles.columns}>
        <Question
          run={run}
          turn={turn}
          context={context}
          draft={draft}
          wanted={wanted}
          isOpen={asked.open > 0}
          onAsk={asked.ask}
        />
        <Recorded turn={turn} recorded={first?.recorded ?? null} />
        <AskedAnswers asked={asked} onFork={setForked} />
      </div>
      {shown === "test" && <CopyTest run={run.run} onClose={() => setShown(null)} />}
      {shown === "edits" && edits !== null && (
        <Dialog title="Fork with these changes" onClose={() => setShown(null)}>
          <p className="sub">
            Runs your program again with the recorded results up to here, and goes on live: the model is asked with what
            you changed, here and in each later call that begins with the same messages. Replace{" "}
            <code>python agent.py</code>.
          </p>
          <Command text={forkWithEdits(run.run, at, edits)} />
        </Dialog>
      )}
      {forked !== null && (
        <Dialog title="Fork with this answer" onClose={() => setForked(null)}>
          <p className="sub">
            Runs your program again with the recorded results up to here, and goes on with this answer. Replace{" "}
            <code>python agent.py</code>
            {forked.tools.length > 0 && ", and write the message in your provider’s form if it is not Chat Completions"}
            .
          </p>
          <Command text={forkWithAnswer(run.run, at, forked)} />
        </Dialog>
      )}
    </main>
  );
}
