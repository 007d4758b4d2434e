import type { AnyStateMachine } from 'xstate';
import { ipMachine } from '../../machines/address/address.machine.ts';
import type { AddressContext, AddressSettings } from '../../machines/address/context.ts';
import { claimedNodes } from '../../machines/address/decisions.ts';
import { recordSetMachine } from '../../machines/dns/record-set.machine.ts';
import { zoneMachine } from '../../machines/dns/zone.machine.ts';
import { firewallMachine } from '../../machines/firewall/firewall.machine.ts';
import type { JobInput, JobName, ProviderJobName, VipJobName } from '../../machines/jobs.ts';
import { cloudOf } from '../../machines/model/provider-key.ts';
import { addressClaim, type PoolContext, turnsTaken } from '../../machines/pool/context.ts';
import { createdAt, rightTaken } from '../../machines/pool/creation.ts';
import { poolMachine } from '../../machines/pool/pool.machine.ts';
import { verificationMachine } from '../../machines/verification/verification.machine.ts';
import type { VerificationSettings } from '../../machines/verification/verification.ts';
import type { VipSettings } from '../../machines/vip/decisions.ts';
import { vipServiceMachine } from '../../machines/vip/service.machine.ts';
import { type Chart, type Charts, EXAMPLE } from '../runtime/charts.ts';
import { virtualIPChart } from './migration-chart.ts';

/** Every chart that the runtime can run, with this process's settings. */
export function charts(settings: AddressSettings & VerificationSettings & VipSettings, limitOf: (provider: string) => number): Charts {
  const job: Chart['job'] = (name: JobName, input: never) => describe(name as DescribedJob, input);
  const none = () => ({ provider: '', nodes: [], limit: 1 });
  /** A chart that claims no node. */
  const plain = (name: string, machine: unknown, example: unknown = EXAMPLE): Charts => ({
    [name]: { name, version: 1, machine: machine as AnyStateMachine, example, claims: none, job },
  });
  const pool: Chart = {
    name: 'pool',
    version: 1,
    machine: poolMachine(settings) as unknown as AnyStateMachine,
    example: EXAMPLE,
    claims: (context: PoolContext) => ({
      // By cloud: its nodes are the same for every account.
      provider: cloudOf(context.provider || (context.spec?.provider ?? '')),
      nodes: turnsTaken(context),
      limit: 1,
      elsewhere: { provider: cloudOf(createdAt(context)), nodes: rightTaken(context) },
    }),
    job,
  };
  const ip: Chart = {
    name: 'ip',
    version: 1,
    machine: ipMachine(settings) as unknown as AnyStateMachine,
    example: EXAMPLE,
    claims: (context: AddressContext) => ({
      provider: cloudOf(context.provider),
      nodes: claimedNodes(context),
      limit: context.perNode ?? limitOf(context.provider),
      alone: [addressClaim(context.address)],
    }),
    job,
  };
  return {
    pool,
    ip,
    ...plain('firewall', firewallMachine(settings)),
    ...plain('verification', verificationMachine(settings)),
    ...plain('dns-zone', zoneMachine(settings)),
    // A pool's record set has no object of its own.
    ...plain('dns-record-set', recordSetMachine(settings), { ...EXAMPLE, ref: null }),
    ...plain('vip-service', vipServiceMachine(settings)),
    'virtual-ip': virtualIPChart(settings),
  };
}

const FAILOVER = 1;
const USUAL = 5;
const HOUSEKEEPING = 9;

/** VirtualIP jobs are described beside their chart. */
type DescribedJob = ProviderJobName | VipJobName;
type Described = ReturnType<Chart['job']>;

/** Titles in the job dashboard: verb, object, target. */
function describe(name: DescribedJob, input: unknown): Described {
  const given = input as JobInput<DescribedJob>;
  const on = (title: string, priority: number): Described => ({ title, queue: given.provider, priority });
  switch (name) {
    case 'assign': {
      const { address, node } = input as JobInput<'assign'>;
      return on(`assign ${address} → ${node.name}`, FAILOVER);
    }
    case 'unassign':
      return on(`unassign ${(input as JobInput<'unassign'>).address}`, FAILOVER);
    case 'elect': {
      const { address, node } = input as JobInput<'elect'>;
      return { title: `mark ${node.name} as holder of ${address}`, queue: given.provider, priority: FAILOVER };
    }
    case 'find':
      return on(`find ${(input as JobInput<'find'>).address}`, FAILOVER);
    case 'findNodes': {
      const { nodes } = input as JobInput<'findNodes'>;
      const [first] = nodes;
      return on(nodes.length === 1 ? `find the machine of ${first?.name}` : `find the machines of ${nodes.length} nodes`, FAILOVER);
    }
    case 'intendCreate':
      return on(`intend to create for ${ownerOf(input as JobInput<'intendCreate'>)}`, USUAL);
    case 'create':
      return on(`create in ${(input as JobInput<'create'>).region} for ${ownerOf(input as JobInput<'create'>)}`, USUAL);
    case 'reconcileCreate':
      return on(`look for the address created for ${ownerOf(input as JobInput<'reconcileCreate'>)}`, USUAL);
    case 'publish':
      return on(`publish ${(input as JobInput<'publish'>).address} in ${ownerOf(input as JobInput<'publish'>)}`, USUAL);
    case 'announce':
      return on(`announce what is left of ${ownerOf(input as JobInput<'announce'>)}`, USUAL);
    case 'findFirewall':
      return on(`look at firewall ${(input as JobInput<'findFirewall'>).firewall}`, FAILOVER);
    case 'openFirewall':
      return on(`open firewall ${(input as JobInput<'openFirewall'>).firewall}`, FAILOVER);
    case 'prune':
      return on(`prune firewall ${(input as JobInput<'prune'>).firewall}`, USUAL);
    case 'release':
      return on(`release ${(input as JobInput<'release'>).address}`, USUAL);
    case 'ensureRecords': {
      const { zone, sets } = input as JobInput<'ensureRecords'>;
      return on(`ensure ${sets.length} record ${sets.length === 1 ? 'set' : 'sets'} of ${zone}`, USUAL);
    }
    case 'reserveVip':
      return on(`reserve ${(input as JobInput<'reserveVip'>).address} for ${serviceOf(input as JobInput<'reserveVip'>)}`, FAILOVER);
    case 'publishVip':
      return on(`publish ${(input as JobInput<'publishVip'>).address} in ${serviceOf(input as JobInput<'publishVip'>)}`, FAILOVER);
    case 'freeVips':
      return on(`free what ${serviceOf(input as JobInput<'freeVips'>)} had before`, USUAL);
    case 'releaseVip':
      return on(`release what ${serviceOf(input as JobInput<'releaseVip'>)} has`, USUAL);
    case 'markVip':
      return on(`say whether ${serviceOf(input as JobInput<'markVip'>)} is contended`, USUAL);
    case 'lookVip':
      return on(`look for ${serviceOf(input as JobInput<'lookVip'>)}, which has an address`, HOUSEKEEPING);
    case 'verifyAll':
      return on(`verify all addresses of ${given.provider}`, HOUSEKEEPING);
  }
}

const serviceOf = ({ service }: { readonly service: { readonly namespace: string; readonly name: string } }): string =>
  `Service ${service.namespace}/${service.name}`;

const ownerOf = ({ owner }: { readonly owner: { readonly namespace: string; readonly name: string } }): string =>
  `${owner.namespace}/${owner.name}`;
