import type { IP } from '../crds/generated/ip.ts';
import type { NodeDNSRecordSet } from '../crds/generated/nodednsrecordset.ts';
import {
  ADDRESS_ANNOTATION,
  addressOfIP,
  CONTENDED,
  CONTENDED_CONDITION,
  GROUP_LABEL,
  OWNER_ANNOTATION,
  ROUTED_IP_LABEL,
} from '../machines/vip/objects.ts';
import { conditionOf, joined, mentions, reasonOf, stateless, troubleOf, unseen, wrongWith } from './conditions.ts';
import { gather, type Objects, type ServiceObject } from './objects.ts';
import { poolRows } from './pool-rows.ts';
import { EXIT, type ExitCode, type Session } from './ports.ts';
import { routedIPRow } from './routed-ip-row.ts';
import { nextText, type Row, sinceText } from './row.ts';
import { data, table } from './table.ts';

/** `kubectl routedip status`: all that has an address, or wants one; only that of one address when it is named. */
export async function status(session: Session, { address }: { readonly address?: string } = {}): Promise<ExitCode> {
  const { objects, problems } = await gather(session);
  const rows = rowsOf(objects, session.namespace).filter((row) => address === undefined || row.address === address);
  const answer = data(session, { rows, problems });
  if (answer) session.out(answer);
  else if (rows.length > 0) session.out(statusText(rows, session.now));
  // Objects that could not be read may have one.
  else if (problems.length === 0) session.out([none(session, address)]);
  for (const problem of problems) session.problem(problem);
  if (problems.length > 0 || (address !== undefined && rows.length === 0)) return EXIT.failed;
  return rows.some(({ attention }) => attention) ? EXIT.attention : EXIT.ok;
}

const none = ({ namespace }: Session, address: string | undefined): string => {
  const where = namespace === null ? 'in the cluster' : `in namespace ${namespace} (-A looks at all of them)`;
  return address === undefined ? `nothing has or wants an address ${where}` : `nothing has ${address} ${where}`;
};

const KINDS: readonly Row['kind'][] = ['floatingippool', 'routedip', 'service', 'ip', 'nodednsrecordset'];

/** Sorted by kind, namespace, name and address. */
export function rowsOf(objects: Objects, namespace: string | null): readonly Row[] {
  const rows = [
    ...objects.pools.flatMap(poolRows),
    ...objects.routedIPs.map(routedIPRow),
    ...addressRows(objects, namespace),
    ...objects.recordSets.map(recordSetRow),
  ];
  const order = (a: string | null, b: string | null) => (a ?? '').localeCompare(b ?? '', 'en', { numeric: true });
  return rows.sort(
    (a, b) =>
      KINDS.indexOf(a.kind) - KINDS.indexOf(b.kind) ||
      order(a.namespace, b.namespace) ||
      order(a.name, b.name) ||
      order(a.address, b.address),
  );
}

const HEADS = ['NAMESPACE', 'OBJECT', 'ADDRESS', 'WHERE', 'STATE', 'SINCE', 'WHY', 'NEXT'];

/** A table, and below it messages on those that need a look. */
export function statusText(rows: readonly Row[], now: number): readonly string[] {
  if (rows.length === 0) return [];
  const cells = rows.map((row) => [
    row.namespace,
    `${row.kind}/${row.name}`,
    row.address ?? '',
    row.where ?? '',
    row.state,
    sinceText(row.since, now),
    row.reason,
    nextText(row.next, now),
  ]);
  const said = sentences(rows.filter(({ attention, message }) => attention && message !== ''));
  return [...table(HEADS, cells), ...(said.length > 0 ? ['', ...said] : [])];
}

/** A message that several addresses of an object share is printed once, for the object. */
const sentences = (rows: readonly Row[]): readonly string[] =>
  [...Map.groupBy(rows, (row) => sentence({ ...row, address: null })).values()].flatMap(([first, ...same]) =>
    first ? sentence(same.length > 0 ? { ...first, address: null } : first) : [],
  );

const sentence = ({ kind, namespace, name, address, reason, message }: Row): string => {
  const object = `${kind}/${name}${namespace === '' ? '' : ` in ${namespace}`}`;
  return `${object}${address === null || mentions(message, address) ? '' : `, ${address}`}: ${reason === '' ? '' : `${reason}: `}${message}`;
};

function recordSetRow(object: NodeDNSRecordSet): Row {
  const { metadata, spec, status: said } = object;
  const ready = conditionOf(object, 'Ready');
  const stale = unseen(object);
  const { recordName = '', zone = '' } = spec?.dnsRecordSet ?? {};
  return {
    kind: 'nodednsrecordset',
    namespace: metadata.namespace ?? '',
    name: metadata.name,
    address: recordOf(recordName, zone),
    where: said?.records === undefined ? null : `${said.records} ${said.records === 1 ? 'address' : 'addresses'}`,
    state: said?.state ?? stateless(object),
    since: ready ? { at: ready.lastTransitionTime, exact: true } : null,
    reason: reasonOf(object),
    message: joined(wrongWith(object), stale),
    next: null,
    attention: stale !== null || ready?.status !== 'True' || troubleOf(object) !== null,
  };
}

/** The full name of a record. A zone may be named by an opaque id. */
function recordOf(name: string, zone: string): string | null {
  if (name === '') return null;
  if (name === '@') return zone;
  const isWithin = name.endsWith('.') || name === zone || name.endsWith(`.${zone}`) || !zone.includes('.');
  return isWithin ? name.replace(/\.$/, '') : `${name}.${zone}`;
}

// ---------------------------------------------------------------- addresses of IPGroups

/** One row for each reserved address of a Service, and for each Service that has none or is left to another controller. Addresses of RoutedIPs are shown with these. */
function addressRows({ ips, services, routedIPs, groups }: Objects, namespace: string | null): readonly Row[] {
  const serving = new Map(services.map((service) => [`${service.metadata.namespace}/${service.metadata.name}`, service]));
  const shown = new Set(routedIPs.flatMap(({ metadata }) => metadata.uid ?? []));
  const rows = ips.filter((ip) => !isShown(ip, shown)).map((ip) => ipRow(ip, serving));
  const owned = new Set(ips.flatMap(({ metadata }) => metadata.annotations?.[OWNER_ANNOTATION] ?? []));
  const wanting =
    groups.length === 0
      ? []
      : services.filter((service) => isWanting(service, owned) || (contentionOf(service) && !isOwner(service, owned)));
  return [...rows, ...wanting.map(wantingRow)].filter((row) => namespace === null || row.namespace === namespace);
}

const isShown = ({ metadata }: IP, routedIPs: ReadonlySet<string>): boolean => {
  const uid = metadata.labels?.[ROUTED_IP_LABEL];
  return uid !== undefined && routedIPs.has(uid);
};

const ingressOf = ({ status: said }: ServiceObject): readonly string[] => (said?.loadBalancer?.ingress ?? []).flatMap(({ ip }) => ip ?? []);

const isOwner = ({ metadata }: ServiceObject, owned: ReadonlySet<string>): boolean => owned.has(`${metadata.namespace}/${metadata.name}`);

const isWanting = (service: ServiceObject, owned: ReadonlySet<string>): boolean =>
  service.spec?.type === 'LoadBalancer' && !service.spec.loadBalancerClass && ingressOf(service).length === 0 && !isOwner(service, owned);

/** The condition that it is left to another controller. */
const contentionOf = ({ status: said }: ServiceObject) =>
  said?.conditions?.find(({ type, status }) => type === CONTENDED_CONDITION && status === 'True');

function ipRow({ metadata }: IP, services: ReadonlyMap<string, ServiceObject>): Row {
  const owner = metadata.annotations?.[OWNER_ANNOTATION] ?? '';
  const [namespace = ''] = owner.includes('/') ? owner.split('/') : [];
  const address = metadata.annotations?.[ADDRESS_ANNOTATION] ?? addressOfIP(metadata.name) ?? metadata.name;
  const service = services.get(owner);
  const isPublished = service !== undefined && ingressOf(service).includes(address);
  const group = metadata.labels?.[GROUP_LABEL];
  const routed = metadata.labels?.[ROUTED_IP_LABEL] !== undefined;
  return {
    kind: 'ip',
    namespace,
    name: metadata.name,
    address,
    where: owner === '' ? null : `${routed ? 'routedip' : 'service'}/${owner.split('/').at(-1)}`,
    state: isPublished ? 'published' : 'reserved',
    since: metadata.creationTimestamp ? { at: metadata.creationTimestamp, exact: true } : null,
    reason: group === undefined ? '' : `of ${group}`,
    message: isPublished || routed ? '' : unlistedText(owner, service),
    next: null,
    attention: !isPublished && !routed,
  };
}

const unlistedText = (owner: string, service: ServiceObject | undefined): string =>
  (service && contentionOf(service)?.message) ?? `reserved for ${owner || 'nobody'}, whose status does not list it`;

function wantingRow(service: ServiceObject): Row {
  const { name, namespace, creationTimestamp } = service.metadata;
  const contention = contentionOf(service);
  const since = contention?.lastTransitionTime ?? creationTimestamp;
  return {
    kind: 'service',
    namespace,
    name,
    address: null,
    where: null,
    state: contention ? 'contended' : 'pending',
    since: since ? { at: since, exact: true } : null,
    reason: contention ? CONTENDED : 'NoAddress',
    message:
      contention?.message ??
      `it is of type LoadBalancer and has no address; its Events say why: kubectl describe service -n ${namespace} ${name}`,
    next: null,
    attention: true,
  };
}
