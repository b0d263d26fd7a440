import type { RunDetail, RunVerdict } from "../../api/types";
import { Dialog } from "../../parts/Dialog";
import { Said } from "../../parts/Said";
import { Command } from "./Command";
import { resumeCommand } from "./commands";

/** The command that runs the program again where the run ended. */
export function Resume({ run, verdict, onClose }: { run: RunDetail; verdict: RunVerdict | null; onClose: () => void }) {
  const failed = verdict?.error?.call;
  return (
    <Dialog title="Resume" onClose={onClose}>
      <p className="sub">
        Runs your program again: the recorded calls are answered from the record
        {failed != null && (
          <>
            ,{" "}
            <code>
              <Said>{failed}</Said>
            </code>{" "}
            runs again
          </>
        )}
        , and what comes after goes live. Replace <code>python agent.py</code>.
      </p>
      <Command text={resumeCommand(run.run)} />
    </Dialog>
  );
}
