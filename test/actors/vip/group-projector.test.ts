import { expect, test } from 'vitest';
import { GroupProjector, type GroupView } from '../../../actors/vip/group-status.ts';
import { virtualClock } from '../../../adapters/memory/clock.ts';
import { parseGroup } from '../../../machines/vip/ip-group.ts';

const SPEC = { segment: '10.0.0.0/28', excludedIPs: ['10.0.0.0-10.0.0.5'] };

/** A group of ten addresses of which so many are in use. */
const groupWith = (used: bigint): GroupView => ({
  object: { ref: { kind: 'IPGroup', namespace: '', name: 'g', uid: 'u' }, generation: 1, deleting: false, spec: SPEC, status: null },
  group: parseGroup('g', SPEC),
  figures: { capacity: 10n, allocated: used, available: 10n - used },
  overlaps: [],
});

test('a group of which nine tenths are in use says so once, and anew when it comes to that again', async () => {
  const clock = virtualClock();
  const told: string[][] = [];
  let used = 8n;
  const project = ({ events }: { readonly events: readonly { readonly reason: string; readonly message: string }[] }): void =>
    void told.push(events.map(({ reason, message }) => `${reason}: ${message}`));
  const projector = new GroupProjector({
    clock,
    writer: { project, retract: () => Promise.resolve() },
    groups: () => [groupWith(used)],
    contended: () => new Map(),
  });
  const show = async (count: bigint): Promise<readonly string[] | undefined> => {
    used = count;
    projector.request();
    await clock.advance(1_000);
    return told.at(-1);
  };
  const nearly = ['NearlyFull: 90 % or more of 10 addresses are in use'];
  expect([await show(8n), await show(9n), await show(10n), await show(8n), await show(9n)]).toEqual([[], nearly, [], [], nearly]);
});
