import { type ReactNode, useEffect, useId, useRef } from "react";

import styles from "./Dialog.module.css";

type Props = {
  title: string;
  /** Called when it is closed: by its button, by Escape, or by a click beside it. */
  onClose: () => void;
  children: ReactNode;
  /** Buttons beside Close. */
  actions?: ReactNode;
  isWide?: boolean;
};

/** A dialog over the page: keeps the focus within, and gives it back. It is open while it is drawn. */
export function Dialog({ title, onClose, children, actions, isWide = false }: Props) {
  const sheet = useRef<HTMLDialogElement>(null);
  const name = useId();
  useEffect(() => sheet.current?.showModal(), []);
  return (
    <dialog
      ref={sheet}
      className={isWide ? `${styles.dialog} ${styles.wide}` : styles.dialog}
      aria-labelledby={name}
      onClose={onClose}
      onClick={(event) => event.target === event.currentTarget && sheet.current?.close()}
    >
      <div className={styles.body}>
        <h1 id={name}>{title}</h1>
        {children}
        <div className={styles.actions}>
          {actions}
          <button className="button" type="button" onClick={() => sheet.current?.close()}>
            Close
          </button>
        </div>
      </div>
    </dialog>
  );
}
