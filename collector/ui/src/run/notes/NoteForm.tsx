import { post } from "../../api/client";
import type { Note } from "../../api/types";
import { runPath, useOnPage } from "../OnPage";
import styles from "./Forms.module.css";
import { type Said, SaidForm } from "./SaidForm";

/** A note or a label about an event of the run. `onDone` is called when it is stored, or given up. */
export function NoteForm({ seq, onDone }: { seq: number; onDone: () => void }) {
  const { run } = useOnPage();
  const send = async (said: Said, author: string | null) => {
    const [text, label] = [said("text"), said("label")];
    if (text === "" && label === "") throw new Error("A note has a text, a label, or both.");
    await post<Note>(`${runPath(run.run)}/notes`, {
      text: text || null,
      label: label || null,
      at: String(seq),
      author,
    });
  };
  return (
    <SaidForm name="Note" send={send} onDone={onDone}>
      <label className={styles.wide}>
        Note
        <textarea className="input" name="text" rows={2} maxLength={10_000} autoFocus />
      </label>
      <label>
        Label
        <input className="input" name="label" maxLength={100} placeholder="such as: wrong tool" />
      </label>
    </SaidForm>
  );
}
