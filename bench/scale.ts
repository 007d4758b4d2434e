import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { watch } from '../demo/follow.ts';
import { now } from '../demo/time.ts';
import { podObject } from '../simulator/kubernetes/cluster.ts';
import { at, isObject, type JsonObject, type KubeObject } from '../simulator/kubernetes/objects.ts';
import { isAssign } from './drill.ts';
import { distribution, type Figure } from './figures.ts';
import { cpuMs, memoryOf } from './processes.ts';
import type { Extent, Measured, Plan } from './scenario.ts';
import { openWorld, RAISED_FLAGS, RAISED_TEXT, REGION, TOKEN, type World } from './world.ts';

const CRDS = ['floatingippools', 'routedips', 'clusterroutedipclasses', 'routedipissuers'].map((name) =>
  join(import.meta.dirname, '../crds', `${name}.yaml`),
);
const LONGEST_MS = 900_000;
const PER_POOL = 5;
const CLASS = 'digitalocean.com/floating-ip';

const tokenOf = (team: number): string => `token-of-team-${team}`;

interface Size {
  readonly routedIPs: number;
  readonly namespaces: number;
  readonly issuers: number;
  readonly pools: number;
  readonly failovers: number;
  /** How long it rests while its CPU and its stalls are measured, ms: some resyncs. */
  readonly restMs: number;
}

const SIZES: { readonly [extent in Extent]: Size } = {
  full: { routedIPs: 5_000, namespaces: 500, issuers: 200, pools: 2_000, failovers: 100, restMs: 180_000 },
  round: { routedIPs: 1_000, namespaces: 100, issuers: 40, pools: 400, failovers: 30, restMs: 75_000 },
  quick: { routedIPs: 500, namespaces: 50, issuers: 20, pools: 200, failovers: 10, restMs: 65_000 },
};

/** What it costs one leader to keep very many RoutedIPs with which all is well, to take them over, and to move a few of them. */
export async function scaleOfRoutedIPs(plan: Plan): Promise<Measured> {
  const size = SIZES[plan.extent];
  const { routedIPs, namespaces, issuers } = size;
  return measure(plan, size, {
    conditions: `${routedIPs} RoutedIPs in ${namespaces} namespaces, ${issuers} of which have an issuer with an account of its own; a Service, a Pod, an EndpointSlice and a node for each`,
    furnish: (world) => furnishRoutedIPs(world, size),
    path: '/apis/routedip.io/v1alpha1/routedips',
    servedOn: (object) => (isReady(object) ? [nodeOf(at(object, 'status', 'nodeName'))] : []),
    wanted: routedIPs,
  });
}

/** The same for FloatingIPPools. */
export async function scaleOfPools(plan: Plan): Promise<Measured> {
  const size = SIZES[plan.extent];
  return measure(plan, size, {
    conditions: `${size.pools} FloatingIPPools of ${PER_POOL} addresses, with ${PER_POOL} nodes of its own each and a spare node for ${size.failovers} of them`,
    furnish: (world) => furnishPools(world, size),
    path: '/apis/flipop.digitalocean.com/v1alpha1/floatingippools',
    servedOn: (object) => activeNodes(object),
    wanted: size.pools * PER_POOL,
  });
}

interface Kind {
  readonly conditions: string;
  /** Answers the nodes that may fail, and the address on each. */
  readonly furnish: (world: World) => ReadonlyMap<string, string>;
  /** Of the list of all objects. */
  readonly path: string;
  /** The nodes on which its addresses are shown to be active. */
  readonly servedOn: (object: KubeObject) => readonly string[];
  /** How many addresses are to be active. */
  readonly wanted: number;
}

async function measure(plan: Plan, { failovers, issuers, restMs }: Size, kind: Kind): Promise<Measured> {
  const tokens = Array.from({ length: issuers }, (_, team) => tokenOf(team));
  const world = await openWorld(plan, { crds: CRDS, isSecured: true, tokens, actionMs: { min: 50, max: 200 }, reservedIPQuota: 100_000 });
  const shown = followShown(world, kind);
  const { secured } = world.kubernetes;
  if (secured === null) throw new Error('the simulator does not speak TLS');
  try {
    const mayFail = kind.furnish(world);
    const startedAt = now();
    const first = await world.start(RAISED_FLAGS);
    await world.until('all addresses are active', () => shown.count() === kind.wanted, LONGEST_MS);
    const activeMs = now() - startedAt;
    const peak = memoryOf(first.pid).peak;
    await sleep(20_000);
    const rest = await measureRest(world, restMs);
    const moved = await moveSome(world, [...mayFail].slice(0, failovers));
    const stalledByFailovers = await stallMs(world);
    const resident = memoryOf(first.pid).resident;
    const connections = { atRest: secured.connections(), most: secured.most() };
    await first.stop();
    const takeover = await measureTakeover(world);
    return {
      conditions: [
        `${kind.conditions}; default flags, one replica, simulated APIs beside it, that of Kubernetes over TLS and HTTP/2`,
        RAISED_TEXT,
      ],
      figures: [
        { what: 'process start -> all active in status', value: activeMs / 1000, unit: 's' },
        ...rest,
        { what: 'RSS at the end', value: resident / 1e6, unit: 'MB', target: { atMost: 400 } },
        { what: 'highest RSS', value: peak / 1e6, unit: 'MB' },
        { what: 'connections to the API server at rest', value: connections.atRest, unit: '', target: { atMost: 60 } },
        { what: 'the most at a time, from the start on', value: connections.most, unit: '', target: { atMost: 60 } },
        ...distribution('NotReady accepted -> assign received', moved, { p99: 50 }),
        { what: 'longest stall of the event loop in these failovers', value: stalledByFailovers, unit: 'ms', target: { atMost: 100 } },
        ...takeover,
      ],
    };
  } finally {
    shown.close();
    await world.close();
  }
}

async function measureRest(world: World, restMs: number): Promise<readonly Figure[]> {
  const { pid } = world.operator;
  await stallMs(world);
  const before = cpuMs(pid);
  await sleep(restMs);
  const cpu = (cpuMs(pid) - before) / restMs;
  return [
    {
      what: `longest stall of the event loop in ${restMs / 1000} s at rest, resyncs included`,
      value: await stallMs(world),
      unit: 'ms',
      target: { atMost: 100 },
    },
    { what: 'CPU at rest, of one core', value: cpu * 100, unit: '%', target: { atMost: 3 } },
  ];
}

/** A new process with the records of the former one. */
async function measureTakeover(world: World): Promise<readonly Figure[]> {
  const startedAt = now();
  const { pid } = await world.start(RAISED_FLAGS);
  await world.until(
    'the term is taken over',
    () => world.operator.lastLines(400).some((line) => line.includes('"msg":"leads"')),
    LONGEST_MS,
  );
  return [
    { what: 'process start -> term taken over, caches included', value: (now() - startedAt) / 1000, unit: 's', target: { atMost: 10 } },
    { what: 'longest stall of the event loop meanwhile', value: await stallMs(world), unit: 'ms', target: { atMost: 100 } },
    { what: 'highest RSS meanwhile', value: memoryOf(pid).peak / 1e6, unit: 'MB' },
  ];
}

/** The longest the event loop was late since the last scrape, ms. */
async function stallMs({ operator }: World): Promise<number> {
  const text = await (await fetch(`${operator.served.telemetry}/metrics`)).text();
  const value = /^nodejs_eventloop_lag_max_seconds\S* (\S+)$/m.exec(text)?.[1];
  if (value === undefined) throw new Error('the operator does not say how late its event loop is');
  return Number(value) * 1000;
}

/** Lets nodes fail one after another; answers how long each took to the assign, ms. */
async function moveSome(world: World, victims: readonly (readonly [node: string, address: string])[]): Promise<readonly number[]> {
  const took: number[] = [];
  for (const [node, address] of victims) {
    const since = world.cloud.calls.all().at(-1)?.n ?? 0;
    const acceptedAt = now();
    world.setReady(node, false);
    const assign = () =>
      world.cloud.calls.select({ since, writes: true }).find((call) => isAssign(call) && call.path.includes(`/${address}/`));
    await world.until(`${address} leaves ${node}`, () => assign() !== undefined);
    took.push((assign()?.at ?? Number.NaN) - acceptedAt);
    await sleep(100);
  }
  return took;
}

function furnishRoutedIPs(world: World, { routedIPs, namespaces, issuers, failovers }: Size): ReadonlyMap<string, string> {
  const { store } = world.kubernetes;
  const names = Array.from({ length: routedIPs }, (_, index) => `node-${index}`);
  for (const name of names) world.addNode(name);
  for (let index = 0; index < failovers; index += 1) world.addNode(`spare-${index}`);
  const teamOf = (index: number): number => index % namespaces;
  const addresses = world.addresses(routedIPs, names, (index) => (teamOf(index) < issuers ? tokenOf(teamOf(index)) : TOKEN));
  for (let index = 0; index < namespaces; index += 1) {
    const namespace = `team-${index}`;
    store.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } });
    if (index >= issuers) continue;
    const data = { token: Buffer.from(tokenOf(index)).toString('base64') };
    store.create({ apiVersion: 'v1', kind: 'Secret', metadata: { name: 'cloud', namespace }, type: 'Opaque', data });
    const spec = { issuerClass: 'digitalocean', region: REGION, fromSecretsRef: [{ name: 'cloud' }], taintEffect: 'None' };
    store.create({ apiVersion: 'routedip.io/v1alpha1', kind: 'RoutedIPIssuer', metadata: { name: 'own', namespace }, spec });
  }
  const spec = { className: CLASS, region: REGION, taintEffect: 'None' };
  store.create({
    apiVersion: 'routedip.io/v1alpha1',
    kind: 'ClusterRoutedIPClass',
    metadata: { name: 'size' },
    spec,
  });
  const mayFail = new Map<string, string>();
  for (const [index, address] of addresses.entries()) {
    const team = teamOf(index);
    const wish: Wish = {
      name: `app-${index}`,
      namespace: `team-${team}`,
      address,
      by: team < issuers ? { issuerRef: { name: 'own' } } : { className: CLASS },
    };
    addRoutedIP(world, wish, index < failovers ? [`node-${index}`, `spare-${index}`] : [`node-${index}`]);
    if (index < failovers) mayFail.set(`node-${index}`, address);
  }
  return mayFail;
}

/** A cluster has 2,768 node ports by default, fewer than the Services here. */
function onHostPort(pod: JsonObject): JsonObject {
  const ports = [{ name: 'http', containerPort: 80, hostPort: 80, protocol: 'TCP' }];
  return { ...pod, spec: { ...(isObject(pod.spec) ? pod.spec : {}), containers: [{ name: 'main', image: 'nginx', ports }] } };
}

interface Wish {
  readonly name: string;
  readonly namespace: string;
  readonly address: string;
  readonly by: JsonObject;
}

function addRoutedIP({ kubernetes: { store } }: World, { name, namespace, address, by }: Wish, nodes: readonly string[]): void {
  const meta = { name, namespace };
  for (const node of nodes) {
    store.create(onHostPort(podObject({ name: `${name}-${node}`, namespace, node, labels: { app: name } })));
    const status = { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] };
    store.patch({ apiVersion: 'v1', kind: 'Pod', name: `${name}-${node}`, namespace }, { status }, { subresource: 'status' });
  }
  store.create({
    apiVersion: 'v1',
    kind: 'Service',
    metadata: meta,
    spec: { clusterIP: 'None', selector: { app: name }, ports: [{ name: 'http', port: 80, targetPort: 'http', protocol: 'TCP' }] },
  });
  store.create({
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: { ...meta, labels: { 'kubernetes.io/service-name': name } },
    addressType: 'IPv4',
    endpoints: nodes.map((node, index) => ({
      addresses: [`10.0.0.${index + 1}`],
      conditions: { ready: true },
      nodeName: node,
      targetRef: { kind: 'Pod', namespace, name: `${name}-${node}` },
    })),
    ports: [{ name: 'http', port: 8080, protocol: 'TCP' }],
  });
  const spec = { ...by, routedIP: address, serviceRef: { serviceName: name } };
  store.create({ apiVersion: 'routedip.io/v1alpha1', kind: 'RoutedIP', metadata: meta, spec });
}

function furnishPools(world: World, { pools, failovers }: Size): ReadonlyMap<string, string> {
  const mayFail = new Map<string, string>();
  for (let pool = 0; pool < pools; pool += 1) {
    const nodes = Array.from({ length: PER_POOL }, (_, index) => `node-${pool}-${index}`);
    const labels = { pool: `p${pool}` };
    for (const node of nodes) world.addNode(node, { labels });
    if (pool < failovers) world.addNode(`spare-${pool}`, { labels });
    const ips = world.addresses(PER_POOL, nodes);
    world.pool(`pool-${pool}`, { ips: [...ips], match: { nodeLabel: `pool=p${pool}` } });
    if (pool < failovers) mayFail.set(`node-${pool}-0`, ips[0] ?? '');
  }
  return mayFail;
}

/** How many addresses the statuses show to be active, by a watch over HTTP as any user has it. */
function followShown({ kubernetes }: World, { path, servedOn }: Kind) {
  const served = new Map<string, number>();
  let count = 0;
  const { close } = watch(`${kubernetes.url}${path}`, (_type, object) => {
    const key = `${object.metadata.namespace}/${object.metadata.name}`;
    const nodes = servedOn(object).length;
    count += nodes - (served.get(key) ?? 0);
    served.set(key, nodes);
  });
  return { count: () => count, close: (): void => close() };
}

function isReady(object: KubeObject): boolean {
  const conditions = at(object, 'status', 'conditions');
  return Array.isArray(conditions) && conditions.some((each) => at(each, 'type') === 'Ready' && at(each, 'status') === 'True');
}

function activeNodes(object: KubeObject): readonly string[] {
  const ips = at(object, 'status', 'ips');
  return Object.values(isObject(ips) ? ips : {}).flatMap((ip) => (at(ip, 'state') === 'active' ? [nodeOf(at(ip, 'nodeName'))] : []));
}

const nodeOf = (value: unknown): string => String(value ?? '');
