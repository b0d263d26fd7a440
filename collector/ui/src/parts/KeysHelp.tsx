import { useEffect, useRef } from "react";

const KEYS: [string, string][] = [
  ["/", "find runs; in the list, write conditions: Tab completes them"],
  ["j  k", "next and previous run in the list"],
  ["Enter", "open the chosen run; Space: look at it beside the list"],
  ["←  →", "one event back, one on"],
  ["⇧←  ⇧→", "previous and next model call"],
  ["e  ⇧e", "next and previous error"],
  ["Home  End", "first and last event"],
  ["Space", "play, in 10 seconds at most, or pause"],
  ["⇧ drag", "narrow the timeline, as dragging over its numbers does"],
  ["[  ]", "begin and end what the timeline shows at the playhead; 0: show all"],
  ["c  ⇧c", "collapse or open the step at the playhead, or all steps"],
  ["1 … 4", "context, tokens, compression, event"],
  ["?", "these keys"],
];

/** The sheet of keys. */
export function KeysHelp({ onClose }: { onClose: () => void }) {
  const sheet = useRef<HTMLDialogElement>(null);
  useEffect(() => sheet.current?.showModal(), []);
  return (
    <dialog ref={sheet} onClose={onClose} aria-label="Keys">
      <h1>Keys</h1>
      <table>
        <tbody>
          {KEYS.map(([keys, what]) => (
            <tr key={keys}>
              <td>
                <kbd>{keys}</kbd>
              </td>
              <td>{what}</td>
            </tr>
          ))}
        </tbody>
      </table>
      <button className="button" type="button" onClick={() => sheet.current?.close()}>
        Close
      </button>
    </dialog>
  );
}
