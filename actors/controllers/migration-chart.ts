import type { AnyStateMachine } from 'xstate';
import type { VirtualIPSettings } from '../../machines/migration/decisions.ts';
import type { MigrationJobInput, MigrationJobName } from '../../machines/migration/jobs.ts';
import { virtualIPMachine } from '../../machines/migration/migration.machine.ts';
import { type Chart, EXAMPLE } from '../runtime/charts.ts';

/** The queue on which all jobs of the VIP allocator run. */
const QUEUE = 'vip';
const USUAL = 5;

/** The chart of VirtualIPs, with this process's settings. It holds nothing at a provider. */
export const virtualIPChart = (settings: VirtualIPSettings): Chart => ({
  name: 'virtual-ip',
  version: 1,
  machine: virtualIPMachine(settings) as unknown as AnyStateMachine,
  example: EXAMPLE,
  claims: () => ({ provider: '', nodes: [], limit: 1 }),
  job: (name, input: never) => ({ title: migrationTitle(name as string as MigrationJobName, input), queue: QUEUE, priority: USUAL }),
});

/** Title in the job dashboard: verb, object, target. */
function migrationTitle(name: MigrationJobName, input: MigrationJobInput<MigrationJobName>): string {
  const { namespace, name: vip } = input.vip;
  const about = `${namespace}/${vip}`;
  const service = 'service' in input ? `${namespace}/${input.service}` : '';
  switch (name) {
    case 'reserveVirtualIP':
      return `reserve an address for VirtualIP ${about}`;
    case 'exposeService':
      return `expose ${service} for VirtualIP ${about}`;
    case 'claimService':
      return `claim ${service} for the migration of VirtualIP ${about}`;
    case 'reassociateIP':
      return `give the IP of VirtualIP ${about} to ${service}`;
    case 'handOverIP':
      return `let go of the IP of VirtualIP ${about}`;
    case 'convertService':
      return `convert ${service} to type LoadBalancer`;
    case 'assignIngress':
      return `assign the address of VirtualIP ${about} to ${service}`;
    case 'removeClone':
      return `remove the copy of ${service}`;
    case 'releaseVirtualIP':
      return `release VirtualIP ${about}`;
  }
}
