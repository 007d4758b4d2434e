import type { Json } from '../../../actors/ports/records.ts';
import { JOBS_ONLY, jobsOnly } from '../../../adapters/accounts/jobs-only.ts';
import { MemoryJobs, type MemoryJobsOptions } from '../../../adapters/memory/job-driver.ts';
import type { ObjectRef } from '../../../machines/model/types.ts';
import type { Killer, OperatorProcess, WorldOptions } from '../../support/world.ts';
import { node } from '../../support/world.ts';
import { RoutedWorld } from '../routedip/world.ts';

const PLATFORM = 'example.com/http';
export const KEY = 'job.http';

const TEMPLATE: Json = { template: { spec: { restartPolicy: 'Never', containers: [{ name: 'platform', image: 'curl:8' }] } } };

export interface JobsWorldOptions extends WorldOptions {
  readonly jobs?: MemoryJobsOptions;
}

/** RoutedIPs of a class whose addresses and firewall are driven by Jobs. */
export class JobsWorld extends RoutedWorld {
  readonly jobs: MemoryJobs;

  constructor({ jobs = {}, ...options }: JobsWorldOptions = {}) {
    super(options);
    this.jobs = new MemoryJobs(this.clock, jobs);
  }

  jobClass(change: { readonly [field: string]: Json } = {}): ObjectRef {
    const templates = { updateRoutedIP: TEMPLATE, updateFirewall: TEMPLATE };
    return this.setClass({ className: PLATFORM, region: 'nyc3', routedIPFirewallName: 'edge', ...templates, ...change }, 'http');
  }

  override setRoutedIP(name: string, change: { readonly [field: string]: Json } = {}): ObjectRef {
    return super.setRoutedIP(name, { className: PLATFORM, ...change });
  }

  /** A process that has the means to run Jobs. */
  async operator(kills?: Killer): Promise<OperatorProcess> {
    this.begins = ({ providers }) =>
      providers.set(KEY, { facts: { ...JOBS_ONLY, missing: null }, provider: jobsOnly(KEY, this.jobs.driver()) });
    return this.start(kills);
  }

  /** Who holds the address at the platform, by the name of the node. */
  heldBy(address: string): string | null {
    return this.jobs.platform.holders.get(address)?.replace(/^.*\//, '') ?? null;
  }

  /** What is open in the firewall: `tcp/8080 old`. */
  opened(): readonly string[] {
    return [...(this.jobs.platform.open.get('edge') ?? [])].map((rule) => rule.replace(/ .*\//, ' ')).sort();
  }
}

export const OLD = node('old', { createdAt: 1 });
export const YOUNG = node('young', { createdAt: 2 });

/** A RoutedIP for the Service `shop` on nodes old and young, which has nothing yet. */
export async function jobDriven(change: { readonly [field: string]: Json } = {}, options: JobsWorldOptions = {}) {
  const world = new JobsWorld(options);
  const policy = world.jobClass(change);
  world.setNode(OLD, YOUNG);
  world.setWeb('shop', ['old', 'young']);
  const ref = world.setRoutedIP('shop');
  const process = await world.operator();
  return { world, ref, policy, process };
}
