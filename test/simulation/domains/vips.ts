import fc from 'fast-check';
import type { ServiceWish, StoredService } from '../../../adapters/memory/vip-world.ts';
import { type Domain, index, of, orNull, type Played, type Stage, type Violation } from '../domain.ts';
import { groupName, lbName, type Step } from '../history.ts';
import { wrongVips } from './vips-end.ts';

/** What becomes of Services of type LoadBalancer, IPGroups and IPs. */
export type VipHappening =
  | { readonly kind: 'create' | 'delete' | 'deleteByForce' | 'takeFinalizer'; readonly service: number }
  /** It is deleted by force and made again at once, as another object; `isDown`: while the operator restarts. */
  | { readonly kind: 'recreate'; readonly service: number; readonly isDown: boolean }
  | { readonly kind: 'type'; readonly service: number; readonly type: 'LoadBalancer' | 'ClusterIP' | 'NodePort' }
  | { readonly kind: 'ask' | 'annotate'; readonly service: number; readonly address: number | null }
  | { readonly kind: 'pin'; readonly service: number; readonly group: number | null }
  /** Somebody else writes the ingress: an address, a hostname (null), or nothing (−1). */
  | { readonly kind: 'list'; readonly service: number; readonly address: number | null }
  | { readonly kind: 'group'; readonly group: number; readonly spec: number | null }
  /** An administrator reserves an address for a Service, with its uid or without, or for nobody (null). */
  | { readonly kind: 'reserve'; readonly address: number; readonly service: number | null; readonly isOld: boolean }
  | { readonly kind: 'unreserve'; readonly address: number };

type ServiceEdit = Exclude<VipHappening, { readonly kind: 'group' | 'create' | 'reserve' | 'unreserve' }>;

export interface VipSetup {
  /** How many Services are there at first. */
  readonly services: number;
  /** By group: its spec at first, of `SPECS`; null for none. */
  readonly groups: readonly (number | null)[];
}

/** The last one is of no group. */
const VIP_ADDRESSES = ['10.0.0.1', '10.0.0.2', '10.0.0.3', '10.0.1.0', '10.9.9.9'] as const;

/** By group: what its spec may be. The first two overlap. */
const SPECS: readonly (readonly { readonly segment: string; readonly excludedIPs: readonly string[] }[])[] = [
  [
    { segment: '10.0.0.0/30', excludedIPs: ['10.0.0.0'] },
    { segment: '10.0.0.0/30', excludedIPs: ['10.0.0.0', '10.0.0.1', '10.0.0.3'] },
    { segment: 'banana', excludedIPs: [] },
  ],
  [
    { segment: '10.0.0.2/31', excludedIPs: [] },
    { segment: '10.0.1.0/32', excludedIPs: [] },
    { segment: '10.0.0.2/31', excludedIPs: ['10.0.0.2'] },
  ],
];

const addressOf = (index: number | null): string => (index === null ? '' : (VIP_ADDRESSES[index] ?? ''));

const entriesOf = (index: number | null): StoredService['ingress'] =>
  index === -1 ? [] : [{ ip: index === null ? null : addressOf(index) }];

/** What an edit changes of what the Service asks for; null for nothing. */
function wishOf(what: ServiceEdit): ServiceWish | null {
  switch (what.kind) {
    case 'type':
      return { type: what.type };
    case 'ask':
      return { loadBalancerIP: addressOf(what.address) };
    case 'annotate':
      return { requestedIP: what.address === null ? null : addressOf(what.address) };
    case 'pin':
      return { pinnedGroup: what.group === null ? null : groupName(what.group) };
    default:
      return null;
  }
}

/** Services with addresses of IPGroups, and what people do to them. */
export class PlayedVips implements Played<VipHappening> {
  readonly #stage: Stage;
  /** By name: uids of the IPs that people made for nobody of ours. */
  readonly #foreign = new Map<string, string>();

  constructor(stage: Stage, { services, groups }: VipSetup) {
    this.#stage = stage;
    const { vips } = stage.world.serviceRules;
    vips.comesLate = stage.history.steps.some(
      (step) =>
        step.in === 'api' && step.what.kind === 'fault' && step.what.fault.kind === 'hang' && step.what.fault.effectAfterMs !== undefined,
    );
    // Whoever does not hear of a wish, or is away, goes by what he knows.
    if (stage.history.steps.some(keepsFromHearing)) vips.wishLastsMs = Number.POSITIVE_INFINITY;
    stage.world.hands(() => {
      for (const [each, spec] of groups.entries()) this.#group(each, spec);
      for (let each = 0; each < services; each += 1) this.#create(each);
    });
  }

  act(what: VipHappening): unknown {
    if (what.kind === 'recreate' && what.isDown) return this.#stage.operator.whileDown(() => this.act({ ...what, isDown: false }));
    return this.#stage.world.hands(() => this.#edit(what));
  }

  violations(): readonly Violation[] {
    return this.#stage.world.serviceRules.vips.violations;
  }

  wrongs(): readonly string[] {
    const { k8s } = this.#stage.world;
    const foreign = [...this.#foreign].filter(([name, uid]) => k8s.ips().find((ip) => ip.name === name)?.uid !== uid);
    return [
      ...foreign.map(([name]) => `the IP ${name}, which is nobody's of ours, is another one or gone`),
      // Where there are VirtualIPs they ask for the same.
      ...(this.#stage.history.virtualIPs ? [] : wrongVips({ services: k8s.services(), ips: k8s.ips(), groups: k8s.groups() })),
    ];
  }

  #edit(what: VipHappening): void {
    switch (what.kind) {
      case 'group':
        this.#group(what.group, what.spec);
        break;
      case 'create':
        this.#create(what.service);
        break;
      case 'reserve':
        this.#reserve(what);
        break;
      case 'unreserve':
        this.#unreserve(VIP_ADDRESSES[what.address] ?? '');
        break;
      default: {
        const service = this.#service(what.service);
        if (service) this.#editService(service, what);
      }
    }
  }

  #editService({ ref, deleting, type }: StoredService, what: ServiceEdit): void {
    const { k8s } = this.#stage.world;
    const isForced = what.kind === 'deleteByForce' || what.kind === 'recreate';
    if (what.kind === 'delete' || isForced) k8s.deleteService(ref);
    if (isForced || what.kind === 'takeFinalizer') k8s.setFinalizers(ref, []);
    if (what.kind === 'recreate') this.#create(what.service);
    // What is being deleted is only taken to pieces.
    if (deleting) return;
    const wish = wishOf(what);
    if (wish) k8s.setService({ name: ref.name, ...wish });
    if (what.kind === 'list' && type === 'LoadBalancer') k8s.setIngress(ref, entriesOf(what.address));
  }

  #service(index: number): StoredService | null {
    return this.#stage.world.k8s.service('default', lbName(index));
  }

  #create(index: number): void {
    if (!this.#service(index)) this.#stage.world.k8s.setService({ name: lbName(index) });
  }

  #group(index: number, spec: number | null): void {
    const found = spec === null ? undefined : SPECS[index]?.[spec];
    if (found) this.#stage.world.k8s.setGroup(groupName(index), { ...found });
    else this.#stage.world.k8s.removeGroup(groupName(index));
  }

  #reserve({ address, service, isOld }: Extract<VipHappening, { readonly kind: 'reserve' }>): void {
    const name = VIP_ADDRESSES[address] ?? '';
    const found = service === null ? null : this.#service(service);
    const owner =
      service === null ? null : { namespace: 'default', name: lbName(service), uid: isOld ? null : (found?.ref.uid ?? 'uid-of-nobody') };
    const { uid } = this.#stage.world.k8s.setIP({ name, owner, group: 'g0' });
    if (owner === null) this.#foreign.set(name, uid);
    else this.#foreign.delete(name);
  }

  #unreserve(name: string): void {
    this.#foreign.delete(name);
    this.#stage.world.k8s.removeIP(name);
  }
}

const keepsFromHearing = (step: Step): boolean =>
  ['processes', 'stores'].includes(step.in) ||
  (step.in === 'api' && step.what.kind !== 'fault') ||
  (step.in === 'vips' && !('service' in step.what));

const SERVICES = 4;
const service = index(SERVICES);
const address = fc.option(index(VIP_ADDRESSES.length));
const maybe = (count: number): fc.Arbitrary<number | null> => fc.option(index(count));

export const vipSetup: fc.Arbitrary<VipSetup> = fc.record({
  services: fc.integer({ min: 0, max: SERVICES }),
  groups: fc.tuple(fc.constantFrom(0, 0, 0, 1, null), maybe(3)),
});

export const VIPS_DOMAIN: Domain<VipHappening, PlayedVips> = {
  sorts: [
    { weight: 3, arbitrary: fc.record({ kind: of('create'), service }) },
    { weight: 3, arbitrary: fc.record({ kind: of('delete'), service }) },
    { weight: 1, arbitrary: fc.record({ kind: of('deleteByForce', 'takeFinalizer'), service }) },
    { weight: 1, arbitrary: fc.record({ kind: of('recreate'), service, isDown: fc.boolean() }) },
    { weight: 3, arbitrary: fc.record({ kind: of('type'), service, type: of('LoadBalancer', 'ClusterIP', 'NodePort') }) },
    { weight: 3, arbitrary: fc.record({ kind: of('ask'), service, address }) },
    { weight: 1, arbitrary: fc.record({ kind: of('annotate'), service, address }) },
    { weight: 1, arbitrary: fc.record({ kind: of('pin'), service, group: maybe(3) }) },
    {
      weight: 1,
      arbitrary: fc.record({ kind: of('list'), service, address: orNull(fc.integer({ min: -1, max: VIP_ADDRESSES.length - 1 })) }),
    },
    { weight: 1, arbitrary: fc.record({ kind: of('group'), group: index(SPECS.length), spec: maybe(3) }) },
    { weight: 1, arbitrary: fc.record({ kind: of('reserve'), address: index(4), service: maybe(SERVICES), isOld: fc.boolean() }) },
    { weight: 1, arbitrary: fc.record({ kind: of('unreserve'), address: index(4) }) },
  ],
  open: (stage) => new PlayedVips(stage, stage.history.vips ?? { services: 0, groups: [] }),
};
