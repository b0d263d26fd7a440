// What a view says in the bar of the panel, beside the tabs.
import { createContext, useContext, type ReactNode } from "react";
import { createPortal } from "react-dom";

const Slot = createContext<HTMLElement | null>(null);
export const SlotProvider = Slot.Provider;

/** Shows its children in the bar, so that the tabs stay what they are when the view changes. */
export function InBar({ children }: { children: ReactNode }) {
  const slot = useContext(Slot);
  return slot === null ? null : createPortal(children, slot);
}
