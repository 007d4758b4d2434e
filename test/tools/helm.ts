import { join } from 'node:path';
import { stringify } from 'yaml';
import { type ByName, keyed, shippedIn } from '../deploy/manifest-facts.ts';
import { outputOf } from './tool.ts';

export const CHART = join(import.meta.dirname, '../../deploy/chart');

/** The release that the chart is rendered for: helm would take an old one of its own for granted. */
const KUBERNETES = ['--kube-version', '1.36.3'];

/** What `helm template` prints of the chart, or of a packed one, with `values` over its own: what is installed, and the tests. @throws Error with helm's words */
export const wholeTemplate = (values: unknown = {}, namespace = 'routedip-operator', chart = CHART, ...flags: readonly string[]): string =>
  outputOf(
    'helm',
    ['template', 'routedip-operator', chart, '--namespace', namespace, ...KUBERNETES, '--values', '-', ...flags],
    stringify(values),
  );

/** The same without the tests. */
const template = (values?: unknown, namespace?: string, chart?: string): string => wholeTemplate(values, namespace, chart, '--skip-tests');

/** The objects of it. */
export const rendered = (values?: unknown, namespace?: string): ByName => keyed(shippedIn(template(values, namespace)));
