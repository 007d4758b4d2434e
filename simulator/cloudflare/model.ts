/** A zone of the account. */
export interface Zone {
  /** 32 hexadecimal digits. */
  readonly id: string;
  readonly name: string;
  readonly status: 'active' | 'pending';
  readonly createdAt: number;
  readonly records: Map<string, ZoneRecord>;
}

export interface ZoneRecord {
  /** 32 hexadecimal digits. */
  readonly id: string;
  readonly type: string;
  /** With the zone's name, in lower case. */
  readonly name: string;
  readonly content: string;
  /** Seconds; 1 for automatic, which proxied records always have. */
  readonly ttl: number;
  readonly proxied: boolean;
  readonly comment: string | null;
  readonly tags: readonly string[];
  readonly createdAt: number;
  readonly modifiedAt: number;
}

/** What a token may do; everything when nothing is said. */
export interface Rights {
  /** List and read zones. */
  readonly zoneRead: boolean;
  readonly dnsRead: boolean;
  readonly dnsWrite: boolean;
}

/** The account as one simulator holds it. */
export interface Account {
  readonly now: () => number;
  /** A new identifier: 32 hexadecimal digits. */
  readonly nextId: () => string;
  readonly zones: Map<string, Zone>;
}

export function createAccount(now: () => number): Account {
  let made = 0;
  const nextId = (): string => {
    made += 1;
    return `c0ffee${made.toString(16).padStart(26, '0')}`;
  };
  return { now, nextId, zones: new Map() };
}
