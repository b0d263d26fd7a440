// What can be done with a run: compare it, resume it, ask it to stop, and what is rarely needed behind More.
import { useState } from "react";
import { useLocation } from "wouter";

import { apiUrl } from "../../api/client";
import type { RunDetail, RunVerdict, TurnRow } from "../../api/types";
import { usePageActions } from "../../parts/actions";
import { copied } from "../../parts/clipboard";
import { Menu, type MenuItem } from "../../parts/Menu";
import { CompareWith } from "./CompareWith";
import { CopyTest } from "./CopyTest";
import { DecisionTree } from "./DecisionTree";
import { Explain } from "./Explain";
import { ForkFrom } from "./ForkFrom";
import { Resume } from "./Resume";
import { Stop } from "./Stop";

type Shown = "compare" | "resume" | "stop" | "fork" | "test" | "explain" | "tree" | null;
type Props = { run: RunDetail; verdict: RunVerdict | null; at: number; turn: TurnRow | undefined };

export function Acts({ run, verdict, at, turn }: Props) {
  const [shown, setShown] = useState<Shown>(null);
  const [, go] = useLocation();
  const close = () => setShown(null);
  const isRunning = run.status === "running";
  const mayResume = !isRunning && run.status !== "completed";
  const open = (label: string, what: Shown) => ({ label, onChoose: () => setShown(what) });
  const acts = [
    ...(turn?.kind === "turn" && turn.ended_seq !== null
      ? [{ label: "Edit and ask again", onChoose: () => go(`/runs/${run.run}/ask/${turn.turn}`) }]
      : []),
    ...(turn === undefined ? [] : [open("Fork from here…", "fork")]),
    { label: "Copy link to this moment", onChoose: () => void copied(window.location.href) },
    ...(turn?.kind === "turn"
      ? [{ label: "Compare this call with…", onChoose: () => go(`/calls?a=${run.run}:${turn.seq}`) }]
      : []),
    open("Explain the run…", "explain"),
    open("Decision tree…", "tree"),
    ...(isRunning ? [open("Compare with…", "compare")] : []),
    open("Copy as test…", "test"),
  ];
  const items: MenuItem[] = [
    ...acts,
    { label: "Bundle: all of the run in one file", href: apiUrl(`/runs/${run.run}/bundle`) },
    { label: "JSON", href: apiUrl(`/runs/${run.run}`) },
  ];
  usePageActions(acts.map(({ label, onChoose }) => ({ label, run: onChoose })));
  return (
    <>
      {isRunning ? (
        <button type="button" className="button" onClick={() => setShown("stop")}>
          Ask it to stop…
        </button>
      ) : (
        <button type="button" className="button" onClick={() => setShown("compare")}>
          Compare with…
        </button>
      )}
      {mayResume && (
        <button type="button" className="button main" onClick={() => setShown("resume")}>
          Resume…
        </button>
      )}
      <Menu label="More ▾" name="More about this run" items={items} />
      {shown === "compare" && <CompareWith run={run} onClose={close} />}
      {shown === "resume" && <Resume run={run} verdict={verdict} onClose={close} />}
      {shown === "stop" && <Stop run={run} onClose={close} />}
      {shown === "fork" && <ForkFrom run={run.run} at={at} onClose={close} />}
      {shown === "test" && <CopyTest run={run.run} onClose={close} />}
      {shown === "explain" && <Explain run={run.run} seq={null} onClose={close} />}
      {shown === "tree" && <DecisionTree run={run.run} onClose={close} />}
    </>
  );
}
