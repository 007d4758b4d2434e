/** The metrics of one pool. */
export interface PoolFigures {
  readonly namespace: string;
  readonly name: string;
  readonly provider: string;
  /** Full name of the pool's DNS record; empty when it has none. */
  readonly dns: string;
  /** `spec.desiredIPs`, or the number of `spec.ips` when that is absent or 0. */
  readonly desired: number;
  /** Nodes that match and wait for an address. */
  readonly assignableNodes: number;
  /** Addresses that the pool has, disabled ones too. */
  readonly ips: readonly AddressFigures[];
}

/** The metrics of one address of a pool, as in `status.ips`. */
export interface AddressFigures {
  readonly ip: string;
  readonly state: string;
  readonly nodeName: string | undefined;
  readonly providerID: string | undefined;
}

/** The metrics of one NodeDNSRecordSet. */
export interface RecordSetFigures {
  readonly namespace: string;
  readonly name: string;
  /** The DNS provider; empty before the first valid spec. */
  readonly provider: string;
  /** Full name of the record; empty until a valid spec is known. */
  readonly dns: string;
  /** How many records the set has, as last confirmed; 0 before the first time. */
  readonly records: number;
}

/** An address whose node was lost is active on another one. */
export interface FailoverFigures {
  readonly provider: string;
  /** From the turn that received the loss to the turn that received the confirmation, ms. */
  readonly tookMs: number;
}

/** Metrics of objects of one kind. */
export interface Shown<Figures> {
  readonly show: (figures: Figures) => void;
  readonly forget: (namespace: string, name: string) => void;
}
