import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse, parseDocument } from 'yaml';
import { complete } from './chart-metadata.ts';
import { type ChartValue, chartValues, type ValueGroup } from './chart-values.ts';
import { withSections } from './generate-docs.ts';
import { sampleFiles, samplesOf } from './generate-reference.ts';
import { definitions } from './generate-types.ts';
import { type GeneratedFile, generate } from './generated-files.ts';

const ROOT = join(import.meta.dirname, '..');
const CHART = join(ROOT, 'deploy/chart');
const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');

const cell = (text: string): string => text.replaceAll('|', '\\|');

const rowOf = ({ path, type, fallback, description }: ChartValue): string =>
  `| \`${path}\` | ${cell(type)} | \`${cell(fallback)}\` | ${cell(description)} |`;

const tableOf = (values: readonly ChartValue[]): string =>
  ['| Value | Type | Default | What it does |', '|---|---|---|---|', ...values.map(rowOf)].join('\n');

const isAlone = ({ description }: ValueGroup): boolean => description === '';

/** The values that stand alone in one table, then a table for each group. */
export const valuesSection = (groups: readonly ValueGroup[]): string => {
  const alone = groups.filter(isAlone).flatMap(({ values }) => values);
  const others = groups.filter((group) => !isAlone(group));
  return [tableOf(alone), ...others.map(({ name, description, values }) => `### ${name}\n\n${description}\n\n${tableOf(values)}`)].join(
    '\n\n',
  );
};

const readme = (): string => {
  const groups = chartValues(read('deploy/chart/values.yaml'), JSON.parse(read('deploy/chart/values.schema.json')));
  return withSections(read('deploy/chart/README.md'), { values: valuesSection(groups) });
};

const chartFile = (): string => {
  const chart = parseDocument(read('deploy/chart/Chart.yaml'));
  const files = sampleFiles();
  const installed = definitions().flatMap(({ source, crd }) => (source.includes('/legacy/') ? [] : [crd]));
  complete(chart, {
    version: (JSON.parse(read('package.json')) as { readonly version: string }).version,
    icon: read('dashboard/icon.svg'),
    definitions: installed,
    examples: installed.flatMap((crd) => samplesOf(crd, files).slice(0, 1)).map(({ text }) => parse(text)),
  });
  return chart.toString({ lineWidth: 0 });
};

/** The parts of the chart that describe it. @throws Error when a value is not described */
export const chartFiles = (): readonly GeneratedFile[] => [
  { path: join(CHART, 'README.md'), text: readme() },
  { path: join(CHART, 'Chart.yaml'), text: chartFile() },
];

if (import.meta.main) process.exitCode = generate(chartFiles(), process.argv.slice(2));
