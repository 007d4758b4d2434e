import fc from 'fast-check';
import { ProviderError } from '../../actors/errors.ts';
import type { Provider } from '../../actors/ports/provider.ts';
import type { Json } from '../../actors/ports.ts';
import type { ObjectRef } from '../../machines/jobs.ts';
import { boundAddress } from '../../machines/rebuild-routed-ip.ts';
import type { ActorId, Address } from '../../machines/types.ts';
import { CLASS_NAME, service, servicePort } from '../actors/routed-world.ts';
import { ADDRESSES, type Domain, index, of, type Played, type Stage } from '../simulation/domain.ts';
import { addressOf, nodeName } from '../simulation/history.ts';
import type { Claimant } from '../simulation/made.ts';
import type { Owner } from '../support/adoption-rules.ts';
import { shownBy } from '../support/owners.ts';
import { type OperatorProcess, PROVIDER } from '../support/world.ts';
import { type AttackedKind, type AttackKind, attack, type Fields, type Hands, KINDS, MEANS, type Means } from './attacks.ts';

/** An attack, on an address of those that are there at first. */
export interface AttackHappening {
  readonly kind: AttackKind;
  readonly object: number;
  readonly by: Means;
  readonly target: number;
}

export interface AttackSetup {
  /** What he did before anybody else had made anything: his objects are the oldest. */
  readonly before: readonly AttackHappening[];
  /** Nothing else is in anybody's way: all has to be for others as it is without him. */
  readonly isCalm: boolean;
}

/** His namespace. */
const OWN = 'evil';
/** So many nodes his Pods are on. */
const ALL_NODES = 24;
/** Of his kinds of objects, those that ask for addresses. */
const CLAIMING: readonly AttackedKind[] = ['RoutedIP', 'FloatingIPPool'];

const keyOf = (kind: AttackedKind, name: string): string => `${kind} ${name}`;

/** Every call with a token that the provider refuses. */
const refusing = (provider: Provider): Provider =>
  new Proxy(provider, {
    get: (target, name) => {
      const member: unknown = Reflect.get(target, name);
      return typeof member === 'function' ? () => Promise.reject(new ProviderError('Unauthorized', `${String(name)}: 401`)) : member;
    },
  });

/** An account of its own that has nothing, and may have nothing. */
const empty = (provider: Provider): Provider =>
  new Proxy(provider, {
    get: (target, name) => {
      const member: unknown = Reflect.get(target, name);
      if (typeof member !== 'function') return member;
      if (String(name).startsWith('list')) return () => Promise.resolve([]);
      if (name === 'findNode') return () => Promise.resolve('gone');
      return () => Promise.reject(new ProviderError('NotFound', `${String(name)}: 404`));
    },
  });

/** Somebody who may edit everything in a namespace of his own, and wants what others have. */
export class PlayedAttacker implements Played<AttackHappening> {
  readonly #stage: Stage;
  readonly #objects = new Map<string, ObjectRef>();
  readonly #isCalm: boolean;
  readonly #gained = new Set<Address>();

  constructor(stage: Stage, { before, isCalm }: AttackSetup) {
    this.#isCalm = isCalm;
    this.#stage = stage;
    const { world } = stage;
    world.cluster.setService(
      OWN,
      'any',
      service(
        Array.from({ length: ALL_NODES }, (_, each) => nodeName(each)),
        { ports: [servicePort(9_999)] },
      ),
    );
    for (const name of MEANS) if (name !== 'class') this.#setIssuer(name);
    stage.begins.push((process) => this.#bringSecrets(process));
    for (const what of before) this.act(what);
    stage.looks.push(() => this.#look());
  }

  act({ kind, object, by, target }: AttackHappening): void {
    // What nobody has yet is whose who asks first.
    if (this.#isCalm && this.#stage.world.clock.monotonic() > 0 && !this.#isHeld(addressOf(target))) return;
    this.#stage.made.rules.noteSpecs();
    attack(kind, this.#hands(), { address: addressOf(target), className: CLASS_NAME, cloud: PROVIDER }, { object, by });
  }

  /** Whether an actor is of one of his objects. */
  isOwn(actor: ActorId): boolean {
    return actor.split('/')[1] === OWN;
  }

  /** Whether one of his objects asks for it, or has it. */
  claims(address: Address): boolean {
    return this.#gained.has(address) || this.claimants().some(({ addresses }) => addresses.includes(address));
  }

  /** Addresses that nobody had, and he was given. */
  get gained(): ReadonlySet<Address> {
    return this.#gained;
  }

  #look(): void {
    for (const { ref } of this.claimants()) for (const address of shownBy(this.#stage.world.cluster.pool(ref))) this.#gained.add(address);
  }

  claimants(): readonly Claimant[] {
    return [...this.#objects.values()].flatMap((ref) => this.#claimant(ref));
  }

  /** What his class and his issuers let his objects take. */
  adopting(): readonly Owner[] {
    const { policies, history } = this.#stage;
    return this.claimants().map(({ ref }) => {
      const { className } = (this.#stage.world.cluster.pool(ref)?.spec ?? {}) as { readonly className?: string };
      const isPool = ref.kind === 'FloatingIPPool';
      const isOfClass = className === CLASS_NAME;
      const mayTake = isPool ? history.adopt !== 'unassigned' : isOfClass && (policies?.adoptionOf(0) ?? 'Any') === 'Any';
      return { ref, mayTake, isByJobs: isOfClass && history.routed?.jobs !== undefined };
    });
  }

  /** One of the others has it, by what is shown of him. */
  #isHeld(address: Address): boolean {
    const { made, world } = this.#stage;
    return made.victims().some(({ ref }) => shownBy(world.cluster.pool(ref)).includes(address));
  }

  #hands(): Hands {
    const { cluster } = this.#stage.world;
    return {
      apply: (kind, name, spec) => this.#apply(kind, name, spec),
      annotate: (name, annotations) => {
        const ref = this.#objects.get(keyOf('RoutedIP', name));
        const there = ref && cluster.pool(ref);
        if (there) cluster.annotate(there.ref, { ...there.marks?.annotations, ...annotations });
      },
      remove: (name, letsGo) => {
        const ref = this.#objects.get(keyOf('RoutedIP', name));
        if (!ref) return;
        cluster.markDeleting(ref);
        if (letsGo) cluster.removePool(ref);
      },
      serve: (name, ports) => {
        const nodes = Array.from({ length: ALL_NODES }, (_, each) => nodeName(each));
        const all = ports.map(({ port, nodePort }, each) => servicePort(each, { port, nodePort }));
        cluster.setService(OWN, name, service(nodes, { ports: all }));
      },
    };
  }

  #apply(kind: AttackedKind, name: string, spec: Fields): void {
    const { cluster } = this.#stage.world;
    if (kind === 'RoutedIPIssuer') {
      cluster.setPolicy({ kind, namespace: OWN, name, spec: spec as Json });
      return;
    }
    const former = this.#objects.get(keyOf(kind, name));
    if (former && cluster.pool(former)?.deleting) return;
    this.#objects.set(keyOf(kind, name), cluster.setPool({ kind, namespace: OWN, name, spec: spec as Json }));
  }

  #setIssuer(by: Means): void {
    this.#apply('RoutedIPIssuer', by, {
      issuerClass: PROVIDER,
      region: 'nyc3',
      adoption: 'Any',
      ...(by !== 'operator' && { fromSecretsRef: [{ name: by }] }),
    });
  }

  #bringSecrets({ providers }: OperatorProcess): void {
    const own = providers.all[PROVIDER];
    if (!own?.provider) return;
    providers.set(`${PROVIDER}@${OWN}.refused`, { ...own, provider: refusing(own.provider) });
    providers.set(`${PROVIDER}@${OWN}.foreign`, { ...own, provider: empty(own.provider) });
  }

  #claimant(ref: ObjectRef): readonly Claimant[] {
    const object = this.#stage.world.cluster.pool(ref);
    if (!object || object.ref.uid !== ref.uid || !CLAIMING.includes(ref.kind as AttackedKind)) return [];
    const { routedIP, ips = [] } = object.spec as { readonly routedIP?: Address; readonly ips?: readonly Address[] };
    const bound = boundAddress(object.status);
    const own = routedIP ?? bound;
    const { createdAt, deleting } = object;
    return [{ ref, createdAt, deleting, addresses: [...ips, ...(own ? [own] : [])], ...(bound && { bound }) }];
  }
}

const OBJECTS = 3;

export const attackHappening: fc.Arbitrary<AttackHappening> = fc.record({
  kind: of(...KINDS),
  object: index(OBJECTS),
  by: fc.constantFrom(...MEANS),
  target: index(ADDRESSES),
});

export const ATTACKER_DOMAIN: Domain<AttackHappening, PlayedAttacker> = {
  sorts: [{ weight: 1, arbitrary: attackHappening }],
  open: (stage) => new PlayedAttacker(stage, stage.history.attacker ?? { before: [], isCalm: false }),
};
