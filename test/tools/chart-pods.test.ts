import { describe, expect, test } from 'vitest';
import { pick, type Shipped } from '../deploy/manifest-facts.ts';
import { rendered } from './helm.ts';

const NAME = 'routedip-operator';

const GIVEN = {
  priorityClassName: 'system-cluster-critical',
  nodeSelector: { 'example.com/pool': 'infra', 'example.com/ssd': 'true' },
  tolerations: [{ key: 'example.com/infra', operator: 'Exists', effect: 'NoSchedule' }, { operator: 'Exists' }],
  affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [{ matchFields: [] }] } } },
  topologySpreadConstraints: [{ maxSkew: 1, topologyKey: 'topology.kubernetes.io/zone', whenUnsatisfiable: 'ScheduleAnyway' }],
};
const ENV = [
  { name: 'DIGITALOCEAN_API_URL', value: 'http://cloud.example.com:8080' },
  { name: 'NODE', valueFrom: { fieldRef: { fieldPath: 'spec.nodeName' } } },
];
const WORKLOADS = [
  ['the operator', `Deployment ${NAME}`, NAME, (values: object) => values],
  ['Redis', `StatefulSet ${NAME}-redis`, `${NAME}-redis`, (values: object) => ({ redis: values })],
] as const;

const templateOf = (key: string, values: object): Shipped['spec']['template'] => pick(rendered(values), key).spec.template;

describe.each(WORKLOADS)('the Pods of %s', (_, key, name, of) => {
  test('are scheduled as told', () => {
    expect(templateOf(key, of(GIVEN)).spec).toEqual({ ...templateOf(key, {}).spec, ...GIVEN });
  });

  test.each(Object.keys(GIVEN) as (keyof typeof GIVEN)[])('take %s alone', (field) => {
    const { spec } = templateOf(key, of({ [field]: GIVEN[field] }));
    expect(spec).toEqual({ ...templateOf(key, {}).spec, [field]: GIVEN[field] });
  });

  test('bear the annotations and labels that are given, and the label by which they are found whatever is given', () => {
    const podAnnotations = { 'example.com/scrape': 'true', note: 'a: "b" # c' };
    const podLabels = { 'app.kubernetes.io/name': 'other', 'app.kubernetes.io/part-of': 'network', tier: '1' };
    expect(templateOf(key, of({ podAnnotations, podLabels })).metadata).toEqual({
      annotations: podAnnotations,
      labels: { ...podLabels, 'app.kubernetes.io/name': name },
    });
  });

  test('get more variables, behind their own', () => {
    const { env: own } = templateOf(key, {}).spec.containers[0];
    expect(own.length).toBeGreaterThan(0);
    expect(templateOf(key, of({ extraEnv: ENV })).spec.containers[0].env).toEqual([...own, ...ENV]);
  });

  test('and no others are changed', () => {
    const all = { ...GIVEN, extraEnv: ENV, podLabels: { tier: 'infra' }, podAnnotations: { note: 'x' } };
    const { [key]: changed, ...others } = rendered(of(all));
    const { [key]: before, ...othersBefore } = rendered();
    expect(others).toEqual(othersBefore);
    expect(changed?.metadata).toEqual(before?.metadata);
    expect(changed?.spec.selector).toEqual(before?.spec.selector);
  });

  test.each([
    ['a label that is no text', { podLabels: { tier: 1 } }, '/podLabels/tier'],
    ['an annotation that is no text', { podAnnotations: { scrape: true } }, '/podAnnotations/scrape'],
    ['a variable without a name', { extraEnv: [{ value: 'x' }] }, '/extraEnv/0'],
    ['a variable that is no text', { extraEnv: [{ name: 'PORT', value: 80 }] }, '/extraEnv/0/value'],
    ['one toleration instead of a list', { tolerations: { operator: 'Exists' } }, '/tolerations'],
  ])('are not made with %s', (_what, values, where) => {
    expect(() => rendered(of(values))).toThrow(where);
  });
});
