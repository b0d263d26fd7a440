import type { Suspect, SuspectFinding } from "../../api/types";
import { Rank } from "../../parts/Rank";
import { Said } from "../../parts/Said";
import { Strength } from "../../parts/Strength";
import { TurnLink } from "../../parts/TurnLink";
import { useOnPage } from "../OnPage";
import { turnAt } from "../turns/rows";
import styles from "./Evidence.module.css";

/** What speaks against this turn, with the words that it rests on and where they stand. */
export function Evidence({ suspect, findings }: { suspect: Suspect; findings: readonly SuspectFinding[] }) {
  const { turns } = useOnPage();
  return (
    <div className={styles.evidence}>
      {findings.map((finding, n) => (
        <div key={n}>
          <p>
            <Rank as={suspect.rank === 1 ? "suspect" : "evidence"}>{suspect.rank}</Rank>{" "}
            <Strength word={finding.strength} /> <Said>{finding.reason}</Said>
          </p>
          {finding.quotes.length > 0 && (
            <ul>
              {finding.quotes.map((quote, at) => (
                <li key={at}>
                  {quote.seq !== null && (
                    <TurnLink seq={quote.seq}>turn {turnAt(turns, quote.seq)?.turn ?? "?"}</TurnLink>
                  )}{" "}
                  “<Said>{quote.text}</Said>”
                </li>
              ))}
            </ul>
          )}
        </div>
      ))}
    </div>
  );
}
