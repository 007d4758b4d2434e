/** What is seen of one play from outside: plain data, so that a rule can be asked about a history that went another way. */
export interface History {
  readonly stages: readonly StageRecord[];
  readonly calls: readonly ProviderCall[];
  readonly statuses: readonly StatusRecord[];
  /** What the scenario did to the world. */
  readonly marks: readonly Mark[];
  readonly acts: readonly Act[];
  readonly processes: readonly ProcessRecord[];
  /** Addresses of IPGroups that two Services had, in words. */
  readonly doubles: readonly string[];
}

export type Version = 'old' | 'new';

export interface StageRecord {
  readonly number: number;
  readonly leads: Version;
  readonly follows: Version | null;
  /** Times are ms since the epoch. */
  readonly from: number;
  readonly to: number;
  /** What there was at the provider when everything had come to rest. */
  readonly rest: Rest;
}

export interface Rest {
  /** Addresses that were ever created by call, those that are gone too. */
  readonly created: number;
  /** How many the scenario has asked for. */
  readonly wanted: number;
  /** Ports that the operator has opened in the firewall, and that no status says so of. */
  readonly unowned: readonly string[];
}

/** A call that was to change something. */
export interface ProviderCall {
  readonly at: number;
  readonly provider: 'digitalocean' | 'cloudflare';
  readonly kind: CallKind;
  /** What it was about: an address, a firewall and a port, a zone and a record. */
  readonly subject: string;
  /** The node of an assign. */
  readonly node: string | null;
  /** Whether the caller read that it was accepted; null when it read nothing. */
  readonly accepted: boolean | null;
  /** Which version sent it. */
  readonly by: Version | null;
}

export type CallKind = 'assign' | 'unassign' | 'create' | 'delete' | 'firewall+' | 'firewall-' | 'dns+' | 'dns~' | 'dns-' | 'other';

/** An object as a watch told of it; `status` null when it was deleted. */
export interface StatusRecord {
  readonly at: number;
  /** `FloatingIPPool ingress`. */
  readonly object: string;
  /** Created on purpose never to be touched: nothing in its status may change. */
  readonly isQuiet: boolean;
  readonly status: Json | null;
}

export type Json = null | boolean | number | string | readonly Json[] | { readonly [field: string]: Json | undefined };

export type Mark =
  | { readonly at: number; readonly kind: 'down' | 'up'; readonly node: string }
  /** The leader ended, or what it had under way was left to another one. */
  | { readonly at: number; readonly kind: 'leader ends' }
  /** An object is being removed on purpose. */
  | { readonly at: number; readonly kind: 'removed'; readonly object: string; readonly address: string | null };

/** Something that was asked for, and when it was done; null for never. */
export interface Act {
  readonly stage: number;
  readonly what: string;
  readonly from: number;
  readonly to: number | null;
  readonly deadlineMs: number;
  /** Before that it cannot have been done. */
  readonly notBeforeMs: number;
}

export interface ProcessRecord {
  readonly name: string;
  readonly version: Version;
  /** Lines of level error, and whatever is no log line. */
  readonly complaints: readonly string[];
  /** How many cells it has rebuilt, since their records did not fit its charts. */
  readonly setAside: number;
  /** Whenever /readyz did not answer 200, from the first time that it did until the process was asked to end. */
  readonly unready: readonly Unready[];
  /** How it ended: an exit code or a signal; null when it runs. */
  readonly ended: string | null;
  /** How it was to end. */
  readonly wanted: string | null;
}

export interface Unready {
  readonly answer: string;
  readonly from: number;
  /** When it answered 200 again, or was asked last. */
  readonly to: number;
}
