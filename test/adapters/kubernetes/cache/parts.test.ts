import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Json } from '../../../../actors/ports/records.ts';
import { intern } from '../../../../adapters/kubernetes/cache/intern.ts';
import { selectionOf } from '../../../../adapters/kubernetes/cache/selection.ts';
import { trimNode } from '../../../../adapters/kubernetes/cache/trim.ts';
import { trimPod } from '../../../../adapters/kubernetes/cache/trim-pod.ts';
import { deedOf, refusal, ServerUnreachable } from '../../../../adapters/kubernetes/client/api-error.ts';
import { backoff } from '../../../../adapters/kubernetes/client/backoff.ts';
import { ItemScanner } from '../../../../adapters/kubernetes/client/list-parser.ts';
import { difference } from '../../../../adapters/kubernetes/client/merge-patch.ts';
import { withinBytes } from '../../../../adapters/kubernetes/client/within-bytes.ts';
import { Lane } from '../../../../adapters/kubernetes/writer/work-queue.ts';
import { virtualClock } from '../../../../adapters/memory/clock.ts';

const isObject = (value: unknown): value is Record<string, Json> => typeof value === 'object' && value !== null && !Array.isArray(value);

/** RFC 7396, as the server applies it. */
const merged = (target: Json | undefined, patch: Json | undefined): Json | undefined => {
  if (patch === undefined) return target;
  if (!isObject(patch)) return patch;
  const result: Record<string, Json> = isObject(target) ? { ...target } : {};
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete result[key];
    else result[key] = merged(result[key], value) ?? null;
  }
  return result;
};

describe('a text of limited bytes', () => {
  test('is as it was when it fits, else as much of it as fits', () => {
    const text = fc.string({ unit: 'grapheme', maxLength: 60 });
    fc.assert(
      fc.property(text, fc.integer({ min: 3, max: 60 }), (given, limit) => {
        const cut = withinBytes(given, limit);
        expect(Buffer.byteLength(cut)).toBeLessThanOrEqual(limit);
        if (Buffer.byteLength(given) <= limit) {
          expect(cut).toBe(given);
          return;
        }
        const kept = cut.slice(0, -1);
        expect(cut).toBe(`${kept}…`);
        expect(given.startsWith(kept)).toBe(true);
        const [next = ''] = given.slice(kept.length);
        expect(Buffer.byteLength(cut) + Buffer.byteLength(next)).toBeGreaterThan(limit);
      }),
    );
  });
});

describe('the difference of two statuses', () => {
  const leaf = fc.oneof(fc.string({ maxLength: 2 }), fc.integer({ min: 0, max: 2 }), fc.boolean());
  const { status } = fc.letrec<{ status: Json }>((tie) => ({
    status: fc.oneof(
      { maxDepth: 3 },
      leaf,
      fc.array(leaf, { maxLength: 2 }),
      fc.dictionary(fc.constantFrom('a', 'b', 'c'), tie('status'), { maxKeys: 3 }),
    ),
  }));
  const object = fc.dictionary(fc.constantFrom('a', 'b', 'c'), status, { maxKeys: 3 });

  test('is a merge patch that turns the one into the other, and nothing for equal ones', () => {
    fc.assert(
      fc.property(object, object, (present, desired) => {
        const patch = difference({ present, sent: undefined, answered: undefined }, desired);
        expect(merged(present, patch)).toEqual(desired);
        expect(difference({ present: desired, sent: undefined, answered: undefined }, desired)).toBeUndefined();
      }),
    );
  });

  test('names only what differs', () => {
    const present = { ips: { x: { state: 'active', nodeName: 'a' }, y: { state: 'error' } }, error: 'old' };
    const desired = { ips: { x: { state: 'active', nodeName: 'b' }, y: { state: 'error' } } };
    expect(difference({ present, sent: undefined, answered: undefined }, desired)).toEqual({ ips: { x: { nodeName: 'b' } }, error: null });
  });

  test('does not repeat what the server would not take, until it or the wish changes', () => {
    const known = { present: { a: 1 }, sent: { a: 1, b: 2 }, answered: { a: 1 } };
    expect(difference(known, { a: 1, b: 2 })).toBeUndefined();
    expect(difference(known, { a: 1, b: 3 })).toEqual({ b: 3 });
    expect(difference({ ...known, present: { a: 1, b: 9 } }, { a: 1, b: 2 })).toEqual({ b: 2 });
    expect(difference({ ...known, present: { a: 7 } }, { a: 1, b: 2 })).toEqual({ a: 1 });
  });
});

describe('a lane', () => {
  const pace = { intervalMs: 250, burst: 2, impatienceMs: 1_000 };
  const laneOf = (run: () => Promise<void>) => {
    const clock = virtualClock();
    const failures: number[] = [];
    const lane = new Lane({
      clock,
      pace,
      backoff: backoff({ firstMs: 4_000, factor: 2, maxMs: 60_000 }, () => 1),
      run,
      failed: (_error, retryInMs) => void failures.push(retryInMs),
    });
    return { clock, lane, failures };
  };

  test('runs at once, a few times in a row, then at its pace', async () => {
    const at: number[] = [];
    const { clock, lane } = laneOf(async () => void at.push(clock.monotonic()));
    for (let round = 0; round < 5; round += 1) {
      lane.request();
      await clock.settle();
      lane.request();
    }
    await clock.advance(2_000);
    expect(at.slice(0, 3)).toEqual([0, 0, 250]);
    expect(lane.idle).toBe(true);
  });

  test('makes requests that come during a run into one more run', async () => {
    let runs = 0;
    const { clock, lane } = laneOf(
      () =>
        new Promise((resolve) => {
          runs += 1;
          clock.after(100, resolve);
        }),
    );
    lane.request();
    await clock.advance(50);
    lane.request();
    lane.request();
    await clock.advance(2_000);
    expect(runs).toBe(2);
  });

  test('tries again after a failure, sooner when something new is wanted, and is idle only when done', async () => {
    const at: number[] = [];
    let broken = true;
    const { clock, lane, failures } = laneOf(async () => {
      at.push(clock.monotonic());
      if (broken) throw new Error('no');
    });
    lane.request();
    await clock.settle();
    lane.request();
    await clock.advance(5_000);
    expect(at).toEqual([0, 1_000]);
    expect(failures).toEqual([4_000, 8_000]);
    expect(lane.idle).toBe(false);
    let idle = false;
    const told = lane.whenIdle().then(() => {
      idle = true;
    });
    broken = false;
    await clock.advance(4_000);
    await told;
    expect(at).toEqual([0, 1_000, 9_000]);
    expect(idle).toBe(true);
  });

  test('waits as long as the server asks, also when something new is wanted', async () => {
    const at: number[] = [];
    const { clock, lane } = laneOf(async () => {
      at.push(clock.monotonic());
      if (at.length === 1) throw new ServerUnreachable('patch nodes: 429', { retryAfterMs: 30_000 });
    });
    lane.request();
    await clock.advance(5_000);
    lane.request();
    await clock.advance(60_000);
    expect(at).toEqual([0, 30_000]);
  });

  test('that was stopped runs no more', async () => {
    const runs: number[] = [];
    const { clock, lane } = laneOf(async () => void runs.push(1));
    lane.request();
    lane.stop();
    await clock.advance(5_000);
    expect(runs).toEqual([]);
    await lane.whenIdle();
  });
});

describe('back-off', () => {
  test('grows to its limit, spreads by chance, starts anew, and waits as long as it was asked to', () => {
    const table = { firstMs: 100, factor: 2, maxMs: 1_000 };
    const full = backoff(table, () => 1);
    expect([1, 2, 3, 4, 5, 6].map(() => full.next())).toEqual([100, 200, 400, 800, 1_000, 1_000]);
    full.reset();
    expect(full.next()).toBe(100);
    expect(full.next(5_000)).toBe(5_000);
    expect(backoff(table, () => 0).next()).toBe(50);
  });
});

describe('an error of the API server', () => {
  test('names what was tried in the words of RBAC', () => {
    expect(deedOf({ verb: 'patch', path: '/api/v1/nodes/a' })).toBe('patch nodes');
    expect(deedOf({ verb: 'list', path: '/api/v1/namespaces/web/pods' })).toBe('list pods in namespace web');
    expect(deedOf({ verb: 'get', path: '/api/v1/namespaces/kube-system' })).toBe('get namespaces');
    expect(deedOf({ verb: 'patch', path: '/apis/flipop.digitalocean.com/v1alpha1/namespaces/web/floatingippools/x/status' })).toBe(
      'patch floatingippools/status in namespace web',
    );
    expect(refusal({ verb: 'patch', path: '/api/v1/nodes/a' }, 403, 'User "operator" cannot do that').message).toBe(
      'the ServiceAccount may not patch nodes: User "operator" cannot do that',
    );
  });

  test('is told apart by what can be done about it', () => {
    const target = { verb: 'get', path: '/api/v1/nodes/a' };
    expect(refusal(target, 429, 'slow down', 3_000)).toMatchObject({ name: 'ServerUnreachable', retryAfterMs: 3_000 });
    expect(refusal(target, 503, '')).toMatchObject({ name: 'ServerUnreachable' });
    const kinds = [401, 403, 404, 409, 410, 400, 422].map((status) => (refusal(target, status, '') as { kind?: string }).kind);
    expect(kinds).toEqual(['Unauthorized', 'Forbidden', 'NotFound', 'Conflict', 'Gone', 'Invalid', 'Invalid']);
  });
});

describe('what is kept of an object', () => {
  test('is little of a node: its labels and addresses, no foreign annotations', () => {
    const node = {
      metadata: {
        name: 'a',
        uid: 'u',
        creationTimestamp: '2026-01-01T00:00:00Z',
        labels: { color: 'blue', size: 'l', 'failure-domain.beta.kubernetes.io/region': 'ams3' },
        annotations: { 'flipop.digitalocean.com/ipv4-reserved-ip': '203.0.113.7', other: 'x' },
      },
      spec: { unschedulable: true, taints: [{ key: 'k', effect: 'NoSchedule', timeAdded: 'now' }], podCIDR: '10.0.0.0/24' },
      status: {
        conditions: [{ type: 'Ready', status: 'Unknown' }],
        addresses: [{ type: 'InternalIP', address: '10.0.0.1' }],
        images: [],
      },
    };
    expect(trimNode(node, intern())).toEqual({
      key: 'a',
      uid: 'u',
      value: {
        node: {
          name: 'a',
          uid: 'u',
          labels: { color: 'blue', size: 'l', 'failure-domain.beta.kubernetes.io/region': 'ams3' },
          taints: [{ key: 'k', effect: 'NoSchedule' }],
          ready: false,
          deleting: false,
          unschedulable: true,
          providerID: '',
          region: 'ams3',
          createdAt: Date.UTC(2026, 0, 1),
          externalIPs: [],
          internalIPs: ['10.0.0.1'],
          reservedIPs: ['203.0.113.7'],
        },
        ipv4: '203.0.113.7',
        ipv6: null,
        holder: null,
        unclear: null,
        evacuated: null,
      },
    });
  });

  test('tells the taint of a holder of ours apart from all other taints of a node, and keeps it from deciding anything', () => {
    const holder = { key: 'routedip.io/routed-ip', effect: 'NoSchedule' };
    const others = [
      { key: 'k', effect: 'NoSchedule' },
      { ...holder, value: 'an-administrator' },
      { ...holder, effect: 'NoExecute' },
    ];
    const node = (taints: readonly unknown[]) => trimNode({ metadata: { name: 'a' }, spec: { taints } }, intern())?.value;
    expect(node([others[0], holder, others[1], others[2]])).toMatchObject({ node: { taints: others }, holder: 'NoSchedule' });
    expect(node([{ ...holder, effect: 'PreferNoSchedule', value: '' }])).toMatchObject({
      node: { taints: [] },
      holder: 'PreferNoSchedule',
    });
    expect(node(others)).toMatchObject({ node: { taints: others }, holder: null });
  });

  test.each([
    ['runs and is ready', { phase: 'Running', ready: 'True' }, undefined, true],
    ['is not ready', { phase: 'Running', ready: 'False' }, undefined, false],
    ['has ended', { phase: 'Succeeded', ready: 'True' }, undefined, false],
    ['is being deleted', { phase: 'Running', ready: 'True' }, '2026-01-01T00:00:00Z', false],
  ])('says of a pod that %s whether it serves', (_what, { phase, ready }, deletionTimestamp, serving) => {
    const pod = {
      metadata: { name: 'p', namespace: 'web', uid: 'u', labels: { app: 'x' }, ...(deletionTimestamp && { deletionTimestamp }) },
      spec: { nodeName: 'a' },
      status: { phase, conditions: [{ type: 'Ready', status: ready }] },
    };
    expect(trimPod(pod, intern())).toEqual({
      key: 'web/p',
      uid: 'u',
      value: { labels: { app: 'x' }, nodeName: 'a', serving, hostNetwork: false, ports: [] },
    });
  });

  test('of labels is one object for all that bear the same', () => {
    const shared = intern();
    expect(shared.labels({ app: 'x', other: '1' })).toBe(shared.labels({ app: 'x', other: '1' }));
    expect(shared.labels({ app: 'x', other: '1' })).not.toBe(shared.labels({ app: 'x', other: '2' }));
  });

  test('of a megabyte of labels is not kept for others, nor that of many that came and went', () => {
    const shared = intern();
    const labels = (pod: number, count: number) =>
      Object.fromEntries(Array.from({ length: count }, (_, index) => [`example.com/${pod}-${index}`, 'x'.repeat(63)]));
    expect(shared.labels(labels(1, 40))).toBe(shared.labels(labels(1, 40)));
    expect(shared.labels(labels(1, 10_000))).not.toBe(shared.labels(labels(1, 10_000)));
    const first = shared.labels(labels(1, 40));
    for (let pod = 2; pod <= 1_300; pod += 1) shared.labels(labels(pod, 40));
    expect(shared.labels(labels(1, 40))).not.toBe(first);
  });
});

describe('the selectors of a pool', () => {
  test('ask for pods when a pod label or a namespace is given', () => {
    expect(selectionOf({ match: {} })?.pods).toBeNull();
    expect(selectionOf(null)).toMatchObject({ nodes: [], pods: null });
    expect(selectionOf({ match: { podNamespace: 'web' } })?.pods).toEqual({ namespace: 'web', requirements: [] });
    const requirements = [{ key: 'a', operator: 'in', values: ['b'] }];
    expect(selectionOf({ match: { podLabel: 'a=b' } })?.pods).toEqual({ namespace: '', requirements });
  });

  test('of a wrong type, that cannot be parsed, or that name no possible namespace, ask for nothing', () => {
    expect(selectionOf({ match: { nodeLabel: 'a in (' } })).toBeNull();
    expect(selectionOf({ match: { podLabel: '=' } })).toBeNull();
    expect(selectionOf({ match: { nodeLabel: 7 } })).toBeNull();
    expect(selectionOf({ match: { podNamespace: '../nodes' } })).toBeNull();
  });
});

describe('the scanner of lists', () => {
  const scan = (text: string, cuts: readonly number[]): { items: unknown[]; around: unknown } => {
    const items: unknown[] = [];
    const scanner = new ItemScanner((item) => void items.push(JSON.parse(item)));
    const bytes = Buffer.from(text);
    const edges = [0, ...[...cuts].sort((a, b) => a - b), bytes.length];
    for (let index = 1; index < edges.length; index += 1) scanner.push(bytes.subarray(edges[index - 1], edges[index]));
    return { items, around: JSON.parse(scanner.end()) };
  };

  test('finds the items of any list, wherever it is cut into pieces', () => {
    const item = fc.dictionary(fc.string({ unit: 'grapheme', maxLength: 4 }), fc.jsonValue({ maxDepth: 2 }), { maxKeys: 3 });
    const spaces = fc.constantFrom(undefined, 1);
    const cuts = fc.array(fc.nat(400), { maxLength: 8 });
    fc.assert(
      fc.property(fc.array(item, { maxLength: 4 }), spaces, cuts, (items, space, at) => {
        const around = { kind: 'PodList', metadata: { resourceVersion: '7', continue: 'a[b]{"c"}' } };
        const text = JSON.stringify({ ...around, items }, null, space);
        const size = Buffer.byteLength(text);
        const found = scan(
          text,
          at.map((cut) => cut % size),
        );
        expect(found.items).toEqual(JSON.parse(JSON.stringify(items)));
        expect(found.around).toEqual({ ...around, items: [] });
      }),
      { numRuns: 300 },
    );
  });

  test('leaves out what is deeper in an item than anything is that is read, wherever it is cut into pieces', () => {
    const nested = (levels: number): string => `${'{"a":'.repeat(levels)}{"b":[1]}${'}'.repeat(levels)}`;
    const text = `{"kind":"List","items":[{"x":${nested(9_000)},"name":"a"},{"x":[[[]]],"name":"b"}],"metadata":{}}`;
    fc.assert(
      fc.property(fc.array(fc.nat(text.length), { maxLength: 8 }), (cuts) => {
        const { items, around } = scan(text, cuts);
        expect(items).toEqual([
          { x: JSON.parse(nested(197).replace('{"b":[1]}', '{}')), name: 'a' },
          { x: [[[]]], name: 'b' },
        ]);
        expect(around).toEqual({ kind: 'List', items: [], metadata: {} });
      }),
    );
  });

  test('takes a list whose items are null, and refuses one that is cut off', () => {
    expect(scan('{"items":null,"metadata":{"resourceVersion":"7"}}', [])).toEqual({
      items: [],
      around: { items: null, metadata: { resourceVersion: '7' } },
    });
    expect(() => scan('{"metadata":{},"items":[{"a":1},{"b"', [])).toThrow('ends in the middle');
    expect(() => scan('', [])).toThrow('ends in the middle');
  });
});
