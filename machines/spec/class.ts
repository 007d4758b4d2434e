import { cidr } from '../model/cidr.ts';
import { namespaceSelector } from '../model/namespaces.ts';
import { asRecord, atLeastOne, InvalidSpec, list, milliseconds, refuse, text, tolerations } from '../model/parse.ts';
import { type PortRange, portRange } from '../model/port-range.ts';
import { jobKey, mixedKey, secretKey } from '../model/provider-key.ts';
import type { Adoption, Toleration } from '../model/types.ts';
import { type ContentionRules, contentionRules } from '../policy/contention.ts';
import { type PortLimits, portLimits } from './allowed-ports.ts';
import { checkTemplate } from './job-template.ts';
import { LIMITS } from './limits.ts';

/** The credentials and means of a class or an issuer. */
export interface Account {
  /** The provider's key. */
  readonly provider: string;
  /** The cloud whose API is used for everything without a template; null for none. */
  readonly cloud: string | null;
  readonly secrets: readonly SecretReference[];
  /** Jobs find, create, assign and delete addresses. */
  readonly addressJobs: boolean;
  readonly firewallJobs: boolean;
  readonly jobNamespace: string;
}

/** How the addresses of a class or an issuer are provided: one policy for both kinds. */
export interface Policy extends Account, PortLimits {
  readonly region: string;
  readonly firewall: string;
  readonly postAllow: boolean;
  readonly exclusive: boolean;
  /** Source CIDRs that may reach the ports; null for anywhere. */
  readonly sources: readonly string[] | null;
  readonly nodePortRange: PortRange;
  readonly perNode: number;
  readonly reclaim: 'Retain' | 'Delete';
  readonly coolOffMs: number;
  readonly graceMs: number;
  readonly contention: ContentionRules | null;
  readonly tolerations: readonly Toleration[];
  readonly taint: 'PreferNoSchedule' | 'NoSchedule' | null;
  readonly allowCrossNamespace: boolean;
  readonly adoption: Adoption;
  /** The IPGroup that supplies addresses; empty for none. */
  readonly ipGroup: string;
}

export interface SecretReference {
  readonly namespace: string;
  readonly name: string;
  readonly optional: boolean;
}

/** A ClusterRoutedIPClass or a RoutedIPIssuer, as accepted by the API server. */
export interface PolicyObject {
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  readonly spec: unknown;
  /** Counts its edits; absent where there is no object. */
  readonly generation?: number;
  /** For an issuer: a class names the same firewall, in the operator's own account. Absent for no. */
  readonly sharesFirewall?: true;
}

export type CheckedPolicy =
  | { readonly policy: Policy; readonly error: null }
  | { readonly policy: null; readonly reason: 'InvalidSpec' | 'UnsupportedIssuer'; readonly error: string };

/** Built-in implementations: by the className of a class, and by the issuerClass of an issuer. */
const BUILT_IN_CLASSES: Readonly<Record<string, string>> = { 'digitalocean.com/floating-ip': 'digitalocean' };
/** Whether the className of a class names a built-in implementation: its nodes are those of a cloud, whatever Jobs do. */
export const isBuiltIn = (className: string): boolean => Object.hasOwn(BUILT_IN_CLASSES, className);
const BUILT_IN_ISSUERS: Readonly<Record<string, string>> = { digitalocean: 'digitalocean' };

const DEFAULT_NODE_PORTS = '30000-32767';

const MOST_TOLERATIONS = LIMITS.ClusterRoutedIPClass['spec.tolerations'];

class Unsupported extends InvalidSpec {}

/** Checks the spec of a class or an issuer and applies defaults. `operatorNamespace` is the default for Jobs and for Secrets of classes. */
export function checkPolicy(object: PolicyObject, operatorNamespace: string): CheckedPolicy {
  try {
    return { policy: policyOf(object, asRecord(object.spec, 'spec'), operatorNamespace), error: null };
  } catch (error) {
    if (!(error instanceof InvalidSpec)) throw error;
    return { policy: null, reason: error instanceof Unsupported ? 'UnsupportedIssuer' : 'InvalidSpec', error: error.message };
  }
}

/** Its account, even if the rest of the spec is wrong: the former values of the rest still apply. Null when the account itself is wrong. */
export function accountOf(object: PolicyObject, operatorNamespace: string): Account | null {
  try {
    return accountIn(object, asRecord(object.spec, 'spec'), operatorNamespace);
  } catch (error) {
    if (!(error instanceof InvalidSpec)) throw error;
    return null;
  }
}

function accountIn(object: PolicyObject, raw: Readonly<Record<string, unknown>>, operatorNamespace: string): Account {
  const isClass = object.kind === 'ClusterRoutedIPClass';
  const jobNamespace = text(raw.jobNamespace, 'spec.jobNamespace') || operatorNamespace;
  const addressJobs = isClass && template(raw.updateRoutedIP, 'updateRoutedIP');
  const firewallJobs = isClass && template(raw.updateFirewall, 'updateFirewall');
  const named = text(isClass ? raw.className : raw.issuerClass, isClass ? 'spec.className' : 'spec.issuerClass');
  const firewall = text(raw.routedIPFirewallName, 'spec.routedIPFirewallName');
  const cloud = cloudFor(named, { isClass, addressJobs, firewallJobs: firewallJobs || firewall === '' });
  const secrets = secretsOf(raw, { isClass, own: object.namespace, operatorNamespace });
  const elsewhere = secrets.find(({ namespace }) => (addressJobs || firewallJobs) && namespace !== jobNamespace);
  if (elsewhere) {
    refuse(
      `fromSecretsRef: Secret ${elsewhere.namespace}/${elsewhere.name} must be in ${jobNamespace}, where the Jobs of this class run: a Pod reads Secrets of its own namespace only`,
    );
  }
  return {
    provider: keyFor(object, cloud, secrets, { addressJobs, firewallJobs }),
    cloud,
    secrets,
    addressJobs,
    firewallJobs,
    jobNamespace,
  };
}

function policyOf(object: PolicyObject, raw: Readonly<Record<string, unknown>>, operatorNamespace: string): Policy {
  const account = accountIn(object, raw, operatorNamespace);
  const election = text(raw.electionPolicy, 'spec.electionPolicy');
  if (election !== '' && election !== 'Youngest') refuse('electionPolicy must be Youngest');
  atLeastOne(raw.maxAddressesPerNamespace, 'maxAddressesPerNamespace');
  namespaceSelector(raw);
  confine(object, raw, account);
  return {
    ...account,
    ...portLimits(raw),
    ipGroup: groupOf(object, text(raw.ipGroup, 'spec.ipGroup'), account),
    region: text(raw.region, 'spec.region'),
    firewall: text(raw.routedIPFirewallName, 'spec.routedIPFirewallName'),
    postAllow: raw.firewallPostAllow === true,
    exclusive: raw.firewallExclusive === true,
    sources: sourcesOf(raw.firewallSources),
    nodePortRange: portRange(text(raw.nodePortRange, 'spec.nodePortRange') || DEFAULT_NODE_PORTS, 'nodePortRange'),
    perNode: atLeastOne(raw.perNodeIPLimit, 'perNodeIPLimit'),
    reclaim: reclaimPolicy(text(raw.routedIPReclaimPolicy, 'spec.routedIPReclaimPolicy') || 'Retain'),
    coolOffMs: milliseconds(raw.assignmentCoolOffSeconds, 'spec.assignmentCoolOffSeconds'),
    graceMs: milliseconds(raw.recoveryGraceSeconds, 'spec.recoveryGraceSeconds'),
    contention: contentionRules(raw.contention),
    tolerations: tolerations(raw.tolerations, 'spec.tolerations', MOST_TOLERATIONS),
    taint: taintEffect(text(raw.taintEffect, 'spec.taintEffect') || 'PreferNoSchedule'),
    allowCrossNamespace: raw.allowCrossNamespace === true,
    adoption: adoption(text(raw.adoption, 'spec.adoption') || 'Unassigned'),
  };
}

/** With the operator's credentials the author of an issuer could add or remove rules in any firewall of the account. */
function confine({ kind, sharesFirewall }: PolicyObject, raw: Readonly<Record<string, unknown>>, { provider, cloud }: Account): void {
  if (kind === 'ClusterRoutedIPClass' || provider !== cloud) return;
  const instead = 'name a Secret in fromSecretsRef, or use a ClusterRoutedIPClass';
  if (raw.firewallExclusive === true) refuse(`firewallExclusive is not for issuers with the operator's credentials: ${instead}`);
  const { routedIPFirewallName: firewall } = raw;
  if (firewall && !sharesFirewall)
    refuse(
      `routedIPFirewallName: with the operator's credentials an issuer opens ports in firewalls that a ClusterRoutedIPClass of ${cloud} names, and none names "${firewall}": ${instead}`,
    );
}

/** A cloud knows only its own addresses: an address supplied by the cluster can be assigned only by Jobs. */
function groupOf({ kind }: PolicyObject, ipGroup: string, { addressJobs }: Account): string {
  if (ipGroup === '' || addressJobs) return ipGroup;
  throw new Unsupported(
    kind === 'ClusterRoutedIPClass'
      ? `ipGroup needs updateRoutedIP: only Jobs can assign an address of an IPGroup ("${ipGroup}")`
      : `ipGroup must be empty: an issuer has addresses of its cloud only, use a ClusterRoutedIPClass with updateRoutedIP ("${ipGroup}")`,
  );
}

/** True when the template is present and usable for the operator. */
function template(raw: unknown, field: string): boolean {
  if (raw === undefined || raw === null) return false;
  checkTemplate(raw, field);
  return true;
}

interface Halves {
  readonly isClass: boolean;
  readonly addressJobs: boolean;
  /** Jobs drive the firewall, or there is none. */
  readonly firewallJobs: boolean;
}

function cloudFor(named: string, { isClass, addressJobs, firewallJobs }: Halves): string | null {
  if (named === '') refuse(isClass ? 'className must be set' : 'issuerClass must be set');
  const builtIn = isClass ? BUILT_IN_CLASSES : BUILT_IN_ISSUERS;
  const cloud = Object.hasOwn(builtIn, named) ? (builtIn[named] ?? null) : null;
  if (cloud !== null || (addressJobs && firewallJobs)) return cloud;
  const known = Object.keys(builtIn);
  const what = isClass
    ? `className "${named}" is no built-in implementation (${known.join(', ')}): give templates in updateRoutedIP${firewallJobs ? '' : ' and updateFirewall'}`
    : `issuerClass "${named}" is not implemented: use ${known.join(' or ')}, or a ClusterRoutedIPClass with Job templates`;
  throw new Unsupported(what);
}

function keyFor(
  { name }: PolicyObject,
  cloud: string | null,
  secrets: readonly SecretReference[],
  { addressJobs, firewallJobs }: Pick<Halves, 'addressJobs' | 'firewallJobs'>,
): string {
  if (addressJobs || cloud === null) return jobKey(name);
  if (firewallJobs) return mixedKey(cloud, name);
  const [first] = secrets;
  return first ? secretKey(cloud, first.namespace, secrets.length === 1 ? first.name : secrets.map((each) => each.name).join('+')) : cloud;
}

function secretsOf(
  raw: Readonly<Record<string, unknown>>,
  { isClass, own, operatorNamespace }: { readonly isClass: boolean; readonly own: string; readonly operatorNamespace: string },
): readonly SecretReference[] {
  return list(raw.fromSecretsRef, 'spec.fromSecretsRef').map((entry) => {
    const ref = asRecord(entry, 'spec.fromSecretsRef');
    const name = text(ref.name, 'spec.fromSecretsRef.name') || refuse('spec.fromSecretsRef.name must be set');
    const named = text(ref.namespace, 'spec.fromSecretsRef.namespace');
    if (!isClass && named !== '' && named !== own)
      refuse(`fromSecretsRef: an issuer reads Secrets of its own namespace ${own} only, not of ${named}`);
    return { namespace: named || (isClass ? operatorNamespace : own), name, optional: ref.optional === true };
  });
}

const ANYWHERE = JSON.stringify(['0.0.0.0/0', '::/0']);

function sourcesOf(raw: unknown): readonly string[] | null {
  const listed = list(raw, 'spec.firewallSources').map((entry) => cidr(text(entry, 'spec.firewallSources'), 'firewallSources'));
  const sources = [...new Set(listed)].sort();
  return sources.length === 0 || JSON.stringify(sources) === ANYWHERE ? null : sources;
}

const reclaimPolicy = (value: string): Policy['reclaim'] =>
  value === 'Retain' || value === 'Delete' ? value : refuse('routedIPReclaimPolicy must be Retain or Delete');

const adoption = (value: string): Adoption =>
  value === 'Never' || value === 'Unassigned' || value === 'Any' ? value : refuse('adoption must be Never, Unassigned or Any');

function taintEffect(value: string): Policy['taint'] {
  if (value === 'None') return null;
  return value === 'PreferNoSchedule' || value === 'NoSchedule'
    ? value
    : refuse('taintEffect must be PreferNoSchedule, NoSchedule or None');
}
