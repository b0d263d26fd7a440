import { useState } from "react";

import type { Suspect, SuspectFinding } from "../../api/types";
import { count } from "../../model/format";
import { Rank } from "../../parts/Rank";
import { Said } from "../../parts/Said";
import { saidPlainly } from "../../parts/said";
import { Strength } from "../../parts/Strength";
import { TurnLink } from "../../parts/TurnLink";
import { useOnPage } from "../OnPage";
import { Precision } from "../verdict/Findings";
import { restAt, restsOn } from "../verdict/rests";
import styles from "./Evidence.module.css";
import { shortNames, shownValues } from "./evidence";

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
            <Values finding={finding} suspect={suspect} />
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

/** The values that are compared, and where the recorded ones were read. */
function Values({ finding, suspect }: { finding: SuspectFinding; suspect: Suspect }) {
  const { rows, turns } = useOnPage();
  const [isAll, setAll] = useState(false);
  const read = restsOn(
    finding.values.filter((value) => value.mark !== "said").flatMap((value) => value.quotes),
    rows,
    turns,
    suspect.turn,
  );
  const names = shortNames(finding.values);
  return (
    <>
      {read.map((rest) => (
        <p key={rest.turn} className={styles.read}>
          {rest.role} <TurnLink seq={rest.seq}>turn {rest.turn}</TurnLink>:
        </p>
      ))}
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
                <th scope="row" title={saidPlainly(value.entry ?? value.path ?? "")}>
                  <Said>{names.get(value) ?? ""}</Said>
                </th>
                <td className="num">
                  <Said>{value.value}</Said>
                </td>
                <td>{MARKS[value.mark]}</td>
              </tr>
            ),
          )}
        </tbody>
      </table>
    </>
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
