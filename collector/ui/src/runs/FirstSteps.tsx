import { Copy } from "../parts/Copy";

/** What to paste while nothing is recorded yet, with this collector's address filled in. */
export function FirstSteps() {
  const here = new URL(document.baseURI).toString().replace(/\/$/, "");
  const lines = [
    "pip install playhead",
    `export PLAYHEAD_ENDPOINT=${here}`,
    "",
    "# in your program, before anything else:",
    "import playhead",
    "playhead.instrument()        # records clients and frameworks",
    "",
    "@playhead.observe            # a run: one call of your agent",
    "def agent(task): ...",
  ].join("\n");
  return (
    <div className="notice">
      <h2>Nothing is recorded yet</h2>
      Paste this, and run your program. Or point any OpenTelemetry exporter at <code>{here}/v1/traces</code>.
      <pre>{lines}</pre>
      <p>
        <Copy text={lines} label="Copy" />
      </p>
    </div>
  );
}
