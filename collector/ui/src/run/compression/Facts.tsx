// The facts of a compression: those that were saved and those that were lost, folded.
import type { CompressionAudit } from "../../api/types";
import { count } from "../../model/format";
import { Said } from "../../parts/Said";
import { Block } from "../turn/Block";
import styles from "./Compression.module.css";
import { byKind } from "./fates";

export function Facts({ audit }: { audit: CompressionAudit }) {
  return (
    <Block label="Facts" of="in what went">
      <Folded title="Saved" facts={audit.preserved} total={audit.preserved_total} />
      <Folded title="Lost" facts={audit.lost} total={audit.lost_total} />
    </Block>
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
            <code key={n} title={fact.label ?? undefined}>
              <Said>{fact.text}</Said>
            </code>
          ))}
        </p>
      ))}
      {total > facts.length && <p className="sub">The first {count(facts.length)} are shown.</p>}
    </details>
  );
}
