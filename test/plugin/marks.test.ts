import { describe, expect, test } from 'vitest';
import { evacuate, move, pause, resume, unassign, withMove } from '../../plugin/marks.ts';
import { EXIT } from '../../plugin/ports.ts';
import { POOLS, pool, ROUTED_IPS, routedIP, world } from './support.ts';

const NODE = '/api/v1/nodes/b';
const POOL = '/apis/flipop.digitalocean.com/v1alpha1/namespaces/default/floatingippools/ingress';
const ROUTED = '/apis/routedip.io/v1alpha1/namespaces/web/routedips/shop';
const ADDRESS = '203.0.113.9';
const OTHER = '203.0.113.20';

const ingress = (annotations: Readonly<Record<string, string>> = {}) =>
  pool('ingress', { ips: { [ADDRESS]: { state: 'active', machineState: 'Stable' } } }, { metadata: { resourceVersion: '7', annotations } });
const shop = routedIP('shop', { routedIP: OTHER, state: 'Stable' }, { resourceVersion: '8' });
const node = (annotations = {}, conditions: readonly unknown[] = []) => ({
  metadata: { name: 'b', resourceVersion: '9', annotations },
  status: { conditions },
});

describe('kubectl routedip move', () => {
  test('writes where to, on the pool or on the RoutedIP that has the address, unless that was changed meanwhile', async () => {
    const answers = {
      [POOLS]: [ingress({ 'routedip.io/move-to': '203.0.113.1=c' })],
      [ROUTED_IPS]: [shop],
      [NODE]: node(),
      [POOL]: {},
      [ROUTED]: {},
    };
    const made = world(answers);
    expect(await move(made.session, { address: ADDRESS, to: 'b' })).toBe(EXIT.ok);
    expect(await move(made.session, { address: OTHER, to: 'b' })).toBe(EXIT.ok);
    expect(made.patches).toEqual([
      { path: POOL, body: { metadata: { resourceVersion: '7', annotations: { 'routedip.io/move-to': `203.0.113.1=c,${ADDRESS}=b` } } } },
      { path: ROUTED, body: { metadata: { resourceVersion: '8', annotations: { 'routedip.io/move-to': 'b' } } } },
    ]);
    expect(made.out()).toContain(`${ADDRESS} of floatingippool/ingress in default is asked to move to b`);
    await expect(move(world({ ...answers, [POOL]: 'changed: 409' }).session, { address: ADDRESS, to: 'b' })).rejects.toThrow(
      'somebody has changed ingress just now: nothing was written, run it again',
    );
  });

  test('refuses a node that there is not and an address that nobody has, and says which right is missing', async () => {
    const answers = { [POOLS]: [ingress()], [NODE]: node(), [POOL]: {} };
    const made = world(answers);
    await expect(move(made.session, { address: ADDRESS, to: 'x' })).rejects.toThrow('there is no node x');
    await expect(move(made.session, { address: OTHER, to: 'b' })).rejects.toThrow(`that can be seen has ${OTHER}`);
    expect(made.patches).toEqual([]);
    const less = world({
      ...answers,
      [NODE]: 'you may not get nodes: …',
      [POOL]: 'you may not patch floatingippools in namespace default',
    });
    await expect(move(less.session, { address: ADDRESS, to: 'b' })).rejects.toThrow(
      'you may not patch floatingippools in namespace default',
    );
    expect(less.problems).toEqual(['whether there is a node b is not known: you may not get nodes: …']);
  });

  test.each([
    ['', `${ADDRESS}=b`],
    [`${ADDRESS}=a`, `${ADDRESS}=b`],
    [`${OTHER}=a, ${ADDRESS}=a`, `${OTHER}=a,${ADDRESS}=b`],
  ])('puts its move into "%s"', (value, after) => expect(withMove(value, ADDRESS, 'b')).toBe(after));
});

describe('kubectl routedip unassign', () => {
  test('writes who asks, beside what was asked for before, and takes back what it wrote', async () => {
    const mark = 'routedip.io/unassigned';
    const both = `203.0.113.1, ${ADDRESS}=bob`;
    const answers = { [POOLS]: [ingress({ [mark]: both })], [ROUTED_IPS]: [shop], [POOL]: {}, [ROUTED]: {} };
    const made = world(answers);
    expect(await unassign(made.session, { address: ADDRESS })).toBe(EXIT.ok);
    expect(await unassign(made.session, { address: OTHER, by: 'night shift, team a' })).toBe(EXIT.ok);
    expect(await unassign(made.session, { address: ADDRESS, undo: true })).toBe(EXIT.ok);
    expect(await unassign(made.session, { address: OTHER, undo: true })).toBe(EXIT.ok);
    expect(made.patches).toEqual([
      { path: POOL, body: { metadata: { resourceVersion: '7', annotations: { [mark]: `203.0.113.1,${ADDRESS}=alice@example.com` } } } },
      { path: ROUTED, body: { metadata: { resourceVersion: '8', annotations: { [mark]: 'true=night shift  team a' } } } },
      { path: POOL, body: { metadata: { resourceVersion: '7', annotations: { [mark]: '203.0.113.1' } } } },
    ]);
    expect(made.out().split('\n')).toEqual([
      `${ADDRESS} of floatingippool/ingress in default is to leave its node, and stays on none until kubectl routedip unassign ${ADDRESS} --undo`,
      `${OTHER} of routedip/shop in web is to leave its node, and stays on none until kubectl routedip unassign ${OTHER} --undo`,
      `${ADDRESS} of floatingippool/ingress in default is granted a node again`,
      `${OTHER} of routedip/shop in web is not kept off nodes`,
    ]);
  });
});

describe('kubectl routedip pause and resume', () => {
  test('set and take off the annotation of a pool, or of a RoutedIP', async () => {
    const made = world(
      { [POOL]: ingress(), [ROUTED]: { ...shop, metadata: { name: 'shop', annotations: { 'routedip.io/paused': 'true' } } } },
      { namespace: 'default' },
    );
    expect(await pause(made.session, { object: 'ingress' })).toBe(EXIT.ok);
    expect(await resume(made.session, { object: 'floatingippool/ingress' })).toBe(EXIT.ok);
    expect(await resume({ ...made.session, namespace: 'web' }, { object: 'routedip/shop' })).toBe(EXIT.ok);
    expect(made.patches).toEqual([
      { path: POOL, body: { metadata: { resourceVersion: '7', annotations: { 'routedip.io/paused': 'true' } } } },
      { path: ROUTED, body: { metadata: { annotations: { 'routedip.io/paused': null } } } },
    ]);
    expect(made.out().split('\n')).toEqual([
      'floatingippool/ingress in default is paused: nothing is decided for it until kubectl routedip resume ingress -n default',
      'floatingippool/ingress in default is not paused',
      'routedip/shop in web goes on',
    ]);
  });

  test.each([
    [null, 'ingress', 'say its namespace with -n'],
    ['default', 'service/x', '"service/x" is neither a pool nor'],
    ['default', 'routedip/', 'is neither a pool nor'],
    ['default', 'other', 'there is no floatingippool/other in namespace default'],
  ])('in namespace %s of %s is refused', async (namespace, object, why) => {
    const made = world({ [POOL]: ingress() }, { namespace });
    await expect(pause(made.session, { object })).rejects.toThrow(why);
    expect(made.patches).toEqual([]);
  });
});

describe('kubectl routedip evacuate', () => {
  test('marks the node, and takes the mark off again', async () => {
    const made = world({ [NODE]: node() });
    expect(await evacuate(made.session, { node: 'b', timeout: 1 })).toBe(EXIT.ok);
    expect(made.out()).toContain('kubectl wait node/b --for=condition=routedip.io/Evacuated');
    const marked = world({ [NODE]: node({ 'routedip.io/evacuate': 'true' }) });
    expect(await evacuate(marked.session, { node: 'b', timeout: 1 })).toBe(EXIT.ok);
    expect(await evacuate(marked.session, { node: 'b', undo: true, timeout: 1 })).toBe(EXIT.ok);
    expect([...made.patches, ...marked.patches].map(({ body }) => body)).toEqual([
      { metadata: { resourceVersion: '9', annotations: { 'routedip.io/evacuate': 'true' } } },
      { metadata: { resourceVersion: '9', annotations: { 'routedip.io/evacuate': null } } },
    ]);
    await expect(evacuate(made.session, { node: 'x', timeout: 1 })).rejects.toThrow('there is no node x');
  });

  test('waits until no address is on it, tells news meanwhile, and ends with 3 when that takes too long', async () => {
    const evacuated = (status: string, message: string) => [{ type: 'routedip.io/Evacuated', status, message }];
    const answers = { [NODE]: node({}, evacuated('False', '1 address is held here')) as unknown };
    const looks: number[] = [];
    const made = world(answers, {
      sleep: async (ms) => {
        looks.push(ms);
        if (looks.length === 2) answers[NODE] = node({}, evacuated('True', ''));
      },
    });
    expect(await evacuate(made.session, { node: 'b', wait: true, timeout: 60 })).toBe(EXIT.ok);
    expect([made.out(), made.problems, looks.length]).toEqual(['node b is evacuated', ['1 address is held here'], 2]);

    const slow = world({ [NODE]: node() });
    expect(await evacuate(slow.session, { node: 'b', wait: true, timeout: 3 })).toBe(EXIT.attention);
    expect(slow.problems).toEqual(['node b is not evacuated after 3 s: no operator has said anything of it yet']);
  });
});
