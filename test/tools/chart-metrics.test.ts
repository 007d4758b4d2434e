import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { publicationOf } from '../../tools/release.ts';
import { publishedChart } from '../../tools/release-chart.ts';
import { keyed, pick, type Shipped, shippedIn } from '../deploy/manifest-facts.ts';
import { CHART, rendered, wholeTemplate } from './helm.ts';
import { temporaryFolder } from './tool.ts';

const NAME = 'routedip-operator';
const read = (path: string): string => readFileSync(join(CHART, '..', path), 'utf8');

interface Rules {
  readonly spec: { readonly groups: readonly { readonly rules: readonly { readonly annotations: { readonly runbook_url: string } }[] }[] };
}

const [plain] = shippedIn(read('prometheus/rules.yaml')) as unknown as readonly [Shipped & Rules];

/** The same with runbooks below `base`. */
const ledTo = (base: string): unknown => JSON.parse(JSON.stringify(plain.spec).replaceAll('"docs/', `"${base}/`));

const enabled = (values: object = {}) => ({ enabled: true, ...values });

describe('alerts and the dashboard of Grafana, by the chart,', () => {
  test('come when they are asked for, with runbooks below the base that is given', () => {
    const base = 'https://wiki.example.com/routed-ip';
    for (const runbookBaseUrl of [base, `${base}/`]) {
      const objects = rendered({ metrics: { prometheusRule: enabled({ runbookBaseUrl }), dashboard: enabled() } }, 'elsewhere');
      const rules = pick(objects, `PrometheusRule ${NAME}`);
      expect(rules.metadata.namespace).toBe('elsewhere');
      expect(rules.spec).toEqual(ledTo(base));
      expect(rules.spec).not.toEqual(plain.spec);
      expect(pick(objects, `ConfigMap ${NAME}-grafana`)).toEqual({
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: {
          name: `${NAME}-grafana`,
          namespace: 'elsewhere',
          labels: { 'app.kubernetes.io/name': NAME, grafana_dashboard: '1' },
        },
        data: { 'routedip-operator.json': read('grafana/routedip-operator.json') },
      });
    }
  });

  test('add nothing else, and nothing unless they are asked for', () => {
    const added = [`ConfigMap ${NAME}-grafana`, `PrometheusRule ${NAME}`];
    expect(Object.keys(rendered())).not.toEqual(expect.arrayContaining(added));
    const { [`ConfigMap ${NAME}-grafana`]: _dashboard, ...others } = rendered({ metrics: { dashboard: enabled() } });
    expect(others).toEqual(rendered());
  });

  test('bear the labels and annotations by which they are looked for, and their own name', () => {
    const labels = { release: 'prometheus', 'app.kubernetes.io/name': 'other' };
    const metrics = {
      serviceMonitor: enabled({ labels }),
      prometheusRule: enabled({ labels }),
      dashboard: enabled({ labels: { grafana_dashboard: '2', team: 'net' }, annotations: { grafana_folder: 'Network' } }),
    };
    const objects = rendered({ metrics });
    for (const kind of ['ServiceMonitor', 'PrometheusRule']) {
      expect(pick(objects, `${kind} ${NAME}`).metadata).toMatchObject({
        labels: { release: 'prometheus', 'app.kubernetes.io/name': NAME },
      });
    }
    expect(pick(objects, `ConfigMap ${NAME}-grafana`).metadata).toMatchObject({
      labels: { 'app.kubernetes.io/name': NAME, grafana_dashboard: '2', team: 'net' },
      annotations: { grafana_folder: 'Network' },
    });
  });

  test('lead by a released chart to the pages of that release', () => {
    const folder = join(temporaryFolder(), NAME);
    publishedChart(folder, publicationOf('v0.1.0', 'Example/routedip'));
    const objects = keyed(shippedIn(wholeTemplate({ metrics: { prometheusRule: enabled() } }, NAME, folder)));
    expect(pick(objects, `PrometheusRule ${NAME}`).spec).toEqual(ledTo('https://github.com/Example/routedip/blob/v0.1.0/docs'));
  });
});
