import { vi } from 'vitest';
import type { JobContext } from '../../../actors/jobs/job.ts';
import { done } from '../../../actors/jobs/job.ts';
import { jobBodies } from '../../../actors/jobs/registry.ts';
import { DEFAULT_SETTINGS } from '../../../actors/ports/settings.ts';
import type { MachineEvent } from '../../../actors/runtime/step.ts';
import type { ZoneContext } from '../../../machines/dns/zone.ts';
import type { JobFailure } from '../../../machines/model/types.ts';
import type { PoolContext } from '../../../machines/pool/context.ts';
import { name } from '../../../machines/pool/dns-records.ts';
import * as acquire from '../../../machines/pool/provisioning.ts';
import { action, guard, type Spoil, shown } from '../../machines/mutations-spoil.ts';
import type { CreationRule } from '../../support/creations.ts';
import type { NameRule } from '../../support/names.ts';
import type { ShortPools as History } from '../short.ts';
import type { Mutations } from './mutation.ts';
import { CALM, inChart, step, wait } from './pools.ts';

/** A pool that lists nothing and wants an address. */
const LACKING: History = { ...CALM, pools: [[]], extra: [1] };
/** A pool of two addresses, published as `web`. */
const NAMED: History = { ...CALM, pools: [[0, 1]], names: [0] };

const refused: Spoil = (chart) =>
  action<PoolContext, MachineEvent>('failAcquiring', (context, { error, at }) =>
    acquire.failAcquiring(DEFAULT_SETTINGS)(context, { ...(error as JobFailure), unknownOutcome: false }, at),
  )(guard('outcomeUnknown', () => false)(chart));
const lost = (kind: 'loseRequest' | 'loseReply') => step(0, { kind: 'fault', verb: 'createRoutedIP', fault: { kind }, times: 1 });

/** The job that writes records is handed something else. */
const writesOtherwise = (change: (context: JobContext<'ensureRecords'>) => Partial<JobContext<'ensureRecords'>>) => () => {
  const ensure = jobBodies.ensureRecords;
  vi.spyOn(jobBodies, 'ensureRecords').mockImplementation((context) => ensure({ ...context, ...change(context) }));
};

const lastOnly = ({ members }: PoolContext): Pick<PoolContext, 'members'> => {
  const last = Object.keys(members)
    .filter((address) => members[address as never]?.confirmed)
    .at(-1);
  return {
    members: Object.fromEntries(Object.entries(members).map(([address, member]) => [address, { ...member, heard: address === last }])),
  };
};

export const WIDE_MUTATIONS: Mutations<CreationRule | NameRule, History> = {
  'listed before it is used': [
    {
      mutation: 'a publication counts as made although nothing was written',
      sabotage: () => {
        vi.spyOn(jobBodies, 'publish').mockImplementation(async ({ input }) => done({ ips: [input.address], generation: 99 }));
      },
      history: LACKING,
    },
  ],
  'no creation while one is in doubt': [
    {
      mutation: 'a creation without an answer counts as one that was refused',
      spoil: inChart('pool', refused),
      history: { ...LACKING, steps: [lost('loseRequest'), wait(5_000)] },
    },
  ],
  'a name keeps an answer': [
    {
      mutation: 'a record is changed by taking it out and making another one',
      sabotage: writesOtherwise(({ provider }) => ({
        provider: {
          ...provider,
          updateDNSRecord: async (zone, { id, ...record }, call) => {
            await provider.deleteDNSRecord(zone, id, call);
            await provider.createDNSRecord(zone, record, call);
          },
        },
      })),
      history: { ...NAMED, pools: [[0]], steps: [step(5_000, { kind: 'list', pool: 0, addresses: [1] })] },
    },
  ],
  'writes what a job carries, and nothing else': [
    {
      mutation: 'the addresses of one set are written under the name of the next one',
      sabotage: writesOtherwise(({ input }) => {
        const { sets } = input;
        return { input: { ...input, sets: sets.map((set, index) => ({ ...set, addresses: sets.at(index - 1)?.addresses ?? [] })) } };
      }),
      history: { ...CALM, pools: [[0], [1]], names: [0, 1], steps: [wait(70_000)] },
    },
  ],
  'only its own records are touched': [
    {
      mutation: 'records of any type count as addresses',
      sabotage: writesOtherwise(({ provider }) => ({
        provider: {
          ...provider,
          listDNSRecords: async (zone, call) => {
            const listed = await provider.listDNSRecords(zone, call);
            return { ...listed, records: listed.records.map((record) => ({ ...record, type: 'A' })) };
          },
        },
      })),
      history: NAMED,
    },
  ],
  'what serves stays published': [
    {
      mutation: 'only the address that was assigned last is published',
      spoil: inChart(
        'pool',
        action<PoolContext, MachineEvent>(
          'name',
          shown((context, { at }) => name(context, at), lastOnly),
        ),
      ),
      history: { ...NAMED, coolOffSeconds: 10, steps: [] },
    },
  ],
};

export const WIDE_END_MUTATIONS: Mutations<string, History> = {
  'pool-0 lists 0 of 1 addresses': [
    {
      mutation: 'that an address is missing is not noticed',
      spoil: inChart(
        'pool',
        guard('lacksAddress', () => false),
      ),
      history: LACKING,
    },
  ],
  '203.0.113.1 was made, and nobody knows of it': [
    {
      mutation: 'a creation without an answer counts as one that was refused',
      spoil: inChart('pool', refused),
      history: { ...LACKING, steps: [lost('loseReply'), wait(5_000)] },
    },
  ],
  'web lists 203.0.113.201, not 203.0.113.200 203.0.113.201': [
    {
      mutation: 'records that stood once are not looked at again',
      spoil: (charts) => ({
        ...charts,
        'dns-zone': action<ZoneContext>('callVerification', (context, { at }) => ({
          context: { ...context, verifyAt: at + 60_000, unheardUntil: null },
          effects: [],
        }))(charts['dns-zone'] as never),
      }),
      history: { ...NAMED, steps: [step(10_000, { kind: 'dropRecord', name: 0 })] },
    },
  ],
};
