/** Shorter texts, in characters, cannot have enough parts to matter. */
const SHORT = 2 ** 16;
/** Limit of lists and objects in one answer. A page of 500 objects from a cluster has a tenth of it. */
const MOST_PARTS = 500_000;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN_BRACE = 0x7b;
const OPEN_BRACKET = 0x5b;

/** Parses JSON sent by a peer. 16 MiB in which each character opens a list would block the event loop for seconds and take a gigabyte, only to end in an error.
 *  @throws SyntaxError when it is not JSON, or has more lists and objects than any real answer has */
export function parseBounded(text: string): unknown {
  if (text.length > SHORT && hasTooManyParts(text)) throw new SyntaxError(`more than ${MOST_PARTS} lists and objects`);
  return JSON.parse(text) as unknown;
}

function hasTooManyParts(text: string): boolean {
  let parts = 0;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) at = endOfString(text, at + 1);
    else if (code === OPEN_BRACE || code === OPEN_BRACKET) parts += 1;
    if (parts > MOST_PARTS) return true;
  }
  return false;
}

/** The end of the string whose first character is at `from`. */
function endOfString(text: string, from: number): number {
  for (let at = text.indexOf('"', from); at !== -1; at = text.indexOf('"', at + 1)) {
    let before = at;
    while (text.charCodeAt(before - 1) === BACKSLASH) before -= 1;
    if ((at - before) % 2 === 0) return at;
  }
  return text.length;
}
