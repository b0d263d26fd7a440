// Lost facts that were needed later, in groups of one need; and what can be asked again to see what they would have changed.
import { useState } from "react";
import { Link } from "wouter";

import type { CompressionAudit, NeededFacts, RunTurn } from "../../api/types";
import { count } from "../../model/format";
import { Said } from "../../parts/Said";
import { Strength } from "../../parts/Strength";
import { TurnLink } from "../../parts/TurnLink";
import { useOnPage } from "../OnPage";
import { shownCall } from "../panel/said";
import { Block } from "../turn/Block";
import { turnAt, turnThatRead } from "../turns/rows";
import styles from "./Compression.module.css";
import type { AfterLine } from "./fates";
import { needSaid } from "./needSaid";

/** Facts of one need that are shown at first. */
const CHIPS = 12;

type Props = {
  audit: CompressionAudit;
  turn: RunTurn;
  /** The summary in the new context; undefined: there is none, or it is not known yet. */
  summary: AfterLine | undefined;
};

export function NeededLater({ audit, turn, summary }: Props) {
  const { needs, needed_total: needed, lost_total: lost } = audit;
  return (
    <Block
      label="Needed later"
      of={`${count(needed)} of ${count(lost)} lost`}
      isHot={needed > 0}
      margin={
        <>
          {needed > 0 && <p>In neither the summary nor the messages kept.</p>}
          <OtherContexts audit={audit} turn={turn} summary={summary} />
        </>
      }
    >
      {needs.length === 0 ? (
        <p className="sub">
          {lost === 0
            ? "No fact was lost."
            : `No lost fact was needed up to event ${count(audit.searched_to)}, as far as its words show.`}
        </p>
      ) : (
        <table className={styles.needs}>
          <thead>
            <tr>
              <th scope="col">lost fact</th>
              <th scope="col">was said at</th>
              <th scope="col">what came of it</th>
              <th scope="col">strength</th>
            </tr>
          </thead>
          <tbody>
            {needs.map((need) => (
              <Need key={`${need.seq} ${need.how} ${need.read_seq}`} need={need} />
            ))}
          </tbody>
        </table>
      )}
    </Block>
  );
}

/** The call asked again with another context: as if nothing had been cut, or with another summary. */
function OtherContexts({ audit, turn, summary }: Props) {
  const { run } = useOnPage();
  const ask = `/runs/${run.run}/ask/${turn.number}`;
  return (
    <p>
      <b>What would it have done?</b>
      <br />
      <Link className="go" href={`${ask}?without=${audit.seq}`}>
        Ask turn {turn.number} again with all messages
      </Link>
      {summary !== undefined && (
        <>
          <br />
          <Link className="go" href={`${ask}?edit=${summary.place - 1}`}>
            Edit the summary and fork from here
          </Link>
        </>
      )}
    </p>
  );
}

function Need({ need }: { need: NeededFacts }) {
  const { rows, turns, go } = useOnPage();
  const [isWhole, setWhole] = useState(false);
  const reader = turnThatRead(rows, turns, need.read_seq);
  const said = reader ?? turnAt(turns, need.read_seq);
  const at = turnAt(turns, need.seq);
  const used = need.used_seq === null ? undefined : turnAt(turns, need.used_seq);
  const call =
    at?.calls.find((each) => each.seq === need.seq) ?? (need.how === "looked_up_again" ? at?.calls[0] : undefined);
  const shown = isWhole ? need.facts : need.facts.slice(0, CHIPS);
  return (
    <tr>
      <td className={styles.facts}>
        {shown.map((fact) => (
          <code key={fact}>
            <Said>{fact}</Said>
          </code>
        ))}
        {need.facts.length > CHIPS && (
          <button type="button" className="go" aria-expanded={isWhole} onClick={() => setWhole(!isWhole)}>
            {isWhole ? "fewer" : `all ${count(need.facts.length)}`}
          </button>
        )}
      </td>
      <td>
        {reader !== undefined && "before "}
        <TurnLink seq={reader?.seq ?? need.read_seq} onGo={go}>
          {said?.turn == null ? `event ${need.read_seq}` : `turn ${said.turn}`}
        </TurnLink>
        {reader === undefined && said?.calls[0] !== undefined && (
          <code className={styles.tool}>
            <Said>{said.calls[0].name}</Said>
          </code>
        )}
      </td>
      <td>
        {needSaid(need)}{" "}
        <TurnLink seq={need.seq} onGo={go}>
          {at?.turn == null ? `event ${need.seq}` : `turn ${at.turn}`}
        </TurnLink>
        {call !== undefined && (
          <>
            :{" "}
            <code>
              <Said>{shownCall(call)}</Said>
            </code>
          </>
        )}
        {need.how === "used" && ", and nothing in its context said it"}
        {used?.turn != null && used !== at && (
          <>
            , used at{" "}
            <TurnLink seq={need.used_seq ?? used.seq} onGo={go}>
              turn {used.turn}
            </TurnLink>
          </>
        )}
      </td>
      <td>
        <Strength word={need.strength} />
      </td>
    </tr>
  );
}
