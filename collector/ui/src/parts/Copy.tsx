import { useState } from "react";

/** A button that copies a text, and says that it did. */
export function Copy({ text, label, className = "button" }: { text: string; label: string; className?: string }) {
  const [isDone, setDone] = useState(false);
  const copy = () => {
    void navigator.clipboard.writeText(text).then(() => {
      setDone(true);
      setTimeout(() => setDone(false), 1500);
    });
  };
  return <button type="button" className={className} onClick={copy} title={text}>{isDone ? "Copied" : label}</button>;
}
