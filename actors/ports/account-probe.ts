/** The options of `routedip-operator probe`. */
export interface ProbeOptions {
  readonly json: boolean;
  /** How many reads the latency is measured from. */
  readonly reads: number;
  /** A folder for requests and replies; nothing is written when absent. */
  readonly record?: string;
  readonly zone?: string;
  readonly firewall?: string;
  readonly write: boolean;
  /** IDs of two Droplets. Never absent with `write`, and neither is `zone`. */
  readonly droplets?: readonly [number, number];
  readonly yes: boolean;
  /** The file that lists what was created. */
  readonly state: string;
  /** Such a file: what it lists is undone, and nothing else is done. */
  readonly clean?: string;
  /** How long the effect of a write is waited for, ms. */
  readonly wait: number;
}
