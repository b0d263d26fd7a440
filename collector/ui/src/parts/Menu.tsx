import { type FocusEvent, type KeyboardEvent, type ReactNode, useId, useRef, useState } from "react";

import styles from "./Menu.module.css";

/** What a menu does: an act, or an address. `isOff` with a reason: it cannot be done now. */
export type MenuItem = {
  label: ReactNode;
  key?: string;
  onChoose?: () => void;
  href?: string;
  isOff?: boolean;
  title?: string;
};

type Props = { label: ReactNode; name?: string; items: readonly MenuItem[]; className?: string };

/** A button that opens a list of acts. Arrows go through them; Escape, a choice, or a click elsewhere closes it. */
export function Menu({ label, name, items, className = "button" }: Props) {
  const [isOpen, setOpen] = useState(false);
  const button = useRef<HTMLButtonElement>(null);
  const list = useRef<HTMLUListElement>(null);
  const id = useId();
  const close = () => {
    setOpen(false);
    button.current?.focus();
  };
  const press = (event: KeyboardEvent) => {
    const move = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    if (move !== 0) {
      event.preventDefault();
      if (!isOpen) return setOpen(true);
      const each = [...(list.current?.querySelectorAll<HTMLElement>("button:not(:disabled), a") ?? [])];
      const at = each.findIndex((item) => item === document.activeElement);
      each[(at + move + each.length + (at < 0 && move < 0 ? 1 : 0)) % each.length]?.focus();
    } else if (event.key === "Escape" && isOpen) {
      event.stopPropagation();
      close();
    }
  };
  const leave = (event: FocusEvent) => !event.currentTarget.contains(event.relatedTarget) && setOpen(false);
  return (
    <div className={styles.menu} onKeyDown={press} onBlur={leave}>
      <button
        ref={button}
        type="button"
        className={className}
        aria-expanded={isOpen}
        aria-controls={id}
        aria-label={name}
        onClick={() => setOpen(!isOpen)}
      >
        {label}
      </button>
      <ul ref={list} id={id} className={styles.list} hidden={!isOpen}>
        {items.map((item, n) => (
          <li key={n}>
            {item.href !== undefined ? (
              <a href={item.href} title={item.title}>
                {item.label}
              </a>
            ) : (
              <button
                type="button"
                disabled={item.isOff}
                title={item.title}
                onClick={() => {
                  close();
                  item.onChoose?.();
                }}
              >
                {item.label} {item.key !== undefined && <kbd>{item.key}</kbd>}
              </button>
            )}
          </li>
        ))}
      </ul>
    </div>
  );
}
