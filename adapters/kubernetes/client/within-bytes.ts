const ENDING = '…';

/** `text` in at most `limit` bytes of UTF-8, the unit of server limits; truncated text ends in `…`, and no character is split. */
export function withinBytes(text: string, limit: number): string {
  // A UTF-16 code unit takes at most three bytes, so most texts need not be measured.
  if (text.length * 3 <= limit) return text;
  const bytes = Buffer.from(text);
  if (bytes.length <= limit) return text;
  let end = limit - Buffer.byteLength(ENDING);
  while (isWithinCharacter(bytes[end])) end -= 1;
  return bytes.toString('utf8', 0, end) + ENDING;
}

const isWithinCharacter = (byte: number | undefined): boolean => byte !== undefined && (byte & 0xc0) === 0x80;
