import type { RunDetail } from "../../api/types";
import { Dialog } from "../../parts/Dialog";
import { Command } from "./Command";

/** How a run that goes on is asked to stop. */
export function Stop({ run, onClose }: { run: RunDetail; onClose: () => void }) {
  return (
    <Dialog title="Ask it to stop" onClose={onClose}>
      <p className="sub">
        The run stops at its next call of a model or tool. <code>playhead resume</code> goes on with it.
      </p>
      <Command text={`playhead interrupt ${run.run}`} />
    </Dialog>
  );
}
