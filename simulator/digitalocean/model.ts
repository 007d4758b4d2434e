/** When and by what the holder of a reserved IP changed; the list of them is the proof that it had one owner at any time. */
export interface HistoryEntry {
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly dropletId: number | null;
  readonly by: 'created' | 'action' | 'hand' | 'droplet removed' | 'deleted';
  /** The action that did it; null unless `by` is 'action'. */
  readonly actionId: number | null;
}

export interface Droplet {
  readonly id: number;
  readonly name: string;
  readonly region: string;
  readonly size: string;
  readonly image: string;
  readonly features: readonly string[];
  tags: readonly string[];
  readonly createdAt: number;
  /** From this time on its status is `active`, before it is `new`. */
  readonly activeAt: number;
  readonly publicIPv4: string;
  /** Null while IPv6 is not enabled on it. */
  readonly publicIPv6: string | null;
  readonly privateIPv4: string;
}

/** A network that the account has brought along: its addresses come into being when they are assigned. */
export interface Prefix {
  readonly uuid: string;
  readonly prefix: string;
  readonly region: string;
  readonly status: string;
}

export interface ReservedIP {
  readonly ip: string;
  /** It is of a prefix of the account's own: while it is on no droplet it is in no answer. Absent for no. */
  readonly brought?: true;
  readonly family: 4 | 6;
  readonly region: string;
  readonly projectId: string;
  /** The only one that is shown it in lists; null for all. */
  readonly token: string | null;
  readonly createdAt: number;
  deletedAt: number | null;
  dropletId: number | null;
  /** The action under way; while there is one the address is `locked`. */
  pendingActionId: number | null;
  readonly actionIds: number[];
  readonly history: HistoryEntry[];
}

export type ActionType = 'assign_ip' | 'unassign_ip' | 'reserve_ip' | 'create';

export interface Action {
  readonly id: number;
  readonly type: ActionType;
  status: 'in-progress' | 'completed' | 'errored';
  readonly startedAt: number;
  /** When it ends and its effect shows. */
  readonly dueAt: number;
  completedAt: number | null;
  readonly resourceId: number;
  readonly resourceType: 'reserved_ip' | 'reserved_ipv6' | 'droplet';
  readonly region: string;
  readonly ip: string | null;
  readonly dropletId: number | null;
  /** Set by a fault: it ends `errored` and has no effect. */
  readonly failing: boolean;
}

export interface FirewallRule {
  readonly protocol: 'tcp' | 'udp' | 'icmp';
  readonly ports: string;
  readonly sources?: RuleTarget;
  readonly destinations?: RuleTarget;
}

export interface RuleTarget {
  readonly addresses?: readonly string[];
  readonly droplet_ids?: readonly number[];
  readonly load_balancer_uids?: readonly string[];
  readonly kubernetes_ids?: readonly string[];
  readonly tags?: readonly string[];
}

export interface PendingChange {
  readonly dropletId: number;
  readonly removing: boolean;
  /** When the change is in force and leaves `pending_changes`. */
  readonly dueAt: number;
  /** What is then in force on the droplet, unless it is taken out. */
  readonly inboundRules: readonly FirewallRule[];
}

export interface Firewall {
  readonly id: string;
  name: string;
  readonly createdAt: number;
  inboundRules: readonly FirewallRule[];
  outboundRules: readonly FirewallRule[];
  dropletIds: readonly number[];
  tags: readonly string[];
  /** Droplets that are in it by id or by tag, as was last noticed. */
  members: readonly number[];
  pending: readonly PendingChange[];
  /** The inbound rules in force, by droplet. */
  applied: Readonly<Record<number, readonly FirewallRule[]>>;
}

export interface DomainRecord {
  readonly id: number;
  readonly type: string;
  readonly name: string;
  readonly data: string;
  readonly priority: number | null;
  readonly port: number | null;
  readonly ttl: number;
  readonly weight: number | null;
  readonly flags: number | null;
  readonly tag: string | null;
}

export interface Domain {
  readonly name: string;
  readonly ttl: number;
  readonly records: Map<number, DomainRecord>;
}
