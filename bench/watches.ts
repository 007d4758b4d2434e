import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { at, type JsonObject } from '../simulator/kubernetes/objects.ts';
import { cpuMs, memoryOf } from './processes.ts';
import type { Measured, Plan } from './scenario.ts';
import { openWorld, RAISED_FLAGS, REGION, TOKEN, type World } from './world.ts';

const CRDS = ['routedips.yaml', 'routedipissuers.yaml', 'clusterroutedipclasses.yaml'].map((name) =>
  join(import.meta.dirname, '../crds', name),
);
const GROUP = 'routedip.io/v1alpha1';
/** RoutedIPs, the namespaces that they are in, and how many of these have an issuer. */
const SIZES = { full: [5_000, 500, 200, 60_000], round: [1_000, 100, 40, 10_000], quick: [300, 30, 20, 5_000] } as const;
const BYTES = 2 * 1024;

/** What many RoutedIPs take of the API server and of memory, each for a Service of its own whose Pod is not ready: what is weighed is that they are watched, not that addresses are
 *  looked after. Over TLS, as an API server speaks it. */
export async function watches(plan: Plan): Promise<Measured> {
  const [count, namespaces, issuers, restMs] = SIZES[plan.extent];
  const world = await openWorld(plan, { crds: CRDS, isSecured: true });
  const secured = world.kubernetes.secured;
  if (secured === null) throw new Error('the simulator does not speak TLS');
  try {
    for (let index = 0; index < namespaces; index += 1) addNamespace(world, index, index < issuers);
    for (let index = 0; index < count; index += 1) addRoutedIP(world, index, { namespace: index % namespaces, issuers });
    const startedAt = performance.now();
    const { pid } = await world.start(RAISED_FLAGS);
    const readySeconds = (performance.now() - startedAt) / 1000;
    await world.until('all RoutedIPs wait for a node', () => waitingIn(world) === count, 600_000);
    await sleep(5_000);
    const before = cpuMs(pid);
    await sleep(restMs);
    const cpu = (cpuMs(pid) - before) / restMs;
    const { resident, peak } = memoryOf(pid);
    const open = world.kubernetes.requests.filter(({ query, code }) => query.includes('watch=true') && code === undefined);
    return {
      conditions: [
        `${count} RoutedIPs in ${namespaces} namespaces, ${issuers} of which have an issuer with a Secret; a Service, a slice, a Pod that is not ready and a node of ${BYTES} bytes for each; default flags but for the rate limit, dashboards off`,
        'API over TLS and HTTP/2',
      ],
      figures: [
        { what: 'connections to the API server, at rest', value: secured.connections(), unit: '', target: { atMost: 60 } },
        { what: 'the most at a time, from the start on', value: secured.most(), unit: '', target: { atMost: 60 } },
        { what: 'watches', value: open.length, unit: '', better: 'less' },
        { what: 'until ready', value: readySeconds, unit: 's' },
        { what: 'CPU of the operator at rest, of one core', value: cpu * 100, unit: '%', target: { atMost: 3 } },
        { what: 'RSS of the operator', value: resident / 1e6, unit: 'MB', target: { atMost: 400 } },
        { what: 'highest RSS of the operator', value: peak / 1e6, unit: 'MB' },
      ],
    };
  } finally {
    await world.close();
  }
}

const nameOf = (namespace: number): string => `team-${namespace}`;

function addNamespace({ kubernetes: { store } }: World, index: number, hasIssuer: boolean): void {
  const namespace = nameOf(index);
  store.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } });
  if (!hasIssuer) return;
  const data = { DIGITALOCEAN_ACCESS_TOKEN: Buffer.from(TOKEN).toString('base64') };
  store.create({ apiVersion: 'v1', kind: 'Secret', metadata: { name: 'do-token', namespace }, data });
  const spec = { issuerClass: 'digitalocean', region: REGION, fromSecretsRef: [{ name: 'do-token' }] };
  store.create({ apiVersion: GROUP, kind: 'RoutedIPIssuer', metadata: { name: 'cloud', namespace }, spec });
}

function addRoutedIP(world: World, index: number, where: { readonly namespace: number; readonly issuers: number }): void {
  const { store } = world.kubernetes;
  const [namespace, name, node] = [nameOf(where.namespace), `app-${index}`, `node-${index}`];
  world.addNode(node, { bytes: BYTES });
  const metadata = { name, namespace };
  world.addPod(name, { namespace, node, labels: { app: name }, bytes: BYTES });
  const ports = [{ name: 'http', port: 80, targetPort: 8080, protocol: 'TCP' }];
  store.create({ apiVersion: 'v1', kind: 'Service', metadata, spec: { type: 'ClusterIP', selector: { app: name }, ports } } as JsonObject);
  store.create({
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: { name: `${name}-1`, namespace, labels: { 'kubernetes.io/service-name': name } },
    addressType: 'IPv4',
    ports: [{ name: 'http', port: 8080, protocol: 'TCP' }],
    endpoints: [{ addresses: ['10.1.0.1'], conditions: { ready: false }, nodeName: node, targetRef: { kind: 'Pod', namespace, name } }],
  });
  const by = where.namespace < where.issuers ? { issuerRef: { name: 'cloud' } } : { issuerClass: 'digitalocean' };
  store.create({ apiVersion: GROUP, kind: 'RoutedIP', metadata, spec: { ...by, serviceRef: { serviceName: name } } });
}

const waitingIn = ({ kubernetes }: World): number =>
  kubernetes.store
    .list(GROUP, 'RoutedIP')
    .filter((each) => JSON.stringify(at(each, 'status', 'conditions') ?? '').includes('NoEligibleNode')).length;
