import type { VipChange } from '../../../adapters/memory/vip-world.ts';
import type { VirtualIP } from '../../../machines/vip/virtualip.ts';
import type { WorldOptions } from '../../support/world.ts';
import { SECOND, VipWorld } from '../vip/world.ts';

export const ADDRESS = '1.1.2.2';
export const CLONE = 'vip-keepalived-clone';

/** As the samples have it: the free ones are .2, .3, .4 and .6. */
export const SEGMENT = { segment: '1.1.2.0/29', excludedIPs: ['1.1.2.0', '1.1.2.1', '1.1.2.5', '1.1.2.7'] };

export const STAGES: readonly string[] = [
  'Migrating: preparing for migration',
  'Migrating: reassociating IP object',
  'Migrating: cleaning up',
  'Migrating: converting service',
  'Migrating: assigning original IP',
];

const SPEC = { ports: [{ name: 'http', port: 80, protocol: 'TCP', targetPort: 8080 }], selector: { app: 'web' } };

export interface MigrationOptions extends WorldOptions {
  /** Whether there is an IPGroup from the start. Default true. */
  readonly group?: boolean;
}

/** VirtualIPs beside Services of type LoadBalancer, in a world in memory, with one mapping and its group. */
export class MigrationWorld extends VipWorld {
  /** Each `status.state: status.message` of VirtualIP `vip`, whenever one of both changed. */
  readonly shown: string[] = [];
  /** Moments at which nobody served the address, or it was not reserved, or another one was taken: what must never be. */
  readonly wrongs: string[] = [];
  /** Looked at after every change of the cluster; true once the copy of `vip` has served. */
  #served = false;
  /** `vip` serves, or is to be served by what it is migrated to. */
  isServing = true;

  constructor({ vips, group = true, ...options }: MigrationOptions = {}) {
    const changed = (change: VipChange): void => this.#changed(change);
    super({ ...options, vips: { callMs: 10, watchMs: 20, ...vips, virtualIPs: true, changed } });
    this.rules.migrates = true;
    this.legacy.setMapping('keepalived-2', { ...SEGMENT, keepalivedGroup: 'group2' });
    if (group) this.addGroup();
    this.addService('web');
  }

  get legacy() {
    return this.k8s.virtualIPs;
  }

  get vip(): VirtualIP | null {
    return this.legacy.find('vip');
  }

  addGroup(): void {
    this.k8s.setGroup('ipgroup-2', SEGMENT);
  }

  addService(name: string) {
    return this.k8s.setService({ name, type: 'ClusterIP', more: { labels: { app: name }, annotations: {}, owners: [], spec: SPEC } });
  }

  /** VirtualIP `name` of Service `web` serves. */
  async valid({ name = 'vip', ip = '' } = {}): Promise<void> {
    this.legacy.set({ name, service: 'web', ip });
    await this.untilState('Valid', name);
  }

  /** Waits until the VirtualIP shows the state, and the message if one is given; answers the ms that passed. */
  untilState(state: string, name = 'vip', message?: string, maxMs = 60 * SECOND): Promise<number> {
    return this.clock.runUntil(() => {
      const status = this.legacy.find(name)?.status;
      return status?.state === state && (message === undefined || status.message === message);
    }, maxMs);
  }

  untilVirtualIPGone(name = 'vip', maxMs = 60 * SECOND): Promise<number> {
    return this.clock.runUntil(() => this.legacy.find(name) === null, maxMs);
  }

  /** Where the actor of the VirtualIP is. */
  place(name = 'vip'): string | null {
    const id = `vvip/default/${name}`;
    const values = this.processes.flatMap(({ supervisor }) => supervisor.records().get(id)?.get(id)?.snapshot.value ?? []);
    return values.length === 0 ? null : String(values[0]);
  }

  /** The addresses by which the copy serves. */
  externals(clone = CLONE): readonly unknown[] {
    const found = this.k8s.service('default', clone)?.more?.spec?.externalIPs;
    return Array.isArray(found) ? found : [];
  }

  /** What the Service bears that is ours. */
  marks(name = 'web'): Readonly<Record<string, string>> {
    return this.k8s.service('default', name)?.more?.annotations ?? {};
  }

  #changed(change: VipChange): void {
    if (change.kind === 'VirtualIP') this.#show(change.after);
    this.#look();
  }

  #show(vip: VirtualIP | null): void {
    if (vip?.ref.name !== 'vip') return;
    const line = `${vip.status.state}: ${vip.status.message}`;
    if (this.shown.at(-1) !== line) this.shown.push(line);
  }

  #look(): void {
    const byClone = this.externals().includes(ADDRESS);
    const byService = this.listed('web').includes(ADDRESS);
    this.#served ||= byClone;
    if (!this.#served || !this.isServing) return;
    if (!byClone && !byService) this.wrongs.push(`nobody serves ${ADDRESS}`);
    if (this.reserved()[ADDRESS] === undefined) this.wrongs.push(`${ADDRESS} is not reserved`);
    const others = Object.entries(this.reserved()).filter(([address, owner]) => owner === 'default/web' && address !== ADDRESS);
    if (others.length > 0) this.wrongs.push(`${others.map(([address]) => address)} taken besides`);
  }
}
