import { virtualIPChart } from '../../../actors/controllers/migration-chart.ts';
import type { MachineEvent } from '../../../actors/runtime/step.ts';
import type { VirtualIPContext, VirtualIPInput } from '../../../machines/migration/decisions.ts';
import { FLIPOP_BACKOFF } from '../../../machines/model/backoff.ts';
import { CLONE_FINALIZER, IP_FINALIZER, type Surroundings, type VirtualIP, type VirtualIPStatus } from '../../../machines/vip/virtualip.ts';
import { failure, START } from '../builders.ts';
import type { Telling } from '../explore.ts';
import { event } from '../pool/world.ts';

export const chart = virtualIPChart({ backoff: FLIPOP_BACKOFF });
export const INPUT: VirtualIPInput = { id: 'vvip/test/web' };
export const ADDRESS = '1.1.2.4';

const STATUS: VirtualIPStatus = {
  state: 'Valid',
  message: 'successfully allocated an IP address',
  ip: ADDRESS,
  service: 'web-service',
  keepalivedGroup: 'group2',
  gsm: 'keepalived-2',
  clonedService: 'web-keepalived-clone',
};

/** A Valid VirtualIP that nobody wants anything of; say what is different. */
export const vip = (change: Partial<Omit<VirtualIP, 'status'>> = {}, status: Partial<VirtualIPStatus> = {}): VirtualIP => ({
  ref: { kind: 'VirtualIP', namespace: 'test', name: 'web', uid: 'uid-web' },
  deleting: false,
  asked: false,
  finalizers: [IP_FINALIZER, CLONE_FINALIZER],
  service: 'web-service',
  ip: '',
  ...change,
  status: { ...STATUS, ...status },
});

/** All is as a Valid VirtualIP needs it. */
export const around = (change: Partial<Surroundings> = {}): Surroundings => ({
  service: { type: 'ClusterIP', ingress: [], loadBalancerIP: '' },
  clone: 'current',
  owner: 'VirtualIP',
  group: 'ipgroup-2',
  rival: null,
  ...change,
});

export const observed = (object: VirtualIP | null, surroundings: Partial<Surroundings> = {}): MachineEvent =>
  event('VIRTUAL_IP_OBSERVED', { vip: object, around: around(surroundings) });

export const done = (job: string, output: unknown = {}): MachineEvent => event(`xstate.done.actor.${job}`, { output });
export const failed = (job: string): MachineEvent => event(`xstate.error.actor.${job}`, { error: failure('NotFound') });

export const JOBS = ['reserve', 'expose', 'claim', 'reassociate', 'handOver', 'convert', 'assign', 'remove', 'release'] as const;

export const fresh = observed(
  vip({ finalizers: [] }, { state: '', ip: '', service: '', gsm: '', keepalivedGroup: '', clonedService: '' }),
  {
    clone: 'missing',
  },
);
export const valid = observed(vip());
export const asked = observed(vip({ asked: true }));
export const elsewhere = observed(vip({ service: 'other-service' }));
export const elsewhereAsked = observed(vip({ asked: true, service: 'other-service' }));
export const drifted = observed(vip(), { clone: 'drifted' });
export const askedAndDrifted = observed(vip({ asked: true }), { clone: 'drifted' });
export const deleted = observed(vip({ asked: true, deleting: true }));
export const gone = observed(null);
export const another = observed(vip({ ref: { ...vip().ref, uid: 'uid-2' } }));
const migrated = vip({ asked: true, finalizers: [] }, { state: 'Migrated', gsm: '', keepalivedGroup: '', clonedService: '' });
export const over = observed(migrated, { clone: 'missing', owner: 'Service' });
/** A request that created the copy took effect after it had been removed. */
export const copied = observed(migrated, { owner: 'Service' });
export const taken = observed(vip({ asked: true }), { service: { type: 'LoadBalancer', ingress: ['1.1.1.1'], loadBalancerIP: '' } });

export const reserved = done('reserve', { address: ADDRESS, gsm: 'keepalived-2', keepalivedGroup: 'group2' });
export const exposed = done('expose', { service: 'web-service', clone: 'web-keepalived-clone' });
/** Records that are older than the status do not know of it. */
export const begunBefore = done('expose', { service: 'web-service', clone: 'web-keepalived-clone', begun: true });
export const claimed = done('claim', { kind: 'claimed' });
export const blocked = done('claim', { kind: 'loadBalancer' });
export const rivalled = done('claim', { kind: 'rival', name: 'older' });
export const withdrawn = done('claim', { kind: 'withdrawn' });
export const reassociated = done('reassociate', { group: 'ipgroup-2' });
export const handedOver = done('handOver');
export const converted = done('convert');
export const assigned = done('assign');
export const removed = done('remove');
export const released = done('release', { freed: true });
export const resumed = event('RESUME');
export const rested = event('xstate.after.coolOff.virtualIP.CoolOff', {}, START + 60_000);
export const rechecked = event('xstate.after.recheck.virtualIP.Blocked', {}, START + 60_000);

export const EVENTS: readonly MachineEvent[] = [
  fresh,
  valid,
  asked,
  elsewhere,
  elsewhereAsked,
  drifted,
  askedAndDrifted,
  deleted,
  gone,
  another,
  over,
  copied,
  taken,
  reserved,
  exposed,
  begunBefore,
  claimed,
  blocked,
  rivalled,
  withdrawn,
  reassociated,
  handedOver,
  converted,
  assigned,
  removed,
  released,
  ...JOBS.map(failed),
  resumed,
  rested,
  rechecked,
];

/** Not the counts. */
export const telling: Telling = ({ value, context }) => {
  const {
    ref,
    stage,
    asked: wants,
    deleting,
    releasing,
    wanted,
    service,
    blocked: why,
    failure: failed,
    around: seen,
  } = context as VirtualIPContext;
  return [
    value,
    ref?.uid,
    stage,
    wants,
    deleting,
    releasing,
    wanted.service,
    service,
    why,
    failed !== null,
    seen.clone,
    seen.service?.type,
  ];
};
