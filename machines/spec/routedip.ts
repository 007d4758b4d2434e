import { firewallActor } from '../model/actor-id.ts';
import { parseAddress } from '../model/address.ts';
import { asRecord, InvalidSpec, refuse, text } from '../model/parse.ts';
import { type ServiceRef, serviceOf } from '../model/service-ref.ts';
import { shortList } from '../model/several.ts';
import { type Address, type ClassRef, isFields } from '../model/types.ts';
import { checkPolicy, type Policy, type PolicyObject } from './class.ts';
import type { Exposure } from './exposure.ts';
import type { CredentialsRefusal } from './operator-credentials.ts';
import type { PoolSpec } from './pool.ts';
import { known, type ProviderFacts, type ProviderRegistry } from './providers.ts';

/** Observed state of a RoutedIP: its own spec, and the class or issuer that it names. */
export interface RoutedIPFact {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly spec: unknown;
  /** Null when there is none of that name. */
  readonly policy: PolicyObject | null;
  /** Set when `policy` is null because several classes have the named className: the names that it may use instead. */
  readonly several?: readonly string[];
  /** Why its namespace may not use that class; absent when it may. A RoutedIP that has its address from it keeps it. */
  readonly barred?: string;
  /** Also set when the reason is use of the operator's credentials; otherwise a selector of the class is the reason. */
  readonly refusal?: CredentialsRefusal;
  readonly operatorNamespace: string;
  /** Counts the edits of the RoutedIP. */
  readonly generation: number;
}

/** Why a RoutedIP is not served. */
export type RoutedIPReason =
  | 'InvalidSpec'
  | 'ClassNotFound'
  | 'ClassAmbiguous'
  | 'NamespaceNotSelected'
  | 'UnsupportedIssuer'
  | 'SecretNotFound'
  | CredentialsRefusal['reason'];

export type CheckedRoutedIP =
  | { readonly spec: PoolSpec; readonly error: null }
  | {
      readonly spec: null;
      readonly error: string;
      readonly reason: RoutedIPReason;
      /** The fault lies with the class: its last valid policy still applies, for the addresses that the spec names now. Null when it does not. */
      readonly keeps: readonly Address[] | null;
    };

class Refusal extends InvalidSpec {
  readonly reason: RoutedIPReason;
  readonly keeps: readonly Address[] | null;

  constructor(reason: RoutedIPReason, message: string, keeps: readonly Address[] | null = null) {
    super(message);
    this.reason = reason;
    this.keeps = keeps;
  }
}

/** The name of the class or issuer in a spec. */
export type Asked =
  | { readonly kind: 'ClusterRoutedIPClass'; readonly className: string }
  | { readonly kind: 'RoutedIPIssuer'; readonly name: string };

/** The class or issuer that a spec names; null when it names none, or both. */
export function asked(spec: unknown): Asked | null {
  const raw = isFields(spec) ? spec : {};
  const issuer = isFields(raw.issuerRef) ? raw.issuerRef.name : undefined;
  const all: Asked[] = [];
  if (isName(raw.className)) all.push({ kind: 'ClusterRoutedIPClass', className: raw.className });
  if (isName(issuer)) all.push({ kind: 'RoutedIPIssuer', name: issuer });
  return all.length === 1 ? (all[0] ?? null) : null;
}

const isName = (value: unknown): value is string => typeof value === 'string' && value !== '';
/** The class or issuer that a RoutedIP uses; if that does not exist, the one named by the spec. Null when the spec names none. */
export function sourceOf({ spec, policy }: RoutedIPFact): ClassRef | null {
  if (policy) return { kind: policy.kind, name: policy.name };
  const wanted = asked(spec);
  switch (wanted?.kind) {
    case undefined:
      return null;
    case 'ClusterRoutedIPClass':
      return { kind: wanted.kind, name: wanted.className };
    case 'RoutedIPIssuer':
      return { kind: wanted.kind, name: wanted.name };
  }
}

/** The reclaim policy of the class; null where the class is missing or invalid. */
export const reclaimOf = ({ policy, operatorNamespace }: Pick<RoutedIPFact, 'policy' | 'operatorNamespace'>): Policy['reclaim'] | null =>
  policy && (checkPolicy(policy, operatorNamespace).policy?.reclaim ?? null);

/** Checks a RoutedIP together with its class or issuer, like the schema and also where the server has none. */
export function checkRoutedIP(fact: RoutedIPFact, registry: ProviderRegistry): CheckedRoutedIP {
  try {
    return { spec: specOf(fact, registry), error: null };
  } catch (error) {
    if (error instanceof Refusal) return { spec: null, error: error.message, reason: error.reason, keeps: error.keeps };
    if (error instanceof InvalidSpec) return { spec: null, error: error.message, reason: 'InvalidSpec', keeps: null };
    throw error;
  }
}

function specOf(fact: RoutedIPFact, registry: ProviderRegistry): PoolSpec {
  const raw = asRecord(fact.spec, 'spec');
  const ips = addresses(text(raw.routedIP, 'spec.routedIP'));
  const service = exposedService(fact, raw);
  const wanted = asked(raw) ?? refuse(`set exactly one of className and issuerRef${hintFor(raw)}`);
  if (!fact.policy)
    throw fact.several
      ? new Refusal('ClassAmbiguous', ambiguous(wanted, fact.several))
      : new Refusal('ClassNotFound', notFound(wanted, fact.namespace));
  // Other errors may not apply once it has its own credentials.
  if (fact.refusal) throw new Refusal(fact.refusal.reason, fact.refusal.message);
  const checked = checkPolicy(fact.policy, fact.operatorNamespace);
  if (!checked.policy) throw new Refusal(checked.reason, `${kindAndName(fact.policy)}: ${checked.error}`, ips);
  const { policy } = checked;
  if (fact.barred !== undefined) throw new Refusal('NamespaceNotSelected', fact.barred);
  if (service.namespace !== fact.namespace && !policy.allowCrossNamespace) {
    refuse(
      `serviceRef.namespace is ${service.namespace}: ${kindAndName(fact.policy)} does not allow a Service of another namespace (allowCrossNamespace)`,
    );
  }
  const facts = usable(policy, registry);
  return {
    provider: policy.provider,
    providerIDPrefix: facts.providerIDPrefix,
    region: policy.region,
    desired: 1,
    // An address of a group does not exist before it is reserved.
    ips: policy.ipGroup === '' ? ips : [],
    adoption: policy.adoption,
    coolOffMs: policy.coolOffMs,
    graceMs: policy.graceMs,
    drainPolicy: 'OnCordon',
    contention: policy.contention,
    safeHold: null,
    match: { tolerations: policy.tolerations },
    records: null,
    dns: '',
    exposes: {
      ...exposure(fact, service, policy, facts),
      ...(policy.ipGroup !== '' && { group: { name: policy.ipGroup, address: ips[0] ?? null } }),
    },
  };
}

/** The API server drops `issuerClass` from stored objects: users who had set it may no longer find it there. */
const hintFor = ({ className, issuerRef }: Readonly<Record<string, unknown>>): string =>
  className || issuerRef
    ? ''
    : '; issuerClass is served no more: create a RoutedIPIssuer with spec.issuerClass, and name it in issuerRef (docs/upgrading.md)';

function addresses(given: string): readonly Address[] {
  if (given === '') return [];
  const parsed = parseAddress(given);
  return parsed && !parsed.includes(':') && parsed === given
    ? [parsed]
    : refuse(`routedIP must be an IPv4 address without leading zeros, such as 192.0.2.10; it is "${given}"`);
}

function exposedService(fact: RoutedIPFact, raw: Readonly<Record<string, unknown>>): ServiceRef {
  const ref = asRecord(raw.serviceRef ?? {}, 'spec.serviceRef');
  const serviceName = text(ref.serviceName, 'spec.serviceRef.serviceName');
  const name = text(ref.name, 'spec.serviceRef.name');
  text(ref.namespace, 'spec.serviceRef.namespace');
  if ((serviceName === '') === (name === '')) refuse('serviceRef needs serviceName (or its older spelling name), and not both');
  return serviceOf(fact.namespace, raw);
}

const kindAndName = ({ kind, namespace, name }: PolicyObject): string => `${kind} ${namespace ? `${namespace}/` : ''}${name}`;

const notFound = (wanted: Asked, namespace: string): string =>
  wanted.kind === 'ClusterRoutedIPClass'
    ? `there is no ClusterRoutedIPClass with className "${wanted.className}", and none of that name`
    : `there is no RoutedIPIssuer ${wanted.name} in namespace ${namespace}`;

function ambiguous(wanted: Asked, names: readonly string[]): string {
  const className = wanted.kind === 'ClusterRoutedIPClass' ? wanted.className : wanted.name;
  const instead =
    names.length > 0 ? `name one of them as className: ${shortList(names)}` : 'none of them can be named: their conditions say why';
  return `several ClusterRoutedIPClasses have the className "${className}": ${instead}`;
}

function usable({ provider }: Policy, registry: ProviderRegistry): ProviderFacts {
  const facts = known(registry, provider);
  if (!facts) throw new Refusal('SecretNotFound', `the credentials for ${provider} are not known yet`);
  if (facts.missing) throw new Refusal('SecretNotFound', facts.missing);
  return facts;
}

function exposure(fact: RoutedIPFact, service: ServiceRef, policy: Policy, facts: ProviderFacts): Exposure {
  const { kind, namespace: home, name: called } = fact.policy ?? { kind: '', namespace: '', name: '' };
  const { namespace, name, uid } = fact;
  const perNode = Math.min(policy.perNode, facts.addressesPerNode);
  const { reclaim, firewall, postAllow, exclusive, sources, nodePortRange, allowedPorts, maxPorts } = policy;
  // The author of an issuer must not keep others' Pods off a node. An issuer may have been stored before its CRD rejected that.
  const taint = kind === 'RoutedIPIssuer' && policy.taint === 'NoSchedule' ? 'PreferNoSchedule' : policy.taint;
  const about = {
    namespace,
    name,
    uid,
    serviceNamespace: service.namespace,
    serviceName: service.name,
    firewall,
    region: policy.region,
    reclaimPolicy: reclaim,
    ...(policy.ipGroup !== '' && { ipGroup: policy.ipGroup }),
  };
  return {
    service,
    firewall: firewall === '' ? null : firewallActor(policy.provider, firewall),
    postAllow,
    exclusive,
    sources,
    nodePortRange,
    ...(allowedPorts && { allowedPorts }),
    ...(maxPorts && { maxPorts }),
    perNode,
    clampedFrom: perNode < policy.perNode ? policy.perNode : null,
    reclaim,
    taint,
    ...(taint !== policy.taint && { isTaintSoftened: true }),
    turn: policy.coolOffMs > 0 ? `${kind}/${home}/${called}` : '',
    byJobs: policy.firewallJobs,
    revision: policy.addressJobs || policy.firewallJobs ? `${fact.policy?.generation ?? 0}.${fact.generation}` : null,
    subject: policy.addressJobs ? about : null,
    source: { kind, name: called },
  };
}
