// Copying a text, also where the browser has no clipboard for pages: on http, from other hosts than localhost.

/** Whether the text was copied. A person has just pressed a button: browsers copy only then. */
export async function copied(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copiedFromField(text); // there is no clipboard, or the page may not use it
  }
}

/** The way of older browsers: what is selected in a field is copied. */
function copiedFromField(text: string): boolean {
  const before = document.activeElement;
  const field = document.createElement("textarea");
  field.value = text;
  field.readOnly = true;
  field.className = "visually-hidden";
  // While a dialog is open, nothing outside of it can be selected.
  (document.querySelector("dialog[open]") ?? document.body).append(field);
  field.select();
  try {
    return document.execCommand("copy");
  } catch {
    return false;
  } finally {
    field.remove();
    if (before instanceof HTMLElement) before.focus();
  }
}
