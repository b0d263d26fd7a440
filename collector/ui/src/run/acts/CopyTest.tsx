import { useEffect, useState } from "react";

import { type ApiError, getText } from "../../api/client";
import { copied } from "../../parts/clipboard";
import { Dialog } from "../../parts/Dialog";
import { Failed, Loading } from "../../parts/Notices";
import { Selected } from "../../parts/Selected";
import { runPath } from "../OnPage";

type Test = { source: string } | { error: ApiError } | null;

/** The run as a pytest file, with a button that copies it; a run without a model call says why there is none. */
export function CopyTest({ run, onClose }: { run: string; onClose: () => void }) {
  const [test, setTest] = useState<Test>(null);
  const [outcome, setOutcome] = useState<"idle" | "copied" | "shown">("idle");
  useEffect(() => {
    const stop = new AbortController();
    getText(`${runPath(run)}/test`, stop.signal).then(
      (source) => setTest({ source }),
      (error: ApiError) => stop.signal.aborted || setTest({ error }),
    );
    return () => stop.abort();
  }, [run]);
  const copy = (source: string) => void copied(source).then((isDone) => setOutcome(isDone ? "copied" : "shown"));
  return (
    <Dialog title="Copy as test" onClose={onClose} isWide>
      {test === null && <Loading what="the test" />}
      {test !== null && "error" in test && <Failed error={test.error} what="a test" />}
      {test !== null && "source" in test && (
        <>
          <p className="sub">
            A file for pytest: the recorded answers of the model, and asserts that your agent does the same again.{" "}
            <button type="button" className="button" onClick={() => copy(test.source)}>
              {outcome === "copied" ? "Copied" : "Copy the test"}
            </button>
          </p>
          {outcome === "shown" ? <Selected text={test.source} /> : <pre>{test.source}</pre>}
        </>
      )}
    </Dialog>
  );
}
