import { useEffect, useRef, useState } from "react";

import { copied } from "./clipboard";
import { Selected } from "./Selected";

const SAID_MS = 1500;

/** A button that copies a text, and says that it did; where the browser does not allow it, it shows the text selected. */
export function Copy({ text, label, className = "button" }: { text: string; label: string; className?: string }) {
  const [outcome, setOutcome] = useState<"idle" | "copied" | "shown">("idle");
  const sheet = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    if (outcome === "shown") sheet.current?.showModal();
    if (outcome !== "copied") return;
    const timer = setTimeout(() => setOutcome("idle"), SAID_MS);
    return () => clearTimeout(timer);
  }, [outcome]);
  const copy = () => void copied(text).then((isDone) => setOutcome(isDone ? "copied" : "shown"));
  return (
    <>
      <button type="button" className={className} onClick={copy} title={text}>
        {outcome === "copied" ? "Copied" : label}
      </button>
      {outcome === "shown" && (
        <dialog ref={sheet} aria-label="Copy" onClose={() => setOutcome("idle")}>
          <Selected text={text} />
          <p>
            <button className="button" type="button" onClick={() => sheet.current?.close()}>
              Close
            </button>
          </p>
        </dialog>
      )}
    </>
  );
}
