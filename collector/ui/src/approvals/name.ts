// The name with which this browser's person answers, kept from one answer to the next.
import { useState } from "react";

const KEPT = "answers.by";

/** The name, and what changes it; every form begins with the last one. */
export function useAnswerName(): [string, (name: string) => void] {
  const [name, setName] = useState(() => localStorage.getItem(KEPT) ?? "");
  return [
    name,
    (next) => {
      setName(next);
      localStorage.setItem(KEPT, next);
    },
  ];
}
