import type { CausalGraph } from "../../api/types";
import { useApi } from "../../api/useApi";
import { Failed, Loading } from "../../parts/Notices";
import { Said } from "../../parts/Said";
import { Strength } from "../../parts/Strength";
import { TurnLink } from "../../parts/TurnLink";
import { runPath, useOnPage } from "../OnPage";
import { turnAt } from "../turns/rows";
import styles from "./Causes.module.css";

/** The causes of an event back to the user's messages, nearest first, each with why that is said. */
export function Causes({ seq }: { seq: number }) {
  const { run, turns } = useOnPage();
  const { data, error, again } = useApi<CausalGraph>(`${runPath(run.run)}/causes/${seq}`, { direction: "back" });
  if (error !== null) return <Failed error={error} what="the causes" onAgain={again} />;
  if (data === null) return <Loading what="the causes" />;
  const nodes = new Map(data.nodes.map((node) => [node.seq, node]));
  const edges = [...data.edges].sort(
    (a, b) => (nodes.get(a.effect)?.distance ?? 0) - (nodes.get(b.effect)?.distance ?? 0) || b.cause - a.cause,
  );
  const name = (each: number) => {
    const turn = turnAt(turns, each)?.turn;
    return turn == null || each < (turns[0]?.seq ?? 0) ? `event ${each}` : `turn ${turn}`;
  };
  return (
    <ol className={styles.causes} aria-label="Causes">
      {edges.map((edge, n) => (
        <li key={n}>
          <TurnLink seq={edge.cause}>{name(edge.cause)}</TurnLink> <Said>{nodes.get(edge.cause)?.label ?? ""}</Said>{" "}
          <span className="sub">
            {edge.why.replaceAll("_", " ")} → {name(edge.effect)}
            {edge.path !== null && (
              <>
                {" "}
                at <Said>{edge.path}</Said>
              </>
            )}
            {edge.quote !== null && (
              <>
                : “<Said>{edge.quote}</Said>”
              </>
            )}
          </span>{" "}
          <Strength word={edge.strength} />
        </li>
      ))}
      {edges.length === 0 && <li className="sub">No cause was found.</li>}
      {data.truncated && <li className="sub">There are more.</li>}
    </ol>
  );
}
