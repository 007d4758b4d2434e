import type { ActorRecord } from '../../actors/ports/records.ts';
import type { LoggedVipWrite } from '../../adapters/memory/vip-world.ts';
import type { ActorId } from '../../machines/model/types.ts';
import type { PoolContext } from '../../machines/pool/context.ts';
import type { PlayedAttacker } from '../hostile/attacker.ts';
import { MarkRules } from '../support/marks.ts';
import { Keepers } from '../support/owners.ts';
import { PatienceRules } from '../support/patience.ts';
import { type OperatorProcess, providerIDOf, type WorldOptions } from '../support/world.ts';
import type { Happening, Played, Stage, Violation } from './domain.ts';
import type { PlayedNames } from './domains/names.ts';
import type { PlayedNodes } from './domains/nodes.ts';
import type { PlayedPolicies } from './domains/policies.ts';
import type { PlayedPools } from './domains/pools.ts';
import type { PlayedRoutedIPs } from './domains/routed-ips.ts';
import type { PlayedServices } from './domains/services.ts';
import { DOMAINS, domainsOf } from './domains.ts';
import type { DomainName, History, Step } from './history.ts';
import { Made } from './made.ts';
import { PlayedOperator } from './operator.ts';
import { SimulationWorld } from './world.ts';

/** The longest that everything may take to be right again once nothing is in the way, ms: the longest back-off of each table, one after the other, and an hour in which an
 *  address that somebody deleted is there again, and no Job tries it. */
const RIGHT_WITHIN_MS = 7_200_000;
/** The fewest nodes in the end. */
const FEWEST_NODES = 6;
/** How often the same may be done at rest. What somebody left behind may be tidied up once, each port and each record by itself; whoever has just begun to lead may
 *  find that the same is wrong, and say so again. */
const AT_REST = { provider: 1, api: 2 };

/** How often it is looked whether all is right, virtual ms. */
const LOOKS_EVERY_MS = 250;

/** What whoever has just begun to lead goes by is what was stored, until it has been told how all is: by then it has, virtual ms. */
const TOLD_WITHIN_MS = 1_000;

type Part = Played<Happening>;

/** A world in which a history happens, and what is known of it from outside. */
export class Simulation implements Stage {
  readonly world: SimulationWorld;
  readonly history: History;
  readonly operator: PlayedOperator;
  readonly made: Made;
  readonly begins: ((process: OperatorProcess) => void)[] = [];
  readonly started: ((process: OperatorProcess) => void)[] = [];
  readonly looks: (() => void)[] = [];
  readonly #kinds: ReadonlySet<string>;
  readonly #parts = new Map<DomainName, Part>();
  readonly #marks: MarkRules;
  readonly #patience: PatienceRules;
  readonly keepers = new Keepers();
  /** When all was taken out of the way, virtual ms. */
  mendedAt = Number.POSITIVE_INFINITY;
  #lookedAt = Number.NEGATIVE_INFINITY;
  /** The term that is led, and since when it is seen to be, virtual ms. */
  #led: { readonly term: number | null; readonly since: number } = { term: null, since: 0 };

  constructor(history: History, options: WorldOptions = {}) {
    this.history = history;
    this.#kinds = new Set(history.steps.map((step) => `${step.in} ${step.what.kind}`));
    this.world = new SimulationWorld(history, options);
    this.world.begins = (process) => {
      for (const tell of this.begins) tell(process);
    };
    this.operator = new PlayedOperator(this);
    this.made = new Made(this);
    for (const name of domainsOf(history)) {
      this.#parts.set(name, DOMAINS[name].open(this) as Part);
      if (name !== 'nodes') continue;
      this.world.provider.cloud.addNode(providerIDOf('foreign'));
      this.made.makeAll();
    }
    this.#patience = new PatienceRules(this.world, {
      troubledAt: (name, service) =>
        Math.max(this.nodes.troubledAt(name), service === null ? Number.NEGATIVE_INFINITY : this.nodes.unbalancedAt(name)),
      leavesWhileItWorks: (name, service) =>
        this.nodes.leavesWhileItWorks(name) &&
        (service === null || (this.nodes.isBalanced(name) && (this.services?.hasLongBeenOn(service, name) ?? false))),
    });
    this.#marks = new MarkRules(this.world, {
      pausedSince: (actor) => this.pools?.pausedSince(actor) ?? this.routed?.pausedSince(actor) ?? null,
      evacuatedSince: (name) => this.nodes.evacuatedSince(name),
    });
  }

  get nodes(): PlayedNodes {
    return this.#parts.get('nodes') as unknown as PlayedNodes;
  }

  get pools(): PlayedPools | null {
    return (this.#parts.get('pools') as unknown as PlayedPools | undefined) ?? null;
  }

  get names(): PlayedNames | null {
    return (this.#parts.get('names') as unknown as PlayedNames | undefined) ?? null;
  }

  get routed(): PlayedRoutedIPs | null {
    return (this.#parts.get('routed') as unknown as PlayedRoutedIPs | undefined) ?? null;
  }

  get policies(): PlayedPolicies | null {
    return (this.#parts.get('policies') as unknown as PlayedPolicies | undefined) ?? null;
  }

  get attacker(): PlayedAttacker | null {
    return (this.#parts.get('attacker') as unknown as PlayedAttacker | undefined) ?? null;
  }

  get services(): PlayedServices | null {
    return (this.#parts.get('services') as unknown as PlayedServices | undefined) ?? null;
  }

  readonly happens = (domain: DomainName, ...kinds: readonly string[]): boolean =>
    kinds.some((kind) => this.#kinds.has(`${domain} ${kind}`));

  /** Lets everything happen, then takes everything out of the way and waits until all is right. @throws Error when it does not become right */
  async run(rightWithinMs = RIGHT_WITHIN_MS): Promise<void> {
    const { world } = this;
    await this.operator.start();
    for (const step of this.history.steps) {
      await world.clock.advance(step.afterMs);
      if (this.history.restarts) await this.operator.isThere();
      this.pools?.noteUnwritten();
      this.#lookAround();
      await this.#happen(step);
      this.#lookAround();
    }
    await world.clock.advance(this.history.settlesMs ?? 0);
    await this.#mend();
    this.#lookAround();
    await this.#becomesRight(rightWithinMs);
    this.#lookAround();
    const listed = this.names?.ofNodes();
    const sent = world.provider.writes().length;
    const restless = await this.#rest();
    // An address of an attacker, for which nobody has waited, may come to a node at rest: then the name of the nodes lists another one, and a zone that was refused is tried
    // again later. One that he had first may go with him, as he may ask: then who waits for it needs another one.
    const isDeleted = world.provider
      .writes()
      .slice(sent)
      .some(({ verb }) => verb === 'deleteRoutedIP');
    if (this.attacker && (isDeleted || this.names?.ofNodes() !== listed)) await this.#becomesRight(rightWithinMs);
    const wrongs = [...this.wrongs(), ...restless];
    if (wrongs.length > 0) throw new Error(`right, and then wrong again: ${wrongs.join('; ')}`);
  }

  /** What was wrong at any moment; to be asked once. */
  violations(): readonly Violation[] {
    const { invariants } = this.world;
    invariants.checkCalls();
    return [
      ...invariants.violations,
      ...this.#marks.violations,
      ...this.#patience.violations,
      ...this.made.violations(),
      ...this.keepers.violations,
      ...[...this.#parts.values()].flatMap((part) => part.violations?.() ?? []),
    ];
  }

  /** What is not as it must be in the end. */
  wrongs(): readonly string[] {
    if (!this.world.leader) return ['nobody leads'];
    return [...[...this.#parts.values()].flatMap((part) => part.wrongs?.() ?? []), ...this.made.wrongs(), ...this.#unsettled()];
  }

  // ---------------------------------------------------------------- within

  /** Whether there are any `wrongs`: what nothing more is asked for once one is known. */
  #isWrong(): boolean {
    if (!this.world.leader || this.made.wrongs().length > 0) return true;
    return [...this.#parts.values()].some((part) => (part.wrongs?.().length ?? 0) > 0);
  }

  /** Before and after each edit. */
  #lookAround(): void {
    this.keepers.look(this.made.claiming(), this.world.clock.monotonic());
    this.made.look();
    for (const look of this.looks) look();
  }

  async #happen({ in: domain, what }: Step): Promise<void> {
    await this.#parts.get(domain)?.act(what);
  }

  /** Nothing is in the way any more: enough nodes, all addresses, valid specs, a process, and nobody holds what is wanted. */
  async #mend(): Promise<void> {
    this.mendedAt = this.world.clock.monotonic();
    this.operator.mend();
    const { pools, routed, nodes } = this;
    for (const [name, part] of this.#parts) if (name !== 'services') part.mend?.();
    if (pools) nodes.heal(!pools.holdForLeaving());
    const ofRouted = routed ? routed.claimants().length * 2 + 1 : 0;
    const ofAttacker = (this.attacker?.claimants().length ?? 0) * 2;
    if (pools || routed || ofAttacker > 0) nodes.provide(Math.max(FEWEST_NODES, (pools?.nodesWanted() ?? 0) + ofRouted + ofAttacker));
    this.services?.mend();
    this.made.mend();
    await this.world.clock.advance(1_000);
    await this.operator.isThere();
  }

  async #becomesRight(withinMs: number): Promise<void> {
    try {
      await this.world.clock.runUntil(() => this.#isRight(), withinMs);
    } catch (error) {
      throw new Error(`not right after ${withinMs} ms: ${this.wrongs().join('; ')}`, { cause: error });
    }
  }

  /** Looks now and then: to look takes longer than most of what happens in between. */
  #isRight(): boolean {
    const now = this.world.clock.monotonic();
    if (now - this.#lookedAt < LOOKS_EVERY_MS) return false;
    this.#lookedAt = now;
    const term = this.world.leader?.supervisor.term ?? null;
    if (term !== this.#led.term) this.#led = { term, since: now };
    for (const part of this.#parts.values()) part.helps?.();
    this.made.helps();
    // What is under way tells soonest that it is not.
    const isTold = now - this.#led.since >= TOLD_WITHIN_MS && !this.#hasUntold();
    return isTold && this.#unsettled().length === 0 && !this.#isWrong();
  }

  /** Whoever leads is told of no object before its provider has been read, which may hang: until then its records are those of a former term. Of one that is
   *  deleted nothing is told any more. */
  #hasUntold(): boolean {
    const { supervisor } = this.world.leader ?? {};
    return [...(supervisor?.records().values() ?? [])].some((cell) =>
      [...cell].some(
        ([actor, { chart, term, snapshot }]) =>
          chart === 'pool' && term !== supervisor?.term && !isDeleted(snapshot) && !this.#isAttackers(actor),
      ),
    );
  }

  /** What an attacker waits for nobody has to see through. */
  #isAttackers(actor: ActorId): boolean {
    return this.attacker?.isOwn(actor) ?? false;
  }

  /** What is shown may be from before: it counts only while nothing is under way. A pool that is deleted is gone for people, and may still have to find out what it has made. */
  // A firewall tries for ever what an attacker wants of it and it cannot bear: that it has what others want is looked at for itself.
  #unsettled(): readonly string[] {
    return [...(this.world.leader?.supervisor.records().values() ?? [])].flatMap((cell) =>
      [...cell].flatMap(([actor, { chart, waiting, snapshot }]) => {
        const isAwaited = chart === 'ip' || (chart === 'firewall' && this.attacker === null) || (chart === 'pool' && isDeleted(snapshot));
        return isAwaited && Object.keys(waiting).length > 0 && !this.#isAttackers(actor)
          ? [`${actor} waits for ${Object.keys(waiting)}`]
          : [];
      }),
    );
  }

  /** Lets the time pass for which all has to stay right. Answers what is done again and again meanwhile. */
  async #rest(): Promise<readonly string[]> {
    const { provider, vips, clock } = this.world;
    const [ofProvider, ofVips] = [provider.writes().length, vips?.writes.length ?? 0];
    await clock.advance(this.history.restsMs ?? restsMs(this.history));
    return [
      ...repeated(
        provider
          .writes()
          .slice(ofProvider)
          // What an attacker has tried again and again takes turns of his own namespace.
          .filter((call) => !this.attacker?.isForHim(call))
          .map(({ verb, args }) => `${verb} of ${/DNSRecord|Firewall/.test(verb) ? JSON.stringify(args) : args[0]}`),
        AT_REST.provider,
      ),
      ...repeated(sent(vips?.writes.slice(ofVips) ?? []), AT_REST.api),
    ];
  }
}

/** How long all has to stay right unless the history says otherwise, ms: where there are Services a resync and a doubt, where there are VirtualIPs some resyncs, and
 *  looks at what blocks. */
const restsMs = ({ vips, virtualIPs }: History): number => (virtualIPs ? 400_000 : vips ? 70_000 : 30_000);

/** What the fence held back never reached the API server: each leader may leave a job that comes to it. What is learnt step by step, when the definitions are seen again
 *  say, is shown step by step: that is done once. */
function sent(writes: readonly LoggedVipWrite[]): readonly string[] {
  const last = new Map<string, number>();
  return writes.flatMap(({ at, verb, about, result }) => {
    const text = `${verb} of ${about}`;
    if (result === 'fenced' || at - (last.get(text) ?? Number.NEGATIVE_INFINITY) < TOLD_WITHIN_MS) return [];
    last.set(text, at);
    return [text];
  });
}

const repeated = (texts: readonly string[], most: number): readonly string[] =>
  [...Map.groupBy(texts, (text) => text)].flatMap(([text, all]) => (all.length > most ? [`${text} at rest, again and again`] : []));

const isDeleted = ({ context }: ActorRecord['snapshot']): boolean => (context as unknown as PoolContext).deleted;

/** Lets a history happen. Answers what was wrong: rules that were broken, what was not right in the end, and errors that were logged. */
export async function brokenBy(simulation: Simulation): Promise<readonly string[]> {
  const end = await simulation.run().then(
    () => [],
    (error: Error) => [`in the end: ${error.message}`],
  );
  return [
    ...simulation.violations().map(({ rule, at, text }) => `${rule}: ${text} (at ${at})`),
    ...simulation.world.faults().map((fault) => `logged: ${JSON.stringify(fault)}`),
    ...end,
  ];
}
