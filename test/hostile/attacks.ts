/** What somebody does who may edit everything in a namespace of his own: RoutedIPs, Services, Pods, Secrets and annotations there, and pools, record sets and issuers where those were granted
 *  to him. One table for the simulation and for a real API server. */

export type AttackedKind = 'RoutedIP' | 'RoutedIPIssuer' | 'FloatingIPPool' | 'NodeDNSRecordSet';

type Field = string | number | boolean | null | readonly Field[] | { readonly [field: string]: Field };
export interface Fields {
  readonly [field: string]: Field;
}

/** How an attacker reaches the cluster: all of it in his own namespace. What cannot be done there does nothing. */
export interface Hands {
  /** Creates the object, or puts this spec in the place of the one that it has. */
  apply(kind: AttackedKind, name: string, spec: Fields): unknown;
  annotate(kind: AttackedKind, name: string, annotations: Readonly<Record<string, string>>): unknown;
  /** `letsGo`: he takes its finalizers off, too. */
  remove(kind: AttackedKind, name: string, letsGo: boolean): unknown;
  /** A Service with these ports, whose Pods are on every node. */
  serve(name: string, ports: readonly number[]): unknown;
  /** A Service of type LoadBalancer that asks for this address, or for any. */
  balance(name: string, address: string | null): unknown;
  /** Pods on every node with the labels that a pool of the others selects. */
  pods(): unknown;
  secret(name: string, data: Readonly<Record<string, string>> | null): unknown;
  /** So many times, twice a second. */
  again(times: number, act: (turn: number) => unknown): unknown;
}

/** What of the others an attack is about. */
export interface Victim {
  readonly address: string;
  /** One that is on a machine outside of the cluster. */
  readonly outside: string;
  readonly zone: string;
  readonly recordName: string;
  /** Of a Service of type LoadBalancer. */
  readonly balanced: string;
  readonly node: string;
  /** A firewall that a class names. */
  readonly firewall: string;
  readonly className: string;
  readonly cloud: string;
}

/** With whose credentials a RoutedIP of the attacker is to be served: by the class for all, or by an issuer of his own that names no Secret, one whose token is refused, one of another account. */
export const MEANS = ['class', 'operator', 'refused', 'foreign'] as const;
export type Means = (typeof MEANS)[number];

/** Which of his objects it is, and by which means. */
export interface Aim {
  readonly object: number;
  readonly by: Means;
}

type Attack = (hands: Hands, victim: Victim, aim: Aim) => unknown;

/** Of the node itself: the kubelet, the API server, etcd, SSH. */
export const PORTS_OF_THE_NODE: readonly number[] = [10_250, 6_443, 2_379, 22];
const VERY_MANY = 3_000;
const TWICE_A_SECOND_FOR = 60;
const HUGE = 200_000;

const SERVICE = 'any';
const INVALID = { className: 'no/such', serviceRef: { serviceName: SERVICE } };
const routed = ({ className }: Victim, by: Means, more: Fields = {}): Fields => ({
  ...(by === 'class' ? { className } : { issuerRef: { name: by } }),
  serviceRef: { serviceName: SERVICE },
  ...more,
});
const pool = ({ cloud, address }: Victim, more: Fields = {}): Fields => ({
  ...{ provider: cloud, region: 'nyc3', match: { nodeLabel: 'pool=work' }, ips: [address] },
  ...more,
});
export const issuer = ({ cloud }: Pick<Victim, 'cloud'>, by: Means, more: Fields = {}): Fields => ({
  ...{ issuerClass: cloud, region: 'nyc3', adoption: 'Any' },
  ...(by !== 'operator' && { fromSecretsRef: [{ name: by }] }),
  ...more,
});

const routedName = ({ object }: Aim): string => `r${object}`;
const poolName = ({ object }: Aim): string => `p${object}`;
const portsFrom = (first: number, count: number): readonly number[] => Array.from({ length: count }, (_, each) => first + each);

const edit =
  (more: (victim: Victim) => Fields): Attack =>
  (hands, victim, aim) =>
    hands.apply('RoutedIP', routedName(aim), routed(victim, aim.by, more(victim)));
/** A RoutedIP that names the address of somebody else bears these, and is deleted in the end when `goes`. */
const marked =
  (annotations: (victim: Victim) => Readonly<Record<string, string>>, goes = false): Attack =>
  async (hands, victim, aim) => {
    await hands.apply('RoutedIP', routedName(aim), routed(victim, aim.by, { routedIP: victim.address }));
    await hands.annotate('RoutedIP', routedName(aim), annotations(victim));
    if (goes) await hands.remove('RoutedIP', routedName(aim), false);
  };
/** His RoutedIP goes by it, too. */
const issued =
  (more: (victim: Victim) => Fields): Attack =>
  async (hands, victim, { by, object }) => {
    if (by === 'class') return;
    await hands.apply('RoutedIPIssuer', by, issuer(victim, by, more(victim)));
    await hands.apply('RoutedIP', `r${object}`, routed(victim, by));
  };
const served =
  (ports: readonly number[]): Attack =>
  (hands) =>
    hands.serve(SERVICE, ports);

const attacks = {
  'a RoutedIP names its address': edit(({ address }) => ({ routedIP: address })),
  'a RoutedIP that is not valid names it': (hands, { address }, aim) =>
    hands.apply('RoutedIP', routedName(aim), { ...INVALID, routedIP: address }),
  'a RoutedIP that is not valid waits': (hands, _, aim) => hands.apply('RoutedIP', routedName(aim), INVALID),
  'a RoutedIP wants an address of its own': edit(() => ({})),
  'a RoutedIP names an address on a machine outside': edit(({ outside }) => ({ routedIP: outside })),
  'a RoutedIP goes': (hands, _, aim) => hands.remove('RoutedIP', routedName(aim), false),
  'a RoutedIP goes at once': (hands, _, aim) => hands.remove('RoutedIP', routedName(aim), true),
  'a RoutedIP is made again under its name': async (hands, victim, aim) => {
    await hands.remove('RoutedIP', routedName(aim), true);
    await hands.apply('RoutedIP', routedName(aim), routed(victim, aim.by, { routedIP: victim.address }));
  },
  'a pool lists it': (hands, victim, aim) => hands.apply('FloatingIPPool', poolName(aim), pool(victim)),
  'a pool lists an address that nobody has': (hands, victim, aim) =>
    hands.apply('FloatingIPPool', poolName(aim), pool(victim, { ips: ['203.0.113.254'] })),
  'a pool takes its name': (hands, victim, aim) =>
    hands.apply('FloatingIPPool', poolName(aim), pool(victim, { dnsRecordSet: { zone: victim.zone, recordName: victim.recordName } })),
  'a record set takes its name': (hands, { zone, recordName }) =>
    hands.apply('NodeDNSRecordSet', 'n', {
      match: { nodeLabel: 'pool=work' },
      dnsRecordSet: { zone, recordName },
      addressType: 'ExternalIP',
    }),
  'an issuer lets nodes bear no address': issued(() => ({ perNodeIPLimit: 0 })),
  'an issuer keeps Pods off its nodes': issued(() => ({ taintEffect: 'NoSchedule' })),
  'an issuer wants a firewall for itself': issued(({ firewall }) => ({ routedIPFirewallName: firewall, firewallExclusive: true })),
  'an issuer allows all ports': issued(({ firewall }) => ({
    ...{ routedIPFirewallName: firewall, routedIPReclaimPolicy: 'Delete' },
    allowedPorts: PORTS_OF_THE_NODE.map(String),
  })),
  'a Service wants ports of the node': served(PORTS_OF_THE_NODE),
  'a Service wants thousands of ports': served(portsFrom(20_000, VERY_MANY)),
  'a Service wants other ports twice a second': (hands) =>
    hands.again(TWICE_A_SECOND_FOR, (turn) => hands.serve(SERVICE, [9_000 + (turn % 2)])),
  'it is to be deleted with him': marked(() => ({ 'routedip.io/delete-adopted': 'true' }), true),
  'it is to be let go at once': marked(() => ({ 'routedip.io/force-release': 'true', 'routedip.io/delete-adopted': 'true' }), true),
  'it is to move to another node': async (hands, victim, aim) => {
    await hands.apply('FloatingIPPool', poolName(aim), pool(victim));
    await hands.annotate('FloatingIPPool', poolName(aim), {
      'routedip.io/move-to': `${victim.address}=${victim.node}`,
      'routedip.io/adopt': 'any',
    });
    await hands.annotate('RoutedIP', routedName(aim), { 'routedip.io/move-to': victim.node });
  },
  'it is to be paused, and its node evacuated': marked(() => ({ 'routedip.io/evacuate': 'true', 'routedip.io/paused': 'true' })),
  'an annotation is huge': marked(() => ({ 'routedip.io/move-to': 'x,'.repeat(HUGE / 2), 'routedip.io/paused': 'y'.repeat(HUGE) })),
  'a Service asks for its address': (hands, { balanced }, { object }) => hands.balance(`b${object}`, balanced),
  'Pods bear its labels': (hands) => hands.pods(),
  'a Secret holds garbage': (hands, _, { by }) => hands.secret(by, { token: '\u0000\u202e'.repeat(1_000) }),
  'a Secret goes': (hands, _, { by }) => hands.secret(by, null),
  'a Secret holds a token that nobody has': (hands, _, { by }) => hands.secret(by, { token: 'dop_v1_0123456789abcdef0123456789' }),
} as const satisfies Readonly<Record<string, Attack>>;

export type AttackKind = keyof typeof attacks;
export const ATTACKS: Readonly<Record<AttackKind, Attack>> = attacks;
export const KINDS = Object.keys(ATTACKS) as readonly AttackKind[];
