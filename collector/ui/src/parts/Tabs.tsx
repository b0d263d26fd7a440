// A choice of one of a few views: tabs of a panel (one tab stop, the arrows go through them), or switches.
import { type KeyboardEvent, useRef } from "react";

import styles from "./Tabs.module.css";

type Choice<Id extends string> = { id: Id; name: string };
type Props<Id extends string> = {
  label: string;
  choices: readonly Choice<Id>[];
  chosen: Id | null;
  onChoose: (id: Id) => void;
  /** Id of the panel that the tabs change. Its name is that of the chosen tab: `aria-labelledby={tabId(panel, chosen)}`. */
  panel?: string;
};

export const tabId = (panel: string, choice: string): string => `${panel}-tab-${choice}`;

export function Tabs<Id extends string>({ label, choices, chosen, onChoose, panel }: Props<Id>) {
  const box = useRef<HTMLDivElement>(null);
  const press = (event: KeyboardEvent) => {
    const at = choices.findIndex(({ id }) => id === chosen);
    const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: choices.length - 1 }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    const next = (to + choices.length) % choices.length;
    const choice = choices[next];
    if (choice !== undefined) onChoose(choice.id);
    box.current?.querySelectorAll("button")[next]?.focus();
  };
  if (panel === undefined)
    return (
      <div className={styles.tabs} role="group" aria-label={label}>
        {choices.map(({ id, name }) => (
          <button key={id} type="button" aria-pressed={id === chosen} onClick={() => onChoose(id)}>
            {name}
          </button>
        ))}
      </div>
    );
  return (
    <div className={styles.tabs} role="tablist" aria-label={label} ref={box} onKeyDown={press}>
      {choices.map(({ id, name }) => (
        <button
          key={id}
          id={tabId(panel, id)}
          type="button"
          role="tab"
          aria-selected={id === chosen}
          aria-controls={panel}
          tabIndex={id === chosen ? 0 : -1}
          onClick={() => onChoose(id)}
        >
          {name}
        </button>
      ))}
    </div>
  );
}
