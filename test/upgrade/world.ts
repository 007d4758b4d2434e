import { readFileSync } from 'node:fs';
import type { RoutedIPStatus } from '../../crds/generated/routedip.ts';
import { type CloudflareSimulator, startCloudflare } from '../../simulator/cloudflare/server.ts';
import { seededRandom } from '../../simulator/digitalocean/random.ts';
import { connectionOf, rawClient } from '../../simulator/kubernetes/client.ts';
import { GROUP, type Routed } from '../e2e/routed.ts';
import { Vips } from '../e2e/vip-objects.ts';
import { cloudflareZone, digitalOceanZone, type Zone } from '../e2e/zones.ts';
import { objectsIn } from '../support/kube-apply.ts';
import type { Builds } from './builds.ts';
import { callsOf, senderIn } from './calls.ts';
import { Cast, CLOUDFLARE_TOKEN } from './cast.ts';
import type { Act, History, Mark, Rest, StageRecord, Version } from './history.ts';
import { Observer } from './observer.ts';

const CRDS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
/** Somebody else's rule, there from the start. */
const SSH = 'tcp/22';
/** Longer than anything takes here that goes on at all, on a busy machine: a Lease has to run out, and the lock of a job. */
const DEADLINE_MS = 90_000;

/** Everything that a play has: the cluster, the providers, the processes, and what was noted of all of it. */
export interface World {
  readonly routed: Routed;
  readonly vips: Vips;
  readonly cast: Cast;
  readonly observer: Observer;
  readonly zones: { readonly pools: Zone; readonly nodes: Zone };
  /** An address that a person makes at the provider, on a machine that is no node of the cluster where he says so. */
  reserve(droplet?: string): string;
  /** How many addresses the scenario has asked for so far. */
  wanted: number;
  /** How often the port of the Service has changed. */
  portChanges: number;
  /** The stage that goes on. */
  stage: number;
  /** Notes what is asked for and when it is done, which it cannot be before `notBeforeMs`. */
  act(what: string, run: () => Promise<void>, notBeforeMs?: number): Promise<void>;
  mark(mark: WithoutTime<Mark>): void;
  /** One of them, by the seed. */
  oneOf<T>(list: readonly T[]): T;
  until(what: string, holds: () => boolean | Promise<boolean>): Promise<void>;
  /** Puts the definitions of a version in the place of those that are there, as `kubectl apply` does. */
  define(version: Version): Promise<void>;
  /** Notes that a stage has come to its end. */
  ended(stage: Pick<StageRecord, 'leads' | 'follows' | 'from'>): Promise<void>;
  history(): Promise<History>;
  close(): Promise<void>;
}

type WithoutTime<T> = T extends unknown ? Omit<T, 'at'> : never;

export async function openWorld(routed: Routed, builds: Builds): Promise<World> {
  const { stage } = routed;
  const cloudflare = await startCloudflare({ token: CLOUDFLARE_TOKEN, rateLimit: { requests: 100_000, windowMs: 60_000 } });
  const cast = new Cast(stage, cloudflare, builds);
  const observer = new Observer(stage.target);
  const random = seededRandom(builds.seed);
  const acts: Act[] = [];
  const marks: Mark[] = [];
  const stages: StageRecord[] = [];
  const byHand = new Set<string>();
  const world: World = {
    routed,
    vips: new Vips(stage),
    cast,
    observer,
    zones: { pools: await digitalOceanZone(stage.cloud, 'example.com'), nodes: cloudflareZone(cloudflare, 'example.org') },
    reserve: (name) => {
      const droplet = name === undefined ? {} : { dropletId: stage.cloud.addDroplet({ name, region: 'nyc3' }).id };
      const { ip } = stage.cloud.addReservedIP({ region: 'nyc3', ...droplet });
      byHand.add(ip);
      return ip;
    },
    wanted: 0,
    portChanges: 0,
    stage: 1,
    act: async (what, run, notBeforeMs = 0) => {
      const act = { stage: world.stage, what, from: Date.now(), to: null, deadlineMs: DEADLINE_MS, notBeforeMs };
      const index = acts.push(act) - 1;
      await run();
      acts[index] = { ...act, to: Date.now() };
    },
    mark: (mark) => void marks.push({ ...mark, at: Date.now() }),
    oneOf: (list) => {
      const one = list[Math.floor(random() * list.length)];
      if (one === undefined) throw new Error('there is none to choose from');
      return one;
    },
    until: (what, holds) => stage.until(what, holds, DEADLINE_MS),
    define: (version) => define(routed, builds.crds[version]),
    ended: async (record) => {
      const rest = await restOf(world, byHand);
      stages.push({ ...record, number: world.stage, to: Date.now(), rest });
    },
    history: async () => ({
      stages,
      calls: callsIn(world, cloudflare),
      statuses: observer.statuses,
      marks,
      acts,
      processes: await cast.records(),
      doubles: observer.doubles,
    }),
    close: async () => {
      await cast.close();
      observer.close();
      await cloudflare.close();
    },
  };
  // Those that are there before anybody runs were created by hand.
  for (const address of stage.cloud.state.reservedIPs.keys()) byHand.add(address);
  await observer.start();
  return world;
}

interface Owning {
  readonly status?: RoutedIPStatus;
}

async function restOf({ routed, wanted }: World, byHand: ReadonlySet<string>): Promise<Rest> {
  const { cloud, target } = routed.stage;
  const { reservedIPs, deletedIPs } = cloud.state;
  const ever = [...reservedIPs.keys(), ...deletedIPs.map(({ ip }) => ip)];
  const routedIPs = (await target.client.list(GROUP, 'RoutedIP')) as unknown as readonly Owning[];
  const rules = routedIPs.flatMap(({ status }) => status?.ownedRules ?? []);
  const owned = rules.flatMap(({ ports = [] }) => ports.map(({ port, protocol }) => `${protocol}/${port}`.toLowerCase()));
  return {
    created: ever.filter((address) => !byHand.has(address)).length,
    wanted,
    unowned: routed.firewall().ports.filter((port) => port !== SSH && !owned.includes(port)),
  };
}

function callsIn({ routed, cast }: World, cloudflare: CloudflareSimulator) {
  const { cloud } = routed.stage;
  const nodeOf = (droplet: number): string => cloud.state.droplets.get(droplet)?.name ?? String(droplet);
  return [
    ...callsOf('digitalocean', cloud.calls.select({ writes: true }), senderIn(cast.sent.digitalocean), nodeOf),
    ...callsOf('cloudflare', cloudflare.calls.select({ writes: true }), senderIn(cast.sent.cloudflare), nodeOf),
  ].sort((a, b) => a.at - b.at);
}

async function define({ stage }: Routed, files: readonly string[]): Promise<void> {
  const server = rawClient(connectionOf(readFileSync(stage.target.adminKubeconfig, 'utf8')));
  try {
    for (const object of files.flatMap(objectsIn)) {
      const path = `${CRDS}/${object.metadata.name}`;
      const { metadata } = JSON.parse((await server.send('GET', path)).text) as { metadata: { resourceVersion: string } };
      const body = { ...object, metadata: { ...object.metadata, resourceVersion: metadata.resourceVersion } };
      const { code, text } = await server.send('PUT', path, { body: JSON.parse(JSON.stringify(body)) });
      if (code !== 200) throw new Error(`PUT ${path} was answered with ${code}: ${text}`);
    }
  } finally {
    server.close();
  }
}
