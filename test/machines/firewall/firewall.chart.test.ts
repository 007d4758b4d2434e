import { describe, expect, test } from 'vitest';
import { begin, type MachineEvent, type Step, step } from '../../../actors/runtime/step.ts';
import type { FirewallContext, FirewallDoubt } from '../../../machines/firewall/context.ts';
import type { FirewallInput } from '../../../machines/jobs.ts';
import { rememberedClaim } from '../../../machines/status/restore-routedip.ts';
import { shareOf } from '../../support/extent.ts';
import { frozen, providerIDOf, SECOND, START } from '../builders.ts';
import { expectEveryState, samplesOf, testPurity, testRules } from '../chart-suite.ts';
import { chartOf } from '../drive.ts';
import { placesOf, told } from '../explore.ts';
import { brokenByFirewall, FIREWALL_RULES } from './invariants.ts';
import * as words from './vocabulary.ts';

const chart = chartOf('firewall');
describe.each([
  { by: 'an API', events: frozen(words.FIREWALL_EVENTS.usual), never: ['Doubting', 'Applying'] },
  { by: 'an API that is slow to apply what it is told', events: frozen(words.FIREWALL_EVENTS.late), never: ['Doubting'] },
  { by: 'an API of which not every answer is heard', events: frozen(words.FIREWALL_EVENTS.unheard), never: ['Applying'] },
  {
    by: 'an API, and to which something may still be done of before',
    events: frozen([...words.FIREWALL_EVENTS.usual, words.doubted]),
    never: ['Applying'],
    begins: { ...words.NEW_FIREWALL, doubt: { of: 'both', until: START + SECOND } } as const,
  },
  { by: 'an API, and in which rules are scarce', events: frozen(words.FIREWALL_EVENTS.crowded), never: ['Doubting', 'Applying'] },
  { by: 'an API, and from which others take something out', events: frozen(words.FIREWALL_EVENTS.taken), never: ['Doubting', 'Applying'] },
  // A Job is found again: nothing of it is in doubt.
  { by: 'Jobs', events: frozen(words.FIREWALL_EVENTS.byJobs), never: ['Doubting', 'Applying'] },
])('a firewall that is driven by $by', ({ events, never, begins = words.NEW_FIREWALL }) => {
  const exploration = { chart, input: frozen(begins), events, telling: words.firewallTelling };
  const all = placesOf(exploration);
  /** What has ended hears nothing any more. */
  const places = all.filter(({ edges }) => edges.every(({ after }) => !after.done));

  test('every state is reached', () => {
    expectEveryState(chart, all, ['Deciding', ...never]);
    expect(places.length).toBeGreaterThan(500);
  });

  testRules([{ exploration, places }], { all: FIREWALL_RULES, brokenBy: brokenByFirewall, triesOver: 5000 });

  describe('in every state', () => {
    testPurity(chart, { samples: samplesOf(places), samplesOver: 4, events });

    test('a restart looks again before it adds, and goes on with anything else', () => {
      for (const { end } of shareOf(places, 6)) {
        const resumed = step(chart, end.snapshot, { type: 'RESUME', at: START });
        const looks = end.snapshot.value === 'Opening' || end.snapshot.value === 'Applying';
        expect(resumed.snapshot.value).toBe(looks ? 'Looking' : end.snapshot.value);
        expect([...resumed.invoking]).toEqual(resumed.starts.map(({ invokeId }) => invokeId));
        expect(resumed.delays.length).toBe(resumed.snapshot.value === 'Resting' || resumed.snapshot.value === 'Doubting' ? 1 : 0);
      }
    });

    /** Every claim is given back, and every job does what it is asked for. */
    const settled = (from: Step): FirewallContext => {
      let now = from;
      for (const leaves of events.filter(({ claimId }) => claimId === 'w4' || claimId === 'a3')) now = step(chart, now.snapshot, leaves);
      for (let turns = 0; turns < 12; turns += 1) {
        const next = comingTo(now);
        if (next) now = step(chart, now.snapshot, next);
      }
      return now.snapshot.context as FirewallContext;
    };
    const comingTo = ({ invoking, snapshot }: Step): MachineEvent | null => {
      if (snapshot.value === 'Resting') return words.rested;
      if (snapshot.value === 'Doubting') return words.doubted;
      if (snapshot.value === 'Applying') return words.looksAgain;
      const [job] = [...invoking];
      return job === undefined ? null : ({ look: words.full, open: words.opened, prune: words.pruned }[job] ?? null);
    };

    test('nothing of ours is left once all claims are given back and jobs succeed', () => {
      for (const place of shareOf(places, 6)) {
        const { owned, waiting, claims } = settled(place.end);
        const left = [...owned.ports, ...owned.nodes, ...Object.keys(waiting), ...Object.keys(claims)];
        if (left.length > 0) expect.fail(`${left} is left after ${told(place.path)}`);
      }
    });
  });
});

test('a firewall that is begun anew removes nothing that a claimant may need before that one prunes, or leaves', () => {
  const play = (...events: readonly MachineEvent[]): Step => {
    let now = begin(chart, frozen(words.FIREWALL_INPUT));
    for (const heard of events) now = step(chart, now.snapshot, heard);
    return now;
  };
  const { owned } = play().snapshot.context as FirewallContext;
  expect(owned).toEqual({ ports: ['tcp/8443'], nodes: [providerIDOf('z')] });
  expect([...play().invoking]).toEqual([]);
  const moving = [words.apiOpens, words.bare, words.opened, words.webOpens, words.bare, words.opened];
  expect([...play(...moving).invoking]).toEqual([]);
  expect([...play(...moving, words.apiLeaves).invoking]).toEqual(['prune']);
  const input = play(...moving, words.apiLeaves).starts[0]?.input as FirewallInput;
  expect(input.claims.map(({ node }) => node.providerID)).toContain(providerIDOf('z'));
  for (const ending of [[words.webPrunes, words.full], [words.webLeaves]])
    expect([...play(...moving, ...ending).invoking]).toEqual(['prune']);
});

test('a job that was run once more, since whoever ran it first was not heard of again, leaves the same doubt as one that failed unheard', () => {
  const play = (...events: readonly MachineEvent[]): unknown => {
    let now = begin(chart, frozen(words.NEW_FIREWALL));
    for (const heard of [words.webOpens, words.bare, words.opened, words.webLeaves, ...events]) now = step(chart, now.snapshot, heard);
    return now.snapshot.value;
  };
  expect(play()).toBe('Pruning');
  expect(play(words.pruned)).toBe('Idle');
  expect(play(words.prunedAgain)).toBe('Doubting');
  expect(play(words.prunedAgain, words.apiOpens)).toBe('Doubting');
  expect(play(words.prunedAgain, words.apiOpens, words.doubted)).toBe('Looking');
});

test('a node that only keeps what is open on it is neither opened nor closed before its address is heard', () => {
  const { claims = {} } = words.FIREWALL_INPUT;
  const held = claims[words.WEB];
  if (!held) throw new Error('web claims nothing');
  const kept = { ...held, nodes: [...held.nodes, { name: 'k', providerID: providerIDOf('k'), onlyKept: true as const }] };
  const input = { ...words.FIREWALL_INPUT, claims: { [words.WEB]: kept } };
  const play = (...events: readonly MachineEvent[]): Step =>
    events.reduce((now, event) => step(chart, now.snapshot, event), begin(chart, input));
  const opening = play(words.webOpens, words.bare);
  expect((opening.snapshot.context as FirewallContext).owned.nodes).toEqual(['a', 'z'].map((name) => providerIDOf(name)));
  const asked = opening.starts[0]?.input as FirewallInput;
  expect(asked.claims.map(({ node }) => node.name)).not.toContain('k');
  const pruning = play(words.apiOpens, words.bare, words.opened, words.apiLeaves);
  const left = pruning.starts[0]?.input as FirewallInput;
  expect(left.claims.map(({ node }) => node)).toContainEqual({ name: 'k', providerID: providerIDOf('k') });
});

test('what a status says may be needed is kept, and not opened with what others claim before its address is heard', () => {
  const id = words.NEW_FIREWALL.id;
  const [, provider = '', ...name] = id.split('/');
  const rule = { provider, firewall: name.join('/'), ports: [{ port: 25, protocol: 'TCP' }], nodes: [providerIDOf('k')] };
  const remembered = rememberedClaim({ routedIP: '203.0.113.2', ownedRules: [rule] }, id);
  if (!remembered?.claim) throw new Error('the status says nothing');
  const input = { ...words.NEW_FIREWALL, owned: remembered.owned, claims: { [words.WEB]: remembered.claim } };
  const play = (...events: readonly MachineEvent[]): Step =>
    events.reduce((now, event) => step(chart, now.snapshot, event), begin(chart, input));
  const asked = play(words.apiOpens, words.bare).starts[0]?.input as FirewallInput;
  expect(asked.claims.map(({ node, port }) => [node.name, port])).not.toContainEqual(['k', 25]);
  expect(asked.claims.map(({ node }) => node.name)).not.toContain(providerIDOf('k'));
  expect(asked.claims.map(({ port }) => port)).not.toContain(25);
  const pruning = play(words.apiOpens, words.bare, words.opened, words.apiLeaves);
  const left = pruning.starts[0]?.input as FirewallInput | undefined;
  expect(left?.claims.map(({ node, port }) => [node.providerID, port])).toEqual([[providerIDOf('k'), 25]]);
});

test('a firewall that Jobs drive stays so when something is given back', () => {
  const [opens, ...others] = words.FIREWALL_EVENTS.byJobs;
  if (!opens) throw new Error('nothing is opened');
  const now = [opens, ...others, words.webLeaves].reduce(
    (last, event) => step(chart, last.snapshot, event),
    begin(chart, words.NEW_FIREWALL),
  );
  expect((now.snapshot.context as FirewallContext).byJobs).toBe(true);
});

describe('what may still be done to a firewall of before', () => {
  const MAY_LAST = 30 * SECOND;
  const doubtful = (doubt: FirewallDoubt): Step => begin(chart, frozen({ ...words.NEW_FIREWALL, doubt }));
  const heard = (from: Step, ...events: readonly MachineEvent[]): Step =>
    events.reduce((now, next) => step(chart, now.snapshot, next), from);
  const waits = ({ delays }: Step): readonly number[] => delays.map(({ delayMs }) => delayMs);
  const until = START + MAY_LAST;

  test('is waited out for as long as others may do it, and no longer than a call lasts where it does not say how long', () => {
    const resumed = (doubt: FirewallDoubt, at: number): readonly number[] => waits(heard(doubtful(doubt), { type: 'RESUME', at }));
    const long = { of: 'prune', until, wholeMs: MAY_LAST } as const;
    expect(resumed(long, START)).toEqual([MAY_LAST]);
    expect(resumed(long, START + 20 * SECOND)).toEqual([10 * SECOND]);
    expect(resumed({ of: 'prune', until }, START)).toEqual([15 * SECOND]);
    // The clock was set back.
    expect(resumed(long, START - 3600 * SECOND)).toEqual([MAY_LAST]);
  });

  test.each([
    { of: 'open', opens: true },
    { of: 'prune', opens: false },
    { of: 'both', opens: false },
  ] as const)('is of what is closed where it says $of', ({ of, opens }) => {
    const claimed = heard(doubtful({ of, until }), words.webOpens);
    expect(claimed.invoking.has('look')).toBe(opens);
    expect(heard(claimed, words.doubted).snapshot.value).toBe('Looking');
  });

  test.each([
    { of: 'open', prunes: false },
    { of: 'prune', prunes: true },
    { of: 'both', prunes: false },
  ] as const)('is of what is opened where it says $of', ({ of, prunes }) => {
    const left = begin(chart, frozen({ ...words.FIREWALL_INPUT, claims: {}, doubt: { of, until } }));
    expect(left.invoking.has('prune')).toBe(prunes);
  });

  test('is not over because a call of now is in doubt as well, which ends sooner', () => {
    const long = doubtful({ of: 'open', until, wholeMs: MAY_LAST });
    const opening = heard(long, words.webOpens, words.bare, { type: 'RESUME', at: START });
    expect((opening.snapshot.context as FirewallContext).doubt).toEqual({ of: 'open', until, wholeMs: MAY_LAST });
  });
});

test('a job lets in every machine that is claimed, also two of which one took the place of the other under the name of its node', () => {
  const replaced = { ...words.apiOpens, node: { name: 'a', providerID: providerIDOf('a2') } };
  const looking = [words.webOpens, replaced].reduce((now, heard) => step(chart, now.snapshot, heard), begin(chart, words.NEW_FIREWALL));
  const [opening] = step(chart, looking.snapshot, words.bare).starts;
  if (!opening) throw new Error('nothing is opened');
  const { claims } = opening.input as unknown as FirewallInput;
  expect([...new Set(claims.map(({ node }) => node.providerID))].sort()).toEqual([providerIDOf('a'), providerIDOf('a2')]);
});
