// The suspected turns of a run: of each what speaks against it, how strongly, and the moments that this rests on.
import { Fragment, useState } from "react";
import { Link } from "wouter";

import type { Suspect, SuspectFinding, Suspects } from "../../api/types";
import { plainLine } from "../../model/plainLine";
import { Rank } from "../../parts/Rank";
import { Said } from "../../parts/Said";
import { Strength } from "../../parts/Strength";
import { TurnLink } from "../../parts/TurnLink";
import { Explain } from "../acts/Explain";
import { useOnPage } from "../OnPage";
import { shownCall } from "../panel/said";
import styles from "./Findings.module.css";
import { restsOn } from "./rests";

/** Rules that compare with runs of the task that succeeded. */
const OF_SIBLINGS: readonly string[] = ["diverged", "call_missing"];

/** `isFolded`: something else says why the run failed; the suspects are behind a click. */
export function Findings({ run, suspects, isFolded }: { run: string; suspects: Suspects; isFolded: boolean }) {
  const [isOpen, setOpen] = useState(!isFolded);
  const [isAll, setAll] = useState(false);
  const [isExplained, setExplained] = useState(false);
  const shown = isAll ? suspects.items : suspects.items.slice(0, 1);
  const more = suspects.items.length - 1;
  return (
    <div className={styles.findings}>
      {!isOpen ? (
        <p className={styles.more}>
          <button type="button" className="go" onClick={() => setOpen(true)}>
            {suspects.total} suspected {suspects.total === 1 ? "turn" : "turns"}
          </button>
        </p>
      ) : (
        <>
          {shown.map((suspect, n) => (
            <OneSuspect key={suspect.seq} run={run} suspect={suspect} suspects={suspects}>
              {n === 0 && (
                <span className={styles.right}>
                  <span title={HOW_OFTEN}>
                    {suspects.total} of {lookedAt(suspects)} {suspects.total === 1 ? "is" : "are"} suspected
                  </span>{" "}
                  <button type="button" className="button quiet" onClick={() => setExplained(true)}>
                    Explain…
                  </button>
                </span>
              )}
            </OneSuspect>
          ))}
          <p className={styles.often}>
            {more > 0 && (
              <>
                <button type="button" className="go" aria-expanded={isAll} onClick={() => setAll(!isAll)}>
                  {isAll ? "only the first" : `${more} more`}
                </button>
                {" · "}
              </>
            )}
            {HOW_OFTEN}
          </p>
        </>
      )}
      {isExplained && <Explain run={run} seq={null} onClose={() => setExplained(false)} />}
    </div>
  );
}

/** From docs/suspects.md, which has the intervals and the other runs that this was measured on. */
const HOW_OFTEN =
  "Evidence, not proof: the first suspect was the step that made the run fail in 62 % of labelled airline runs, in far fewer of others.";

/** `7 turns`; of a very long run, `the last 7 of 900 turns`. */
const lookedAt = ({ steps, looked_at: lookedAt }: Suspects): string =>
  lookedAt < steps ? `the last ${lookedAt} of ${steps} turns` : `${steps} turns`;

type RestsProps = { run: string; finding: SuspectFinding; suspect: Suspect; suspects: Suspects };

type OneProps = { run: string; suspect: Suspect; suspects: Suspects; children?: React.ReactNode };

function OneSuspect({ run, suspect, suspects, children }: OneProps) {
  return (
    <>
      <p className={styles.title}>
        <Rank as={suspect.rank === 1 ? "suspect" : "evidence"}>{suspect.rank}</Rank>
        <b>
          {suspect.rank === 1 ? "First suspect: " : "Then: "}
          <TurnLink seq={suspect.seq}>turn {suspect.turn}</TurnLink>
        </b>
        <span className={styles.does}>
          <Does suspect={suspect} />
        </span>
        {children}
      </p>
      <ol className={styles.list}>
        {suspect.findings.map((finding, n) => (
          <li key={n} className={n === 0 && suspect.rank === 1 ? styles.first : undefined}>
            <Strength word={finding.strength} />
            <span className={styles.reason} title={finding.rule}>
              <Said>{finding.reason}</Said> <Precision finding={finding} />
            </span>
            <span className={styles.rests}>
              <RestsOn run={run} finding={finding} suspect={suspect} suspects={suspects} />
            </span>
          </li>
        ))}
      </ol>
    </>
  );
}

/** What the suspected turn did: its calls in the words of the tools, or what it answered. */
function Does({ suspect }: { suspect: Suspect }) {
  const { turns } = useOnPage();
  const row = turns.find((each) => each.turn === suspect.turn);
  if (row === undefined) return <Said>{suspect.does}</Said>;
  if (row.calls.length > 0)
    return (
      <>
        <Said>{row.model ?? "it"}</Said> called{" "}
        <code>
          <Said>{row.calls.map(shownCall).join(", ")}</Said>
        </code>
      </>
    );
  return (
    <>
      <Said>{row.model ?? "it"}</Said> answered: “<Said>{plainLine(row.text ?? suspect.does)}</Said>”
    </>
  );
}

/** How often the rule was right where it was measured. */
export function Precision({ finding }: { finding: SuspectFinding }) {
  if (finding.precision === null) return null;
  const { found, right, rules, basis } = finding.precision;
  return (
    <span className={styles.precision} title={`${rules.join(", ")}: ${basis}`}>
      right in {right} of {found}
    </span>
  );
}

/** The moments that the finding rests on, each with its role, and the run that it compares with. */
function RestsOn({ run, finding, suspect, suspects }: RestsProps) {
  const { rows, turns } = useOnPage();
  const sibling = OF_SIBLINGS.includes(finding.rule) ? suspects.siblings.runs[0] : undefined;
  const moments = restsOn(finding.quotes, rows, turns, suspect.turn);
  return (
    <>
      {moments.map(({ role, seq, turn }, n) => (
        <Fragment key={turn}>
          {n > 0 && ", "}
          {role} <TurnLink seq={seq}>turn {turn}</TurnLink>
        </Fragment>
      ))}
      {sibling !== undefined && (
        <>
          {moments.length > 0 && " · "}
          <Link className="go" href={`/compare/${run}/${sibling}`}>
            compare with the run that succeeded
          </Link>
        </>
      )}
    </>
  );
}

/** The first finding in one line. */
export function FirstFinding({ suspect }: { suspect: Suspect }) {
  return (
    <>
      <Rank as="suspect">{suspect.rank}</Rank>{" "}
      <b className={styles.ink}>
        First suspect: <TurnLink seq={suspect.seq}>turn {suspect.turn}</TurnLink>
      </b>{" "}
      <Said>{suspect.findings[0]?.reason ?? suspect.does}</Said>
    </>
  );
}
