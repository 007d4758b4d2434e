import type { RecordTarget } from '../model/dns.ts';
import type { Match } from '../model/matching.ts';
import { asRecord, CredentialsMissing, InvalidSpec, reasonFor, refuse, text } from '../model/parse.ts';
import type { ErrorReason } from './operator-credentials.ts';
import { matchOf } from './pool.ts';
import { known, type ProviderRegistry } from './providers.ts';
import { recordTarget } from './record-target.ts';

/** A NodeDNSRecordSet's spec, checked, with defaults. */
export interface RecordSetSpec {
  readonly target: RecordTarget;
  readonly addressType: AddressType;
  readonly match: Match;
}

/** Which addresses of a node are published: those of its status, or the reserved ones that its annotations name. */
export const ADDRESS_TYPES = [
  'ExternalIP',
  'InternalIP',
  'flipop.digitalocean.com/ipv4-reserved-ip',
  'flipop.digitalocean.com/ipv6-reserved-ip',
] as const;

export type AddressType = (typeof ADDRESS_TYPES)[number];

export type CheckedRecordSet =
  | { readonly spec: RecordSetSpec; readonly error: null }
  | { readonly spec: null; readonly error: string; readonly reason?: ErrorReason };

const DEFAULT_PROVIDER = 'digitalocean';
/** Checks a spec as FLIPOP does and with its texts; the provider may be in `spec.dnsRecordSet`, which wins, or in `spec`, as in the published manifests. `raw` is whatever the
 *  API server accepted. */
export function checkRecordSetSpec(raw: unknown, registry: ProviderRegistry): CheckedRecordSet {
  try {
    return { spec: recordSetSpec(asRecord(raw, 'spec'), registry), error: null };
  } catch (error) {
    if (error instanceof InvalidSpec) return { spec: null, error: error.message, ...reasonFor(error) };
    throw error;
  }
}

function recordSetSpec(raw: Readonly<Record<string, unknown>>, registry: ProviderRegistry): RecordSetSpec {
  const set = asRecord(raw.dnsRecordSet ?? {}, 'spec.dnsRecordSet');
  const provider = text(set.provider, 'spec.dnsRecordSet.provider') || text(raw.provider, 'spec.provider') || DEFAULT_PROVIDER;
  const facts = known(registry, provider) ?? refuse(`unknown provider "${provider}"`);
  if (!facts.dns) refuse(`provider "${provider}" does not provide DNS`);
  const target = recordTarget(set, provider);
  const match = matchOf(asRecord(raw.match ?? {}, 'spec.match'));
  const addressType = addressTypeOf(text(raw.addressType, 'spec.addressType'));
  if (facts.missing) throw new CredentialsMissing(provider, facts.missing);
  return { target, addressType, match };
}

const addressTypeOf = (given: string): AddressType =>
  ADDRESS_TYPES.find((type) => type === (given || 'ExternalIP')) ?? refuse(`spec.addressType must be one of ${ADDRESS_TYPES.join(', ')}`);
