import type { ProviderNeed, SecretRef } from '../../actors/ports/directory.ts';
import type { SecretReading } from '../../actors/ports/secrets.ts';

/** A Secret that a need names, as it was last seen. */
export interface ReadSecret {
  readonly ref: SecretRef;
  readonly reading: SecretReading;
}

/** A text in a Secret, and where it stands: `Secret web/do-token`. */
export interface SecretText {
  readonly text: string;
  readonly from: string;
}

export type Credentials =
  /** Something has not been looked at yet. */
  | { readonly kind: 'unread'; readonly why: string }
  | { readonly kind: 'missing'; readonly why: string }
  /** `token` null when the need asks for none; `values` is all that stands in the Secrets. */
  | { readonly kind: 'there'; readonly token: SecretText | null; readonly values: readonly SecretText[] };

const SHORTEST = 16;
const LONGEST = 512;

/** Why a text is no token; null for one that may be. Any may be known to nobody but who wrote it: no word of it is said. */
export function tokenTrouble(text: string): string | null {
  if (text.length < SHORTEST) return `shorter than ${SHORTEST} characters`;
  if (text.length > LONGEST) return `longer than ${LONGEST} characters`;
  return /^[\x21-\x7e]*$/.test(text) ? null : 'with blanks, line breaks, or characters beyond ASCII';
}

const textOf = ({ namespace, name }: SecretRef): string => `Secret ${namespace}/${name}`;

/** What the Secrets of a need come to: a token is the first value under the first of `keys` in the first Secret that has one. One that is missing is missed
 *  unless it is optional; every one has to be known first, so that the answer does not depend on which is read sooner. */
export function credentialsOf(
  { cloud }: Pick<ProviderNeed, 'cloud'>,
  secrets: readonly ReadSecret[],
  keys: readonly string[],
): Credentials {
  const unread = secrets.find(({ reading }) => reading.kind === 'unread');
  if (unread) return { kind: 'unread', why: `${textOf(unread.ref)} has not been read yet` };
  for (const { ref, reading } of secrets) if (reading.kind === 'missing' && !ref.optional) return { kind: 'missing', why: reading.why };
  const values = secrets.flatMap(({ ref, reading }) =>
    reading.kind === 'present' ? Object.values(reading.values).map((text) => ({ text: text.trim(), from: textOf(ref) })) : [],
  );
  if (cloud === null || secrets.length === 0) return { kind: 'there', token: null, values };
  const [found] = secrets.flatMap((secret) => tokensIn(secret, keys));
  if (found === undefined) return { kind: 'missing', why: tokenless(secrets, keys) };
  const { key, ...token } = found;
  const trouble = tokenTrouble(token.text);
  if (trouble === null) return { kind: 'there', token, values };
  return {
    kind: 'missing',
    why: `${token.from} has no token under its key ${key} but a text ${trouble}: put the token of the provider there`,
  };
}

/** A line break at the end comes with many a way to make a Secret; no token has one. */
const tokensIn = ({ ref, reading }: ReadSecret, keys: readonly string[]): readonly (SecretText & { readonly key: string })[] =>
  keys.flatMap((key) => {
    const text = reading.kind === 'present' && Object.hasOwn(reading.values, key) ? reading.values[key]?.trim() : '';
    return text ? [{ text, from: textOf(ref), key }] : [];
  });

function tokenless(secrets: readonly ReadSecret[], keys: readonly string[]): string {
  const said = secrets.map(({ ref, reading }) => {
    if (reading.kind === 'missing') return reading.why;
    const empty = reading.kind === 'present' ? keys.find((key) => Object.hasOwn(reading.values, key)) : undefined;
    return empty === undefined ? `${textOf(ref)} has no key ${keys.join(' or ')}` : `${textOf(ref)} has nothing under its key ${empty}`;
  });
  return said.join('; ');
}
