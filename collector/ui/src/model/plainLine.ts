// A text of a model in one line: without the marks of Markdown, which only say how it would look. Pure.

/** `**` before or after words; not in `2**8`. */
const STRONG = /(?<![\p{L}\p{N}])\*\*(?=\S)|(?<=\S)\*\*(?![\p{L}\p{N}])/gu;
const HEADING = /(^|\s)#{1,6}\s+(?=\S)/g;
const LINK = /!?\[([^[\]\n]{0,200})\]\((?:https?:|mailto:|\/)[^()\s]{0,500}\)/g;
const CODE = /```[a-z]*\s|`+/g;
/** The line between the head of a table and its rows. */
const RULE = /(?:\|\s?:?-{2,}:?\s?)+\|?/g;

export const plainLine = (text: string): string =>
  cells(text)
    .replaceAll(LINK, "$1")
    .replaceAll(CODE, "")
    .replaceAll(STRONG, "")
    .replaceAll(HEADING, "$1")
    .replaceAll(/\s+/g, " ")
    .trim();

/** Cells of a table as words beside each other. */
function cells(text: string): string {
  const rows = text.replaceAll(RULE, " ");
  return rows === text ? text : rows.replaceAll("|", " ");
}
