import { parseAllDocuments } from 'yaml';
import type { Json } from '../actors/ports.ts';
import * as classes from '../crds/generated/clusterroutedipclass.ts';
import * as pools from '../crds/generated/floatingippool.ts';
import * as recordSets from '../crds/generated/nodednsrecordset.ts';
import * as routedIPs from '../crds/generated/routedip.ts';
import * as issuers from '../crds/generated/routedipissuer.ts';
import { parseAddress } from '../machines/address.ts';
import { serviceOf } from '../machines/service.ts';
import type { ObservedNode, ObservedService, ProviderID } from '../machines/types.ts';
import { EXIT, type ExitCode, type Session } from './ports.ts';
import { keyOf, REHEARSED_MS, rehearse, type Scene, type Snapshot, type Wish } from './rehearsal.ts';
import { age, json, table } from './table.ts';

/** What would become of something. */
export interface Difference {
  readonly what: 'assign' | 'move' | 'create' | 'leave' | 'open' | 'close' | 'publish' | 'withdraw';
  /** An address, a port as `tcp/443`, or a record as `A work.example.com`. */
  readonly subject: string;
  readonly from: string | null;
  readonly to: string | null;
}

interface Planned {
  readonly differences: readonly Difference[];
  /** What the operator does by itself, without the manifest. */
  readonly anyway: readonly Difference[];
  /** What would be wrong then: one line each. */
  readonly troubles: readonly string[];
}

type Fields = Readonly<Record<string, unknown>>;
const fields = (value: unknown): Fields => (typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : {});
const text = (value: unknown): string => (typeof value === 'string' ? value : '');

const PLANNED = [pools, routedIPs, recordSets];
const UNPLANNED = 'Services, and what they get of IPGroups, are not rehearsed';

/** `kubectl routedip plan -f file`: rehearses the operator with and without the manifest. Nothing is written, no provider is asked. */
export async function plan(session: Session, { file }: { readonly file: string }): Promise<ExitCode> {
  const changes = changesIn(session.read(file), session.namespace ?? 'default');
  const scene = await sceneOf(session, changes);
  const { before, after } = await rehearse(
    scene,
    changes.map((change) => keepingAddress(change, scene)),
    session.now,
  );
  const planned = planOf(scene, changes, before, after);
  session.out(session.json ? json(planned) : planText(planned, changes));
  return planned.differences.length + planned.troubles.length === 0 ? EXIT.ok : EXIT.attention;
}

/** @throws Error for what is no YAML, or of a kind whose change is not rehearsed */
export function changesIn(content: string, namespace: string): readonly Wish[] {
  const objects = parseAllDocuments(content).flatMap((document) => {
    const [error] = document.errors;
    if (error) throw error;
    const value: unknown = document.toJS();
    return Array.isArray(fields(value).items) ? (fields(value).items as readonly unknown[]) : value ? [value] : [];
  });
  if (objects.length === 0) throw new Error('the manifest holds no object');
  return objects.map((object) => {
    const { kind, metadata, spec } = fields(object);
    const { name, namespace: own } = fields(metadata);
    if (!PLANNED.some(({ KIND }) => KIND === kind)) {
      throw new Error(
        `${text(kind) || 'something'} ${text(name)} cannot be planned: only ${PLANNED.map(({ KIND }) => KIND).join(', ')} can; ${UNPLANNED}`,
      );
    }
    if (!text(name)) throw new Error(`a ${text(kind)} in the manifest has no name`);
    const annotations = ownAnnotations(fields(metadata).annotations);
    return { kind: text(kind), namespace: text(own) || namespace, name: text(name), spec: (spec ?? {}) as Json, annotations };
  });
}

const ownAnnotations = (annotations: unknown): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Object.entries(fields(annotations)).flatMap(([key, value]) => (key.startsWith('routedip.io/') ? [[key, text(value)]] : [])),
  );

interface Stored {
  readonly metadata: {
    readonly annotations?: unknown;
    readonly name: string;
    readonly namespace?: string;
    readonly creationTimestamp?: string;
  };
  readonly spec?: unknown;
  readonly status?: unknown;
}

async function sceneOf({ api, facts }: Session, changes: readonly Wish[]): Promise<Scene> {
  const stored = async ({ API_VERSION, PLURAL, KIND }: { readonly API_VERSION: string; readonly PLURAL: string; readonly KIND: string }) =>
    ((await api.list(`/apis/${API_VERSION}/${PLURAL}`)) ?? []).map((object) => ({ kind: KIND, ...(object as Stored) }));
  const objects = (await Promise.all(PLANNED.map(stored))).flat().sort(byAge);
  const policies = (await Promise.all([classes, issuers].map(stored))).flat().sort(byAge);
  const wishes = objects.map((object) => ({ ...wishOf(object), spec: pinned(object) }));
  const all = [...wishes, ...changes];
  const nodes = await facts.nodes();
  const services = new Map<string, ObservedService>();
  for (const { namespace, name } of all.filter(({ kind }) => kind === routedIPs.KIND).map((wish) => serviceOf(wish.namespace, wish.spec))) {
    const service = services.has(`${namespace}/${name}`) ? null : await facts.service(namespace, name);
    if (service) services.set(`${namespace}/${name}`, service);
  }
  const wantsPods = all.some(({ spec }) => text(fields(fields(spec).match).podLabel) || text(fields(fields(spec).match).podNamespace));
  return {
    nodes,
    pods: wantsPods ? await facts.pods(null) : [],
    services,
    policies: policies.map(wishOf),
    wishes,
    addresses: addressesOf(objects, changes, nodes),
    zones: [...new Set(all.flatMap(({ spec }) => text(fields(fields(spec).dnsRecordSet).zone) || []))].sort(),
    firewalls: [...new Set(policies.flatMap(({ spec }) => text(fields(spec).routedIPFirewallName) || []))].sort(),
  };
}

type Kinded = Stored & { readonly kind: string };

const byAge = (a: Stored, b: Stored): number =>
  text(a.metadata.creationTimestamp).localeCompare(text(b.metadata.creationTimestamp)) || a.metadata.name.localeCompare(b.metadata.name);

const wishOf = ({ kind, metadata, spec }: Kinded): Wish => ({
  kind,
  namespace: metadata.namespace ?? '',
  name: metadata.name,
  spec: (spec ?? {}) as Json,
  annotations: ownAnnotations(metadata.annotations),
});

/** A RoutedIP asks for the address that it has: the rehearsal creates no second one. */
const pinned = ({ spec, status }: Kinded): Json => {
  const bound = text(fields(status).routedIP);
  return (bound === '' ? (spec ?? {}) : { ...fields(spec), routedIP: bound }) as Json;
};

/** One that is changed keeps its address, too. */
const keepingAddress = (change: Wish, { wishes }: Scene): Wish => {
  const former = wishes.find((wish) => keyOf(wish) === keyOf(change));
  const bound = change.kind === routedIPs.KIND ? text(fields(former?.spec).routedIP) : '';
  return bound === '' || text(fields(change.spec).routedIP)
    ? change
    : { ...change, spec: { ...fields(change.spec), routedIP: bound } as Json };
};

/** Where the addresses are, by the status of their owners; what no status tells of is attached to nothing. */
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

/** Compares the two ends of a rehearsal, and its beginning with what is seen now. */
export function planOf(scene: Scene, changes: readonly Wish[], before: Snapshot, after: Snapshot): Planned {
  const nodeOf = (providerID: string | null): string | null =>
    scene.nodes.find((node) => node.providerID === providerID)?.name ?? providerID;
  const places = (addresses: readonly { readonly address: string; readonly providerID: string | null }[]) =>
    new Map(addresses.map(({ address, providerID }) => [address, nodeOf(providerID)]));
  const [now, then, end] = [places(scene.addresses), places(before.addresses), places(after.addresses)];
  return {
    differences: [...moves(then, end), ...left(before, after, end), ...ports(before, after), ...records(before, after)],
    anyway: moves(now, then),
    troubles: changes.flatMap((change) => troubleOf(change, after)),
  };
}

type Places = ReadonlyMap<string, string | null>;

const moves = (from: Places, to: Places): readonly Difference[] =>
  [...to].sort().flatMap(([address, node]): Difference[] => {
    if (!from.has(address)) return [{ what: 'create', subject: 'a new address', from: null, to: node }];
    const former = from.get(address) ?? null;
    if (former === node) return [];
    return [{ what: former === null ? 'assign' : 'move', subject: address, from: former, to: node }];
  });

const managed = ({ status }: Snapshot): ReadonlySet<string> =>
  new Set(
    Object.values(status).flatMap((each) =>
      [...Object.keys(fields(fields(each).ips)), text(fields(each).routedIP)].filter((one) => one !== ''),
    ),
  );

/** Addresses that nobody looks after any more: they stay where they are. */
function left(before: Snapshot, after: Snapshot, places: Places): readonly Difference[] {
  const still = managed(after);
  return [...managed(before)]
    .filter((address) => !still.has(address))
    .sort()
    .map((address) => ({ what: 'leave', subject: address, from: places.get(address) ?? null, to: places.get(address) ?? null }));
}

/** Ports that the operator would have opened in a firewall, and those that it would have closed. */
function ports(before: Snapshot, after: Snapshot): readonly Difference[] {
  const openIn = ({ firewalls }: Snapshot, name: string) => firewalls.find((each) => each.name === name)?.ports ?? [];
  return after.firewalls.flatMap(({ name }) => {
    const [was, is] = [openIn(before, name), openIn(after, name)];
    const where = `firewall ${name}`;
    return [
      ...is.filter((port) => !was.includes(port)).map((subject): Difference => ({ what: 'open', subject, from: null, to: where })),
      ...was.filter((port) => !is.includes(port)).map((subject): Difference => ({ what: 'close', subject, from: where, to: null })),
    ];
  });
}

function records(before: Snapshot, after: Snapshot): readonly Difference[] {
  const texts = ({ zones }: Snapshot) =>
    new Map(
      zones.flatMap(({ name: zone, records: all }) =>
        all.map(
          ({ type, name, data }) =>
            [
              `${type} ${name === '@' ? zone : `${name}.${zone}`} ${data}`,
              { subject: `${type} ${name === '@' ? zone : `${name}.${zone}`}`, data },
            ] as const,
        ),
      ),
    );
  const [was, is] = [texts(before), texts(after)];
  const gone = [...was]
    .filter(([key]) => !is.has(key))
    .map(([, { subject, data }]): Difference => ({ what: 'withdraw', subject, from: data, to: null }));
  const come = [...is]
    .filter(([key]) => !was.has(key))
    .map(([, { subject, data }]): Difference => ({ what: 'publish', subject, from: null, to: data }));
  return [...gone, ...come];
}

function troubleOf(change: Wish, { conditions }: Snapshot): readonly string[] {
  const all = conditions[keyOf(change)] ?? [];
  const wrong = all.find(({ type, status }) => type === 'Degraded' && status === 'True');
  return wrong ? [`${change.kind} ${change.namespace}/${change.name}: ${wrong.reason}: ${wrong.message}`] : [];
}

function planText({ differences, anyway, troubles }: Planned, changes: readonly Wish[]): string {
  const rows = (all: readonly Difference[]) =>
    table(
      ['WHAT', 'OF', 'FROM', 'TO'],
      all.map(({ what, subject, from, to }) => [what, subject, from ?? '', to ?? '']),
    );
  const applied = changes.map((change) => `${change.kind} ${change.namespace}/${change.name}`).join(', ');
  return [
    differences.length === 0
      ? `Nothing would move if ${applied} were applied.`
      : `If ${applied} were applied, within ${age(REHEARSED_MS)}:`,
    ...(differences.length === 0 ? [] : ['', rows(differences)]),
    ...(anyway.length === 0 ? [] : ['', 'Without it, the operator is about to do this:', '', rows(anyway)]),
    ...(troubles.length === 0 ? [] : ['', 'What would be wrong then:', ...troubles]),
  ].join('\n');
}
