import { cut, type Line, line, type Span, type Style } from './line.ts';
import { hostTable, trafficTable } from './routed-frame.ts';
import { serviceTable } from './service-frame.ts';
import { coarseSpan, span } from './time.ts';
import type { AddressRow, View } from './view.ts';

/** Something that happened, and how long after the start, ms. */
export interface Entry {
  readonly text: string;
  readonly elapsedMs: number;
}

export interface Scene {
  readonly title: string;
  readonly view: View;
  /** Oldest first. */
  readonly log: readonly Entry[];
  /** ms since the epoch */
  readonly startedAt: number;
  readonly now: number;
}

/** Rows of a terminal; the last one is left free for the cursor. */
export interface Size {
  readonly columns: number;
  readonly rows: number;
}

const BLANK: Line = [];

/** What the log gets at least where there is more to show than the window takes. */
const LOG_ROWS = 6;

/** All lines of the picture: the addresses, the nodes, and as much of the newest log as there is room for. */
export function frame(scene: Scene, { columns, rows }: Size): readonly Line[] {
  const title: Line = [
    { text: scene.title, style: 'strong' },
    { text: `   ${coarseSpan(scene.now - scene.startedAt)}`, style: 'dim' },
  ];
  const head = [title, BLANK, ...body(scene, rows - 2)];
  const room = Math.max(0, rows - 1 - head.length);
  const log =
    room === 0
      ? []
      : scene.log.slice(-room).map(
          ({ text, elapsedMs }): Line => [
            { text: `${stamp(elapsedMs)}  `, style: 'dim' },
            { text, style: 'plain' },
          ],
        );
  return [...head, ...log].slice(0, Math.max(1, rows - 1)).map((one) => cut(one, columns));
}

/** What there is to show; what is at rest says little, and is left out where the window is too small. */
function body({ view, now }: Scene, rows: number): readonly Line[] {
  const services = view.services.length > 0 ? [...serviceTable(view, now), BLANK] : [];
  const routed = [BLANK, ...routedLines(view)];
  const bodies = [
    [...table(view, now), BLANK, ...poolLines(view), ...routedLines(view), ...services],
    ...(view.routed === null ? [] : [[...table({ ...view, addresses: [] }, now), ...routed, ...services]]),
    ...(services.length === 0 ? [] : [services]),
  ];
  return bodies.find((one) => one.length + LOG_ROWS < rows) ?? bodies.at(-1) ?? [];
}

/** The time in front of a line of the log: seconds since the start, right-aligned. */
export const stamp = (elapsedMs: number): string => `${(elapsedMs / 1000).toFixed(3).padStart(8)} s`;

const poolLines = (view: View): readonly Line[] => {
  const nodes = view.nodes.filter(({ name }) => !view.hosts.some((host) => host.name === name));
  return nodes.length === 0 && view.hosts.length > 0 ? [] : [nodesLine({ ...view, nodes }), ...recordLine(view), BLANK];
};

const routedLines = (view: View): readonly Line[] => [
  ...(view.hosts.length > 0 ? [...hostTable(view), BLANK] : []),
  ...(view.traffic.length > 0 ? [...trafficTable(view), BLANK] : []),
];

function table({ addresses: ofPool, routed }: View, at: number): readonly Line[] {
  const addresses = routed === null ? ofPool : [...ofPool, { ...routed, address: routed.address || '(none yet)', machineState: '' }];
  const width = {
    address: widest('ADDRESS', addresses, ({ address }) => address),
    state: widest('STATE', addresses, stateOf),
    node: widest('NODE', addresses, nodeOf),
  };
  const row = (address: string, state: Span, node: string, since: Span): Line => [
    { text: `${address.padEnd(width.address)}   `, style: since.style === 'dim' ? 'dim' : 'plain' },
    { text: `${state.text.padEnd(width.state)}   `, style: state.style },
    { text: `${node.padEnd(width.node)}   `, style: since.style === 'dim' ? 'dim' : 'plain' },
    since,
  ];
  const rows = addresses.map((one) =>
    row(one.address, { text: stateOf(one), style: styleOf(one) }, nodeOf(one), { text: coarseSpan(at - one.since), style: 'plain' }),
  );
  return [
    row('ADDRESS', { text: 'STATE', style: 'dim' }, 'NODE', { text: 'SINCE', style: 'dim' }),
    ...(rows.length > 0 ? rows : [line('(none yet)', 'dim')]),
  ];
}

const widest = (title: string, rows: readonly AddressRow[], cell: (row: AddressRow) => string): number =>
  Math.max(title.length, ...rows.map((row) => cell(row).length));

const stateOf = ({ state, machineState }: AddressRow): string =>
  machineState === '' || machineState === 'Stable' ? state : `${state} (${machineState})`;

const nodeOf = ({ node }: AddressRow): string => node || '-';

function styleOf({ state }: Pick<AddressRow, 'state'>): Style {
  if (state === 'active' || state === 'Stable') return 'good';
  return ['error', 'no-match', 'CoolOff'].includes(state) ? 'bad' : 'busy';
}

function nodesLine({ nodes, assignable }: View): Line {
  if (nodes.length === 0) return line('no nodes yet', 'dim');
  return [
    { text: 'nodes  ', style: 'dim' },
    ...nodes.flatMap(({ name, ready, annotation }): Span[] => {
      const spare = assignable.includes(name) ? ' spare' : '';
      return [
        { text: name, style: ready ? 'plain' : 'bad' },
        { text: `${ready ? spare || (annotation && ` .${annotation.split('.').pop()}`) : ' NotReady'}   `, style: ready ? 'dim' : 'bad' },
      ];
    }),
  ];
}

function recordLine({ record }: View): readonly Line[] {
  if (record === null) return [];
  const listed = record.addresses.length > 0 ? record.addresses.join('  ') : '(nothing yet)';
  return [
    [
      { text: 'DNS    ', style: 'dim' },
      { text: `${record.name}   `, style: 'plain' },
      { text: listed, style: record.addresses.length > 0 ? 'good' : 'dim' },
    ],
  ];
}

/** What turns the picture `before`, with the cursor below it, into `after`, touching only the lines that differ. Empty when nothing does. */
export function redraw(before: readonly string[], after: readonly string[]): string {
  if (before.length === after.length && before.every((text, index) => text === after[index])) return '';
  const common = Math.min(before.length, after.length);
  const up = before.length === 0 ? '' : `\x1b[${before.length}A\r`;
  const kept = after.slice(0, common).map((text, index) => (text === before[index] ? '\n' : `\x1b[2K${text}\n`));
  const added = after.slice(common).map((text) => `\x1b[2K${text}\n`);
  return `${up}${kept.join('')}${added.join('')}${before.length > after.length ? '\x1b[0J' : ''}`;
}

/** The steps of something with the time of each, aligned: since the step before, and since the first one. */
export function timeline(steps: readonly { readonly what: string; readonly at: number }[]): readonly string[] {
  const first = steps[0]?.at ?? 0;
  const width = Math.max(0, ...steps.map(({ what }) => what.length));
  return steps.map(({ what, at }, index) => {
    const previous = steps[index - 1];
    const step = previous === undefined ? '' : `+${span(at - previous.at)}`;
    return `${what.padEnd(width)}  ${step.padStart(9)}  ${span(at - first).padStart(9)}`;
  });
}
