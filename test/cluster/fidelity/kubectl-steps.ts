import { join } from 'node:path';

const SAMPLE = join(import.meta.dirname, '../../../crds/samples/floatingippool.yaml');

/** One command; it is run against the simulator and against a real API server, and what it prints, asks for and is answered is compared. */
export interface Command {
  readonly args: readonly string[];
  readonly input?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** The code it has to end with on both; 0 unless said otherwise. */
  readonly code?: number;
}

const run = (line: string, more: Omit<Command, 'args'> = {}): Command => ({
  args: [...line.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, bare]) => quoted ?? bare ?? ''),
  ...more,
});

const manifest = (object: object): string => JSON.stringify(object);

const POOL = {
  apiVersion: 'flipop.digitalocean.com/v1alpha1',
  kind: 'FloatingIPPool',
  metadata: { name: 'edited' },
  spec: { provider: 'digitalocean', region: 'nyc3', desiredIPs: 1, match: { nodeLabel: 'a=b' } },
};
const wrongPool = (spec: object): string => manifest({ ...POOL, metadata: { name: 'wrong' }, spec: { ...POOL.spec, ...spec } });

const SERVICE = {
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name: 'lb' },
  spec: {
    type: 'LoadBalancer',
    loadBalancerClass: 'example.com/c',
    selector: { app: 'x' },
    ports: [{ name: 'http', port: 80, targetPort: 8080 }],
  },
};
const SLICE = {
  apiVersion: 'discovery.k8s.io/v1',
  kind: 'EndpointSlice',
  metadata: { name: 'lb-1', labels: { 'kubernetes.io/service-name': 'lb' } },
  addressType: 'IPv4',
  endpoints: [{ addresses: ['10.1.0.1'], conditions: { ready: true, serving: true, terminating: false }, nodeName: 'node-1' }],
  ports: [{ name: 'http', port: 8080, protocol: 'TCP' }],
};
const LEASE = {
  apiVersion: 'coordination.k8s.io/v1',
  kind: 'Lease',
  metadata: { name: 'held' },
  spec: { holderIdentity: 'a', leaseDurationSeconds: 15 },
};

/** What changes `desiredIPs` in the file that kubectl edit opens. */
const EDITOR = { KUBE_EDITOR: 'sed -i s/desiredIPs:\\ 1/desiredIPs:\\ 7/' };

/** In this order: later commands meet what earlier ones left. */
export const COMMANDS: readonly Command[] = [
  run('version'),
  run('api-versions'),
  run('api-resources'),
  run('api-resources --api-group=flipop.digitalocean.com -o wide'),
  run('api-resources --api-group=coordination.k8s.io -o wide'),
  run('get --raw /readyz'),
  run('auth can-i get pods'),
  run('auth can-i create floatingippools --namespace default'),

  run('get nodes'),
  run('get nodes -o wide'),
  run('get nodes -o name'),
  run('get nodes --show-labels'),
  run('get nodes -l kubernetes.io/hostname=node-1 -o yaml'),
  run('get node node-1 -o json'),
  run('get nodes -o custom-columns=NAME:.metadata.name,ID:.spec.providerID'),
  run('get nodes -o jsonpath={.items[*].spec.providerID}'),
  run('get nodes --chunk-size=1'),
  run('get nodes --sort-by=.metadata.name'),
  run('get node absent', { code: 1 }),
  run('describe node node-1'),
  run('label node node-1 a=b'),
  run('label node node-1 a=c', { code: 1 }),
  run('label node node-1 a=c --overwrite'),
  run('label node node-1 a-'),
  run('annotate node node-1 example.com/a=b'),
  run('taint node node-1 k=v:NoSchedule'),
  run('taint node node-1 k-'),
  run('cordon node-1'),
  run('get nodes'),
  run('uncordon node-1'),
  run('wait --for=condition=Ready node/node-1 --timeout=20s'),

  run('get pods -A'),
  run('get pods -A -o wide'),
  run('get pods -A --field-selector spec.nodeName=node-1'),
  run('get pods -l app=none'),
  run('get pod pod-1 -o yaml'),
  run('describe pod pod-1'),
  run('get pod absent', { code: 1 }),
  run('label pod pod-1 tier=front'),
  run('delete pod pod-1 --force --grace-period=0'),

  run('create namespace walk'),
  run('get namespace walk -o yaml'),
  run('describe namespace walk'),
  run('create namespace walk', { code: 1 }),
  run('create configmap c --from-literal=a=b -n walk'),
  run('get configmap c -n walk -o yaml'),
  run('describe configmap c -n walk'),
  run('patch configmap c -n walk -p {"data":{"a":"c"}}'),
  run('patch configmap c -n walk -p {"data":{"a":"c"}}'),
  run('create secret generic s --from-literal=a=b -n walk'),
  run('get secrets -n walk'),
  run('describe secret s -n walk'),
  run('create serviceaccount robot -n walk'),
  run('get serviceaccount robot -n walk -o yaml'),
  run('describe serviceaccount robot -n walk'),
  run('create role reader --verb=get,list --resource=pods -n walk'),
  run('describe role reader -n walk'),
  run('create rolebinding readers --role=reader --serviceaccount=walk:robot -n walk'),
  run('get rolebindings -n walk -o wide'),
  run('create clusterrole walkers --verb=get --resource=nodes'),
  run('delete clusterrole walkers'),
  run('create poddisruptionbudget budget --selector=app=x --min-available=1 -n walk'),
  run('get poddisruptionbudgets -n walk'),
  run('create job once --image=example.com/i:1 -n walk -- true'),
  run('get jobs -n walk'),
  run('get job once -n walk -o yaml'),
  run('delete job once -n walk --cascade=background'),
  run('apply -n walk -f -', { input: manifest(LEASE) }),
  run('get leases -n walk'),
  run('describe lease held -n walk'),
  run('get all -n walk'),
  run('get nothings -n walk', { code: 1 }),

  run('apply -n walk -f -', { input: manifest(SERVICE) }),
  run('get services -n walk -o wide'),
  run('describe service lb -n walk'),
  run('patch service lb -n walk --subresource=status --type=merge -p {"status":{"loadBalancer":{"ingress":[{"ip":"192.0.2.1"}]}}}'),
  run('get service lb -n walk'),
  run('get service lb -n walk -o yaml'),
  run('apply -n walk -f -', { input: manifest(SLICE) }),
  run('get endpointslices -n walk'),
  run('describe endpointslice lb-1 -n walk'),
  run('wait -n walk --for=jsonpath={.status.loadBalancer.ingress[0].ip}=192.0.2.1 service/lb --timeout=20s'),
  run('delete endpointslice lb-1 -n walk'),

  run('explain node.spec.taints'),
  run('explain service.status.loadBalancer.ingress.ipMode'),
  run('explain floatingippools.spec.match'),
  run('explain floatingippools --recursive'),
  run('explain routedips.spec.serviceRef'),
  run('explain floatingippools.spec.none', { code: 1 }),
  run('get crd floatingippools.flipop.digitalocean.com'),

  run(`diff -f ${SAMPLE}`, { code: 1 }),
  run(`apply -f ${SAMPLE} --dry-run=server`),
  run(`apply -f ${SAMPLE}`),
  run(`apply -f ${SAMPLE}`),
  run(`diff -f ${SAMPLE}`),
  run(`apply --server-side -f ${SAMPLE}`),
  run(`apply --server-side --force-conflicts -f ${SAMPLE}`),
  run('get floatingippools'),
  run('get fip -o wide'),
  run('get floatingippool ingress-pool -o yaml'),
  run('describe floatingippool ingress-pool'),
  run('apply -f -', { input: manifest(POOL) }),
  run('edit floatingippool edited', { env: EDITOR }),
  run('get floatingippool edited -o jsonpath={.spec.desiredIPs}'),
  run('apply -f -', { input: manifest({ ...POOL, spec: { ...POOL.spec, region: 'fra1' } }) }),
  run('patch floatingippool edited --type merge -p {"spec":{"desiredIPs":4}}'),
  run('patch floatingippool edited --type json -p [{"op":"replace","path":"/spec/desiredIPs","value":5}]'),
  run('patch floatingippool edited -p {"spec":{"desiredIPs":6}}', { code: 1 }),
  run('patch floatingippool edited --type merge --subresource=status -p {"status":{"activeIPs":1}}'),
  run('replace -f -', { input: manifest(POOL) }),
  run('wait --for=jsonpath={.spec.desiredIPs}=1 floatingippool/edited --timeout=20s'),
  run('get flipop', { code: 1 }),
  run('apply -f -', { input: wrongPool({ desiredIPs: 0 }), code: 1 }),
  run('apply -f -', { input: wrongPool({ provider: 7 }), code: 1 }),
  run('apply -f -', { input: wrongPool({ desired: 3 }), code: 1 }),
  run('apply -f - --validate=false', { input: wrongPool({ desired: 3 }) }),
  run('apply -f -', {
    input: 'apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {containers: [{name: c, image: i, prts: []}]}\n',
    code: 1,
  }),
  run('create -f -', { input: manifest(POOL), code: 1 }),
  run('delete floatingippool wrong'),
  run('delete floatingippool absent', { code: 1 }),
  run('delete floatingippool absent --ignore-not-found'),
  run('delete floatingippools --all'),

  run('get events -n walk'),
  run('delete service,lease --all -n walk'),
  run('delete namespace walk --timeout=25s'),
  run('get namespace walk', { code: 1 }),
];
