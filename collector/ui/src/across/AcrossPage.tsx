// What runs of an agent take, what they do, and what failed ones have in common: questions, a few at a time.
import { useSearchParams } from "wouter";

import { AcrossConditions } from "./AcrossConditions";
import { Choices } from "./Choices";
import { Diverging } from "./Diverging";
import { FailedRuns } from "./FailedRuns";
import { FillingContents } from "./FillingContents";
import { type Conditions, SHARED } from "./links";
import { Overview } from "./Overview";
import { Tabs, tabId } from "../parts/Tabs";
import styles from "./Across.module.css";

const QUESTIONS = [
  { id: "overview", name: "Overview", Shown: Overview },
  { id: "choices", name: "Tools and choices", Shown: Choices },
  { id: "failed", name: "Failed or succeeded", Shown: FailedRuns },
  { id: "divergences", name: "Where runs part", Shown: Diverging },
  { id: "contents", name: "What fills the context", Shown: FillingContents },
] as const;
const PANEL = "answer";

export function AcrossPage() {
  const [query, setQuery] = useSearchParams();
  const shown = QUESTIONS.find((each) => each.id === query.get("show")) ?? QUESTIONS[0];
  const where: Conditions = Object.fromEntries(SHARED.map((name) => [name, query.get(name)]));
  const outcome = query.get("outcome");
  const set = (changes: Conditions) =>
    setQuery((before) => {
      for (const [name, value] of Object.entries(changes)) {
        if (value === null || value === "") before.delete(name);
        else before.set(name, value);
      }
      return before;
    });
  return (
    <main className={styles.page} aria-label="Across runs">
      <h1 className="visually-hidden">Across runs</h1>
      <AcrossConditions get={(name) => query.get(name)} set={set} />
      <div className={styles.questions}>
        <Tabs
          label="Questions"
          panel={PANEL}
          choices={QUESTIONS}
          chosen={shown.id}
          onChoose={(id) => set({ show: id })}
        />
      </div>
      <div className={styles.answer} id={PANEL} role="tabpanel" aria-labelledby={tabId(PANEL, shown.id)} tabIndex={0}>
        <shown.Shown
          params={{ ...where, outcome }}
          where={where}
          outcome={outcome}
          task={query.get("task") ?? "input"}
        />
      </div>
    </main>
  );
}
