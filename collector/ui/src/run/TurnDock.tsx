// On a narrow screen: the turns are behind a button at the foot, between back and on.
import { useState } from "react";

import type { TurnRow } from "../api/types";
import { Dialog } from "../parts/Dialog";
import { useOnPage } from "./OnPage";
import styles from "./TurnDock.module.css";
import { turnBeside } from "./turns/rows";
import { TurnRows } from "./turns/TurnList";

export function TurnDock({ at, turn }: { at: number; turn: TurnRow | undefined }) {
  const { turns, go } = useOnPage();
  const [isOpen, setOpen] = useState(false);
  const step = (by: 1 | -1) => {
    const to = turnBeside(turns, at, by);
    if (to !== undefined) go(to.seq);
  };
  return (
    <div className={styles.dock}>
      <button type="button" className="button" aria-label="Previous turn" onClick={() => step(-1)}>
        ‹
      </button>
      <button type="button" className={`button ${styles.middle}`} onClick={() => setOpen(true)}>
        {turn === undefined ? "Turns" : `Turn ${turn.turn} of ${turns.length}`}
      </button>
      <button type="button" className="button" aria-label="Next turn" onClick={() => step(1)}>
        ›
      </button>
      {isOpen && (
        <Dialog title="Turns" onClose={() => setOpen(false)}>
          <div className={styles.sheet}>
            <TurnRows at={at} turn={turn} onChosen={() => setOpen(false)} />
          </div>
        </Dialog>
      )}
    </div>
  );
}
