/** What somebody does who may edit everything in a namespace of his own: RoutedIPs, Services, Pods, Secrets and annotations there, and pools, record sets and issuers where those were granted
 *  to him. One table for the simulation and for a real API server. */

export type AttackedKind = 'RoutedIP' | 'RoutedIPIssuer' | 'FloatingIPPool' | 'NodeDNSRecordSet';

type Field = string | number | boolean | null | readonly Field[] | { readonly [field: string]: Field };
export interface Fields {
  readonly [field: string]: Field;
}

interface AttackedPort {
  readonly port: number;
  readonly nodePort: number | null;
}

/** How an attacker reaches the cluster: all of it in his own namespace. */
export interface Hands {
  /** Creates the object, or puts this spec in the place of the one that it has. */
  apply(kind: AttackedKind, name: string, spec: Fields): unknown;
  annotate(name: string, annotations: Readonly<Record<string, string>>): unknown;
  /** Of a RoutedIP. `letsGo`: its finalizers are taken off, too. */
  remove(name: string, letsGo: boolean): unknown;
  /** A Service whose Pods are on every node. */
  serve(name: string, ports: readonly AttackedPort[]): unknown;
}

/** What of the victim an attack is about. */
export interface Victim {
  readonly address: string;
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

const routed = ({ className }: Victim, { by }: Aim, more: Fields = {}): Fields => ({
  ...(by === 'class' ? { className } : { issuerRef: { name: by } }),
  serviceRef: { serviceName: 'any' },
  ...more,
});
const pool = ({ cloud }: Victim, more: Fields): Fields => ({ provider: cloud, region: 'nyc3', match: { nodeLabel: 'pool=work' }, ...more });

const routedName = ({ object }: Aim): string => `r${object}`;
const poolName = ({ object }: Aim): string => `p${object}`;
const INVALID = { className: 'no/such' };

export const ATTACKS = {
  'a RoutedIP names it': (hands, victim, aim) =>
    hands.apply('RoutedIP', routedName(aim), routed(victim, aim, { routedIP: victim.address })),
  'a RoutedIP that is not valid names it': (hands, victim, aim) =>
    hands.apply('RoutedIP', routedName(aim), { ...INVALID, serviceRef: { serviceName: 'any' }, routedIP: victim.address }),
  'a RoutedIP that is not valid waits': (hands, _, aim) =>
    hands.apply('RoutedIP', routedName(aim), { ...INVALID, serviceRef: { serviceName: 'any' } }),
  'a pool lists it': (hands, victim, aim) => hands.apply('FloatingIPPool', poolName(aim), pool(victim, { ips: [victim.address] })),
  'a RoutedIP goes': (hands, _, aim) => hands.remove(routedName(aim), false),
} as const satisfies Readonly<Record<string, Attack>>;

export type AttackKind = keyof typeof ATTACKS;
export const KINDS = Object.keys(ATTACKS) as readonly AttackKind[];

export const attack = (kind: AttackKind, hands: Hands, victim: Victim, aim: Aim): unknown => ATTACKS[kind](hands, victim, aim);
