import type { DecisionTree as Tree } from "../../api/types";
import { useApi } from "../../api/useApi";
import { compact } from "../../model/format";
import { Dialog } from "../../parts/Dialog";
import { Failed, Loading } from "../../parts/Notices";
import { Said } from "../../parts/Said";
import { TurnLink } from "../../parts/TurnLink";
import { runPath, useOnPage } from "../OnPage";
import { turnAt } from "../turns/rows";
import styles from "./DecisionTree.module.css";
import { Link } from "wouter";

const CHARACTERS = 160;

/** The decisions of a run one after the other: what was chosen, what was left, and the runs that went another way there. */
export function DecisionTree({ run, onClose }: { run: string; onClose: () => void }) {
  const { data, error, again } = useApi<Tree>(`${runPath(run)}/tree`, { limit: 200 });
  const { turns } = useOnPage();
  return (
    <Dialog title="Decision tree" onClose={onClose} isWide>
      {error !== null && <Failed error={error} what="the tree" onAgain={again} />}
      {data === null && error === null && <Loading what="the tree" />}
      {data !== null && (
        <ol className={styles.tree} onClick={(event) => event.target instanceof HTMLAnchorElement && onClose()}>
          {data.items.map((node) => (
            <li key={node.event}>
              <TurnLink seq={node.seq}>turn {turnAt(turns, node.seq)?.turn ?? "?"}</TurnLink>{" "}
              <span className="sub">{node.kind.replaceAll("_", " ")}</span>{" "}
              <code>
                <Said>{shown(node.chosen)}</Said>
              </code>
              {node.reason !== null && (
                <p>
                  <Said>{cut(node.reason)}</Said>
                </p>
              )}
              {node.untaken.length > 0 && (
                <p className="sub">
                  not taken: <Said>{node.untaken.map((option) => option.name).join(", ")}</Said>
                </p>
              )}
              {node.branches.map((branch) => (
                <p key={`${branch.run} ${branch.seq}`} className="sub">
                  <Link className="go" href={`/compare/${run}/${branch.run}`}>
                    {branch.run.slice(-8)}
                  </Link>{" "}
                  chose <Said>{shown(branch.chosen)}</Said>
                </p>
              ))}
            </li>
          ))}
        </ol>
      )}
      {data?.items.length === 0 && <p className="sub">No decision was recorded.</p>}
      {data !== null && data.next_cursor !== null && <p className="sub">The first {data.items.length} decisions.</p>}
    </Dialog>
  );
}

const cut = (text: string): string => (text.length > CHARACTERS ? `${text.slice(0, CHARACTERS)} …` : text);
const shown = (value: unknown): string => cut(typeof value === "string" ? value : compact(value));
