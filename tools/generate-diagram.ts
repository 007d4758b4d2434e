import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { AnyStateMachine, AnyStateNode, AnyTransitionDefinition } from 'xstate';
import { parse } from 'yaml';
import { ipMachine } from '../machines/address/address.machine.ts';
import { recordSetMachine } from '../machines/dns/record-set.machine.ts';
import { zoneMachine } from '../machines/dns/zone.machine.ts';
import { firewallMachine } from '../machines/firewall/firewall.machine.ts';
import { virtualIPMachine } from '../machines/migration/migration.machine.ts';
import { FLIPOP_BACKOFF } from '../machines/model/backoff.ts';
import { poolMachine } from '../machines/pool/pool.machine.ts';
import { verificationMachine } from '../machines/verification/verification.machine.ts';
import { vipServiceMachine } from '../machines/vip/service.machine.ts';
import { type Chart, type ChartNotes, pageOf } from './chart-page.ts';
import type { ChartNode, Transition } from './chart-tree.ts';
import { type GeneratedFile, generate } from './generated-files.ts';

const ROOT = join(import.meta.dirname, '..');

/** A chart needs its figures to be built; none of them shows in the picture. */
const SETTINGS = { backoff: FLIPOP_BACKOFF, callDeadlineMs: 15_000, verifyEveryMs: 300_000, orphanDoubtMs: 60_000 };

/** Every chart of machines/. */
const MACHINES: readonly { readonly file: string; readonly machine: AnyStateMachine }[] = [
  { file: 'machines/address/address.machine.ts', machine: ipMachine(SETTINGS) },
  { file: 'machines/pool/pool.machine.ts', machine: poolMachine(SETTINGS) },
  { file: 'machines/firewall/firewall.machine.ts', machine: firewallMachine(SETTINGS) },
  { file: 'machines/verification/verification.machine.ts', machine: verificationMachine(SETTINGS) },
  { file: 'machines/dns/record-set.machine.ts', machine: recordSetMachine(SETTINGS) },
  { file: 'machines/dns/zone.machine.ts', machine: zoneMachine(SETTINGS) },
  { file: 'machines/vip/service.machine.ts', machine: vipServiceMachine(SETTINGS) },
  { file: 'machines/migration/migration.machine.ts', machine: virtualIPMachine(SETTINGS) },
];

/** What a name in a chart says: itself, or the type of an object with parameters. */
const nameOf = (named: unknown): string => {
  if (typeof named === 'string') return named;
  if (typeof named === 'object' && named !== null && 'type' in named && typeof named.type === 'string') return named.type;
  throw new Error('a chart names its guards, actions and jobs; this one holds a function in place');
};

/** The engine's own event types, as people say them. */
const eventOf = (type: string): string => {
  if (type === '') return 'at once';
  const [, kind, ...rest] = type.startsWith('xstate.') ? type.split('.') : [];
  if (kind === undefined) return type;
  if (kind === 'done' && rest[0] === 'actor') return `${rest[1]} done`;
  if (kind === 'error' && rest[0] === 'actor') return `${rest[1]} failed`;
  if (kind === 'after') return `after ${rest[0]}`;
  return `${kind} of ${rest.join('.')}`;
};

const transitionOf = (definition: AnyTransitionDefinition, index: number): Transition => ({
  event: eventOf(definition.eventType),
  guard: definition.guard === undefined ? null : nameOf(definition.guard),
  otherwise: index > 0,
  target: definition.target?.[0]?.id ?? null,
  actions: definition.actions.map(nameOf),
});

/** As the chart says it: the engine adds the start of each timer to its own list. */
const entryOf = (node: AnyStateNode): readonly string[] => {
  const { entry } = node.config;
  if (entry === undefined) return [];
  return Array.isArray(entry) ? entry.map(nameOf) : [nameOf(entry)];
};

const kindOf = (node: AnyStateNode): ChartNode['kind'] => (node.type === 'history' ? 'atomic' : node.type);

const chartNodeOf = (node: AnyStateNode): ChartNode => ({
  id: node.id,
  key: node.key,
  kind: kindOf(node),
  description: node.description ?? '',
  initial: node.type === 'compound' ? (node.initial.target[0]?.id ?? null) : null,
  jobs: node.invoke.map(({ src }) => nameOf(src)),
  entry: entryOf(node),
  transitions: [...(node.always ?? []).map(transitionOf), ...[...node.transitions.values()].flatMap((each) => each.map(transitionOf))],
  children: Object.values(node.states).map(chartNodeOf),
});

/** The charts with what people wrote about them. @throws Error when tools/state-notes.yaml has nothing about one */
export const charts = (): readonly Chart[] => {
  const written: Readonly<Record<string, ChartNotes>> = parse(readFileSync(join(ROOT, 'tools/state-notes.yaml'), 'utf8'));
  return MACHINES.map(({ file, machine }) => {
    const notes = written[machine.id];
    if (!notes) throw new Error(`tools/state-notes.yaml says nothing about ${machine.id}`);
    return { file, root: chartNodeOf(machine.root), notes };
  });
};

/** docs/states.md as it should be. */
export const statesPage = (): GeneratedFile => ({ path: join(ROOT, 'docs/states.md'), text: pageOf(charts()) });

if (import.meta.main) process.exitCode = generate([statesPage()], process.argv.slice(2));
