import { familyOf, parseAddress } from '../model/address.ts';
import { fullName, type RecordTarget } from '../model/dns.ts';
import type { Match } from '../model/matching.ts';
import {
  asRecord,
  atMost,
  CredentialsMissing,
  InvalidSpec,
  list,
  milliseconds,
  number,
  reasonFor,
  refuse,
  text,
  tolerations,
} from '../model/parse.ts';
import { parseSelector } from '../model/selector.ts';
import type { Address, Adoption } from '../model/types.ts';
import { type ContentionRules, contentionRules } from '../policy/contention.ts';
import type { DrainPolicy } from '../policy/drain.ts';
import type { SafeHoldRules } from '../policy/safe-hold.ts';
import type { Exposure } from './exposure.ts';
import { LIMITS } from './limits.ts';
import type { ErrorReason } from './operator-credentials.ts';
import { known, type ProviderFacts, type ProviderRegistry } from './providers.ts';
import { recordTarget } from './record-target.ts';

/** A FloatingIPPool's spec, checked, with defaults. */
export interface PoolSpec {
  readonly provider: string;
  /** Required prefix of a node's providerID. */
  readonly providerIDPrefix: string;
  readonly region: string;
  /** How many addresses are wanted; `ips` beyond it are disabled. */
  readonly desired: number;
  readonly ips: readonly Address[];
  /** Which addresses are taken that it never owned; absent for any of a FloatingIPPool, and for unassigned ones of a RoutedIP. */
  readonly adoption?: Adoption;
  readonly coolOffMs: number;
  /** How long a node that is not Ready keeps its address, ms; 0 for not at all. */
  readonly graceMs: number;
  readonly drainPolicy: DrainPolicy;
  /** When an address moved by another controller is left to it; null for never. */
  readonly contention: ContentionRules | null;
  /** When nothing is moved because too many nodes went away at once; null for never. */
  readonly safeHold: SafeHoldRules | null;
  readonly match: Match;
  /** Where the active addresses are published; null for nowhere. */
  readonly records: RecordTarget | null;
  /** Full name of the pool's DNS record, empty for none. */
  readonly dns: string;
  /** The Service to which a RoutedIP routes its address; absent for a FloatingIPPool. */
  readonly exposes?: Exposure;
}

/** `reason` where the spec is not the cause. */
export type CheckedSpec =
  | { readonly spec: PoolSpec; readonly error: null }
  | { readonly spec: null; readonly error: string; readonly reason?: ErrorReason };

/** Checks a spec as FLIPOP does, in its order and with its texts; then what FLIPOP does not check (addresses, duplicates, credentials). `raw` is whatever the API server
 *  accepted: a server without our schema accepts anything. */
export function checkPoolSpec(raw: unknown, registry: ProviderRegistry): CheckedSpec {
  try {
    return { spec: poolSpec(asRecord(raw, 'spec'), registry), error: null };
  } catch (error) {
    if (error instanceof InvalidSpec) return { spec: null, error: error.message, ...reasonFor(error) };
    throw error;
  }
}

const MOST_IPS = LIMITS.FloatingIPPool['spec.ips'];
const MOST_TOLERATIONS = LIMITS.FloatingIPPool['spec.match.tolerations'];
const LONGEST_SELECTOR = LIMITS.FloatingIPPool['spec.match.nodeLabel'];

function poolSpec(raw: Readonly<Record<string, unknown>>, registry: ProviderRegistry): PoolSpec {
  const provider = text(raw.provider, 'spec.provider');
  const facts = known(registry, provider) ?? refuse(`unknown provider "${provider}"`);
  if (!facts.addresses) refuse(`provider "${provider}" does not provide floating IPs`);
  const given = list(raw.ips, 'spec.ips');
  atMost(given.length, MOST_IPS, 'spec.ips', 'addresses', 'give the others a pool of their own');
  const listed = given.map((entry) => text(entry, 'spec.ips'));
  const desiredIPs = number(raw.desiredIPs, 'spec.desiredIPs', Number.isSafeInteger);
  if (desiredIPs > MOST_IPS) refuse(`spec.desiredIPs must be at most ${MOST_IPS}: what is created is appended to ips, which take no more`);
  if (listed.length === 0 && desiredIPs === 0) refuse('ips or desiredIPs must be provided');
  const match = matchOf(asRecord(raw.match ?? {}, 'spec.match'));
  const records = poolTarget(raw.dnsRecordSet, provider, registry);
  const ips = listed.map((entry) => address(entry, facts));
  const seen = new Set<Address>();
  for (const entry of ips) {
    if (seen.has(entry)) refuse(`address ${entry} is listed twice in ips`);
    seen.add(entry);
  }
  oneFamily(ips, desiredIPs);
  if (facts.missing) throw new CredentialsMissing(provider, facts.missing);
  return {
    provider,
    providerIDPrefix: facts.providerIDPrefix,
    region: text(raw.region, 'spec.region'),
    desired: desiredIPs || ips.length,
    ips,
    coolOffMs: milliseconds(raw.assignmentCoolOffSeconds, 'spec.assignmentCoolOffSeconds'),
    graceMs: milliseconds(raw.recoveryGraceSeconds, 'spec.recoveryGraceSeconds'),
    drainPolicy: drainPolicy(text(raw.drainPolicy, 'spec.drainPolicy') || 'OnNotReady'),
    contention: contentionRules(raw.contention),
    safeHold: safeHoldRules(raw.safeHold),
    match,
    records,
    dns: records ? fullName(records) : '',
  };
}

const drainPolicy = (value: string): DrainPolicy =>
  value === 'OnNotReady' || value === 'OnCordon' ? value : refuse('spec.drainPolicy must be OnNotReady or OnCordon');

function safeHoldRules(raw: unknown): SafeHoldRules | null {
  if (raw === undefined || raw === null) return null;
  const rules = asRecord(raw, 'spec.safeHold');
  const maxUnavailable = number(rules.maxUnavailable, 'spec.safeHold.maxUnavailable', Number.isSafeInteger);
  const windowMs = milliseconds(rules.windowSeconds, 'spec.safeHold.windowSeconds');
  return maxUnavailable < 1 || windowMs === 0
    ? refuse('safeHold needs maxUnavailable of at least 1 and windowSeconds above 0')
    : { maxUnavailable, windowMs };
}

/** The match rules, with parsable selectors. @throws InvalidSpec */
export function matchOf(raw: Readonly<Record<string, unknown>>): Match {
  const nodeLabel = text(raw.nodeLabel, 'spec.match.nodeLabel');
  const podLabel = text(raw.podLabel, 'spec.match.podLabel');
  const podNamespace = text(raw.podNamespace, 'spec.match.podNamespace');
  parsable(nodeLabel, 'node');
  parsable(podLabel, 'pod');
  return {
    ...(nodeLabel && { nodeLabel }),
    ...(podLabel && { podLabel }),
    ...(podNamespace && { podNamespace }),
    tolerations: tolerations(raw.tolerations, 'spec.match.tolerations', MOST_TOLERATIONS),
  };
}

function parsable(selector: string, kind: 'node' | 'pod'): void {
  atMost(selector.length, LONGEST_SELECTOR, `spec.match.${kind}Label`, 'characters', 'give what it selects a label of its own');
  try {
    parseSelector(selector);
  } catch (error) {
    refuse(`Error parsing ${kind} selector: ${error instanceof Error ? error.message : String(error)}`);
  }
}

function poolTarget(raw: unknown, ipProvider: string, registry: ProviderRegistry): RecordTarget | null {
  if (raw === undefined || raw === null) return null;
  const set = asRecord(raw, 'spec.dnsRecordSet');
  const provider = text(set.provider, 'spec.dnsRecordSet.provider') || ipProvider;
  const facts = known(registry, provider);
  if (!facts?.dns) return refuse('FloatingIPPool dns referenced provider without dns capability');
  const target = recordTarget(set, provider);
  if (facts.missing) throw new CredentialsMissing(provider, facts.missing);
  return target;
}

/** A node may hold one address of each family, so each family needs its own line of nodes, and a pool has one line. Only IPv4 addresses are created. */
function oneFamily(ips: readonly Address[], desiredIPs: number): void {
  const six = ips.find((each) => familyOf(each) === 6);
  const four = ips.find((each) => familyOf(each) === 4);
  if (six && four) refuse(`ips lists IPv4 addresses (${four}) and IPv6 addresses (${six}): give each family a pool of its own`);
  if (six && desiredIPs > ips.length) {
    refuse(
      `desiredIPs is ${desiredIPs}, but ips lists ${ips.length} IPv6 ${ips.length === 1 ? 'address' : 'addresses'}: list the others too, IPv6 addresses are not created`,
    );
  }
}

function address(entry: string, facts: ProviderFacts): Address {
  const parsed = parseAddress(entry) ?? refuse(`"${entry}" in ips is no IP address`);
  if (parsed.includes(':') && !facts.ipv6) refuse(`address ${parsed} in ips is IPv6, which this provider's addresses do not support`);
  return parsed;
}
