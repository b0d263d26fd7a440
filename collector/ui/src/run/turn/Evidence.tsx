import { useState } from "react";

import type { Suspect, SuspectFinding } from "../../api/types";
import { count } from "../../model/format";
import { Rank } from "../../parts/Rank";
import { Said } from "../../parts/Said";
import { Strength } from "../../parts/Strength";
import { TurnLink } from "../../parts/TurnLink";
import { useOnPage } from "../OnPage";
import { turnAt } from "../turns/rows";
import { Precision } from "../verdict/Findings";
import { restAt } from "../verdict/rests";
import styles from "./Evidence.module.css";
import { shownValues } from "./evidence";

type Props = {
  suspect: Suspect;
  findings: readonly SuspectFinding[];
  /** The content that this stands beside: what is quoted of it is marked there, and not said again. */
  beside: string | null;
};

/** What speaks against this turn, with the values that it compares, or the words that it rests on and where they stand. */
export function Evidence({ suspect, findings, beside }: Props) {
  return (
    <div className={styles.evidence}>
      {findings.map((finding, n) => (
        <div key={n}>
          <p>
            <Rank as={suspect.rank === 1 ? "suspect" : "evidence"}>{suspect.rank}</Rank>{" "}
            <Strength word={finding.strength} /> <Said>{finding.reason}</Said> <Precision finding={finding} />
          </p>
          {finding.values.length > 0 ? (
            <Values finding={finding} />
          ) : (
            <Quotes quotes={finding.quotes.filter((quote) => quote.ref !== beside)} suspect={suspect} />
          )}
        </div>
      ))}
    </div>
  );
}

const MARKS: Readonly<Record<SuspectFinding["values"][number]["mark"], string>> = {
  said: "said",
  recorded: "recorded",
  least: "least",
  other: "",
};

function Values({ finding }: { finding: SuspectFinding }) {
  const { turns } = useOnPage();
  const [isAll, setAll] = useState(false);
  return (
    <table className={styles.values}>
      <tbody>
        {shownValues(finding.values, isAll).map((value, n) =>
          "hidden" in value ? (
            <tr key={n}>
              <td colSpan={3}>
                <button type="button" className="go" onClick={() => setAll(true)}>
                  … {count(value.hidden)} more …
                </button>
              </td>
            </tr>
          ) : (
            <tr key={n} className={styles[value.mark]}>
              <th scope="row">
                <Said>{value.entry ?? value.path ?? ""}</Said>
              </th>
              <td className="num">
                <Said>{value.value}</Said>
              </td>
              <td>
                {MARKS[value.mark]}{" "}
                {value.mark !== "other" && value.quotes[0]?.seq != null && (
                  <TurnLink seq={value.quotes[0].seq}>turn {turnAt(turns, value.quotes[0].seq)?.turn ?? "?"}</TurnLink>
                )}
              </td>
            </tr>
          ),
        )}
      </tbody>
    </table>
  );
}

function Quotes({ quotes, suspect }: { quotes: SuspectFinding["quotes"]; suspect: Suspect }) {
  const { rows, turns } = useOnPage();
  if (quotes.length === 0) return null;
  return (
    <ul>
      {quotes.map((quote, n) => {
        const rest = quote.seq === null ? null : restAt(quote.seq, rows, turns, suspect.turn);
        return (
          <li key={n}>
            {rest !== null && (
              <>
                {rest.role} <TurnLink seq={rest.seq}>turn {rest.turn}</TurnLink>:{" "}
              </>
            )}
            “<Said>{quote.text}</Said>”
          </li>
        );
      })}
    </ul>
  );
}
