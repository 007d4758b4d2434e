import type { Transition } from '../../actors/ports/observers.ts';
import type { ActorRecord } from '../../actors/ports/records.ts';
import type { FirewallContext } from '../../machines/firewall/context.ts';
import { nameOf } from './firewall-served.ts';
import type { OperatorProcess, World } from './world.ts';

const CHANGES: ReadonlySet<string> = new Set([
  'addRoutedIPFirewallPort',
  'addRoutedIPFirewallNode',
  'deleteRoutedIPFirewallPort',
  'deleteRoutedIPFirewallNode',
]);

/** Until when a firewall doubts what became of a call, ms since the epoch; 0 while it doubts nothing. */
const doubtIn = (record: ActorRecord | null): number =>
  (record?.snapshot.context as unknown as FirewallContext | undefined)?.doubt?.until ?? 0;

/** Changes of a firewall that go on side by side and must not. */
export class FirewallPairs {
  readonly #world: World;
  #alive: readonly OperatorProcess[] = [];
  /** When it was last seen that a process had ended, virtual ms. */
  #endedAt = Number.NEGATIVE_INFINITY;
  /** How many calls had been sent before the present term. */
  #sentBeforeTerm = 0;
  /** By firewall: how many had been sent when it began to doubt what became of one. */
  readonly #sentBeforeDoubt = new Map<string, number>();

  constructor(world: World) {
    this.#world = world;
  }

  /** Something is decided under a new term. */
  begin(): void {
    this.#sentBeforeTerm = this.#world.provider.calls.length;
    this.#noteEnds();
  }

  look({ actor, before, after }: Transition): void {
    this.#noteEnds();
    if (doubtIn(after) > doubtIn(before)) this.#sentBeforeDoubt.set(nameOf(actor), this.#world.provider.calls.length);
  }

  /** As text; null for none. A call of a process that has ended may be on its way beside one of the next. */
  in(firewall: string): string | null {
    const { provider, processes } = this.#world;
    this.#noteEnds();
    const under = provider.calls.filter(
      ({ verb, args, result, at }) => CHANGES.has(verb) && args[0] === firewall && result === 'sent' && at > this.#endedAt,
    );
    // What two calls add, or what both remove, does not depend on which of them comes first. So a term does not wait for what a former one has sent, nor a firewall, which
    // doubts it, for what a job has sent that its queue lost while it was carried out.
    const isOneWay = new Set(under.map(({ verb }) => verb.startsWith('add'))).size === 1;
    const sentBefore = Math.max(this.#sentBeforeTerm, this.#sentBeforeDoubt.get(firewall) ?? 0);
    const own = isOneWay ? provider.calls.slice(sentBefore).filter((call) => under.includes(call)) : under;
    return processes.length === 1 && own.length > 1 ? under.map(({ verb, at }) => `${verb} of ${at}`).join(' and ') : null;
  }
  #noteEnds(): void {
    const { clock, processes, startedAt } = this.#world;
    if (this.#alive.some(({ dead }) => dead)) this.#endedAt = clock.monotonic();
    this.#endedAt = Math.max(this.#endedAt, startedAt);
    this.#alive = processes;
  }
}
