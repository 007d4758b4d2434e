import { seededRandom } from '../../adapters/memory/random.ts';
import type { ServiceWish, StoredService } from '../../adapters/memory/vip-world.ts';
import { VipWorld } from '../actors/vip-world.ts';
import type { VipRules } from '../support/vip-rules.ts';
import type { WorldOptions } from '../support/world.ts';
import { groupName, SPECS, serviceName, VIP_ADDRESSES, type VipHappening, type VipHistory } from './vip-steps.ts';
import { isTrouble, VipTroubles } from './vip-troubles.ts';
import { wrongVips } from './vip-wrongs.ts';

/** The longest that everything may take to be right again once nothing is in the way, ms: the longest back-off of each table, one after the other. */
const RIGHT_WITHIN_MS = 3_600_000;
/** How long it has to stay right, ms: a resync, and a doubt. */
const STAYS_RIGHT_MS = 70_000;

type Edit = Extract<VipHappening, { readonly service: unknown } | { readonly group: unknown } | { readonly address: unknown }>;
type ServiceEdit = Exclude<Edit, { readonly kind: 'group' | 'create' | 'reserve' | 'unreserve' }>;

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

/** A world in which a history of Services happens, and what is known of it from outside. */
export class VipPlay {
  readonly world: VipWorld;
  readonly rules: VipRules;
  readonly #history: VipHistory;
  readonly #troubles: VipTroubles;
  /** By name: uids of the IPs that people made for nobody of ours. */
  readonly #foreign = new Map<string, string>();

  constructor(history: VipHistory, options: WorldOptions = {}) {
    this.#history = history;
    const { callMs, watchMs, wipesIngress, seed } = history;
    this.world = new VipWorld({ ...options, vips: { callMs, watchMs, wipesIngress, random: seededRandom(seed) } });
    this.#troubles = new VipTroubles(this.world);
    this.rules = this.world.rules;
    this.rules.comesLate = history.steps.some(
      ({ what }) => what.kind === 'fault' && what.fault.kind === 'hang' && what.fault.effectAfterMs !== undefined,
    );
    // Whoever does not hear of a wish, or is away, goes by what he knows.
    if (history.steps.some(({ what }) => !('service' in what) && what.kind !== 'fault')) this.rules.wishLastsMs = Number.POSITIVE_INFINITY;
    for (const [index, spec] of history.groups.entries()) this.#group(index, spec);
    for (let index = 0; index < history.services; index += 1) this.#create(index);
  }

  /** Lets everything happen, then takes everything out of the way and waits until all is right. @throws Error when it does not become right */
  async run(rightWithinMs = RIGHT_WITHIN_MS): Promise<void> {
    const { world } = this;
    await world.start();
    for (const { afterMs, what } of this.#history.steps) {
      await world.clock.advance(afterMs);
      await this.#happen(what);
    }
    await this.#troubles.mend();
    try {
      await world.clock.runUntil(() => this.wrongs().length === 0, rightWithinMs);
      await world.clock.advance(STAYS_RIGHT_MS);
    } catch (error) {
      throw new Error(`not right after ${rightWithinMs} ms: ${this.wrongs().join('; ')}`, { cause: error });
    }
    const wrongs = this.wrongs();
    if (wrongs.length > 0) throw new Error(`right, and then wrong again: ${wrongs.join('; ')}`);
  }

  wrongs(): readonly string[] {
    const { k8s, processes } = this.world;
    const leads = processes.some(({ dead, supervisor }) => !dead && supervisor.leading);
    const foreign = [...this.#foreign].filter(([name, uid]) => k8s.ips().find((ip) => ip.name === name)?.uid !== uid);
    return [
      ...(leads ? [] : ['nobody leads']),
      ...foreign.map(([name]) => `the IP ${name}, which is nobody's of ours, is another one or gone`),
      ...wrongVips({ services: k8s.services(), ips: k8s.ips(), groups: k8s.groups() }),
    ];
  }

  // ---------------------------------------------------------------- what happens

  async #happen(what: VipHappening): Promise<void> {
    if (isTrouble(what)) await this.#troubles.act(what);
    else this.#edit(what);
  }

  #edit(what: Edit): void {
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
    const { k8s } = this.world;
    if (what.kind === 'delete' || what.kind === 'deleteByForce') k8s.deleteService(ref);
    if (what.kind === 'deleteByForce' || what.kind === 'takeFinalizer') k8s.setFinalizers(ref, []);
    // What is being deleted is only taken to pieces.
    if (deleting) return;
    const wish = wishOf(what);
    if (wish) k8s.setService({ name: ref.name, ...wish });
    if (what.kind === 'list' && type === 'LoadBalancer') k8s.setIngress(ref, entriesOf(what.address));
  }

  #service(index: number): StoredService | null {
    return this.world.k8s.service('default', serviceName(index));
  }

  #create(index: number): void {
    if (!this.#service(index)) this.world.k8s.setService({ name: serviceName(index) });
  }

  #group(index: number, spec: number | null): void {
    const found = spec === null ? undefined : SPECS[index]?.[spec];
    if (found) this.world.k8s.setGroup(groupName(index), { ...found });
    else this.world.k8s.removeGroup(groupName(index));
  }

  #reserve({ address, service, isOld }: Extract<VipHappening, { readonly kind: 'reserve' }>): void {
    const name = VIP_ADDRESSES[address] ?? '';
    const found = service === null ? null : this.#service(service);
    const owner =
      service === null
        ? null
        : { namespace: 'default', name: serviceName(service), uid: isOld ? null : (found?.ref.uid ?? 'uid-of-nobody') };
    const { uid } = this.world.k8s.setIP({ name, owner, group: 'g0' });
    if (owner === null) this.#foreign.set(name, uid);
    else this.#foreign.delete(name);
  }

  #unreserve(name: string): void {
    this.#foreign.delete(name);
    this.world.k8s.removeIP(name);
  }
}
