import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { keyed, pick, type Shipped, shippedIn } from '../deploy/manifest-facts.ts';
import { CHART, rendered, wholeTemplate } from './helm.ts';

const NAME = 'routedip-operator';
const { version: VERSION } = JSON.parse(readFileSync(join(CHART, '../../package.json'), 'utf8')) as { readonly version: string };

interface TestPod {
  readonly metadata: { readonly namespace: string; readonly labels: object; readonly annotations: object };
  readonly spec: { readonly containers: readonly [{ readonly command: readonly string[]; readonly env: readonly object[] }] };
}

/** The Pod of `helm test`. */
const testPod = (values: unknown = {}) => {
  const added = keyed(shippedIn(wholeTemplate(values, 'elsewhere')));
  const { [`Pod ${NAME}-test`]: pod, ...others } = added;
  expect(others).toEqual(rendered(values, 'elsewhere'));
  return pod as unknown as TestPod;
};

describe('helm test', () => {
  test('is a Pod that no Service and no policy of its own counts among the replicas', () => {
    const { metadata, spec } = testPod({ imagePullSecrets: [{ name: 'pull' }], registry: 'r.example.com' });
    expect(metadata).toMatchObject({ namespace: 'elsewhere', annotations: { 'helm.sh/hook': 'test' } });
    const selectors = Object.values(rendered({ dashboard: { enabled: true } })).flatMap(
      ({ kind, spec: { selector, podSelector } = {} as Shipped['spec'] }) =>
        kind === 'Service' ? [selector] : kind === 'NetworkPolicy' ? [podSelector.matchLabels] : [],
    );
    expect(selectors.length).toBeGreaterThan(3);
    for (const selector of selectors) expect(metadata.labels).not.toMatchObject(selector);
    expect(spec).toMatchObject({
      restartPolicy: 'Never',
      automountServiceAccountToken: false,
      imagePullSecrets: [{ name: 'pull' }],
      containers: [{ image: `r.example.com/${NAME}:${VERSION}`, terminationMessagePolicy: 'FallbackToLogsOnError' }],
    });
    const { name } = pick(rendered(), `Service ${NAME}-metrics`).metadata;
    expect(spec.containers[0].env).toEqual([
      { name: 'SERVICE', value: name },
      { name: 'REPLICAS', value: '2' },
    ]);
  });

  test('goes where the operator may go', () => {
    const values = { nodeSelector: { pool: 'infra' }, tolerations: [{ operator: 'Exists' }] };
    expect(testPod(values).spec).toEqual({ ...testPod().spec, ...values });
  });

  test('runs the script as it is, which knows how many replicas there are to be', () => {
    const [{ command, env }] = testPod({ redis: { mode: 'memory' }, replicas: 3 }).spec.containers;
    expect(command).toEqual(['node', '--input-type=module', '--eval', readFileSync(join(CHART, 'files/ready.mjs'), 'utf8')]);
    expect(env).toContainEqual({ name: 'REPLICAS', value: '1' });
  });
});
