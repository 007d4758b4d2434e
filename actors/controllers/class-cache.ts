import { barredBy } from '../../machines/model/namespaces.ts';
import { cloudOf, isOfJobs, isPrivate } from '../../machines/model/provider-key.ts';
import { type ClassInUse, type ClassRef, type Finding, fieldsOf } from '../../machines/model/types.ts';
import type { Limit } from '../../machines/pool/quota.ts';
import { accountOf, checkPolicy, type PolicyObject } from '../../machines/spec/class.ts';
import { ClassNames, type NamedClass } from '../../machines/spec/class-names.ts';
import type { Exposure } from '../../machines/spec/exposure.ts';
import type { CredentialsRefusal } from '../../machines/spec/operator-credentials.ts';
import { asked, type RoutedIPFact, reclaimOf } from '../../machines/spec/routedip.ts';
import type { PoolObject } from '../ports/cluster.ts';
import type { ProviderNeed } from '../ports/directory.ts';
import { type Namespaces, NO_NAMESPACES } from '../ports/namespaces.ts';
import type { Json } from '../ports/records.ts';
import { OperatorCredentials } from './operator-credentials.ts';

const CLASS = 'ClusterRoutedIPClass';
const ISSUER = 'RoutedIPIssuer';

/** The classes and issuers as last observed, on every replica. */
export class ObservedPolicies {
  readonly #policies = new Map<string, PoolObject>();
  /** The need of each, or its last valid one while it is invalid; null when the environment's providers suffice. */
  readonly #needs = new Map<string, ProviderNeed | null>();
  /** Provider key that each object version asks for. */
  readonly #keys = new WeakMap<PoolObject, string>();
  #checked = new WeakMap<PoolObject, ReturnType<typeof checkPolicy>>();
  /** Resolves the classNames that RoutedIPs name; null when it has to be rebuilt. */
  #names: ClassNames<SeenClass> | null = null;
  /** Firewalls that classes name, each with its provider's key; null when they have to be collected again. */
  #firewalls: ReadonlySet<string> | null = null;
  /** Default namespace of the Jobs and Secrets of classes. */
  readonly #operatorNamespace: string;

  readonly #namespaces: Namespaces;
  readonly #credentials: OperatorCredentials;
  readonly #inUse: (routedIP: PoolObject) => ClassRef | null;

  /** `inUse`: the class or issuer that already serves a RoutedIP. */
  constructor(
    operatorNamespace: string,
    namespaces: Namespaces = NO_NAMESPACES,
    credentials = new OperatorCredentials(namespaces, null),
    inUse: (routedIP: PoolObject) => ClassRef | null = () => null,
  ) {
    this.#operatorNamespace = operatorNamespace;
    this.#namespaces = namespaces;
    this.#credentials = credentials;
    this.#inUse = inUse;
  }

  get all(): Iterable<PoolObject> {
    return this.#policies.values();
  }

  /** Returns whether this may change how RoutedIPs are served; an unchanged object does not. */
  put(policy: PoolObject): boolean {
    const name = policyName(policy.ref);
    const former = this.#policies.get(name);
    const isSame = former?.ref.uid === policy.ref.uid;
    const need = this.#needOf(policy);
    this.#policies.set(name, policy);
    this.#heedClass(policy.ref);
    if (need !== undefined) this.#needs.set(name, need);
    else if (!isSame) this.#needs.delete(name);
    return !isSame || former?.generation !== policy.generation || former.deleting !== policy.deleting;
  }

  /** Forgets an object, unless another one has taken its name. */
  remove(ref: PoolObject['ref']): void {
    if (this.#policies.get(policyName(ref))?.ref.uid !== ref.uid) return;
    this.#policies.delete(policyName(ref));
    this.#heedClass(ref);
    this.#needs.delete(policyName(ref));
  }

  #heedClass({ kind }: PoolObject['ref']): void {
    if (kind !== CLASS) return;
    this.#names = null;
    this.#firewalls = null;
    // What issuers may do depends on the firewalls that classes name.
    this.#checked = new WeakMap();
  }

  /** The class or issuer that serves a RoutedIP; null when there is none. */
  servesFor(routedIP: PoolObject): PoolObject | null {
    const wanted = asked(routedIP.spec);
    if (wanted?.kind === CLASS) return this.#classFor(routedIP, wanted.className);
    if (wanted?.kind === ISSUER) return this.#policies.get(`${ISSUER} ${routedIP.ref.namespace}/${wanted.name}`) ?? null;
    return null;
  }

  /** As last observed; undefined when it is not. */
  get(ref: PoolObject['ref']): PoolObject | undefined {
    return this.#policies.get(policyName(ref));
  }

  /** A served RoutedIP keeps its class while it names it, whatever other classes appear. */
  #classFor(routedIP: PoolObject, text: string): PoolObject | null {
    const used = this.#inUse(routedIP);
    const kept = used?.kind === CLASS ? this.#policies.get(policyName({ kind: CLASS, namespace: '', name: used.name })) : undefined;
    if (kept && (kept.ref.name === text || classNameOf(kept) === text)) return kept;
    const meaning = this.#classNames.meaningOf(text);
    return meaning && 'one' in meaning ? meaning.one.object : null;
  }

  /** The candidate classes of a RoutedIP that none serves because several share the className it names; null otherwise. */
  #severalFor({ spec }: PoolObject): readonly string[] | null {
    const wanted = asked(spec);
    const meaning = wanted?.kind === CLASS ? this.#classNames.meaningOf(wanted.className) : null;
    return meaning && 'several' in meaning ? meaning.several : null;
  }

  get #classNames(): ClassNames<SeenClass> {
    const classes = (): readonly SeenClass[] =>
      [...this.#policies.values()].flatMap((object) => (object.ref.kind === CLASS ? [seenClass(object)] : []));
    this.#names ??= new ClassNames(classes());
    return this.#names;
  }

  /** The names that RoutedIPs use to refer to this class or issuer, valid or not: a class by its className and by its object name. */
  askedAs({ ref, spec }: PoolObject): readonly string[] {
    return ref.kind === CLASS ? [className(classNameIn(spec)), className(ref.name)] : [policyName(ref)];
  }

  /** The issuers whose firewall one of these classes names: what they may do depends on these classes. */
  confinedBy(policies: readonly PoolObject[]): readonly PoolObject[] {
    const named = new Set(policies.flatMap((policy) => (policy.ref.kind === CLASS ? (this.#firewallOf(policy) ?? []) : [])));
    if (named.size === 0) return [];
    return [...this.#policies.values()].filter((policy) => policy.ref.kind === ISSUER && named.has(this.#firewallOf(policy) ?? ''));
  }

  /** Prefixed with its provider's key; null for none. */
  #firewallOf(policy: PoolObject): string | null {
    const { routedIPFirewallName: firewall } = fieldsOf(policy.spec);
    return typeof firewall === 'string' && firewall !== '' ? `${this.keyOf(policy)} ${firewall}` : null;
  }

  #asPolicy(object: PoolObject): PolicyObject {
    if (object.ref.kind !== ISSUER) return asPolicy(object);
    this.#firewalls ??= new Set(
      [...this.#policies.values()].flatMap((each) => (each.ref.kind === CLASS ? (this.#firewallOf(each) ?? []) : [])),
    );
    return { ...asPolicy(object), ...(this.#firewalls.has(this.#firewallOf(object) ?? '') && { sharesFirewall: true }) };
  }

  /** The class or issuer that a RoutedIP names, observed or not; null when it names neither. */
  askedBy({ ref, spec }: PoolObject): string | null {
    const wanted = asked(spec);
    if (wanted?.kind === CLASS) return className(wanted.className);
    return wanted?.kind === ISSUER ? policyName({ ...ref, kind: ISSUER, name: wanted.name }) : null;
  }

  /** What the cell of a RoutedIP receives as its spec. */
  factOf(routedIP: PoolObject): RoutedIPFact {
    const { ref, spec } = routedIP;
    const policy = this.servesFor(routedIP);
    const { namespace, name, uid } = ref;
    const refusal = policy && this.#refusalOf(policy);
    const barred = policy && this.#whyNotFor(policy, namespace);
    const several = policy ? null : this.#severalFor(routedIP);
    return {
      namespace,
      name,
      uid,
      spec,
      policy: policy && this.#asPolicy(policy),
      ...(several && { several }),
      operatorNamespace: this.#operatorNamespace,
      generation: routedIP.generation,
      ...(barred && { barred }),
      ...(refusal && { refusal }),
    };
  }

  /** The same, as if the RoutedIP named the class or issuer it has its address from, which also releases it. Null when that account cannot be accessed. */
  factBy(routedIP: PoolObject, { provider = '', ...named }: ClassInUse): RoutedIPFact | null {
    const found = this.#inUseBy(routedIP, named);
    const { barred: _, refusal: __, several: ___, ...fact } = this.factOf(routedIP);
    if (found && this.keyOf(found) === provider) return { ...fact, policy: this.#asPolicy(found) };
    return provider === '' || isPrivate(provider) ? null : { ...fact, policy: issuing(routedIP, provider) };
  }

  /** Whether the class or issuer that serves it still exists. */
  isThere(routedIP: PoolObject, named: ClassInUse | null | undefined): boolean {
    return named != null && this.#inUseBy(routedIP, named) !== undefined;
  }

  #inUseBy({ ref }: PoolObject, { kind, name }: Pick<ClassInUse, 'kind' | 'name'>): PoolObject | undefined {
    return this.#policies.get(policyName({ kind, name, namespace: kind === CLASS ? '' : ref.namespace }));
  }

  /** What a class, or an issuer of that namespace, says of addresses whose RoutedIP is gone; null when it says nothing valid. */
  reclaimBy({ kind, name }: Exposure['source'], namespace: string): ReturnType<typeof reclaimOf> {
    const policy = this.#policies.get(policyName({ kind, name, namespace: kind === CLASS ? '' : namespace }));
    return policy ? reclaimOf({ policy: this.#asPolicy(policy), operatorNamespace: this.#operatorNamespace }) : null;
  }

  /** Why a FloatingIPPool or a NodeDNSRecordSet may not use the operator's credentials, its only ones; null when it may. */
  refusalOfPool({ ref: { kind, namespace, name } }: PoolObject): CredentialsRefusal | null {
    return this.#credentials.areConfined ? this.#credentials.refusalOf({ what: `${kind} ${namespace}/${name}`, namespace }) : null;
  }

  /** Whether the labels of its Namespace decide what an object may use. */
  goesByLabels(object: PoolObject): boolean {
    if (object.ref.kind !== 'RoutedIP') return this.#credentials.areConfined && this.#credentials.goesByLabels(object.ref.namespace);
    const policy = this.servesFor(object);
    if (!policy) return false;
    if (policy.ref.kind === CLASS) return fieldsOf(policy.spec).namespaceSelector !== undefined;
    return this.#usesOperators(policy) && this.#credentials.goesByLabels(policy.ref.namespace);
  }

  /** Why an issuer may not use the operator's credentials; null when it may, or does not use them. */
  #refusalOf(policy: PoolObject): CredentialsRefusal | null {
    if (!this.#usesOperators(policy)) return null;
    const { namespace, name } = policy.ref;
    return this.#credentials.refusalOf({ what: `${ISSUER} ${namespace}/${name}`, others: 'name a Secret in fromSecretsRef', namespace });
  }

  /** An issuer that names no Secret. */
  #usesOperators(policy: PoolObject): boolean {
    const key = this.keyOf(policy);
    return policy.ref.kind === ISSUER && key !== '' && !isPrivate(key);
  }

  /** Whether the class or issuer that it names, if it exists, accepts new RoutedIPs of its namespace. */
  isOpenTo(routedIP: PoolObject): boolean {
    const policy = this.servesFor(routedIP);
    return policy === null || this.#whyNotFor(policy, routedIP.ref.namespace) === null;
  }

  #whyNotFor(policy: PoolObject, namespace: string): string | null {
    const { ref, spec } = policy;
    const refusal = this.#refusalOf(policy);
    if (refusal) return refusal.message;
    return ref.kind === CLASS ? barredBy(spec, `${CLASS} ${ref.name}`, namespace, (name) => this.#namespaces.labelsOf(name)) : null;
  }

  /** The same, as if the RoutedIP named a class or issuer that uses this provider and is open to its namespace. `policy` is null when Jobs drove it and no such class is left. */
  factAt(routedIP: PoolObject, key: string): RoutedIPFact {
    const { namespace } = routedIP.ref;
    const isFor = (each: PoolObject): boolean =>
      (each.ref.kind === CLASS || each.ref.namespace === namespace) && this.#whyNotFor(each, namespace) === null;
    const policy = [...this.#policies.values()].find((each) => this.keyOf(each) === key && isFor(each));
    const instead = isOfJobs(key) ? null : issuing(routedIP, cloudOf(key));
    const { barred: _, refusal: __, several: ___, ...fact } = this.factOf(routedIP);
    return { ...fact, policy: policy ? this.#asPolicy(policy) : instead };
  }

  /** A RoutedIP whose class takes addresses from an IPGroup. */
  takesFromGroup(pool: PoolObject): boolean {
    const served = pool.ref.kind === 'RoutedIP' ? this.servesFor(pool) : null;
    const { ipGroup } = served ? fieldsOf<Json>(served.spec) : {};
    return typeof ipGroup === 'string' && ipGroup !== '';
  }

  /** How many addresses of a RoutedIP's class or issuer its namespace may keep; null for no limit. */
  limitFor(routedIP: PoolObject): Limit | null {
    const policy = this.servesFor(routedIP);
    const most = policy && fieldsOf<Json>(policy.spec).maxAddressesPerNamespace;
    if (!policy || !Number.isSafeInteger(most)) return null;
    const { kind, name } = policy.ref;
    return { most: most as number, source: `${kind}/${name}`, name: `maxAddressesPerNamespace of ${kind} ${name}` };
  }

  /** The key of the provider that a RoutedIP works with; empty for none. */
  providerOf(routedIP: PoolObject): string {
    const policy = this.servesFor(routedIP);
    return policy ? this.keyOf(policy) : '';
  }

  /** The key of the provider that a class or an issuer asks for; empty for none. */
  keyOf(object: PoolObject): string {
    const known = this.#keys.get(object);
    if (known !== undefined) return known;
    const key = this.#keyIn(asPolicy(object));
    this.#keys.set(object, key);
    return key;
  }

  #keyIn(policy: PolicyObject): string {
    return accountOf(policy, this.#operatorNamespace)?.provider ?? '';
  }

  /** The account or platform that a class or an issuer asks for; null for none. One that has become invalid keeps its last valid need. */
  needOf(ref: PoolObject['ref']): ProviderNeed | null {
    return this.#needs.get(policyName(ref)) ?? null;
  }

  /** Null when the environment's providers suffice; undefined when the spec does not say. */
  #needOf(object: PoolObject): ProviderNeed | null | undefined {
    const account = accountOf(asPolicy(object), this.#operatorNamespace);
    if (!account) return undefined;
    const { provider: key, cloud, secrets, addressJobs, firewallJobs, jobNamespace } = account;
    if (key === cloud) return null;
    return { key, cloud, secrets, templates: addressJobs || firewallJobs ? templatesOf(object, jobNamespace) : null };
  }

  /** Why a class or an issuer is not used as it is; null when it is. */
  troubleOf(object: PoolObject): Finding | null {
    const refusal = this.#refusalOf(object);
    if (refusal) return { reason: refusal.reason, message: refusal.message };
    const checked = this.#checked.get(object) ?? checkPolicy(this.#asPolicy(object), this.#operatorNamespace);
    this.#checked.set(object, checked);
    if (!checked.policy) return { reason: checked.reason, message: checked.error };
    const conflict = this.conflictOf(object);
    return conflict?.isOutOfReach ? { reason: 'Conflict', message: conflict.message } : null;
  }

  /** Names that a class shares with others, and how RoutedIPs can still select it, if they can; null for none. */
  conflictOf(object: PoolObject): ReturnType<ClassNames<SeenClass>['conflictOf']> {
    return object.ref.kind === CLASS ? this.#classNames.conflictOf(seenClass(object)) : null;
  }
}

/** A class and its names. */
interface SeenClass extends NamedClass {
  readonly object: PoolObject;
}

const seenClass = (object: PoolObject): SeenClass => ({
  name: object.ref.name,
  className: classNameOf(object),
  ...(object.deleting && { deleting: true }),
  object,
});

const className = (name: string): string => `${CLASS} ${name}`;

/** Unique name of a class or an issuer. */
export const policyName = ({ kind, namespace, name }: Pick<PoolObject['ref'], 'kind' | 'namespace' | 'name'>): string =>
  `${kind} ${namespace}/${name}`;

const classNameOf = ({ spec }: PoolObject): string => classNameIn(spec);

const classNameIn = (spec: Json): string => {
  const { className } = fieldsOf<Json>(spec);
  return typeof className === 'string' ? className : '';
};

const asPolicy = ({ ref, spec, generation }: PoolObject): PolicyObject => ({
  kind: ref.kind,
  namespace: ref.namespace,
  name: ref.name,
  spec,
  generation,
});

/** Placeholder for the missing class or issuer under which something was begun: it has only a cloud, and a kind that no object can name. */
const issuing = ({ ref }: PoolObject, issuerClass: string): PolicyObject => ({
  kind: 'IssuerClass',
  namespace: ref.namespace,
  name: issuerClass,
  spec: { issuerClass },
});

function templatesOf({ ref, spec }: PoolObject, namespace: string): ProviderNeed['templates'] {
  const { updateRoutedIP = null, updateFirewall = null, className } = fieldsOf<Json>(spec);
  return { owner: ref, className: typeof className === 'string' ? className : '', namespace, updateRoutedIP, updateFirewall };
}
