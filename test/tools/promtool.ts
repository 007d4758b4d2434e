import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { runTool, temporaryFolder } from './tool.ts';

/** One unit test of promtool: https://prometheus.io/docs/prometheus/latest/configuration/unit_testing_rules/ */
export interface UnitTest {
  readonly name: string;
  readonly interval: string;
  readonly input_series: readonly { readonly series: string; readonly values: string }[];
  readonly alert_rule_test?: readonly {
    readonly eval_time: string;
    readonly alertname: string;
    readonly exp_alerts: readonly { readonly exp_labels: object; readonly exp_annotations: object }[];
  }[];
  readonly promql_expr_test?: readonly {
    readonly expr: string;
    readonly eval_time: string;
    readonly exp_samples: readonly { readonly labels: string; readonly value: number }[];
  }[];
}

/** What `promtool test rules` finds wrong; empty when all is as expected. */
export const unitTest = (tests: readonly UnitTest[], groups: readonly object[] = []): string => {
  const folder = temporaryFolder();
  writeFileSync(join(folder, 'rules.yaml'), stringify({ groups }));
  const file = join(folder, 'tests.yaml');
  writeFileSync(file, stringify({ rule_files: ['rules.yaml'], evaluation_interval: '1m', tests }));
  const { code, output } = runTool('promtool', ['test', 'rules', file]);
  return code === 0 ? '' : output;
};
