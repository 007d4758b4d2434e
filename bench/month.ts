import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { Month, type Stored } from '../test/support/month.ts';
import type { Figure } from './figures.ts';
import type { Measured, Plan } from './scenario.ts';

const DAYS = { full: 30, round: 10, quick: 5 } as const;
/** By then each kind of object, of failure and of change of leader was there once, and what is done often is compiled. */
const SETTLED = 4;
const MB = 1e6;

/** What is stored, and the heap, after days on which objects of all kinds came and went: with what stands all the time as it was in the beginning. */
export async function month({ extent }: Plan): Promise<Measured> {
  const days = DAYS[extent];
  const collect = collector();
  const world = new Month();
  await world.begin();
  let before: Weight | null = null;
  for (let day = 1; day <= days; day += 1) {
    await world.day();
    if (day === SETTLED) before = await weigh(world, collect);
  }
  const after = await weigh(world, collect);
  if (before === null) throw new Error('nothing was weighed');
  return {
    conditions: [
      `${days} virtual days in memory; each day a pool, two RoutedIPs, a class, an issuer with an account and a firewall, a NodeDNSRecordSet, a Service, a VirtualIP and their nodes come, lose two nodes, are led by another process or under another term, and go`,
      `one of each stays; compared are day ${SETTLED} and day ${days}, with the heap of the world around the operators`,
    ],
    figures: [
      ...storedFigures(before, after),
      { what: `heap, day ${SETTLED}`, value: before.heap / MB, unit: 'MB' },
      heapFigure(before, after),
    ],
  };
}

interface Weight {
  readonly stored: Stored;
  readonly heap: number;
}

async function weigh(world: Month, collect: () => void): Promise<Weight> {
  collect();
  return { stored: await world.stored(), heap: process.memoryUsage().heapUsed };
}

function storedFigures({ stored: before }: Weight, { stored: after }: Weight): readonly Figure[] {
  const same = (what: string, read: (stored: Stored) => number): Figure => ({
    what: `${what}, more than on day ${SETTLED}`,
    value: Math.max(0, read(after) - read(before)),
    unit: '',
    target: { exactly: 0 },
  });
  return [
    same('cells', ({ cells }) => cells),
    same('records', ({ records }) => records),
    same('commands in outboxes', ({ commands }) => commands),
    same('senders that cells remember', ({ senders }) => senders),
    same('claims', ({ claims }) => claims),
    same('queues', ({ queues }) => queues),
    { what: 'jobs kept', value: after.jobs, unit: '' },
    { what: 'transitions in journals (200 a cell at most)', value: after.transitions, unit: '' },
  ];
}

const heapFigure = ({ heap: before }: Weight, { heap: after }: Weight): Figure => ({
  what: 'heap, more than then',
  value: Math.max(0, after - before) / MB,
  unit: 'MB',
  target: { atMost: 3 },
});

/** Collects all garbage: the flag may be set while the process runs, for contexts that are made after it. */
function collector(): () => void {
  setFlagsFromString('--expose-gc');
  return runInNewContext('gc') as () => void;
}
