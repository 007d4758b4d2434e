import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type Asked, beyondShare } from '../../../machines/firewall/share.ts';
import { namespaceOf } from '../../../machines/model/namespaces.ts';

const MOST_RULES = 50;
const LAST = 10;

/** A firewall as claims come: what is open in it, and for whom. */
class Played {
  readonly open: Set<string>;
  readonly granted = new Map<string, readonly string[]>();

  constructor(byHand: number) {
    this.open = new Set(Array.from({ length: byHand }, (_, index) => `tcp/by-hand-${index}`));
  }

  get free(): number {
    return MOST_RULES - this.open.size;
  }

  /** Some claim at once; answers those that were refused. */
  claim(asked: Asked): readonly string[] {
    const all = { ...Object.fromEntries([...this.granted].map(([id, ports]) => [id, { ports }])), ...asked };
    const beyond = beyondShare(all, this.open, this.free);
    for (const [id, { ports }] of Object.entries(asked)) {
      if (beyond.has(id)) continue;
      this.granted.set(id, ports);
      for (const port of ports) this.open.add(port);
    }
    return [...beyond.keys()];
  }

  /** It is let go, and what nobody else has is closed. */
  leave(id: string): void {
    const ports = this.granted.get(id) ?? [];
    this.granted.delete(id);
    const kept = new Set([...this.granted.values()].flat());
    for (const port of ports) if (!kept.has(port)) this.open.delete(port);
  }

  rulesOf(namespace: string): number {
    return new Set([...this.granted].flatMap(([id, ports]) => (namespaceOf(id) === namespace ? ports : []))).size;
  }
}

const idOf = (namespace: string, name: number): string => `rip/${namespace}/${name}/ip/203.0.113.${name}`;
const portsOf = (namespace: string, first: number, count: number): readonly string[] =>
  Array.from({ length: count }, (_, index) => `tcp/${namespace}-${first + index}`);

const namespace = fc.constantFrom<string>('web', 'shop', 'ops', 'blog');
const claim = fc.record({ namespace, name: fc.nat(9), first: fc.nat(60), count: fc.integer({ min: 1, max: 12 }) });
/** Claims that come at once, or one that leaves. */
const step = fc.oneof(fc.array(claim, { minLength: 1, maxLength: 4 }), fc.record({ leaves: fc.record({ namespace, name: fc.nat(9) }) }));
const history = fc.record({ byHand: fc.nat(48), steps: fc.array(step, { maxLength: 30 }) });

type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

const askedIn = (claims: Extract<Step, readonly unknown[]>): Asked =>
  Object.fromEntries(claims.map(({ namespace: of, name, first, count }) => [idOf(of, name), { ports: portsOf(of, first, count) }]));

/** Plays a history; `each` sees what was before and after every step. */
function play(byHand: number, steps: readonly Step[], each: (played: Played, asked: Asked, refused: readonly string[]) => void): Played {
  const played = new Played(byHand);
  for (const what of steps) {
    if ('leaves' in what) played.leave(idOf(what.leaves.namespace, what.leaves.name));
    else {
      // What claims anew has what it has given up no more.
      const asked = askedIn(what);
      for (const id of Object.keys(asked)) played.leave(id);
      each(played, asked, played.claim(asked));
    }
  }
  return played;
}

describe('the rules of a firewall', () => {
  test('are never more than it takes, and whoever claims what he has keeps it', () => {
    fc.assert(
      fc.property(history, ({ byHand, steps }) => {
        const played = play(byHand, steps, ({ open }) => expect(open.size).toBeLessThanOrEqual(MOST_RULES));
        const again = Object.fromEntries([...played.granted].map(([id, ports]) => [id, { ports }]));
        expect(beyondShare(again, played.open, played.free).size).toBe(0);
      }),
    );
  });

  test('are given out but for the last ones, whoever asks', () => {
    fc.assert(
      fc.property(history, ({ byHand, steps }) => {
        play(byHand, steps, (played, asked, refused) => {
          for (const id of refused) {
            const lacks = (asked[id]?.ports ?? []).filter((port) => !played.open.has(port)).length;
            expect(played.free - lacks).toBeLessThan(LAST);
          }
        });
      }),
    );
  });

  test('are never all with one namespace: one that comes later gets as many as would leave it half of what is free', () => {
    fc.assert(
      fc.property(fc.nat(48), fc.array(claim, { maxLength: 60 }), fc.integer({ min: 1, max: 5 }), (byHand, claims, wants) => {
        const before = MOST_RULES - byHand;
        const played = play(
          byHand,
          claims.map((each) => [{ ...each, namespace: 'attacker' }]),
          () => undefined,
        );
        const least = Math.floor(Math.min(LAST, before) / 2);
        expect(played.free).toBeGreaterThanOrEqual(least);
        const mine = Math.min(wants, Math.floor((least + 1) / 2));
        expect(played.claim({ [idOf('victim', 1)]: { ports: portsOf('victim', 1, mine) } })).toEqual([]);
      }),
    );
  });

  test('go to the namespace with fewer of them first when several ask at once', () => {
    fc.assert(
      fc.property(fc.integer({ min: 30, max: 45 }), fc.array(claim, { minLength: 1, maxLength: 5 }), (has, claims) => {
        const played = new Played(0);
        for (let first = 0; first < has; first += 1) played.claim({ [idOf('busy', first)]: { ports: portsOf('busy', first, 1) } });
        const more = askedIn(claims.map((each) => ({ ...each, namespace: 'busy', name: 100 + each.name, first: 100 + each.first })));
        const quiet = idOf('quiet', 1);
        expect(played.claim({ ...more, [quiet]: { ports: portsOf('quiet', 1, 2) } })).not.toContain(quiet);
      }),
    );
  });

  test('of which none is free keep nobody from what is open already', () => {
    const ports = portsOf('web', 1, MOST_RULES);
    expect(beyondShare({ [idOf('shop', 1)]: { ports } }, new Set(ports), 0).size).toBe(0);
  });

  test('are given to the same ones in whatever order claims are listed, and who was served is served when all ask again', () => {
    const asking = fc.array(claim, { maxLength: 8 }).map(askedIn);
    const shuffled = asking.chain((asked) => {
      const all = Object.entries(asked);
      return fc.record({ asked: fc.constant(asked), again: fc.shuffledSubarray(all, { minLength: all.length }) });
    });
    fc.assert(
      fc.property(history, shuffled, ({ byHand, steps }, { asked, again }) => {
        const { open, free } = play(byHand, steps, () => undefined);
        const beyond = beyondShare(asked, open, free);
        expect(beyondShare(Object.fromEntries(again), open, free)).toEqual(beyond);
        const served = Object.entries(asked).flatMap(([id, { ports }]) => (beyond.has(id) ? [] : ports));
        const now = new Set([...open, ...served]);
        const still = beyondShare(asked, now, free - (now.size - open.size));
        expect([...still.keys()].filter((id) => !beyond.has(id))).toEqual([]);
      }),
    );
  });
});
