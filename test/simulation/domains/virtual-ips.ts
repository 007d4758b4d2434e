import fc from 'fast-check';
import type { MemoryVipCluster } from '../../../adapters/memory/vip-cluster.ts';
import { admitVirtualIP } from '../../../machines/migration/admission.ts';
import { STATES } from '../../../machines/migration/phase.ts';
import { cloneName, MIGRATE_ANNOTATION, type VirtualIP } from '../../../machines/vip/virtualip.ts';
import { type Domain, exactly, index, of, type Played, type Stage, type Violation } from '../domain.ts';
import { wrongVirtualIPs } from './virtual-ips-end.ts';

/** What becomes of VirtualIPs, their Services and copies. */
export type VirtualIPHappening =
  | { readonly kind: 'make' | 'remove' | 'migrate' | 'withdraw'; readonly vip: number }
  | { readonly kind: 'point'; readonly vip: number; readonly service: number }
  | { readonly kind: 'create' | 'delete' | 'label'; readonly service: number }
  | { readonly kind: 'type'; readonly service: number; readonly type: 'LoadBalancer' | 'ClusterIP' }
  /** Somebody puts his hands on the copy. */
  | { readonly kind: 'dropClone' | 'changeClone'; readonly vip: number }
  /** One of type LoadBalancer, which never had a VirtualIP. */
  | { readonly kind: 'balancerComes' | 'balancerGoes' }
  | { readonly kind: 'group'; readonly isThere: boolean }
  /** The definitions of VirtualIPs are taken away, or installed. */
  | { readonly kind: 'uninstall' | 'install' };

export interface VirtualIPSetup {
  readonly vips: readonly {
    readonly service: number;
    /** Of `ASKED`, the address that it asks for; null for any. */
    readonly address: number | null;
    readonly isThere: boolean;
  }[];
  /** Whether the IPGroup with all addresses is there at first. */
  readonly group: boolean;
}

const SERVICES = 2;
const ASKED = ['1.1.2.2', '1.1.2.4'] as const;
/** As a GroupSegmentMapping and as an IPGroup. */
const SEGMENT = { segment: '1.1.2.0/28', excludedIPs: ['1.1.2.0', '1.1.2.1', '1.1.2.15'] } as const;
const PORTS = [{ name: 'http', port: 80, protocol: 'TCP', targetPort: 8080 }];
const BALANCER = 'balancer';
const GROUP = 'group';

const vipName = (each: number): string => `v${each}`;
const serviceName = (each: number): string => `web${each}`;

/** VirtualIPs that serve two Services, and are migrated to them; and what people do to them. */
export class PlayedVirtualIPs implements Played<VirtualIPHappening> {
  readonly #stage: Stage;
  readonly #setup: VirtualIPSetup;

  constructor(stage: Stage, setup: VirtualIPSetup) {
    this.#stage = stage;
    this.#setup = setup;
    this.#cluster.virtualIPs.setMapping('mapping', { ...SEGMENT, keepalivedGroup: 'group' });
    if (setup.group) this.act({ kind: 'group', isThere: true });
    for (let each = 0; each < SERVICES; each += 1) this.act({ kind: 'create', service: each });
    for (const [each, { isThere }] of setup.vips.entries()) if (isThere) this.act({ kind: 'make', vip: each });
  }

  /** For what is reserved, whoever it is; not for what is served, where the edit says whether it interferes. */
  act(what: VirtualIPHappening): void {
    this.#stage.world.serviceRules.vips.hands(() => this.#edit(what));
  }

  violations(): readonly Violation[] {
    return this.#stage.world.serviceRules.virtualIPs?.violations ?? [];
  }

  wrongs(): readonly string[] {
    return wrongVirtualIPs(this.#cluster);
  }

  /** The definitions and the group are there. */
  mend(): void {
    this.#cluster.virtualIPs.serve(true);
    this.act({ kind: 'group', isThere: true });
  }

  helps(): void {
    // One that was on its way when it was to be there again.
    for (let each = 0; each < SERVICES; each += 1) this.act({ kind: 'create', service: each });
    for (const vip of this.#cluster.virtualIPs.all()) this.#helpOut(vip);
  }

  /** A Service that was converted and is of another type again, or another one by now: its user is told, and changes that. */
  #helpOut({ status }: VirtualIP): void {
    const isTold = status.state === STATES.assigning && status.message.includes('is of type LoadBalancer no more');
    if (isTold)
      this.#stage.world.hands(() => this.#cluster.setService({ name: status.service, type: 'LoadBalancer' }), { interferes: true });
  }

  get #cluster(): MemoryVipCluster {
    return this.#stage.world.k8s;
  }

  #hands(interferes: boolean, act: () => unknown): void {
    this.#stage.world.hands(act, { interferes });
  }

  #edit(what: VirtualIPHappening): void {
    const { k8s } = this.#stage.world;
    if ('vip' in what) this.#editVirtualIP(what);
    else if (what.kind === 'create') this.#create(what.service);
    else if ('service' in what) this.#editService(what);
    else if (what.kind === 'group' && what.isThere) k8s.setGroup(GROUP, { ...SEGMENT, excludedIPs: [...SEGMENT.excludedIPs] });
    else if (what.kind === 'group') k8s.removeGroup(GROUP);
    else if (what.kind === 'balancerComes') this.#balancer(true);
    else if (what.kind === 'balancerGoes') this.#balancer(false);
    else k8s.virtualIPs.serve(what.kind === 'install');
  }

  #editVirtualIP(what: Extract<VirtualIPHappening, { readonly vip: number }>): void {
    const { virtualIPs } = this.#stage.world.k8s;
    const [name, plan] = [vipName(what.vip), this.#setup.vips[what.vip]];
    const vip = virtualIPs.find(name);
    if (!plan) return;
    if (what.kind === 'make') this.#make(name, plan);
    else if (vip && what.kind === 'remove') virtualIPs.remove(name);
    else if (vip && what.kind === 'dropClone') this.#dropClone(vip);
    else if (vip && what.kind === 'changeClone') this.#changeClone(vip);
    else if (vip && !vip.deleting) this.#ask(vip, what);
  }

  /** None is created any more where admission is asked: it was there before. */
  #make(name: string, { service, address }: VirtualIPSetup['vips'][number]): void {
    const { virtualIPs } = this.#stage.world.k8s;
    if (virtualIPs.find(name)) return;
    virtualIPs.set({ name, service: serviceName(service), ip: address === null ? '' : (ASKED[address] ?? '') });
  }

  /** As far as admission lets it. */
  #ask(vip: VirtualIP, what: Extract<VirtualIPHappening, { readonly vip: number }>): void {
    const { virtualIPs } = this.#stage.world.k8s;
    const { name } = vip.ref;
    const wanted = {
      asked: what.kind === 'migrate' || (vip.asked && what.kind !== 'withdraw'),
      service: what.kind === 'point' ? serviceName(what.service) : vip.service,
    };
    const verdict = admitVirtualIP({
      operation: 'UPDATE',
      user: 'somebody',
      object: objectOf({ ...vip, ...wanted }),
      oldObject: objectOf(vip),
    });
    if (verdict.kind === 'denied') return;
    this.#hands(wanted.service !== vip.service, () => {
      if (wanted.service !== vip.service) virtualIPs.set({ name, service: wanted.service, ip: vip.ip });
      if (wanted.asked !== vip.asked) virtualIPs.annotate(name, wanted.asked);
    });
  }

  #dropClone({ ref }: VirtualIP): void {
    const clone = this.#stage.world.k8s.service('default', cloneName(ref));
    if (clone) this.#hands(true, () => this.#stage.world.k8s.deleteService(clone.ref));
  }

  #changeClone({ ref }: VirtualIP): void {
    const clone = this.#stage.world.k8s.service('default', cloneName(ref));
    if (clone)
      this.#hands(true, () =>
        this.#stage.world.k8s.setService({ name: clone.ref.name, more: { ...clone.more, labels: { app: 'other' } } }),
      );
  }

  #create(index: number): void {
    const name = serviceName(index);
    if (this.#stage.world.k8s.service('default', name)) return;
    const spec = { ports: PORTS, selector: { app: name } };
    this.#stage.world.k8s.setService({ name, type: 'ClusterIP', more: { labels: { app: name }, annotations: {}, owners: [], spec } });
  }

  #editService(what: Exclude<Extract<VirtualIPHappening, { readonly service: number }>, { readonly vip: number }>): void {
    const { k8s, clock } = this.#stage.world;
    const service = k8s.service('default', serviceName(what.service));
    if (!service || service.deleting) return;
    const { ref, more } = service;
    if (what.kind === 'delete') this.#hands(true, () => k8s.deleteService(ref));
    else if (what.kind === 'type') this.#hands(true, () => k8s.setService({ name: ref.name, type: what.type }));
    else k8s.setService({ name: ref.name, more: { ...more, labels: { ...more?.labels, at: `${clock.now()}` } } });
  }

  #balancer(isThere: boolean): void {
    const { k8s } = this.#stage.world;
    const service = k8s.service('default', BALANCER);
    if (isThere && !service) k8s.setService({ name: BALANCER });
    else if (!isThere && service) k8s.deleteService(service.ref);
  }
}

/** The VirtualIP as the API server shows it to admission. */
const objectOf = ({ service, ip, asked, status }: VirtualIP) => ({
  metadata: { annotations: asked ? { [MIGRATE_ANNOTATION]: '' } : {} },
  spec: { service, ip },
  status,
});

const VIPS = 3;
const [vip, service] = [index(VIPS), index(SERVICES)];

export const virtualIPSetup: fc.Arbitrary<VirtualIPSetup> = fc.record({
  vips: exactly(
    VIPS,
    fc.record({ service, address: fc.option(index(ASKED.length), { freq: 2 }), isThere: fc.constantFrom(true, true, true, false) }),
  ),
  group: fc.constantFrom(true, true, true, false),
});

export const VIRTUAL_IPS_DOMAIN: Domain<VirtualIPHappening, PlayedVirtualIPs> = {
  sorts: [
    { weight: 8, arbitrary: fc.record({ kind: of('migrate'), vip }) },
    { weight: 2, arbitrary: fc.record({ kind: of('make', 'remove'), vip }) },
    { weight: 1, arbitrary: fc.record({ kind: of('withdraw'), vip }) },
    { weight: 1, arbitrary: fc.record({ kind: of('point'), vip, service }) },
    { weight: 1, arbitrary: fc.record({ kind: of('create', 'delete', 'label'), service }) },
    { weight: 1, arbitrary: fc.record({ kind: of('type'), service, type: of('LoadBalancer', 'ClusterIP') }) },
    { weight: 1, arbitrary: fc.record({ kind: of('dropClone', 'changeClone'), vip }) },
    { weight: 1, arbitrary: fc.record({ kind: of('balancerComes', 'balancerGoes') }) },
    { weight: 1, arbitrary: fc.record({ kind: of('group'), isThere: fc.boolean() }) },
    { weight: 1, arbitrary: fc.record({ kind: of('uninstall', 'install') }) },
  ],
  open: (stage) => new PlayedVirtualIPs(stage, stage.history.virtualIPs ?? { vips: [], group: false }),
};
