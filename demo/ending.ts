import { normalize } from 'node:path/posix';
import { opened } from './dashboards.ts';
import { timeline } from './frame.ts';
import type { Publication } from './naming.ts';
import type { Part, Routing } from './routing.ts';
import { SHOP, SHOP_MANIFEST } from './shop.ts';
import { AUTHORIZATION, CRDS_INSTALLED, POOL, POOL_MANIFEST, SERVICES_MANIFEST, SERVICES_NAMESPACE, type Stage, ZONE } from './stage.ts';
import type { Failover, Outcome } from './story.ts';
import { span } from './time.ts';
import { traceLines } from './traces.ts';
import type { TrafficRow } from './traffic.ts';
import type { AddressRow, View } from './view.ts';

/** Longer than spans are kept back before they are sent, ms. */
const TRACED_WITHIN_MS = 3_000;

/** The steps and figures of a story that went well. */
export async function summary(
  { failover, publication, routing, serving, pool, readyMs }: Outcome,
  stage: Stage,
): Promise<readonly string[]> {
  const calls = stage.cloud.calls.all();
  const writes = calls.filter(({ method }) => method !== 'GET').length;
  const memory = stage.operator?.memory() ?? null;
  const trace = failover && (await stage.traces.failoverOf(failover.address, TRACED_WITHIN_MS));
  return [
    ...(failover ? failoverLines(failover) : []),
    ...(trace ? ['Its trace, as a collector of OpenTelemetry gets it', ...traceLines(trace, span).map((line) => `  ${line}`), ''] : []),
    ...(publication ? publicationLines(publication) : []),
    ...(routing ? routingLines(routing) : []),
    ...partLines(serving ?? []),
    ...(pool ? [`  ${pool.addresses.length} addresses created, listed and active ${span(pool.activeMs)} after the manifest`] : []),
    `  ${writes} writes and ${calls.length - writes} reads at DigitalOcean in all`,
    `  operator ready ${span(readyMs)} after its start${memory === null ? '' : `, ${Math.round(memory / 1e6)} MB resident`}`,
  ];
}

const failoverLines = ({ address, from, to, moments }: Failover): readonly string[] => [
  `Failover of ${address}, ${from} -> ${to}`,
  ...timeline(moments).map((line) => `  ${line}`),
  '  1 assign for the failover, none for the node that came back',
  '',
];

const publicationLines = ({ name, moments, writes, failoverWrites }: Publication): readonly string[] => [
  `DNS record ${name}`,
  ...moments.map(({ what, tookMs }) => `  ${what.padEnd(Math.max(...moments.map((one) => one.what.length)))}  ${span(tookMs).padStart(9)}`),
  `  ${writes} writes of records, ${failoverWrites} of them for a failover`,
  '',
];

function routingLines({ parts, traffic }: Routing): readonly string[] {
  return [...partLines(parts), `Connections to ${traffic[0]?.address}`, ...traffic.map(connectionsLine), ''];
}

const partLines = (parts: readonly Part[]): readonly string[] =>
  parts.flatMap(({ title, moments }) => [title, ...timeline(moments).map((line) => `  ${line}`), '']);

const connectionsLine = ({ port, answered, inTransit, nodeDown, refused }: TrafficRow): string =>
  `  port ${port}: ${answered} answered, ${inTransit} lost in transit, ${nodeDown} with the node down, ${refused} refused`;

/** Where everything is, for a program. */
export function whereabouts(stage: Stage): Readonly<Record<string, string | number | null>> {
  const served = stage.operator?.served;
  return {
    kubeconfig: stage.kubeconfig,
    metrics: served?.telemetry ? `${served.telemetry}/metrics` : null,
    jobs: opened(served?.jobs, stage.dashboards),
    inspector: opened(served?.inspector, stage.dashboards),
    kubernetes: stage.kubernetes.url,
    digitalocean: stage.cloud.url,
    log: stage.log,
    redis: stage.redisUrl,
    operatorPid: stage.operator?.pid ?? null,
  };
}

/** What to open, and how to break things by hand, ready to be copied. The nodes named hold an address each. */
export function invitation(stage: Stage, { addresses, routed, services }: View): readonly string[] {
  const { kubernetes, cloud, kubeconfig, operator, redisUrl, log } = stage;
  const served = operator?.served;
  const pages = [
    ['dashboard', opened(served?.dashboard, stage.dashboards)],
    ['job dashboard', opened(served?.jobs, stage.dashboards)],
    ['inspector', opened(served?.inspector, stage.dashboards)],
    ['metrics', served?.telemetry && `${served.telemetry}/metrics`],
    ['kubeconfig', kubeconfig],
    ['log', log],
    ['Redis', redisUrl],
  ].filter((page): page is [string, string] => Boolean(page[1]));
  const first = addresses[0] ?? routed;
  const manifests = [
    ...(addresses.length > 0 ? [POOL_MANIFEST] : []),
    ...(routed ? [SHOP_MANIFEST] : []),
    ...(services.length > 0 ? [SERVICES_MANIFEST] : []),
  ];
  return [
    'Everything stays up. To look at:',
    ...pages.map(([name, where]) => `  ${name.padEnd(14)}${where}`),
    '',
    'For these commands, and those of docs/at-3-am.md:',
    `  export KUBECONFIG=${kubeconfig} LOG=${log}`,
    `  export API=${kubernetes.url} CLOUD=${cloud.url} OPERATOR=${served?.telemetry ?? ''} REDIS=${redisUrl}`,
    '',
    'With kubectl 1.28 or newer:',
    '  kubectl get floatingippools,routedips,nodes,events',
    ...(addresses.length > 0 ? poolCommands(stage, addresses) : []),
    ...(routed ? routedCommands(routed.holder) : []),
    ...(services.length > 0 ? SERVICE_COMMANDS : []),
    '',
    'With curl:',
    ...(cloud.state.domains.has(ZONE) ? [`  curl -H '${AUTHORIZATION}' $CLOUD/v2/domains/${ZONE}/records     # the DNS records`] : []),
    ...(first
      ? [
          `  curl -X PATCH -H 'content-type: application/strategic-merge-patch+json' -d '${readyPatch('False')}' $API/api/v1/nodes/${first.node}/status`,
          `  curl -d '{"dropletId":null}' $CLOUD/_control/reserved_ips/${first.address}/move     # someone takes it off by hand`,
        ]
      : []),
    ...(routed ? [`  curl -H '${AUTHORIZATION}' $CLOUD/v2/firewalls     # what is open where`] : []),
    `  curl -d '{"kind":"status","code":503,"times":3,"match":{"method":"POST"}}' $CLOUD/_control/faults     # refuses three writes`,
    `  curl -d '{"kind":"hang","ms":10000,"times":1,"match":{"method":"POST"}}' $CLOUD/_control/faults`,
    `  curl "$CLOUD/_control/calls?writes=1"     # what DigitalOcean was asked to change`,
    `  curl -d '{"mode":"503","ms":10000}' $API/_control/outage     # the Kubernetes API is out for ten seconds`,
    '',
    `Applied were ${[...CRDS_INSTALLED, ...manifests].map((name) => normalize(`crds/${name}`)).join(', ')}. Ctrl-C ends everything.`,
  ];
}

function poolCommands({ cloud }: Stage, addresses: readonly AddressRow[]): readonly string[] {
  const [first, second, third] = addresses.map(({ node }) => node);
  return [
    `  kubectl describe floatingippool ${POOL}`,
    `  kubectl patch node ${first} --subresource=status -p '${readyPatch('False')}'   # it fails`,
    `  kubectl patch node ${first} --subresource=status -p '${readyPatch('True')}'    # it is back`,
    `  kubectl taint node ${second} maintenance=yes:NoSchedule`,
    `  kubectl delete pod -n ingress nginx-${third}`,
    `  kubectl patch floatingippool ${POOL} --type=merge -p '{"spec":{"desiredIPs":2}}'`,
    ...(cloud.state.domains.has(ZONE)
      ? [`  kubectl patch floatingippool ${POOL} --type=merge -p '{"spec":{"dnsRecordSet":{"zone":"${ZONE}","recordName":"shop"}}}'`]
      : []),
  ];
}

const routedCommands = (holder: string): readonly string[] => [
  `  kubectl describe routedip ${SHOP}`,
  `  kubectl cordon ${holder}     # ${SHOP} moves; uncordon it again`,
  `  kubectl delete routedip ${SHOP}     # its port is closed, its address deleted`,
];

const SERVICE_COMMANDS: readonly string[] = [
  `  kubectl get services,events -n ${SERVICES_NAMESPACE}; kubectl get ipgroups,ips`,
  `  kubectl create service loadbalancer more -n ${SERVICES_NAMESPACE} --tcp=80     # waits: delete another one`,
];

const readyPatch = (status: string): string => JSON.stringify({ status: { conditions: [{ type: 'Ready', status }] } });
