import type { Target } from '../e2e/target.ts';
import { VipWatch } from '../e2e/vip-watch.ts';
import { openWatches, type Told, type Watches } from '../e2e/watches.ts';
import type { Json, StatusRecord } from './history.ts';

const KINDS: Readonly<Record<string, string>> = {
  FloatingIPPool: '/apis/flipop.digitalocean.com/v1alpha1/floatingippools',
  NodeDNSRecordSet: '/apis/flipop.digitalocean.com/v1alpha1/nodednsrecordsets',
  RoutedIP: '/apis/routedip.io/v1alpha1/routedips',
  IPGroup: '/apis/paas.org/v1/ipgroups',
  Service: '/api/v1/services',
};

interface Observed {
  readonly metadata: { readonly name: string };
  readonly spec?: { readonly type?: string };
  readonly status?: Json;
}

/** Every status that is written, in order, and what two Services ever had at once. */
export class Observer {
  readonly statuses: StatusRecord[] = [];
  readonly #watches: Watches;
  readonly #vips: VipWatch;
  readonly #lost: string[] = [];
  #isQuiet = false;

  constructor(target: Pick<Target, 'adminKubeconfig'>) {
    this.#watches = openWatches(target, (why) => this.#lost.push(`the watch is lost: ${why}`));
    this.#vips = new VipWatch(target);
  }

  get doubles(): readonly string[] {
    return [...this.#lost, ...this.#vips.violations];
  }

  /** When a status was written last, ms since the epoch. */
  get lastAt(): number {
    return this.statuses.at(-1)?.at ?? 0;
  }

  async start(): Promise<void> {
    await this.#vips.start();
    for (const [kind, path] of Object.entries(KINDS)) await this.#watches.follow(path, (told) => this.#take(kind, told));
  }

  /** From now on objects whose names begin with `quiet` are to stay as they are. */
  beQuiet(): void {
    this.#isQuiet = true;
  }

  close(): void {
    this.#watches.close();
    this.#vips.close();
  }

  #take(kind: string, { type, object }: Told): void {
    const { metadata, spec, status } = object as Observed;
    if (kind === 'Service' && spec?.type !== 'LoadBalancer') return;
    this.statuses.push({
      at: Date.now(),
      object: `${kind} ${metadata.name}`,
      isQuiet: this.#isQuiet && metadata.name.startsWith('quiet'),
      status: type === 'DELETED' ? null : (status ?? {}),
    });
  }
}
