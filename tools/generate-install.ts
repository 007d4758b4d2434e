import { basename, join } from 'node:path';
import { type GeneratedFile, generate } from './generated-files.ts';
import { DEPLOY, definitionFiles, definitionText, imagesOf, installedFiles, manifestsIn, manifestText } from './manifests.ts';
import { observerText } from './observer-manifest.ts';

const WRITTEN = '# Generated from the plain manifests: change those and run npm run generate.';

/** A component must have its files in its own folder; the same files are applied by themselves, too. */
const COMPONENTS: Readonly<Record<string, string>> = {
  'admission-webhook': 'vip-admission-webhook.yaml',
  dashboard: 'dashboard.yaml',
  inspector: 'inspector.yaml',
  'metrics-auth': 'metrics-auth.yaml',
  journal: 'journal.yaml',
  'prometheus-rule': 'prometheus/rules.yaml',
  'virtual-ips': 'virtual-ips.yaml',
};

const DASHBOARD = 'grafana/routedip-operator.json';

const joined = (texts: readonly string[]): string => `${WRITTEN}\n${texts.map((text) => `---\n${text.trimEnd()}\n`).join('')}`;

/** Everything in one file, as `kubectl apply -k deploy/` takes it. */
const bundle = (definitions: string, files: readonly string[] = installedFiles()): string =>
  joined(files.map((path) => (path === 'crds.yaml' ? definitions.replace(/^#.*\n---\n/, '') : manifestText(path))));

const POLICIES: readonly string[] = ['vip-admission-policies.yaml', 'node-policy.yaml'];
const FLAGS = '--metrics-bind-addr, ":8080", --tokens-secret=routedip-operator';

/** The same for clusters that evaluate no policies: as with the component `admission-webhook`. @throws Error when the operator is started in another way */
const bundleWithWebhook = (definitions: string): string => {
  const files = installedFiles().filter((path) => !POLICIES.includes(path));
  const text = bundle(definitions, [...files, 'vip-admission-webhook.yaml']);
  const served = text.replace(`[run, ${FLAGS}]`, `[run, ${FLAGS}, --admission=webhook, "--webhook-bind-addr=:9443"]`);
  if (served === text) throw new Error('operator.yaml starts no operator to which flags could be added');
  return served;
};

/** The chart takes them from its own folder: it may be packed. */
const chartDefinitions = (): Readonly<Record<string, string>> =>
  Object.fromEntries(
    definitionFiles().map((name) => [`chart/definitions/${name}`, `# Generated from crds/${name}.\n${definitionText(name)}`]),
  );

/** What the templates of the chart put in besides. @throws Error when the rules are written in another way */
const chartParts = (): Readonly<Record<string, string>> => {
  const [, groups] = manifestText('prometheus/rules.yaml').split(/^spec:\n/m);
  if (!groups) throw new Error('prometheus/rules.yaml has no spec');
  return {
    'chart/files/rules.yaml': `# Generated from deploy/prometheus/rules.yaml.\n${groups}`,
    'chart/files/dashboard.json': manifestText(DASHBOARD),
  };
};

/** Every file by which the operator is installed that follows from the plain manifests in `deploy/` and `crds/`. Reads only. */
export const installFiles = (): readonly GeneratedFile[] => {
  const definitions = joined(definitionFiles().map(definitionText));
  const whole = bundle(definitions);
  const files: Readonly<Record<string, string>> = {
    'crds.yaml': definitions,
    'bundle.yaml': whole,
    'bundle-webhook.yaml': bundleWithWebhook(definitions),
    'observer.yaml': `${WRITTEN}\n${observerText()}`,
    'images.txt': `${imagesOf(manifestsIn(whole)).join('\n')}\n`,
    ...Object.fromEntries(
      Object.entries(COMPONENTS).map(([name, file]) => [
        `components/${name}/${basename(file)}`,
        `# Generated from deploy/${file}.\n${manifestText(file)}`,
      ]),
    ),
    [`components/grafana-dashboard/${basename(DASHBOARD)}`]: manifestText(DASHBOARD),
    ...chartDefinitions(),
    ...chartParts(),
  };
  return Object.entries(files).map(([path, text]) => ({ path: join(DEPLOY, path), text }));
};

if (import.meta.main) process.exitCode = generate(installFiles(), process.argv.slice(2));
