import type { Json } from '../actors/ports/records.ts';
import * as ipGroups from '../crds/generated/ipgroup.ts';
import * as routedIPs from '../crds/generated/routedip.ts';
import { parseAddress } from '../machines/model/address.ts';
import { serviceOf } from '../machines/model/service-ref.ts';
import type { ObservedNode, ObservedService, ProviderID } from '../machines/model/types.ts';
import { fields, text } from './fields.ts';
import { type Change, isPolicy, ownAnnotations, POLICIES, POOLS, SERVICE } from './manifest.ts';
import type { Session } from './ports.ts';
import { keyOf, type Scene, type Wish } from './stage.ts';
import { vipSceneOf } from './vip-scene.ts';

interface Stored {
  readonly metadata: {
    readonly uid?: string;
    readonly annotations?: unknown;
    readonly name: string;
    readonly namespace?: string;
    readonly creationTimestamp?: string;
  };
  readonly spec?: unknown;
  readonly status?: unknown;
}

/** The part of the present cluster that the rehearsal depends on. @throws Refused | Error when something cannot be read */
export async function sceneOf(session: Session, changes: readonly Change[]): Promise<Scene> {
  const { api, facts } = session;
  const stored = async ({ API_VERSION, PLURAL, KIND }: { readonly API_VERSION: string; readonly PLURAL: string; readonly KIND: string }) =>
    ((await api.list(`/apis/${API_VERSION}/${PLURAL}`)) ?? []).map((object) => ({ kind: KIND, ...(object as Stored) }));
  const objects = (await Promise.all(POOLS.map(stored))).flat().sort(byAge);
  const policies = (await Promise.all(POLICIES.map(stored))).flat().sort(byAge);
  const allPolicies = [...policies, ...changes.filter(isPolicy)];
  const wishes = objects.map((object) => ({ ...wishOf(object), spec: pinned(object), status: (object.status ?? {}) as Json }));
  const all = [...wishes, ...changes.filter(isPool)];
  const nodes = await facts.nodes();
  const services = new Map<string, ObservedService>();
  for (const { namespace, name } of all.filter(({ kind }) => kind === routedIPs.KIND).map((wish) => serviceOf(wish.namespace, wish.spec))) {
    const service = services.has(`${namespace}/${name}`) ? null : await facts.service(namespace, name);
    if (service) services.set(`${namespace}/${name}`, service);
  }
  const vips = needsGroups(allPolicies, changes) ? await vipSceneOf(session, changes) : null;
  const isAsked = ({ spec }: { readonly spec?: unknown }): boolean => fields(spec).namespaceSelector !== undefined || isWithoutSecret(spec);
  const selecting = [...allPolicies, ...(vips?.groups ?? []), ...changes].some(isAsked);
  const wantsPods = all.some(({ spec }) => text(fields(fields(spec).match).podLabel) || text(fields(fields(spec).match).podNamespace));
  return {
    nodes,
    pods: wantsPods ? await facts.pods(null) : [],
    machines: objects.flatMap(({ status }) => waitedFor(status)),
    services,
    policies: policies.map(wishOf),
    wishes,
    addresses: addressesOf(objects, changes.filter(isPool), nodes),
    zones: [...new Set(all.flatMap(({ spec }) => text(fields(fields(spec).dnsRecordSet).zone) || []))].sort(),
    vips,
    namespaces: new Map(((selecting && (await api.list('/api/v1/namespaces'))) || []).map(labelled)),
    firewalls: [...new Set(allPolicies.flatMap(({ spec }) => text(fields(spec).routedIPFirewallName) || []))].sort(),
  };
}

const labelled = (object: unknown): readonly [string, Readonly<Record<string, string>>] => {
  const { name, labels } = fields(fields(object).metadata);
  return [text(name), Object.fromEntries(Object.entries(fields(labels)).map(([key, value]) => [key, text(value)]))];
};

/** An issuer that depends on whether its namespace may use the operator's credentials. */
const isWithoutSecret = (spec: unknown): boolean => fields(spec).issuerClass !== undefined && fields(spec).fromSecretsRef === undefined;

const isPool = ({ kind }: Wish): boolean => POOLS.some(({ KIND }) => KIND === kind);

/** Whether anything about IPGroups can differ: there are many Services, which not every user may list. */
const needsGroups = (policies: readonly { readonly spec?: unknown }[], changes: readonly Change[]): boolean =>
  changes.some(({ kind }) => kind === ipGroups.KIND || kind === SERVICE) ||
  (changes.some((change) => change.kind === routedIPs.KIND || isPolicy(change)) &&
    policies.some(({ spec }) => text(fields(spec).ipGroup) !== ''));

type Kinded = Stored & { readonly kind: string };

const byAge = (a: Stored, b: Stored): number =>
  text(a.metadata.creationTimestamp).localeCompare(text(b.metadata.creationTimestamp)) || a.metadata.name.localeCompare(b.metadata.name);

const wishOf = ({ kind, metadata, spec }: Kinded): Wish => ({
  kind,
  uid: metadata.uid ?? '',
  namespace: metadata.namespace ?? '',
  name: metadata.name,
  spec: (spec ?? {}) as Json,
  annotations: ownAnnotations(metadata.annotations),
});

/** A RoutedIP asks for the address that it has, so that the rehearsal does not create a second one. */
const pinned = ({ spec, status }: Kinded): Json => {
  const bound = text(fields(status).routedIP);
  return (bound === '' ? (spec ?? {}) : { ...fields(spec), routedIP: bound }) as Json;
};

/** The machines of a safe hold. */
const waitedFor = (status: unknown): readonly ProviderID[] => {
  const { nodes } = fields(fields(status).safeHold);
  return (Array.isArray(nodes) ? nodes : []).flatMap((node) => (text(fields(node).providerID) || []) as ProviderID | []);
};

/** A changed RoutedIP keeps its address, too. */
export const keepingAddress = (change: Wish, { wishes }: Scene): Wish => {
  const former = wishes.find((wish) => keyOf(wish) === keyOf(change));
  const bound = change.kind === routedIPs.KIND ? text(fields(former?.spec).routedIP) : '';
  return bound === '' || text(fields(change.spec).routedIP)
    ? change
    : { ...change, spec: { ...fields(change.spec), routedIP: bound } as Json };
};

/** Where the addresses are, by the status of their owners; those in no status are unattached. */
function addressesOf(objects: readonly Kinded[], changes: readonly Wish[], nodes: readonly ObservedNode[]): Scene['addresses'] {
  const found = new Map<string, { readonly region: string; readonly providerID: ProviderID | null }>();
  const put = (address: string, region: string, providerID: string): void => {
    const node = nodes.find((each) => each.providerID === providerID);
    const place = { region: region || (node?.region ?? ''), providerID: (providerID || null) as ProviderID | null };
    if (!found.get(address)?.providerID) found.set(address, place);
  };
  for (const { spec, status } of objects) {
    for (const [address, entry] of Object.entries(fields(fields(status).ips)))
      put(address, text(fields(spec).region), text(fields(entry).providerID));
    const { routedIP, providerID } = fields(status);
    if (text(routedIP)) put(text(routedIP), '', text(providerID));
  }
  for (const { spec } of [...objects, ...changes]) {
    const { ips, routedIP, region } = fields(spec);
    for (const address of [...(Array.isArray(ips) ? ips : []), routedIP].map(text))
      if (address && !found.has(address)) put(address, text(region), '');
  }
  return [...found].flatMap(([key, place]) => {
    const address = parseAddress(key);
    return address ? [{ address, ...place }] : [];
  });
}
