import type { ProviderNeed, SecretRef } from '../../actors/ports/directory.ts';
import type { SecretReading } from '../../actors/ports/secrets.ts';

/** A Secret that a need names, as it was last seen. */
export interface ReadSecret {
  readonly ref: SecretRef;
  readonly reading: SecretReading;
}

export type Credentials =
  /** Something has not been looked at yet. */
  | { readonly kind: 'unread'; readonly why: string }
  | { readonly kind: 'missing'; readonly why: string }
  /** `token` null when the need asks for none; `values` is all that stands in the Secrets. */
  | { readonly kind: 'there'; readonly token: string | null; readonly values: readonly string[] };

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
  const values = secrets.flatMap(({ reading }) => (reading.kind === 'present' ? Object.values(reading.values) : []));
  if (cloud === null || secrets.length === 0) return { kind: 'there', token: null, values };
  const token = secrets.flatMap(({ reading }) => (reading.kind === 'present' ? tokensIn(reading.values, keys) : []))[0];
  return token === undefined ? { kind: 'missing', why: tokenless(secrets, keys) } : { kind: 'there', token, values };
}

/** A line break at the end comes with many a way to make a Secret; no token has one. */
const tokensIn = (values: Readonly<Record<string, string>>, keys: readonly string[]): readonly string[] =>
  keys.flatMap((key) => (Object.hasOwn(values, key) ? [values[key]?.trim() ?? ''] : [])).filter((token) => token !== '');

function tokenless(secrets: readonly ReadSecret[], keys: readonly string[]): string {
  const said = secrets.map(({ ref, reading }) => {
    if (reading.kind === 'missing') return reading.why;
    const empty = reading.kind === 'present' ? keys.find((key) => Object.hasOwn(reading.values, key)) : undefined;
    return empty === undefined ? `${textOf(ref)} has no key ${keys.join(' or ')}` : `${textOf(ref)} has nothing under its key ${empty}`;
  });
  return said.join('; ');
}
