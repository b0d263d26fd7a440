// The facts of a compression: those that were saved and those that were lost, folded; and what a model says of them.
import { useState } from "react";

import { type ApiError, post } from "../../api/client";
import type { CompressionAudit, JudgedCompression } from "../../api/types";
import { count } from "../../model/format";
import { Failed, Loading } from "../../parts/Notices";
import { Said } from "../../parts/Said";
import { saidPlainly } from "../../parts/said";
import { runPath } from "../OnPage";
import { Block } from "../turn/Block";
import styles from "./Compression.module.css";
import { byKind } from "./fates";

export function Facts({ audit }: { audit: CompressionAudit }) {
  return (
    <Block label="Facts" of="in what went">
      <Folded title="Saved" facts={audit.preserved} total={audit.preserved_total} />
      <Folded title="Lost" facts={audit.lost} total={audit.lost_total} />
      <Opinion run={audit.run} seq={audit.seq} />
    </Block>
  );
}

type Asked = { opinion: JudgedCompression } | { error: ApiError } | "asking" | null;

/** What the model that the operator configured says of the facts, once it is asked. */
function Opinion({ run, seq }: { run: string; seq: number }) {
  const [asked, setAsked] = useState<Asked>(null);
  const ask = () => {
    setAsked("asking");
    post<JudgedCompression>(`${runPath(run)}/compressions/${seq}/judge`, {}).then(
      (opinion) => setAsked({ opinion }),
      (error: ApiError) => setAsked({ error }),
    );
  };
  if (asked === "asking") return <Loading what="the opinion of a model" />;
  if (asked === null)
    return (
      <button type="button" className="go" onClick={ask}>
        Ask a model what was lost
      </button>
    );
  if ("error" in asked) return <Failed error={asked.error} what="the opinion of a model" onAgain={ask} />;
  const { opinion } = asked;
  return (
    <section aria-label="Opinion of a model">
      <p className="sub">
        In the opinion of <Said>{opinion.model}</Said>, which saw <Said>{opinion.shown}</Said>:
      </p>
      <Folded title="Saved, it says" facts={opinion.preserved} total={opinion.preserved.length} />
      <Folded title="Lost, it says" facts={opinion.lost} total={opinion.lost.length} />
      {opinion.unquoted > 0 && (
        <p className="sub">{count(opinion.unquoted)} more are left out: their words are in no removed message.</p>
      )}
    </section>
  );
}

type Fact = { kind: string; text: string; label: string | null };

function Folded({ title, facts, total }: { title: string; facts: readonly Fact[]; total: number }) {
  if (total === 0) return <p className="sub">{title}: none that can be found again as a fact.</p>;
  return (
    <details>
      <summary>
        {title} <span className="num">{count(total)}</span>
      </summary>
      {byKind(facts).map(([kind, some]) => (
        <p key={kind} className={styles.chips}>
          <span className="ink-faint">{kind}</span>
          {some.map((fact, n) => (
            <code key={n} title={saidPlainly(fact.label ?? "")}>
              <Said>{fact.text}</Said>
            </code>
          ))}
        </p>
      ))}
      {total > facts.length && <p className="sub">The first {count(facts.length)} are shown.</p>}
    </details>
  );
}
