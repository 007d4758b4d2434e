import * as pools from '../crds/generated/floatingippool.ts';
import * as routedIPs from '../crds/generated/routedip.ts';
import { EVACUATE, MOVE_TO, UNASSIGNED } from '../machines/model/types.ts';
import { PAUSED } from '../machines/pool/annotations.ts';
import { gather } from './objects.ts';
import { type Owner, ownersOf, ownerText } from './owners.ts';
import { Changed, EXIT, type ExitCode, Refused, type Session } from './ports.ts';
import { data } from './table.ts';

const EVACUATED = 'routedip.io/Evacuated';

interface Marked {
  readonly metadata: {
    readonly name: string;
    readonly resourceVersion?: string;
    readonly annotations?: Readonly<Record<string, string>>;
  };
}

interface NodeObject extends Marked {
  readonly status?: { readonly conditions?: readonly { readonly type: string; readonly status: string; readonly message?: string }[] };
}

/** Writes one annotation, null to remove it, unless the object was written since it was read. @throws Refused | Changed */
async function mark({ api }: Session, path: string, object: Marked, annotation: string, value: string | null): Promise<void> {
  const { resourceVersion } = object.metadata;
  const metadata = { ...(resourceVersion !== undefined && { resourceVersion }), annotations: { [annotation]: value } };
  try {
    await api.patch(path, { metadata });
  } catch (error) {
    if (!(error instanceof Changed)) throw error;
    throw new Error(`somebody has changed ${object.metadata.name} just now: nothing was written, run it again`, { cause: error });
  }
}

const told = (session: Session, text: string, about: object): ExitCode => {
  session.out(data(session, { ...about, text }) ?? [text]);
  return EXIT.ok;
};

const pathOf = ({ API_VERSION, PLURAL }: { readonly API_VERSION: string; readonly PLURAL: string }, namespace: string, name: string) =>
  `/apis/${API_VERSION}/namespaces/${encodeURIComponent(namespace)}/${PLURAL}/${encodeURIComponent(name)}`;

// ---------------------------------------------------------------- move

/** `kubectl routedip move <address> --to <node>` */
export async function move(session: Session, { address, to }: { readonly address: string; readonly to: string }): Promise<ExitCode> {
  const owner = await ownerOf(session, address);
  await checkNode(session, to);
  const { name, namespace = 'default', annotations } = owner.object.metadata;
  const path = pathOf(owner.kind === 'routedip' ? routedIPs : pools, namespace, name);
  const value = owner.kind === 'routedip' ? to : withMove(annotations?.[MOVE_TO] ?? '', address, to);
  await mark(session, path, owner.object, MOVE_TO, value);
  const text = `${address} of ${ownerText(owner)} is asked to move to ${to}; kubectl routedip status ${address} -n ${namespace} shows where it is`;
  return told(session, text, { kind: owner.kind, namespace, name, annotations: { [MOVE_TO]: value } });
}

/** @throws Error */
async function ownerOf(session: Session, address: string): Promise<Owner> {
  const { objects, problems } = await gather(session, ['pools', 'routedIPs']);
  const [owner] = ownersOf(objects, address);
  if (!owner) throw new Error([...problems, `no FloatingIPPool and no RoutedIP that can be seen has ${address}`].join('; '));
  return owner;
}

/** Rejects a node that does not exist. A user who may not read nodes is believed. */
async function checkNode({ api, problem }: Session, name: string): Promise<void> {
  try {
    if ((await api.get(`/api/v1/nodes/${encodeURIComponent(name)}`)) === null) throw new Error(`there is no node ${name}`);
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    problem(`whether there is a node ${name} is not known: ${error.message}`);
  }
}

/** `203.0.113.1=a,203.0.113.2=b`, with this move replacing the address's former one. */
export const withMove = (value: string, address: string, to: string): string => {
  const others = value
    .split(',')
    .map((each) => each.trim())
    .filter((each) => each !== '' && each.slice(0, each.indexOf('=')) !== address);
  return [...others, `${address}=${to}`].join(',');
};

// ---------------------------------------------------------------- unassign

export interface Unassign {
  readonly address: string;
  readonly by?: string;
  readonly undo?: boolean;
}

/** `kubectl routedip unassign <address>` */
export async function unassign(session: Session, { address, by, undo = false }: Unassign): Promise<ExitCode> {
  const owner = await ownerOf(session, address);
  const { name, namespace = 'default', annotations } = owner.object.metadata;
  const isRoutedIP = owner.kind === 'routedip';
  const before = annotations?.[UNASSIGNED] ?? '';
  const who = undo ? undefined : nameOf(by ?? (await session.facts.user()));
  const value = withPark(before, isRoutedIP ? 'true' : address, who);
  const about = { kind: owner.kind, namespace, name, annotations: { [UNASSIGNED]: value } };
  if (undo && !before) return told(session, `${address} of ${ownerText(owner)} is not kept off nodes`, about);
  await mark(session, pathOf(isRoutedIP ? routedIPs : pools, namespace, name), owner.object, UNASSIGNED, value);
  const text = undo
    ? `${address} of ${ownerText(owner)} is granted a node again`
    : `${address} of ${ownerText(owner)} is to leave its node, and stays on none until kubectl routedip unassign ${address} --undo`;
  return told(session, text, about);
}

/** Sanitized for the annotation; null when nothing is left. */
const nameOf = (by: string | null): string | null =>
  (by ?? '')
    .replaceAll(/[^\x20-\x7e]|,/g, ' ')
    .trim()
    .slice(0, 100) || null;

/** `203.0.113.1=alice,203.0.113.2`, with this entry replacing the former one; without it when `by` is undefined. Null for nothing. */
const withPark = (value: string, what: string, by: string | null | undefined): string | null => {
  const others = value
    .split(',')
    .map((each) => each.trim())
    .filter((each) => each !== '' && each.split('=', 1)[0]?.trim() !== what);
  const named = by === undefined ? [] : [by === null ? what : `${what}=${by}`];
  return [...others, ...named].join(',') || null;
};

// ---------------------------------------------------------------- pause, resume

/** `kubectl routedip pause <pool>` */
export const pause = (session: Session, { object }: { readonly object: string }): Promise<ExitCode> => setPaused(session, object, 'true');
/** `kubectl routedip resume <pool>` */
export const resume = (session: Session, { object }: { readonly object: string }): Promise<ExitCode> => setPaused(session, object, null);

async function setPaused(session: Session, text: string, value: 'true' | null): Promise<ExitCode> {
  const { namespace } = session;
  if (namespace === null) throw new Error('one object is paused or resumed at a time: say its namespace with -n');
  const [kind, name] = text.includes('/') ? text.split('/', 2) : ['floatingippool', text];
  if ((kind !== 'floatingippool' && kind !== 'routedip') || !name) {
    throw new Error(`"${text}" is neither a pool nor floatingippool/<name> nor routedip/<name>`);
  }
  const path = pathOf(kind === 'routedip' ? routedIPs : pools, namespace, name);
  const object = (await session.api.get(path)) as Marked | null;
  if (!object) throw new Error(`there is no ${kind}/${name} in namespace ${namespace}`);
  const about = { kind, namespace, name, annotations: { [PAUSED]: value } };
  const called = `${kind}/${name} in ${namespace}`;
  if ((object.metadata.annotations?.[PAUSED] ?? null) === value)
    return told(session, `${called} ${value ? 'is paused already' : 'is not paused'}`, about);
  await mark(session, path, object, PAUSED, value);
  const done = value
    ? `${called} is paused: nothing is decided for it until kubectl routedip resume ${text} -n ${namespace}`
    : `${called} goes on`;
  return told(session, done, about);
}

// ---------------------------------------------------------------- evacuate

export interface Evacuate {
  readonly node: string;
  readonly undo?: boolean;
  readonly wait?: boolean;
  /** Seconds. */
  readonly timeout: number;
}

const LOOK_MS = 1000;

/** `kubectl routedip evacuate <node>` */
export async function evacuate(session: Session, { node, undo = false, wait = false, timeout }: Evacuate): Promise<ExitCode> {
  const path = `/api/v1/nodes/${encodeURIComponent(node)}`;
  const object = (await session.api.get(path)) as NodeObject | null;
  if (!object) throw new Error(`there is no node ${node}`);
  const value = undo ? null : 'true';
  if ((object.metadata.annotations?.[EVACUATE] ?? null) !== value) await mark(session, path, object, EVACUATE, value);
  const about = { kind: 'node', name: node, annotations: { [EVACUATE]: value } };
  if (undo) return told(session, `node ${node} may hold addresses again`, about);
  if (!wait) {
    const text = `node ${node} is to be evacuated: kubectl wait node/${node} --for=condition=${EVACUATED} tells when no address is on it any more`;
    return told(session, text, about);
  }
  const last = await evacuated(session, path, timeout);
  if (last === null) return told(session, `node ${node} is evacuated`, { ...about, evacuated: true });
  session.problem(`node ${node} is not evacuated after ${timeout} s: ${last}`);
  session.out(data(session, { ...about, evacuated: false, text: last }) ?? []);
  return EXIT.attention;
}

/** Polls until the condition is True: null then, else its last message. Prints new messages meanwhile. */
async function evacuated(session: Session, path: string, timeout: number): Promise<string | null> {
  let last = 'no operator has said anything of it yet';
  for (let waited = 0; waited <= timeout * 1000; waited += LOOK_MS) {
    const node = (await session.api.get(path)) as NodeObject | null;
    if (!node) return null;
    const found = node.status?.conditions?.find(({ type }) => type === EVACUATED);
    if (found?.status === 'True') return null;
    const says = found?.message ?? last;
    if (says !== last) session.problem(says);
    last = says;
    await session.sleep(LOOK_MS);
  }
  return last;
}
