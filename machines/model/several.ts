/** How many addresses or nodes are named; of the others only the number is shown. */
export const NAMED = 10;

export const several = (texts: readonly string[]): string =>
  [...texts.slice(0, NAMED), ...(texts.length > NAMED ? [`and ${texts.length - NAMED} more`] : [])].join('; ');

/** `a, b and 3 more`: the first `most` by name. */
export const shortList = (names: readonly string[], most = NAMED): string =>
  `${names.slice(0, most).join(', ')}${names.length > most ? ` and ${names.length - most} more` : ''}`;
