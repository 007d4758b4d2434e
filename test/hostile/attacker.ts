import fc from 'fast-check';
import type { Json } from '../../actors/ports/records.ts';
import type { LoggedCall } from '../../adapters/memory/requests.ts';
import type { AddressContext } from '../../machines/address/context.ts';
import { firewallOf } from '../../machines/model/actor-id.ts';
import type { ActorId, Address, ObjectRef, Port, ProviderID } from '../../machines/model/types.ts';
import type { PoolContext } from '../../machines/pool/context.ts';
import { boundAddress } from '../../machines/status/restore-routedip.ts';
import { CLASS_NAME, service, servicePort } from '../actors/routedip/world.ts';
import { ADDRESSES, type Domain, index, NODES, of, type Played, type Stage, type Violation } from '../simulation/domain.ts';
import { addressOf, FIREWALLS, NAMES, nameOf, nodeName, ZONE } from '../simulation/history.ts';
import type { Claimant } from '../simulation/made.ts';
import type { Owner } from '../support/adoption-rules.ts';
import { shownBy } from '../support/owners.ts';
import { PROVIDER, pod } from '../support/world.ts';
import { accountOf, type Holds, secretKey } from './accounts.ts';
import {
  ATTACKS,
  type AttackedKind,
  type AttackKind,
  type Fields,
  type Hands,
  issuer,
  KINDS,
  MEANS,
  type Means,
  PORTS_OF_THE_NODE,
  type Victim,
} from './attacks.ts';

/** An attack on what the others have; numbers choose among it. */
export interface AttackHappening {
  readonly kind: AttackKind;
  readonly object: number;
  readonly by: Means;
  readonly target: number;
}

export interface AttackSetup {
  /** What he did before anybody else had made anything: his objects are the oldest. */
  readonly before: readonly AttackHappening[];
  /** `calm`: nothing but him is in anybody's way, and he gets nothing, so that all has to be for others as it is without him. `served`: he has an address of his own besides.
   *  `wild`: whatever happens elsewhere happens, too. */
  readonly family: 'calm' | 'served' | 'wild';
}

/** What must hold at every moment of an attacker. */
export type AttackRule =
  /** By an issuer of his that has no credentials of this account he gets no address of it. */
  | 'gets nothing by credentials that are not his'
  /** No class of these histories names a port of the node. */
  | 'opens no port of the node';

/** His namespace. */
const OWN = 'evil';
/** So many nodes his Pods are on. */
const ALL_NODES = 24;
/** It is on a machine that is none of the cluster's. */
const OUTSIDE = '203.0.113.240' as Address;
const BALANCED = ['10.0.0.1', '10.0.0.2', '10.0.0.3'];
/** Whoever begins a RoutedIP by the class may go on with it by an issuer. */
const CLAIMING: readonly AttackedKind[] = ['RoutedIP', 'FloatingIPPool'];
/** He asks for what the others may not have yet: who asks first for what nobody has gets it. */
const ASKING: readonly AttackKind[] = [
  'a RoutedIP names its address',
  'a RoutedIP is made again under its name',
  'a pool lists it',
  'a pool takes its name',
  'a record set takes its name',
  'it is to be deleted with him',
  'it is to be let go at once',
  'it is to be paused, and its node evacuated',
  'an annotation is huge',
  'it is to move to another node',
];
const NAMING: readonly AttackKind[] = ['a pool takes its name', 'a record set takes its name'];
/** He may get what nobody has: then others are not where they are without him. */
const OUTWARD: AttackKind = 'a RoutedIP names an address on a machine outside';

/** More than a firewall bears; each costs time in every turn. */
const MOST_PORTS = 120;
const isToken = (text = ''): boolean => /^[!-~]{16,512}$/.test(text);
const keyOf = (kind: AttackedKind, name: string): string => `${kind} ${name}`;
const nodes = Array.from({ length: ALL_NODES }, (_, each) => nodeName(each));

/** Somebody who may edit everything in a namespace of his own, and wants what others have. */
export class PlayedAttacker implements Played<AttackHappening> {
  readonly #stage: Stage;
  readonly #family: AttackSetup['family'];
  readonly #objects = new Map<string, ObjectRef>();
  readonly #secrets = new Map<string, Holds>([
    ['refused', 'refused'],
    ['foreign', 'foreign'],
  ]);
  /** All that his Services ever asked for. */
  readonly #ports = new Set<number>();
  #hasBegun = false;
  readonly #gained = new Set<Address>();
  /** Objects of his that were once to be served by the class, by uid. */
  readonly #ofClass = new Set<string>();
  readonly #violations: (Violation & { readonly rule: AttackRule })[] = [];

  constructor(stage: Stage, { before, family }: AttackSetup) {
    this.#stage = stage;
    this.#family = family;
    const { world } = stage;
    world.address(OUTSIDE, 'foreign');
    this.#serve('any', [9_999]);
    for (const name of MEANS) if (name !== 'class') this.#apply('RoutedIPIssuer', name, issuer({ cloud: PROVIDER }, name));
    stage.begins.push(({ providers }) => {
      for (const [name, holds] of this.#secrets) providers.set(secretKey(OWN, name), accountOf(holds, world));
    });
    for (const what of before) this.act(what);
    this.#hasBegun = true;
    stage.looks.push(() => this.#look());
    this.#watchCloud();
  }

  act({ kind, object, by, target }: AttackHappening): unknown {
    if (this.#family !== 'wild' && !this.#isAtOthers(kind, by, target)) return;
    // Where others come and go whoever asks first has a name.
    if (this.#family === 'wild' && NAMING.includes(kind)) return;
    if (kind === 'it is to be deleted with him') this.#mayDelete(this.#victim(target).address as Address);
    this.#stage.made.rules.noteSpecs();
    return ATTACKS[kind](this.#hands(), this.#victim(target), { object, by });
  }

  violations(): readonly Violation[] {
    return this.#violations;
  }

  /** What nobody else asks for he may have deleted with an object of his that goes before anybody has seen that it is deleted. */
  #mayDelete(address: Address): void {
    const { made, world } = this.#stage;
    if (!made.victims().some(({ addresses }) => addresses.includes(address))) world.invariants.given.add(address);
  }

  /** Whether an actor is of one of his objects. */
  isOwn(actor: ActorId): boolean {
    return actor.split('/')[1] === OWN;
  }

  /** Whether a text names objects, and all are his: what he has he may keep where it is, and people are told whose it is. */
  isAllOf(text: string): boolean {
    const named = [...text.matchAll(/ (?<namespace>[a-z-]+)\/[a-z0-9-]+:/g)];
    return named.length > 0 && named.every(({ groups }) => groups?.namespace === OWN);
  }

  /** Whether a Job of the simulation is for one of his objects. */
  isJobOf(name: string): boolean {
    return name.split('+').some((part) => this.#ofClass.has(part));
  }

  /** Whether one of his objects asks for it, or has had it. */
  claims(address: Address): boolean {
    return this.#gained.has(address) || this.claimants().some(({ addresses }) => addresses.includes(address));
  }

  /** Whether a call is for what only he asks for: it takes the turns of his own namespace. */
  isForHim({ verb, args }: LoggedCall): boolean {
    // For whom an address is made no call says. That others get one each, and no second one, is a rule of its own.
    if (verb === 'createRoutedIP') return true;
    if (!verb.includes('Firewall')) return this.claims(args[0] as Address);
    const [firewall, items] = args as readonly [string, readonly (ProviderID | Port)[]];
    return items.every((item) => (typeof item === 'string' ? this.#isLeftToHim(firewall, item) : this.#ports.has(item.port)));
  }

  /** Whether no address of others for which the firewall is opened is on the node or on its way to it. */
  #isLeftToHim(firewall: string, node: ProviderID): boolean {
    return [...this.#stage.world.invariants.records].every(([actor, { chart, snapshot }]) => {
      if (chart !== 'ip' || this.isOwn(actor)) return true;
      const { elected, assigned, policy } = snapshot.context as unknown as AddressContext;
      const isOpenedInIt = policy.firewall !== null && firewallOf(policy.firewall).name === firewall;
      return !isOpenedInIt || (elected?.providerID !== node && assigned?.providerID !== node);
    });
  }

  /** Addresses that nobody had, and he was given. */
  get gained(): ReadonlySet<Address> {
    this.#look();
    return this.#gained;
  }

  claimants(): readonly Claimant[] {
    return [...this.#objects.values()].flatMap((ref) => this.#claimant(ref));
  }

  /** What his class and his issuers let his objects take. */
  adopting(): readonly Owner[] {
    const { policies, history } = this.#stage;
    return this.claimants().map(({ ref }) => {
      const isOfClass = this.#ofClass.has(ref.uid);
      const isAny = ref.kind === 'FloatingIPPool' ? history.adopt !== 'unassigned' : isOfClass && policies?.adoptionOf(0) === 'Any';
      return { ref, mayTake: isAny, isByJobs: isOfClass && history.routed?.jobs !== undefined };
    });
  }

  #victim(target: number): Victim {
    return {
      ...{ address: addressOf(target), outside: OUTSIDE, zone: ZONE, recordName: nameOf(target % NAMES) },
      ...{ balanced: BALANCED[target % BALANCED.length] ?? '', node: nodeName(target % NODES) },
      ...{ firewall: FIREWALLS[target % FIREWALLS.length] ?? '', className: CLASS_NAME, cloud: PROVIDER },
    };
  }

  /** Before anybody else is there only what is not valid is, which gains nothing. */
  #isAtOthers(kind: AttackKind, by: Means, target: number): boolean {
    const { made, world } = this.#stage;
    if (!this.#hasBegun) return true;
    if (this.#family === 'served' && !ASKING.includes(kind)) return true;
    if (kind === OUTWARD || (by === 'class' && kind === 'a RoutedIP wants an address of its own')) return false;
    if (NAMING.includes(kind) && !this.#isPublished(nameOf(target % NAMES))) return false;
    return made.victims().some(({ ref }) => shownBy(world.cluster.pool(ref)).includes(addressOf(target)));
  }

  #isPublished(name: string): boolean {
    const { world, history } = this.#stage;
    return history.names === true && world.provider.cloud.zone(ZONE).records.some((record) => record.type === 'A' && record.name === name);
  }

  #look(): void {
    const { cluster } = this.#stage.world;
    for (const { ref } of this.claimants()) {
      const has = shownBy(cluster.pool(ref));
      for (const address of has) this.#gained.add(address);
      const made = has.filter((address) => this.#stage.made.rules.made.includes(address));
      if (made.length > 0 && ref.kind === 'RoutedIP' && !this.#ofClass.has(ref.uid))
        this.#noteMeans(`${made.join()} was made for ${ref.name}`);
    }
  }

  #watchCloud(): void {
    const { world } = this.#stage;
    const { cloud } = world.provider;
    const { openPorts, assign } = cloud;
    // What is done at the provider is done with the operator's credentials: the accounts of his Secrets are others.
    cloud.assign = (address, node) => {
      for (const [actor, { chart, snapshot }] of world.invariants.records) {
        const context = snapshot.context as unknown as AddressContext;
        const isMeant = chart === 'ip' && actor.startsWith(`rip/${OWN}/`) && context.address === address;
        if (isMeant && context.elected?.providerID === node) this.#checkMeans(context);
      }
      return assign.call(cloud, address, node);
    };
    cloud.openPorts = (name, ports) => {
      const own = ports.filter(({ port }) => PORTS_OF_THE_NODE.includes(port) && port !== SSH);
      if (own.length > 0) this.#note('opens no port of the node', `${own.map(({ port }) => port).join()} in ${name}`);
      return openPorts.call(cloud, name, ports);
    };
  }

  #checkMeans({ pool, address }: AddressContext): void {
    const { ref } = (this.#stage.world.invariants.records.get(pool)?.snapshot.context ?? {}) as { readonly ref?: ObjectRef };
    if (ref && !this.#ofClass.has(ref.uid)) this.#noteMeans(`${address} is assigned for ${ref.name}`);
  }

  #noteMeans(text: string): void {
    this.#note('gets nothing by credentials that are not his', text);
  }

  #hands(): Hands {
    const { cluster, vips, clock } = this.#stage.world;
    const ofName = (kind: AttackedKind, name: string) => {
      const ref = this.#objects.get(keyOf(kind, name));
      return ref ? cluster.pool(ref) : null;
    };
    return {
      apply: (kind, name, spec) => this.#apply(kind, name, spec),
      annotate: (kind, name, annotations) => {
        const there = ofName(kind, name);
        if (there) cluster.annotate(there.ref, { ...there.marks?.annotations, ...annotations });
      },
      remove: (kind, name, letsGo) => {
        const there = ofName(kind, name);
        if (!there) return;
        if (there.ref.kind === 'RoutedIP') cluster.markDeleting(there.ref);
        // What was done for one that is let go at once is nobody's to undo.
        if (letsGo) cluster.annotate(there.ref, { ...there.marks?.annotations, 'routedip.io/force-release': 'true' });
        if (letsGo || there.ref.kind !== 'RoutedIP') cluster.removePool(there.ref);
      },
      serve: (name, ports) => this.#serve(name, ports),
      balance: (name, address) =>
        vips && this.#stage.world.hands(() => vips.setService({ namespace: OWN, name, loadBalancerIP: address ?? '' })),
      pods: () => cluster.setPod(...nodes.map((node) => ({ ...pod(`pod-${node}`, node), namespace: OWN }))),
      secret: (name, data) => {
        if (this.#secrets.has(name)) this.#setSecret(name, data === null ? 'nothing' : isToken(data.token) ? 'refused' : 'garbage');
      },
      again: (times, act) => {
        for (let turn = 0; turn < times; turn += 1) clock.after(turn * 500, () => void act(turn));
      },
    };
  }

  #setSecret(name: string, holds: Holds): void {
    const { world } = this.#stage;
    this.#secrets.set(name, holds);
    for (const { providers } of world.processes) providers.set(secretKey(OWN, name), accountOf(holds, world));
  }

  #serve(name: string, ports: readonly number[]): void {
    for (const port of ports) this.#ports.add(port);
    const all = ports.slice(0, MOST_PORTS).map((port) => servicePort(port, { port, targetPort: port }));
    this.#stage.world.cluster.setService(OWN, name, service(nodes, { ports: all }));
  }

  #apply(kind: AttackedKind, name: string, spec: Fields): void {
    const { cluster } = this.#stage.world;
    if (kind === 'RoutedIPIssuer') {
      cluster.setPolicy({ kind, namespace: OWN, name, spec: spec as Json });
      return;
    }
    const former = this.#objects.get(keyOf(kind, name));
    if (former && cluster.pool(former)?.deleting) return;
    const ref = cluster.setPool({ kind, namespace: OWN, name, spec: spec as Json });
    this.#objects.set(keyOf(kind, name), ref);
    if (spec.className === CLASS_NAME) this.#ofClass.add(ref.uid);
  }

  #claimant(ref: ObjectRef): readonly Claimant[] {
    const object = this.#stage.world.cluster.pool(ref);
    if (!object || object.ref.uid !== ref.uid || !CLAIMING.includes(ref.kind as AttackedKind)) return [];
    const { routedIP, ips = [] } = object.spec as { readonly routedIP?: Address; readonly ips?: readonly Address[] };
    const bound = boundAddress(object.status);
    // What it has got it keeps, whatever it names by now.
    const own = bound ?? routedIP;
    const { createdAt, deleting } = object;
    const account = this.#accountOf(ref);
    const addresses = [...new Set([...ips, ...(own ? [own] : []), ...this.#kept(ref)])];
    return [{ ref, createdAt, deleting, addresses, ...(bound && { bound }), ...(account && { account }) }];
  }

  /** What serves he keeps while he is paused, and until what he names instead serves. */
  #kept(ref: ObjectRef): readonly Address[] {
    const { records } = this.#stage.world.invariants;
    const cell: ActorId = `rip/${ref.namespace}/${ref.name}`;
    const led = records.get(cell)?.snapshot.context as PoolContext | undefined;
    if (ref.kind !== 'RoutedIP' || led?.ref.uid !== ref.uid) return [];
    return [...records].flatMap(([actor, { snapshot }]) => {
      const { address, assigned, retiring } = snapshot.context as unknown as AddressContext;
      return actor.startsWith(`${cell}/ip/`) && assigned && retiring === null ? [address] : [];
    });
  }

  /** His Secrets are of other accounts. */
  #accountOf({ kind, uid }: ObjectRef): Claimant['account'] {
    if (kind !== 'RoutedIP') return undefined;
    if (!this.#ofClass.has(uid)) return 'Lacks';
    return this.#stage.history.routed?.jobs ? 'Unlistable' : undefined;
  }

  #note(rule: AttackRule, text: string): void {
    this.#violations.push({ rule, at: this.#stage.world.clock.monotonic(), text });
  }
}

/** Others open it by hand. */
const SSH = 22;
/** So many RoutedIPs he has for attacks, and so many pools. */
export const OBJECTS = 3;

export const attackHappening: fc.Arbitrary<AttackHappening> = fc.record({
  kind: of(...KINDS),
  object: index(OBJECTS),
  by: fc.constantFrom('class', ...MEANS),
  target: index(ADDRESSES),
});

export const ATTACKER_DOMAIN: Domain<AttackHappening, PlayedAttacker> = {
  sorts: [{ weight: 1, arbitrary: attackHappening }],
  open: (stage) => new PlayedAttacker(stage, stage.history.attacker ?? { before: [], family: 'wild' }),
};
