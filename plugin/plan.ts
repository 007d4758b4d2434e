import * as ipGroups from '../crds/generated/ipgroup.ts';
import type { Difference } from '../machines/model/types.ts';
import { parseGroup } from '../machines/vip/ip-group.ts';
import { fields, text } from './fields.ts';
import { journalPath } from './journal.ts';
import { changesIn, SERVICE } from './manifest.ts';
import { waitsFor } from './new-services.ts';
import { EXIT, type ExitCode, type Session } from './ports.ts';
import { REHEARSED_MS, rehearse } from './rehearsal.ts';
import { keepingAddress, sceneOf } from './scene.ts';
import { called, keyOf, type Scene, type Snapshot, type Wish } from './stage.ts';
import { allocatedIn } from './stage-vips.ts';
import { age, data, table } from './table.ts';

interface Planned {
  readonly differences: readonly Difference[];
  /** What the operator does by itself, without the manifest. */
  readonly anyway: readonly Difference[];
  /** What would be wrong after the change, one line each. */
  readonly troubles: readonly string[];
  /** What is not known yet, and why, one line each. */
  readonly unknown: readonly string[];
}

/** `kubectl routedip plan -f file`: rehearses the operator with and without the manifest. Nothing is written, no provider is called. Without a file it prints what an
 *  observe-only operator would do. */
export async function plan(session: Session, { file }: { readonly file: string | null }): Promise<ExitCode> {
  if (file === null) return withheld(session);
  const changes = changesIn(session.read(file), session.namespace ?? 'default');
  const scene = await sceneOf(session, changes);
  const { without, applied } = await rehearse(
    scene,
    changes.map((change) => keepingAddress(change, scene)),
    session.now,
  );
  const planned = planOf(scene, changes, without, applied);
  session.out(data(session, planned) ?? planText(planned, changes));
  return planned.differences.length + planned.troubles.length + planned.unknown.length === 0 ? EXIT.ok : EXIT.attention;
}

/** @throws Error when no such operator is reached */
async function withheld(session: Session): Promise<ExitCode> {
  const answer = (await session.api.get(journalPath(session, 'plan'))) as { readonly differences?: readonly Difference[] } | null;
  if (!answer?.differences)
    throw new Error(
      'no operator that only observes tells its plan: run one with --observe and --journal-bind-addr=:8084, or name a manifest by -f',
    );
  const { differences } = answer;
  const text = differences.length === 0 ? ['The operator only observes, and would do nothing.'] : [OBSERVES, '', ...rowsOf(differences)];
  session.out(data(session, { differences }) ?? text);
  return differences.length === 0 ? EXIT.ok : EXIT.attention;
}

const OBSERVES = 'The operator only observes. It would do this:';

const rowsOf = (all: readonly Difference[]): readonly string[] =>
  table(
    ['WHAT', 'OF', 'FROM', 'TO'],
    all.map(({ what, subject, from, to }) => [what, subject, from ?? '', to ?? '']),
  );

/** Compares the two end states of a rehearsal, and the one without the manifest with the present state. */
export function planOf(scene: Scene, changes: readonly Wish[], without: Snapshot, applied: Snapshot): Planned {
  const nodeOf = (providerID: string | null): string | null =>
    scene.nodes.find((node) => node.providerID === providerID)?.name ?? providerID;
  const places = (addresses: readonly { readonly address: string; readonly providerID: string | null }[]) =>
    new Map(addresses.map(({ address, providerID }) => [address, nodeOf(providerID)]));
  const [now, anyway, end] = [places(scene.addresses), places(without.addresses), places(applied.addresses)];
  const waiting = (change: Wish) => waitsFor(scene, changes, change);
  const troublesOf = (change: Wish) => troubleOf(change, applied, waiting(change) !== null);
  const begun = scene.vips ? allocatedIn(scene.vips.services, scene.vips.ips) : new Map<string, string>();
  return {
    differences: [
      ...moves(anyway, end, applied.allocated),
      ...left(without, applied, end),
      ...allocations(without.allocated, applied.allocated),
      ...ports(without, applied),
      ...records(without, applied),
    ],
    anyway: [...moves(now, anyway, without.allocated), ...allocations(begun, without.allocated)],
    troubles: changes.flatMap(troublesOf),
    unknown: changes.flatMap((change) => (troublesOf(change).length === 0 && waiting(change)) || []),
  };
}

type Places = ReadonlyMap<string, string | null>;

/** An address that did not exist is created, unless it is of an IPGroup. */
const moves = (from: Places, to: Places, allocated: Snapshot['allocated']): readonly Difference[] =>
  [...to].sort().flatMap(([address, node]): Difference[] => {
    if (!from.has(address) && !allocated.has(address)) return [{ what: 'create', subject: 'a new address', from: null, to: node }];
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

/** Addresses no longer managed: they stay where they are. */
function left(before: Snapshot, after: Snapshot, places: Places): readonly Difference[] {
  const still = managed(after);
  return [...managed(before)]
    .filter((address) => !still.has(address) && places.has(address))
    .sort()
    .map((address) => ({ what: 'leave', subject: address, from: places.get(address) ?? null, to: places.get(address) ?? null }));
}

/** Addresses of IPGroups that go from one owner to another. */
function allocations(from: Snapshot['allocated'], to: Snapshot['allocated']): readonly Difference[] {
  const changed = [...new Set([...from.keys(), ...to.keys()])].filter((address) => from.get(address) !== to.get(address)).sort();
  const had = changed.flatMap((subject): Difference[] =>
    from.has(subject) ? [{ what: 'release', subject, from: from.get(subject) ?? null, to: null }] : [],
  );
  const has = changed.flatMap((subject): Difference[] =>
    to.has(subject) ? [{ what: 'allocate', subject, from: null, to: to.get(subject) ?? null }] : [],
  );
  return [...had, ...has];
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

/** Troubles that end as soon as the Service that it leads to has endpoints. */
const FOR_NOW = ['ServiceNotFound', 'NoEligibleNode'];

function troubleOf(change: Wish, { conditions, refusals }: Snapshot, isWaiting: boolean): readonly string[] {
  if (change.kind === ipGroups.KIND) {
    const group = parseGroup(change.name, change.spec);
    return group.kind === 'Invalid' ? [`${called(change)}: ${group.reason}: ${group.message}`] : [];
  }
  if (change.kind === SERVICE) {
    const refusal = refusals.get(keyOf(change));
    return refusal === undefined ? [] : [`${called(change)}: ${refusal}`];
  }
  const all = conditions[keyOf(change)] ?? [];
  const wrong = all.find(({ type, status }) => type === 'Degraded' && status === 'True');
  return wrong && !(isWaiting && FOR_NOW.includes(wrong.reason)) ? [`${called(change)}: ${wrong.reason}: ${wrong.message}`] : [];
}

function planText({ differences, anyway, troubles, unknown }: Planned, changes: readonly Wish[]): readonly string[] {
  const applied = changes.map(called).join(', ');
  return [
    differences.length === 0
      ? `${unknown.length === 0 ? 'Nothing' : 'As far as it can be told now, nothing'} would move if ${applied} were applied.`
      : `If ${applied} were applied, within ${age(REHEARSED_MS)}:`,
    ...(differences.length === 0 ? [] : ['', ...rowsOf(differences)]),
    ...(anyway.length === 0 ? [] : ['', 'Without it, the operator is about to do this:', '', ...rowsOf(anyway)]),
    ...(troubles.length === 0 ? [] : ['', 'What would be wrong then:', ...troubles]),
    ...(unknown.length === 0 ? [] : ['', 'What cannot be told yet:', ...unknown]),
  ];
}
