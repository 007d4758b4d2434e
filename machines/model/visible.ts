/** Control characters, and those that are not seen but change what is: direction marks, joiners, separators of lines. */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu;

/** A text as one line on which each character is seen. Others write what stands in a cluster: on a terminal it must not move the cursor, paint over what was
 *  printed, or add a line that looks like ours. Escaped as JSON has it, so that JSON stays what it was. */
export const visible = (text: string): string => text.replace(UNSEEN, escaped);

function escaped(character: string): string {
  const short = JSON.stringify(character).slice(1, -1);
  return short === character ? character.split('').map(unit).join('') : short;
}

const unit = (half: string): string => `\\u${half.charCodeAt(0).toString(16).padStart(4, '0')}`;
