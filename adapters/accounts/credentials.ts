import type { ProviderNeed, SecretRef } from '../../actors/ports/directory.ts';
import type { SecretReading } from '../../actors/ports/secrets.ts';

/** A Secret named by a need, as last seen. */
export interface ReadSecret {
  readonly ref: SecretRef;
  readonly reading: SecretReading;
}

/** A value of a Secret, and its source: `Secret web/do-token`. */
export interface SecretText {
  readonly text: string;
  readonly from: string;
}

export type Credentials =
  /** Some Secret has not been read yet. */
  | { readonly kind: 'unread'; readonly why: string }
  | { readonly kind: 'missing'; readonly why: string }
  /** `token` is null when the need requires none; `values` are all values of the Secrets. */
  | { readonly kind: 'there'; readonly token: SecretText | null; readonly values: readonly SecretText[] };

const SHORTEST = 16;
const LONGEST = 512;

/** Why a text is not a valid token; null if it may be one. Any text may be a secret, so the reason quotes nothing of it. */
export function tokenTrouble(text: string): string | null {
  if (text.length < SHORTEST) return `shorter than ${SHORTEST} characters`;
  if (text.length > LONGEST) return `longer than ${LONGEST} characters`;
  return /^[\x21-\x7e]*$/.test(text) ? null : 'with blanks, line breaks, or characters beyond ASCII';
}

const textOf = ({ namespace, name }: SecretRef): string => `Secret ${namespace}/${name}`;

/** Combines the Secrets of a need: the token is the value of the first of `keys` in the first Secret that has one. A missing Secret is an error
 *  unless it is optional; all must be read first, so that the result does not depend on the order of reading. */
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

/** Trimmed, since many ways to create a Secret append a line break; no token has one. */
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
