import type { Line, Span, Style } from './line.ts';
import type { HostRow } from './routed-view.ts';
import type { TrafficRow } from './traffic.ts';
import type { NodeRow, View } from './view.ts';

type Cell = string | Span;
type Row = readonly Cell[];

const textOf = (cell: Cell): string => (typeof cell === 'string' ? cell : cell.text);

/** Rows below titles, in columns: from the column `figures` on they are figures. */
export function columns(titles: readonly string[], rows: readonly Row[], figures: number): readonly Line[] {
  const widths = titles.map((title, index) => Math.max(title.length, ...rows.map((row) => textOf(row[index] ?? '').length)));
  const lineOf = (row: Row, style: Style): Line =>
    row.map((cell, index) => {
      const [text, width] = [textOf(cell), widths[index] ?? 0];
      const padded = index < figures ? text.padEnd(width) : text.padStart(width);
      return { text: `${padded}${index === row.length - 1 ? '' : '   '}`, style: typeof cell === 'string' ? style : cell.style };
    });
  return [lineOf(titles, 'dim'), ...rows.map((row) => lineOf(row, 'plain'))];
}

/** The nodes that serve the RoutedIP: what is open there and where the address is. */
export const hostTable = ({ hosts, nodes }: View): readonly Line[] =>
  columns(
    ['NODE', 'OPEN', 'ADDRESS', ''],
    hosts.map((host) => [host.name, openCell(host), addressCell(host), conditionCell(nodes.find(({ name }) => name === host.name))]),
    4,
  );

function openCell({ open, changing }: HostRow): Cell {
  const ports = open.join(' ') || 'all';
  return changing === '' ? ports : { text: `${ports} (${changing})`, style: 'busy' };
}

function addressCell({ address, moving }: HostRow): Cell {
  if (address === '') return { text: '-', style: 'dim' };
  return moving === '' ? { text: address, style: 'good' } : { text: `(${moving})`, style: 'busy' };
}

function conditionCell(node: NodeRow | undefined): Cell {
  if (node?.ready === false) return { text: 'NotReady', style: 'bad' };
  return node?.cordoned ? { text: 'cordoned', style: 'busy' } : '';
}

/** How the connections to each port ended. */
export const trafficTable = ({ traffic }: View): readonly Line[] =>
  columns(
    ['CONNECTIONS TO', 'NOW', 'ANSWERED', 'IN TRANSIT', 'NODE DOWN', 'REFUSED'],
    traffic.map((row) => [
      `${row.address}:${row.port}`,
      nowCell(row),
      ...[row.answered, row.inTransit, row.nodeDown].map(String),
      // Where nothing was ever answered the port is not meant to be open.
      { text: String(row.refused), style: row.refused > 0 && row.answered > 0 ? 'bad' : 'plain' },
    ]),
    2,
  );

const nowCell = ({ by, answered }: TrafficRow): Cell =>
  by === '' ? { text: 'nobody', style: answered > 0 ? 'bad' : 'dim' } : { text: by, style: 'good' };
