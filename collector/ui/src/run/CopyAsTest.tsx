import { useEffect, useRef, useState } from "react";

import { type ApiError, getText } from "../api/client";
import { copied } from "../parts/clipboard";
import { Failed } from "../parts/Notices";
import { Selected } from "../parts/Selected";

/** What a press of the button came to. `manual`: the browser does not allow copying, so the reader does it. */
type Outcome =
  { kind: "idle" | "asking" | "copied" } | { kind: "failed"; error: ApiError } | { kind: "manual"; source: string };

const LABELS = {
  idle: "Copy as test",
  asking: "Copying…",
  copied: "Copied",
  failed: "Copy as test",
  manual: "Copy as test",
};

/** Copies the run as a pytest file that replays it against the mock model server; where there is none, it says why. */
export function CopyAsTest({ run }: { run: string }) {
  const [outcome, setOutcome] = useState<Outcome>({ kind: "idle" });
  const sheet = useRef<HTMLDialogElement>(null);
  const isSheet = outcome.kind === "failed" || outcome.kind === "manual";
  useEffect(() => {
    if (isSheet) sheet.current?.showModal();
  }, [isSheet]);
  const copy = () => {
    setOutcome({ kind: "asking" });
    void copyTest(run).then(setOutcome);
  };
  return (
    <>
      <button
        className="button"
        type="button"
        onClick={copy}
        disabled={outcome.kind === "asking"}
        title="A pytest file that plays this run's recorded model answers, and checks that the agent does the same"
      >
        {LABELS[outcome.kind]}
      </button>
      <span className="visually-hidden" role="status">
        {outcome.kind === "copied" ? "The test was copied to the clipboard." : ""}
      </span>
      <dialog ref={sheet} aria-label="Copy as test" onClose={() => setOutcome({ kind: "idle" })}>
        <h1>Copy as test</h1>
        {outcome.kind === "failed" && <Failed error={outcome.error} />}
        {outcome.kind === "manual" && <Selected text={outcome.source} />}
        <p>
          <button className="button" type="button" onClick={() => sheet.current?.close()}>
            Close
          </button>
        </p>
      </dialog>
    </>
  );
}

async function copyTest(run: string): Promise<Outcome> {
  let source: string;
  try {
    source = await getText(`/runs/${run}/test`);
  } catch (error) {
    return { kind: "failed", error: error as ApiError };
  }
  return (await copied(source)) ? { kind: "copied" } : { kind: "manual", source };
}
