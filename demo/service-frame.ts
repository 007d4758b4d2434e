import type { Line } from './line.ts';
import { columns } from './routed-frame.ts';
import type { ServiceRow } from './service-view.ts';
import { coarseSpan } from './time.ts';
import type { View } from './view.ts';

/** The Services and their addresses, or why they have none. */
export const serviceTable = ({ services }: Pick<View, 'services'>, at: number): readonly Line[] =>
  columns(
    ['SERVICE', 'EXTERNAL-IP', 'SINCE', ''],
    services.map((row) => [row.name, addressCell(row), coarseSpan(at - row.since), { text: row.why, style: 'bad' }]),
    4,
  );

const addressCell = ({ address }: ServiceRow) =>
  address === '' ? { text: '<pending>', style: 'busy' as const } : { text: address, style: 'good' as const };
