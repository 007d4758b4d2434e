import { describe, expect, test } from 'vitest';
import { compile, servingNodes } from '../../../machines/model/matching.ts';
import type { Candidate, ObservedNode, ObservedPod } from '../../../machines/model/types.ts';
import { graceLeft } from '../../../machines/policy/recovery-grace.ts';
import type { PoolContext } from '../../../machines/pool/context.ts';
import { standings } from '../../../machines/pool/eligibility.ts';
import { rememberedPool } from '../../../machines/status/restore-pool.ts';
import { A, B, frozen, node, observed, PREFIX, pod, providerIDOf, registry, SECOND, START } from '../builders.ts';
import { Driven } from '../drive.ts';
import { cluster, grantsIn, named, poolInput, provided, ready, serving, spec, toldIn } from '../pool/world.ts';

const match = { nodeLabel: 'pool=work', podLabel: 'app=nginx' };
const names = (candidates: readonly Candidate[]): readonly string[] => candidates.map(({ name }) => name);
const stand = (nodes: readonly ObservedNode[], pods: readonly ObservedPod[], graceMs = 30 * SECOND) => {
  const { matching, failing } = standings(frozen(nodes), servingNodes(frozen(pods), compile(match)), {
    match,
    providerIDPrefix: PREFIX,
    graceMs,
    drainPolicy: 'OnNotReady',
  });
  return { matching: names(matching), failing: names(failing) };
};
const pods = [pod()];

describe('a node may be back', () => {
  const unready = ['node.kubernetes.io/not-ready', 'node.kubernetes.io/unreachable'].map((key) => ({ key, effect: 'NoExecute' }));

  test.each<[string, ObservedNode, readonly ObservedPod[]]>([
    ['it is not Ready', node('a').notReady(), pods],
    [
      'it is not Ready, as its taints repeat',
      node('a')
        .notReady()
        .tainted(...unready),
      pods,
    ],
    ['it still bears those taints', node('a').tainted(...unready), pods],
    ['it has lost its pod', node('a'), []],
    ['its pod is not Ready', node('a'), [pod({ serving: false })]],
    ['it is not Ready, and neither is its pod', node('a').notReady(), [pod({ serving: false })]],
  ])('when %s', (_, given, served) => expect(stand([given], served)).toEqual({ matching: [], failing: ['a'] }));

  test.each<[string, ObservedNode]>([
    ['is being deleted', node('a').notReady().goingAway()],
    ['has lost its label', node('a').notReady().labelled({})],
    [
      'bears another taint that is not tolerated',
      node('a').notReady().tainted({ key: 'node.kubernetes.io/out-of-service', effect: 'NoExecute' }),
    ],
    ['has no providerID', node('a').notReady().withProviderID('')],
    ['is of another provider', node('a').notReady().withProviderID('aws://a')],
  ])('but not when it %s as well', (_, given) => expect(stand([given], pods)).toEqual({ matching: [], failing: [] }));

  test('is not told of a node that matches, nor without a grace', () => {
    expect(stand([node('a')], pods)).toEqual({ matching: ['a'], failing: [] });
    expect(stand([node('a').notReady()], pods, 0)).toEqual({ matching: [], failing: [] });
  });

  test('is told by name, whatever the order of the nodes', () => {
    const nodes = ['c', 'a', 'b'].map((name) => node(name).notReady());
    expect(stand(nodes, pods).failing).toEqual(['a', 'b', 'c']);
    expect(stand(nodes.toReversed(), pods).failing).toEqual(['a', 'b', 'c']);
  });
});

describe('the time that is left to come back', () => {
  const left = (at: number, graceMs = 30 * SECOND) => graceLeft({ since: START, failing: true }, graceMs, START + at);

  test('is the rest of the grace', () =>
    expect([0, 12 * SECOND, 30 * SECOND, 31 * SECOND].map((at) => left(at))).toEqual([30_000, 18_000, 0, 0]));

  test('shifts with the grace by the difference', () =>
    expect([left(12 * SECOND, 60 * SECOND), left(12 * SECOND, 10 * SECOND)]).toEqual([48_000, 0]));

  test('is never more than the grace, though the clock was set back', () => expect(left(-3_600 * SECOND)).toBe(30_000));
});

describe('a pool with a grace of 30 s', () => {
  const graced = (): Driven<PoolContext> => serving({ recoveryGraceSeconds: 30 }, ['a', 'b', 'c']);
  const aFails = cluster(node('a').notReady(), node('b'), node('c'));
  const absent = ({ context }: Driven<PoolContext>): readonly string[] => names(context.absent.map(({ node: each }) => each));

  test('tells nobody of a node that is not Ready, and asks for its machine', () => {
    const pool = graced().send('CLUSTER_OBSERVED', aFails);
    expect([absent(pool), toldIn(pool), pool.started, pool.timerOf('recovery')]).toEqual([['a'], [], ['findNodes'], 30 * SECOND]);
    expect(pool.inputOf('findNodes')).toEqual({
      provider: 'digitalocean',
      nodes: [{ name: 'a', providerID: providerIDOf('a') }],
      purpose: 'failover',
    });
  });

  test('forgets it when it is back', () => {
    const pool = graced()
      .send('CLUSTER_OBSERVED', aFails)
      .done('findNodes', { gone: [] })
      .send('CLUSTER_OBSERVED', named('a', 'b', 'c'));
    expect([absent(pool), toldIn(pool), pool.context.recoverAt, pool.context.members[A]?.confirmed]).toEqual([[], [], null, true]);
  });

  test('tells the address once the time is over, and does not begin anew', () => {
    const pool = graced().send('CLUSTER_OBSERVED', aFails).elapse('recovery');
    expect([absent(pool), toldIn(pool), pool.now - START]).toEqual([[], [`NODE_OBSERVED ${A}`], 30 * SECOND]);
    expect(absent(pool.send('CLUSTER_OBSERVED', aFails))).toEqual([]);
    expect(grantsIn(pool.send('READY', ready(A, 'a')))).toEqual([`${A} → c`]);
    expect(absent(pool.send('CLUSTER_OBSERVED', aFails))).toEqual([]);
  });

  test('tells the address at once when the machine is gone, and not when nothing is said of it', () => {
    const gone = graced()
      .send('CLUSTER_OBSERVED', aFails)
      .done('findNodes', { gone: [providerIDOf('a')] });
    expect([absent(gone), toldIn(gone)]).toEqual([[], [`NODE_OBSERVED ${A}`]]);
    const there = graced().send('CLUSTER_OBSERVED', aFails).done('findNodes', { gone: [] });
    expect([absent(there), toldIn(there), there.started]).toEqual([['a'], [], []]);
  });

  test('has a time of its own for each node, and wakes at the first', () => {
    const pool = graced()
      .send('CLUSTER_OBSERVED', aFails)
      .after(10 * SECOND);
    pool.send('CLUSTER_OBSERVED', cluster(node('a').notReady(), node('b').notReady(), node('c')));
    expect([absent(pool), pool.timerOf('recovery')]).toEqual([['a', 'b'], 20 * SECOND]);
    expect([toldIn(pool.elapse('recovery')), absent(pool), pool.timerOf('recovery')]).toEqual([[`NODE_OBSERVED ${A}`], ['b'], 10 * SECOND]);
    expect(toldIn(pool.elapse('recovery'))).toEqual([`NODE_OBSERVED ${B}`]);
  });

  test('gives up nobody while it has not been told of its nodes again', () => {
    const pool = graced()
      .send('CLUSTER_OBSERVED', aFails)
      .after(29 * SECOND)
      .send('RESUME');
    expect([toldIn(pool.elapse('recovery')), absent(pool)]).toEqual([[], ['a']]);
    expect(toldIn(pool.send('CLUSTER_OBSERVED', aFails))).toEqual([`NODE_OBSERVED ${A}`]);
    const back = graced()
      .send('CLUSTER_OBSERVED', aFails)
      .after(29 * SECOND)
      .send('RESUME')
      .elapse('recovery');
    expect(toldIn(back.send('CLUSTER_OBSERVED', named('a', 'b', 'c')))).toEqual([]);
  });

  test('ends the time with the grace', () => {
    const pool = graced()
      .send('CLUSTER_OBSERVED', aFails)
      .after(10 * SECOND);
    const change = (recoveryGraceSeconds: number) => spec({ recoveryGraceSeconds }, { generation: 2 });
    expect(pool.send('SPEC_OBSERVED', change(12.5)).timerOf('recovery')).toBe(2_500);
    expect(pool.send('SPEC_OBSERVED', change(60)).timerOf('recovery')).toBe(50 * SECOND);
    pool.send('SPEC_OBSERVED', change(0));
    expect(toldIn(pool.send('CLUSTER_OBSERVED', aFails))).toEqual([`NODE_OBSERVED ${A}`]);
  });

  test('gives an address back to the node that it is on, and that has time to come back', () => {
    const pool = graced().send('CLUSTER_OBSERVED', aFails);
    expect(grantsIn(pool.send('READY', ready(A, 'a')))).toEqual([`${A} → a`]);
    expect(grantsIn(graced().send('CLUSTER_OBSERVED', aFails).send('READY', ready(A, 'z')))).toEqual([`${A} → c`]);
  });

  test('gives it back to that node too when it failed while the address went to another account', () => {
    const both = { ...registry(), other: registry().digitalocean };
    const pool = graced().send('SPEC_OBSERVED', spec({ recoveryGraceSeconds: 30, provider: 'other' }, { generation: 2, registry: both }));
    pool.send('CLUSTER_OBSERVED', aFails).send('GONE', { address: A }).send('GONE', { address: B });
    expect(grantsIn(pool.send('READY', ready(A, 'a')))).toEqual([`${A} → a`]);
  });

  describe('whose address has gone to another account', () => {
    const both = { ...registry(), other: registry().digitalocean };
    const moving = (): Driven<PoolContext> => {
      const other = spec({ recoveryGraceSeconds: 30, provider: 'other' }, { generation: 2, registry: both });
      const pool = graced().send('SPEC_OBSERVED', other).send('GONE', { address: B });
      expect(toldIn(pool.send('GONE', { address: A }))).toEqual([`spawn ${A}`]);
      return pool;
    };
    const onA = (pool: Driven<PoolContext>): readonly string[] => grantsIn(pool.send('READY', ready(A, 'a')));

    test('gives it back to the node that failed before the account was read', () =>
      expect(onA(moving().send('CLUSTER_OBSERVED', aFails))).toEqual([`${A} → a`]));

    test('gives it back to that node too when it was back meanwhile and has failed again', () => {
      const back = moving()
        .send('CLUSTER_OBSERVED', aFails)
        .send('CLUSTER_OBSERVED', named('a', 'b', 'c'));
      expect(onA(back.after(40 * SECOND).send('CLUSTER_OBSERVED', aFails))).toEqual([`${A} → a`]);
    });

    test('gives no time twice', () => {
      const late = moving()
        .send('CLUSTER_OBSERVED', aFails)
        .after(30 * SECOND)
        .elapse('recovery');
      expect(onA(late.send('CLUSTER_OBSERVED', aFails))).toEqual([`${A} → c`]);
    });

    test('gives none to a node that somebody has taken away before it failed', () => {
      const cordoned = moving().send('CLUSTER_OBSERVED', cluster(node('a').labelled({}), node('b'), node('c')));
      expect(onA(cordoned.send('CLUSTER_OBSERVED', aFails))).toEqual([`${A} → c`]);
    });

    test('remembers nothing of that once it is heard where they are', () => {
      const heard = moving().send('READY', ready(A, 'a')).send('READY', ready(B, 'b'));
      expect(heard.send('CLUSTER_OBSERVED', named('a', 'b', 'c')).context.stood).toBeNull();
    });
  });

  describe('that is rebuilt gives an address back to its node that fails', () => {
    const entry = (name: string) => ({ machineState: 'Stable', nodeName: name, providerID: providerIDOf(name) });
    const remembered = rememberedPool({ ips: { [A]: entry('a'), [B]: entry('b') } }, START, 15 * SECOND);
    const listed = provided(observed(A, 'a'), observed(B, 'b'));

    test.each<[string, (pool: Driven<PoolContext>) => Driven<PoolContext>]>([
      ['before the account was read', (pool) => pool.send('CLUSTER_OBSERVED', aFails).send('PROVIDER_OBSERVED', listed)],
      ['before the address is heard of', (pool) => pool.send('PROVIDER_OBSERVED', listed).send('CLUSTER_OBSERVED', aFails)],
    ])('%s', (_, failing) => {
      const rebuilt = new Driven<PoolContext>('pool', poolInput({ remembered }))
        .send('SPEC_OBSERVED', spec({ recoveryGraceSeconds: 30 }))
        .send('CLUSTER_OBSERVED', named('a', 'b', 'c'));
      expect(grantsIn(failing(rebuilt).send('READY', ready(A, 'a')))).toEqual([`${A} → a`]);
    });
  });
});
