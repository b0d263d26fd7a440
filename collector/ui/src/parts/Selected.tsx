import { useEffect, useRef } from "react";

/** A text that the browser did not let us copy: it is selected, so that Ctrl C or ⌘C copies it. */
export function Selected({ text }: { text: string }) {
  const box = useRef<HTMLTextAreaElement>(null);
  useEffect(() => {
    box.current?.focus();
    box.current?.select();
  }, [text]);
  return (
    <>
      <p className="sub">
        This browser copies only on https and on localhost. The text is selected: copy it with Ctrl C or ⌘C.
      </p>
      <textarea
        ref={box}
        className="input selected"
        aria-label="Text to copy"
        readOnly
        value={text}
        rows={Math.min(20, text.split("\n").length + 1)}
      />
    </>
  );
}
