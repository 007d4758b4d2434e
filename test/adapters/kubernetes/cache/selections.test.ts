import fc from 'fast-check';
import { expect, test } from 'vitest';
import { intern } from '../../../../adapters/kubernetes/cache/intern.ts';
import { NodeSelections } from '../../../../adapters/kubernetes/cache/node-selections.ts';
import { PodSelections, type ServingNodes } from '../../../../adapters/kubernetes/cache/pod-selections.ts';
import { type SeenNode, type Trimmed, trimNode } from '../../../../adapters/kubernetes/cache/trim.ts';
import type { SeenPod } from '../../../../adapters/kubernetes/cache/trim-pod.ts';
import { compile, servingNodes } from '../../../../machines/model/matching.ts';
import { parseSelector, selects } from '../../../../machines/model/selector.ts';

const NAMESPACES = ['web', 'web-2', 'mail'];
const SELECTORS = [
  'app=a',
  'app==b,tier=x',
  'app in (a,b)',
  'app notin (a)',
  'app!=b',
  'tier',
  '!tier',
  'tier notin (x,y),app in (b,c)',
  'app in (a,a)',
  'app=a,app=b',
  'nobody=bears',
];
const labels = fc.record({ app: fc.constantFrom('a', 'b', 'c'), tier: fc.constantFrom('x', 'y') }, { requiredKeys: [] });
const pod = fc.record({
  namespace: fc.constantFrom(...NAMESPACES),
  name: fc.constantFrom('p', 'q', 'r'),
  labels,
  nodeName: fc.constantFrom('n1', 'n2', ''),
  serving: fc.boolean(),
});
type Pod = typeof pod extends fc.Arbitrary<infer P> ? P : never;
const query = fc.record({ podNamespace: fc.constantFrom('', ...NAMESPACES), podLabel: fc.constantFrom('', ...SELECTORS) });

const step = fc.oneof(
  { weight: 6, arbitrary: fc.record({ kind: fc.constant('set' as const), pod }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('delete' as const), pod }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('relist' as const), pods: fc.array(pod, { maxLength: 6 }) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('use' as const), query }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('release' as const), index: fc.nat(5) }) },
);

type Step = typeof step extends fc.Arbitrary<infer S> ? S : never;

interface Asked {
  readonly match: { readonly podNamespace: string; readonly podLabel: string };
  readonly use: ServingNodes;
  /** Its answer when it was told last. */
  known: string;
}

/** Selections on Pods that come, change and go, and the Pods themselves. */
class PodWorld {
  readonly #shared = intern();
  readonly #pods = new Map<string, Pod>();
  readonly #entries = new Map<string, Trimmed<SeenPod>>();
  readonly #selections = new PodSelections(() => [...this.#entries.values()]);
  readonly #asked: Asked[] = [];
  /** What was there before the present step. */
  #before: SeenPod | null = null;

  take(what: Step): void {
    if (what.kind === 'set') this.#changed(what.pod, this.#put(what.pod));
    else if (what.kind === 'delete') this.#delete(what.pod);
    else if (what.kind === 'relist') this.#relist(what.pods);
    else if (what.kind === 'use') this.#use(what.query);
    else this.#asked.splice(what.index, 1)[0]?.use.release();
  }

  check(): void {
    for (const { match, use, known } of this.#asked) {
      // Rules without any selector ask for no Pods; here they ask for all.
      const asksForAll = match.podNamespace === '' && match.podLabel === '';
      expect(use.names()).toEqual(servingNodes([...this.#pods.values()], compile(asksForAll ? { podLabel: '!absent' } : match)));
      expect(known).toBe(String(use.names()));
    }
  }

  #put(one: Pod): SeenPod {
    const value = { labels: this.#shared.labels(one.labels), nodeName: one.nodeName, serving: one.serving, hostNetwork: false, ports: [] };
    this.#before = this.#entries.get(keyOf(one))?.value ?? null;
    this.#pods.set(keyOf(one), one);
    this.#entries.set(keyOf(one), { key: keyOf(one), uid: '', value });
    return value;
  }

  #changed(one: Pod, after: SeenPod | null): void {
    this.#selections.changed(keyOf(one), this.#before, after);
  }

  #delete(one: Pod): void {
    this.#before = this.#entries.get(keyOf(one))?.value ?? null;
    this.#pods.delete(keyOf(one));
    this.#entries.delete(keyOf(one));
    if (this.#before) this.#changed(one, null);
  }

  /** Whoever uses the cache is told by the cache itself. */
  #relist(pods: readonly Pod[]): void {
    this.#pods.clear();
    this.#entries.clear();
    for (const one of pods) this.#put(one);
    this.#selections.synced([...this.#entries.values()]);
    for (const one of this.#asked) one.known = String(one.use.names());
  }

  #use(match: Asked['match']): void {
    const requirements = parseSelector(match.podLabel);
    const use = this.#selections.use({ namespace: match.podNamespace, requirements }, () => {
      const now = String(use.names());
      expect(now).not.toBe(one.known);
      one.known = now;
    });
    const one: Asked = { match, use, known: String(use.names()) };
    this.#asked.push(one);
  }
}

const keyOf = ({ namespace, name }: Pod): string => `${namespace}/${name}`;

test('the cache of Pods answers selectors as if each Pod were looked at, and tells whoever asked of each change of its answer and of no other', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
      const world = new PodWorld();
      for (const each of steps) {
        world.take(each);
        world.check();
      }
    }),
    { numRuns: 400 },
  );
});

test('a selection goes on for who is left, and whoever has left hears nothing', () => {
  const heard: string[] = [];
  const selections = new PodSelections(() => []);
  const use = (name: string, text: string) =>
    selections.use({ namespace: '', requirements: parseSelector(text) }, () => void heard.push(name));
  const users = SELECTORS.map((text) => use('gone', text));
  const twin = use('twin', 'app=a');
  for (const user of users) user.release();
  const value = { labels: { app: 'a' }, nodeName: 'n', serving: true, hostNetwork: false, ports: [] };
  selections.changed('web/p', null, value);
  expect(twin.names()).toEqual(['n']);
  expect(heard).toEqual(['twin']);
  twin.release();
  selections.changed('web/q', null, { ...value, nodeName: 'm' });
  expect(heard).toEqual(['twin']);
});

const nodeOf = (name: string, labelled: Record<string, string>, more: object = {}): SeenNode => {
  const seen = trimNode({ metadata: { name, uid: name, labels: labelled }, ...more }, intern());
  if (!seen) throw new Error('no node');
  return seen.value;
};

test('the cache of nodes answers selectors as if each node were looked at, through every change', () => {
  const change = fc.record({ name: fc.constantFrom('a', 'b', 'c'), labels: fc.option(labels), ready: fc.boolean() });
  fc.assert(
    fc.property(fc.constantFrom('', ...SELECTORS), fc.array(change, { maxLength: 20 }), (text, changes) => {
      const all = new Map<string, SeenNode>();
      const selections = new NodeSelections(() => [...all.values()]);
      const requirements = parseSelector(text);
      let known = '';
      const use = selections.use(requirements, { readsAddresses: false, changed: () => (known = JSON.stringify(use.nodes())) });
      known = JSON.stringify(use.nodes());
      // Of another user, who asks before the changes, and again after all of them.
      const seldom = new NodeSelections(() => [...all.values()]);
      const late = seldom.use(requirements, { readsAddresses: false, changed: () => undefined });
      expect(late.nodes()).toEqual([]);
      const tell = (...change: Parameters<NodeSelections['changed']>): void => {
        selections.changed(...change);
        seldom.changed(...change);
      };
      for (const { name, labels: labelled, ready } of changes) {
        const before = all.get(name) ?? null;
        const status = { conditions: [{ type: 'Ready', status: ready ? 'True' : 'False' }] };
        const after = labelled && nodeOf(name, labelled as Record<string, string>, { status });
        if (after) all.set(name, after);
        else all.delete(name);
        if (before || after) tell(name, before, after);
        const expected = [...all.values()].map(({ node }) => node).filter((node) => selects(requirements, node.labels));
        expect(use.nodes()).toEqual(expected);
        const read = (nodes: readonly { readonly name: string; readonly ready: boolean }[]) => nodes.map((one) => [one.name, one.ready]);
        expect(read(JSON.parse(known))).toEqual(read(expected));
      }
      expect(late.nodes()).toEqual(use.nodes());
    }),
    { numRuns: 300 },
  );
});

test('a change of a node that a user does not read is no news to it', () => {
  const all = new Map([['a', nodeOf('a', { color: 'blue' })]]);
  const selections = new NodeSelections(() => [...all.values()]);
  const heard: string[] = [];
  const user = (name: string, readsAddresses: boolean) =>
    selections.use(parseSelector('color'), { readsAddresses, changed: () => heard.push(name) });
  user('pool', false);
  user('set', true);
  const become = (next: SeenNode): void => {
    const before = all.get('a') ?? null;
    all.set('a', next);
    selections.changed('a', before, next);
  };
  become(nodeOf('a', { color: 'blue', size: 'l' }));
  expect(heard).toEqual([]);
  become(nodeOf('a', { color: 'blue' }, { status: { addresses: [{ type: 'ExternalIP', address: '198.51.100.1' }] } }));
  expect(heard).toEqual(['set']);
  become(nodeOf('a', { color: 'red' }));
  expect(heard).toEqual(['set', 'pool', 'set']);
  become(nodeOf('a', { size: 'l' }));
  expect(heard.length).toBe(5);
});

test('a change of one node looks at no other than those under the same selector', () => {
  const all = new Map(['a', 'b', 'c'].map((name) => [name, nodeOf(name, { color: name === 'c' ? 'red' : 'blue' })]));
  let looked = 0;
  const selections = new NodeSelections(() => {
    looked += 1;
    return [...all.values()];
  });
  const use = selections.use(parseSelector('color=blue'), { readsAddresses: false, changed: () => undefined });
  const become = (name: string, next: SeenNode): void => {
    const before = all.get(name) ?? null;
    all.set(name, next);
    selections.changed(name, before, next);
  };
  const names = (): readonly string[] => use.nodes().map((node) => `${node.name} ${node.ready}`);
  expect(names()).toEqual(['a false', 'b false']);
  const ready = { status: { conditions: [{ type: 'Ready', status: 'True' }] } };
  become('b', nodeOf('b', { color: 'blue' }, ready));
  expect(names()).toEqual(['a false', 'b true']);
  become('a', nodeOf('a', { color: 'red' }));
  become('c', nodeOf('c', { color: 'red' }, ready));
  expect(names()).toEqual(['b true']);
  expect(looked).toBe(1);
});
