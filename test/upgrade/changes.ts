import type { FaultSpec } from '../../simulator/digitalocean/faults.ts';
import { poolFailsOver, poolGrows, portChanges } from './acts.ts';
import type { Member } from './cast.ts';
import type { World } from './world.ts';

/** What becomes of a call that is under way when the leader ends: its answer is lost or late, or it is accepted and takes its time. */
const ASSIGNS: readonly FaultSpec[] = [
  { kind: 'slowAction', ms: 4_000 },
  { kind: 'hang', applied: true },
  { kind: 'resetAfter' },
  { kind: 'latency', ms: 1_200 },
];
const CREATIONS: readonly FaultSpec[] = [{ kind: 'hang', applied: true }, { kind: 'resetAfter' }, { kind: 'latency', ms: 1_200 }];

/** The leader ends while an address moves, one is created and a port changes; a process of its own version takes its place and follows. Answers that one, and what was under way. */
export async function changeOfLeader(world: World, leader: Member, next: Member, signal: 'SIGTERM' | 'SIGKILL') {
  const { faults } = world.routed.stage.cloud;
  const [assigned, created] = [world.oneOf(ASSIGNS), world.oneOf(CREATIONS)];
  const struck = [
    faults.add({ ...assigned, times: 1, match: { method: 'POST', path: '/actions$' } }),
    faults.add({ ...created, times: 1, match: { method: 'POST', path: '/v2/reserved_ips$' } }),
  ];
  const acts = Promise.all([
    world.act(`an address of a pool fails over, with its assign under way (${assigned.kind})`, () => poolFailsOver(world)),
    world.act(`a pool gets one more address, with its creation under way (${created.kind})`, () => poolGrows(world)),
    world.act('a Service has another port', () => portChanges(world)),
  ]);
  const changed = world.act(`${next.name} leads after ${leader.name}`, async () => {
    await world.until('both calls were received', () => struck.every(({ hits }) => hits > 0));
    world.mark({ kind: 'leader ends' });
    await world.cast.end(leader, signal);
    world.mark({ kind: 'leader ends' });
    await world.until(`${next.name} leads`, () => next.leads());
    // What it has sent last is answered by now, or will never be.
    world.mark({ kind: 'leader ends' });
  });
  const started = changed.then(() => world.cast.start(leader.version));
  const [follower] = await Promise.all([started, changed, acts]);
  for (const fault of struck) fault.remove();
  return { follower, underWay: `${signal} during assign: ${assigned.kind}, create: ${created.kind}` };
}
