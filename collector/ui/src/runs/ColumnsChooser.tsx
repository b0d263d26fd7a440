import { Dialog } from "../parts/Dialog";
import { COLUMNS, type ColumnId, DEFAULT_COLUMNS } from "./columns";
import styles from "./RunsPage.module.css";

type Props = { shown: readonly ColumnId[]; onChange: (columns: readonly ColumnId[]) => void; onClose: () => void };

/** Which columns stand beside outcome, run and what happened; this browser keeps the choice. */
export function ColumnsChooser({ shown, onChange, onClose }: Props) {
  const toggle = (id: ColumnId) =>
    onChange(
      COLUMNS.map((column) => column.id).filter((each) => (each === id ? !shown.includes(id) : shown.includes(each))),
    );
  return (
    <Dialog
      title="Columns"
      onClose={onClose}
      actions={
        <button type="button" className="button" onClick={() => onChange(DEFAULT_COLUMNS)}>
          The usual ones
        </button>
      }
    >
      <ul className={styles.chooser}>
        {COLUMNS.map((column) => (
          <li key={column.id}>
            <label>
              <input type="checkbox" checked={shown.includes(column.id)} onChange={() => toggle(column.id)} />{" "}
              {column.label}
            </label>
          </li>
        ))}
      </ul>
    </Dialog>
  );
}
