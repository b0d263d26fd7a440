import { Dialog } from "./Dialog";
import styles from "./KeysHelp.module.css";

/** Keys by the page in which they work. */
const KEYS: readonly { where: string; keys: readonly [string, string][] }[] = [
  {
    where: "Everywhere",
    keys: [
      ["⌘K  Ctrl K", "find or do anything"],
      ["/", "in the list: its filter; on other pages: find or do anything"],
      ["?", "these keys"],
    ],
  },
  {
    where: "Lists",
    keys: [
      ["j  k", "next and previous line"],
      ["Enter", "open it"],
      ["x", "tick the run; c: compare the two that are ticked"],
    ],
  },
  {
    where: "A run",
    keys: [
      ["←  →", "turn; ⇧: event"],
      ["e  ⇧e", "next and previous error"],
      ["s  ⇧s", "next and previous suspect"],
      ["c", "next cut of the context"],
      ["Home  End", "first and last turn"],
      ["Space", "play, or pause"],
      ["f", "find in this run; n  ⇧n: next and previous place"],
      ["o", "open the context of this turn"],
      ["v", "fold the verdict"],
      ["w", "in the conversation: show or hide the work between"],
      ["l", "follow a run that goes on"],
      ["r", "edit and ask again"],
      ["[  ]  0", "begin and end the range of the timeline at the playhead; all of it"],
    ],
  },
  {
    where: "An approval",
    keys: [["a  d", "go to Approve, to Deny; Enter does it"]],
  },
];

/** The sheet of keys. */
export function KeysHelp({ onClose }: { onClose: () => void }) {
  return (
    <Dialog title="Keys" onClose={onClose}>
      <table className={styles.keys}>
        {KEYS.map(({ where, keys }) => (
          <tbody key={where}>
            <tr>
              <th scope="rowgroup" colSpan={2}>
                {where}
              </th>
            </tr>
            {keys.map(([key, what]) => (
              <tr key={key}>
                <td>
                  <kbd>{key}</kbd>
                </td>
                <td>{what}</td>
              </tr>
            ))}
          </tbody>
        ))}
      </table>
    </Dialog>
  );
}
