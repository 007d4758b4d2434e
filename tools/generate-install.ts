import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { type GeneratedFile, generate } from './generated-files.ts';
import { chartTemplates } from './helm-chart.ts';
import { valuesSchema, valuesText } from './helm-values.ts';
import { DEPLOY, definitionTexts, imagesOf, installedFiles, manifestsIn, manifestText } from './manifests.ts';
import { olderKubernetes } from './older-kubernetes.ts';

const WRITTEN = '# Generated from the plain manifests: change those and run npm run generate.';

/** A component must have its files in its own folder; the same files are applied by themselves, too. */
const COMPONENTS: Readonly<Record<string, string>> = {
  'admission-policies': 'vip-admission-policies.yaml',
  'admission-webhook': 'vip-admission-webhook.yaml',
  dashboard: 'dashboard.yaml',
  'metrics-auth': 'metrics-auth.yaml',
  journal: 'journal.yaml',
  'virtual-ips': 'virtual-ips.yaml',
};

const joined = (texts: readonly string[]): string => `${WRITTEN}\n${texts.map((text) => `---\n${text.trimEnd()}\n`).join('')}`;

/** Everything in one file, as `kubectl apply -k deploy/` takes it. */
const bundle = (definitions: string): string =>
  joined(installedFiles().map((path) => (path === 'crds.yaml' ? definitions.replace(/^#.*\n---\n/, '') : manifestText(path))));

const chart = (): Readonly<Record<string, string>> => {
  const { version, description } = JSON.parse(readFileSync(join(DEPLOY, '../package.json'), 'utf8')) as {
    readonly version: string;
    readonly description: string;
  };
  const about = { apiVersion: 'v2', name: 'routedip-operator', description, type: 'application', version, appVersion: version };
  const kubeVersion = '>=1.21.0-0';
  return {
    'Chart.yaml': `${WRITTEN}\n${stringify({ ...about, kubeVersion })}`,
    'values.yaml': `${WRITTEN}\n\n${valuesText()}`,
    'values.schema.json': `${JSON.stringify(valuesSchema(), null, 2)}\n`,
    ...Object.fromEntries(Object.entries(chartTemplates()).map(([name, text]) => [`templates/${name}`, text])),
  };
};

/** Every file by which the operator is installed that follows from the plain manifests in `deploy/` and `crds/`. Reads only. */
export const installFiles = (): readonly GeneratedFile[] => {
  const definitions = joined(definitionTexts());
  const whole = bundle(definitions);
  const files: Readonly<Record<string, string>> = {
    'crds.yaml': definitions,
    'bundle.yaml': whole,
    'images.txt': `${imagesOf(manifestsIn(whole)).join('\n')}\n`,
    ...Object.fromEntries(
      Object.entries(COMPONENTS).map(([name, file]) => [
        `components/${name}/${file}`,
        `# Generated from deploy/${file}.\n${manifestText(file)}`,
      ]),
    ),
    ...olderKubernetes(manifestsIn(whole), WRITTEN),
    ...Object.fromEntries(Object.entries(chart()).map(([path, text]) => [`chart/${path}`, text])),
  };
  return Object.entries(files).map(([path, text]) => ({ path: join(DEPLOY, path), text }));
};

if (import.meta.main) process.exitCode = generate(installFiles(), process.argv.slice(2));
