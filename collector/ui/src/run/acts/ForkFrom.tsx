import type { Page, RecordedEvent } from "../../api/types";
import { useApi } from "../../api/useApi";
import { Dialog } from "../../parts/Dialog";
import { Loading } from "../../parts/Notices";
import { runPath } from "../OnPage";
import { Command } from "./Command";
import { forkCommand } from "./commands";

/** The command that runs the program again up to an event, and on from there with another outcome. */
export function ForkFrom({ run, at, onClose }: { run: string; at: number; onClose: () => void }) {
  const { data, error } = useApi<Page<RecordedEvent>>(
    `${runPath(run)}/events`,
    { after: Math.max(0, at - 1), limit: 1, preview: 160 },
    true,
  );
  return (
    <Dialog title="Fork from here" onClose={onClose}>
      <p className="sub">
        Runs your program again with the recorded results up to event {at}, and from here on with another outcome.
        Replace the outcome and <code>python agent.py</code>.
      </p>
      {data === null && error === null ? (
        <Loading what="the event" />
      ) : (
        <Command text={forkCommand(run, at, data?.items[0])} />
      )}
    </Dialog>
  );
}
