/** Control characters, and invisible ones that change the visible text: direction marks, joiners, line separators. */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu;

/** A text as one line in which every character is visible. Text in a cluster is written by others: on a terminal it must not move the cursor, overwrite earlier output, or add
 *  a line that looks like ours. Escaped as in JSON, so that JSON stays valid and unchanged. */
export const visible = (text: string): string => text.replace(UNSEEN, escaped);

function escaped(character: string): string {
  const short = JSON.stringify(character).slice(1, -1);
  return short === character ? character.split('').map(unit).join('') : short;
}

const unit = (half: string): string => `\\u${half.charCodeAt(0).toString(16).padStart(4, '0')}`;
