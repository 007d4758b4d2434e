/** What `routedip-operator probe` is asked for. */
export interface ProbeOptions {
  readonly json: boolean;
  /** How many reads the latency is taken from. */
  readonly reads: number;
  /** A folder for what was said and answered; nothing is written when absent. */
  readonly record?: string;
  readonly zone?: string;
  readonly firewall?: string;
  readonly write: boolean;
  /** Numbers of two Droplets. Never absent with `write`, and neither is `zone`. */
  readonly droplets?: readonly [number, number];
  readonly yes: boolean;
  /** File that says what was made. */
  readonly state: string;
  /** Such a file: what stands in it is taken back, and nothing else is done. */
  readonly clean?: string;
  /** How long the effect of a write is waited for, ms. */
  readonly wait: number;
}
