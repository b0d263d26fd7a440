import { type ReactNode, useEffect, useState } from "react";

import { copied } from "./clipboard";
import { Dialog } from "./Dialog";
import { saidPlainly } from "./said";
import { Selected } from "./Selected";

const SAID_MS = 1500;

type Props = { text: string; label: ReactNode; className?: string; title?: string };

/** A button that copies a text, and says that it did; where the browser does not allow it, it shows the text selected. */
export function Copy({ text, label, className = "button", title = saidPlainly(text) }: Props) {
  const [outcome, setOutcome] = useState<"idle" | "copied" | "shown">("idle");
  useEffect(() => {
    if (outcome !== "copied") return;
    const timer = setTimeout(() => setOutcome("idle"), SAID_MS);
    return () => clearTimeout(timer);
  }, [outcome]);
  const copy = () => void copied(text).then((isDone) => setOutcome(isDone ? "copied" : "shown"));
  return (
    <>
      <button type="button" className={className} onClick={copy} title={title}>
        {outcome === "copied" ? "Copied" : label}
      </button>
      {outcome === "shown" && (
        <Dialog title="Copy" onClose={() => setOutcome("idle")}>
          <Selected text={text} />
        </Dialog>
      )}
    </>
  );
}
