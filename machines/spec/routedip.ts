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

/** What is observed of a RoutedIP: its own spec, and the class or issuer that it names. */
export interface RoutedIPFact {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly spec: unknown;
  /** Null when there is none of that name. */
  readonly policy: PolicyObject | null;
  /** Null since several classes have the className that it names: the names of those that it may name instead. */
  readonly several?: readonly string[];
  /** Why that is not for the namespace; absent when it is. What has its address already keeps it. */
  readonly barred?: string;
  /** Set besides where that is because it would use the operator's credentials; else a selector of the class says so. */
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
      /** The fault lies with the class: what it said last goes on, for the addresses that the spec names now. Null when it does not. */
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

/** The name of the class or issuer that a spec asks for. */
export type Asked =
  | { readonly kind: 'ClusterRoutedIPClass'; readonly className: string }
  | { readonly kind: 'RoutedIPIssuer'; readonly name: string };

/** What a spec asks for; null when it does not say, or says it twice. */
export function asked(spec: unknown): Asked | null {
  const raw = isFields(spec) ? spec : {};
  const issuer = isFields(raw.issuerRef) ? raw.issuerRef.name : undefined;
  const all: Asked[] = [];
  if (isName(raw.className)) all.push({ kind: 'ClusterRoutedIPClass', className: raw.className });
  if (isName(issuer)) all.push({ kind: 'RoutedIPIssuer', name: issuer });
  return all.length === 1 ? (all[0] ?? null) : null;
}

const isName = (value: unknown): value is string => typeof value === 'string' && value !== '';
/** The class or issuer that a RoutedIP uses, or would: of one that is not there what the spec says of it. Null when it does not say. */
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

/** What the class says of the address once its RoutedIP is deleted; null where it says nothing that is valid. */
export const reclaimOf = ({ policy, operatorNamespace }: Pick<RoutedIPFact, 'policy' | 'operatorNamespace'>): Policy['reclaim'] | null =>
  policy && (checkPolicy(policy, operatorNamespace).policy?.reclaim ?? null);

/** Checks a RoutedIP together with its class or issuer, as the schema does and where the server has none. */
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
  // What else is wrong with it may be right with credentials of its own.
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
    // An address of a group is not there before it is reserved.
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

/** The server drops `issuerClass` of objects that were stored with it: who had it may not find it there any more. */
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
  // Whoever may write an issuer keeps nobody else's Pods off a node. One may have been stored so before its definition refused that.
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
