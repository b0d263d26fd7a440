/** Whether a key belongs to a field in which somebody writes. */
export function isTyping(event: KeyboardEvent): boolean {
  const on = event.target;
  return on instanceof HTMLElement && (on.isContentEditable || ["INPUT", "TEXTAREA", "SELECT"].includes(on.tagName));
}

/** Whether a key is one of the page's: no field has it, no other key is held, and no dialog is open. */
export const isForPage = (event: KeyboardEvent): boolean =>
  !event.ctrlKey &&
  !event.metaKey &&
  !event.altKey &&
  !(isTyping(event) && !isCheckbox(event.target)) &&
  document.querySelector("dialog[open]") === null;

const isCheckbox = (on: EventTarget | null): boolean => on instanceof HTMLInputElement && on.type === "checkbox";
