import { DEFAULT_SETTINGS } from '../../actors/settings.ts';
import { seededRandom } from '../../adapters/memory/random.ts';
import { admitVirtualIP } from '../../machines/vip-admission.ts';
import { cloneName, MIGRATE_ANNOTATION, type VirtualIP } from '../../machines/virtual-ip.ts';
import { STATES } from '../../machines/virtual-ip-stage.ts';
import { VipWorld } from '../actors/vip-world.ts';
import { VirtualRules } from '../support/virtual-rules.ts';
import type { WorldOptions } from '../support/world.ts';
import type { VipTrouble } from './vip-steps.ts';
import { isTrouble, VipTroubles } from './vip-troubles.ts';
import { ASKED, SEGMENT, SERVICES, type VirtualHappening, type VirtualHistory, type VirtualPlan } from './virtual-steps.ts';
import { wrongVirtualIPs } from './virtual-wrongs.ts';

/** The longest that everything may take to be right again once nothing is in the way, ms: the longest back-off of each table, one after the other. */
const RIGHT_WITHIN_MS = 3_600_000;
/** How long it has to stay right, ms: some resyncs, and looks at what blocks. */
const STAYS_RIGHT_MS = 400_000;

const PORTS = [{ name: 'http', port: 80, protocol: 'TCP', targetPort: 8080 }];
const BALANCER = 'balancer';
const GROUP = 'group';

type Edit = Exclude<VirtualHappening, VipTrouble>;

const vipName = (index: number): string => `v${index}`;
const serviceName = (index: number): string => `web${index}`;

/** A world in which a history of VirtualIPs happens, and what is known of it from outside. */
export class VirtualPlay {
  readonly world: VipWorld;
  readonly rules: VirtualRules;
  readonly #history: VirtualHistory;
  readonly #troubles: VipTroubles;

  constructor(history: VirtualHistory, options: WorldOptions = {}) {
    this.#history = history;
    const { callMs, watchMs, wipesIngress, seed } = history;
    this.rules = new VirtualRules({ now: () => this.world.clock.monotonic(), cluster: () => this.#cluster });
    const { changed } = this.rules;
    this.world = new VipWorld({
      ...options,
      vips: { callMs, watchMs, wipesIngress, random: seededRandom(seed), virtualIPs: true, changed },
    });
    this.world.rules.migrates = true;
    this.#troubles = new VipTroubles(this.world);
    this.world.k8s.virtualIPs.setMapping('mapping', { ...SEGMENT, keepalivedGroup: 'group' });
    if (history.group) this.world.k8s.setGroup(GROUP, { ...SEGMENT, excludedIPs: [...SEGMENT.excludedIPs] });
    for (let index = 0; index < SERVICES; index += 1) this.#create(index);
    for (const [index, { isThere }] of history.vips.entries()) if (isThere) this.#edit({ kind: 'make', vip: index });
  }

  /** Lets everything happen, then takes everything out of the way and waits until all is right. @throws Error when it does not become right */
  async run(rightWithinMs = RIGHT_WITHIN_MS): Promise<void> {
    const { world } = this;
    await world.start();
    for (const { afterMs, what } of this.#history.steps) {
      await world.clock.advance(afterMs);
      if (isTrouble(what)) await this.#troubles.act(what);
      else this.#edit(what);
    }
    this.#mend();
    await this.#troubles.mend();
    try {
      await world.clock.runUntil(() => this.#isRight(), rightWithinMs);
    } catch (error) {
      throw new Error(`not right after ${rightWithinMs} ms: ${this.wrongs().join('; ')}`, { cause: error });
    }
    const written = world.k8s.writes.length;
    await world.clock.advance(STAYS_RIGHT_MS);
    const more = Map.groupBy(world.k8s.writes.slice(written), ({ verb, about }) => `${verb} of ${about}`);
    // Whoever has just begun to lead may find that the same is wrong, and say so again.
    const restless = [...more].flatMap(([text, writes]) => (writes.length > 2 ? [`${text} at rest, again and again`] : []));
    const wrongs = [...this.wrongs(), ...restless];
    if (wrongs.length > 0) throw new Error(`right, and then wrong again: ${wrongs.join('; ')}`);
  }

  /** What was wrong at any moment. */
  violations(): readonly { readonly rule: string; readonly text: string }[] {
    this.world.invariants.checkCalls();
    const { rules, invariants } = this.world;
    return [...this.rules.violations, ...rules.violations, ...invariants.violations];
  }

  wrongs(): readonly string[] {
    const leads = this.world.processes.some(({ dead, supervisor }) => !dead && supervisor.leading);
    const wrongs = wrongVirtualIPs(this.#cluster).filter((text) => !(this.#mayLeave && text.includes(' is left of ')));
    return [...(leads ? [] : ['nobody leads']), ...wrongs];
  }

  /** A request to reserve that takes effect after its deadline does so for one that may be gone by then. */
  get #mayLeave(): boolean {
    return this.#history.steps.some(
      ({ what }) => 'fault' in what && what.fault.kind === 'hang' && (what.fault.effectAfterMs ?? 0) > DEFAULT_SETTINGS.callDeadlineMs,
    );
  }

  #isRight(): boolean {
    // One that was on its way when it was to be there again.
    for (let index = 0; index < SERVICES; index += 1) this.#create(index);
    for (const vip of this.#cluster.virtualIPs.all()) this.#helpOut(vip);
    return this.wrongs().length === 0;
  }

  /** A Service that was converted and is of another type again, or another one by now: its user is told, and changes that. */
  #helpOut({ status }: VirtualIP): void {
    const isTold = status.state === STATES.assigning && status.message.includes('is of type LoadBalancer no more');
    if (isTold) this.rules.hands(true, () => this.world.k8s.setService({ name: status.service, type: 'LoadBalancer' }));
  }

  get #cluster() {
    return this.world.k8s;
  }

  // ---------------------------------------------------------------- what happens

  #edit(what: Edit): void {
    const { k8s } = this.world;
    if ('vip' in what) this.#editVirtualIP(what);
    else if (what.kind === 'create') this.#create(what.service);
    else if ('service' in what) this.#editService(what);
    else if (what.kind === 'legacyFault') k8s.faults.next(what.verb, what.fault, what.times);
    else if (what.kind === 'group' && what.isThere) k8s.setGroup(GROUP, { ...SEGMENT, excludedIPs: [...SEGMENT.excludedIPs] });
    else if (what.kind === 'group') k8s.removeGroup(GROUP);
    else if (what.kind === 'balancerComes') this.#balancer(true);
    else if (what.kind === 'balancerGoes') this.#balancer(false);
    else k8s.virtualIPs.serve(what.kind === 'install');
  }

  #editVirtualIP(what: Extract<Edit, { readonly vip: number }>): void {
    const { virtualIPs } = this.world.k8s;
    const [name, plan] = [vipName(what.vip), this.#history.vips[what.vip]];
    const vip = virtualIPs.find(name);
    if (!plan) return;
    if (what.kind === 'make') this.#make(name, plan);
    else if (vip && what.kind === 'remove') virtualIPs.remove(name);
    else if (vip && what.kind === 'dropClone') this.#dropClone(vip);
    else if (vip && what.kind === 'changeClone') this.#changeClone(vip);
    else if (vip && !vip.deleting) this.#ask(vip, what);
  }

  /** None is created any more where admission is asked: it was there before. */
  #make(name: string, { service, address }: VirtualPlan): void {
    const { virtualIPs } = this.world.k8s;
    if (virtualIPs.find(name)) return;
    virtualIPs.set({ name, service: serviceName(service), ip: address === null ? '' : (ASKED[address] ?? '') });
  }

  /** As far as admission lets it. */
  #ask(vip: VirtualIP, what: Extract<Edit, { readonly vip: number }>): void {
    const { virtualIPs } = this.world.k8s;
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
    this.rules.hands(wanted.service !== vip.service, () => {
      if (wanted.service !== vip.service) virtualIPs.set({ name, service: wanted.service, ip: vip.ip });
      if (wanted.asked !== vip.asked) virtualIPs.annotate(name, wanted.asked);
    });
  }

  #dropClone({ ref }: VirtualIP): void {
    const clone = this.world.k8s.service('default', cloneName(ref));
    if (clone) this.rules.hands(true, () => this.world.k8s.deleteService(clone.ref));
  }

  #changeClone({ ref }: VirtualIP): void {
    const clone = this.world.k8s.service('default', cloneName(ref));
    if (clone)
      this.rules.hands(true, () => this.world.k8s.setService({ name: clone.ref.name, more: { ...clone.more, labels: { app: 'other' } } }));
  }

  #create(index: number): void {
    const name = serviceName(index);
    if (this.world.k8s.service('default', name)) return;
    const spec = { ports: PORTS, selector: { app: name } };
    this.world.k8s.setService({ name, type: 'ClusterIP', more: { labels: { app: name }, annotations: {}, owners: [], spec } });
  }

  #editService(what: Exclude<Extract<Edit, { readonly service: number }>, { readonly vip: number }>): void {
    const { k8s, clock } = this.world;
    const service = k8s.service('default', serviceName(what.service));
    if (!service || service.deleting) return;
    const { ref, more } = service;
    if (what.kind === 'delete') this.rules.hands(true, () => k8s.deleteService(ref));
    else if (what.kind === 'type') this.rules.hands(true, () => k8s.setService({ name: ref.name, type: what.type }));
    else k8s.setService({ name: ref.name, more: { ...more, labels: { ...more?.labels, at: `${clock.now()}` } } });
  }

  #balancer(isThere: boolean): void {
    const { k8s } = this.world;
    const service = k8s.service('default', BALANCER);
    if (isThere && !service) k8s.setService({ name: BALANCER });
    else if (!isThere && service) k8s.deleteService(service.ref);
  }

  /** Nothing is in the way any more: the definitions and the group are there. */
  #mend(): void {
    const { k8s } = this.world;
    k8s.virtualIPs.serve(true);
    this.#edit({ kind: 'group', isThere: true });
  }
}

/** The VirtualIP as the API server shows it to admission. */
const objectOf = ({ service, ip, asked, status }: VirtualIP) => ({
  metadata: { annotations: asked ? { [MIGRATE_ANNOTATION]: '' } : {} },
  spec: { service, ip },
  status,
});
