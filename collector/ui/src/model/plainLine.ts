// A text of a model in one line: without the marks of Markdown, which only say how it would look. Pure.

/** `**` before or after words; not in `2**8`. */
const STRONG = /(?<![\p{L}\p{N}])\*\*(?=\S)|(?<=\S)\*\*(?![\p{L}\p{N}])/gu;
const HEADING = /(^|\s)#{1,6}\s+(?=\S)/g;
const LINK = /!?\[([^[\]\n]{0,200})\]\((?:https?:|mailto:|\/)[^()\s]{0,500}\)/g;
const CODE = /`+/g;

export const plainLine = (text: string): string =>
  text
    .replaceAll(LINK, "$1")
    .replaceAll(CODE, "")
    .replaceAll(STRONG, "")
    .replaceAll(HEADING, "$1")
    .replaceAll(/\s+/g, " ")
    .trim();
