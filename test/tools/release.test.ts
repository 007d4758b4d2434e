import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { parse, stringify } from 'yaml';
import { connectionOf, kubeClient } from '../../simulator/kubernetes/client.ts';
import type { ByName, Shipped } from '../deploy/manifest-facts.ts';
import { installFlipopsDefinitions } from '../support/flipop-definitions.ts';
import { type Cluster, startCluster } from '../support/kube.ts';
import { apply, applyFile, pathOf } from '../support/kube-apply.ts';
import { kubectl } from '../support/kubectl.ts';
import { waitFor } from '../support/wait-for.ts';
import { CHART, rendered } from './helm.ts';
import { outputOf, runTool } from './tool.ts';

const ROOT = join(import.meta.dirname, '../..');
const NAMESPACE = 'net';
const MONITORS = join(process.env.CHECK_TOOLS ?? '', 'monitoring/servicemonitors.yaml');
const POOL = {
  apiVersion: 'flipop.digitalocean.com/v1alpha1',
  kind: 'FloatingIPPool',
  metadata: { name: 'kept', namespace: 'default' },
  spec: { provider: 'digitalocean', desiredIPs: 1, ips: ['203.0.113.1'], match: {} },
};

// Each asks a server a few hundred times, by processes that are started for it.
vi.setConfig({ testTimeout: 180_000 });

let cluster: Cluster;

/** The arguments of a command of helm about the release `name`. */
const about = (command: string, name: string, ...args: readonly string[]): readonly string[] => [
  command,
  name,
  ...(command === 'uninstall' ? [] : [CHART, '--values', '-']),
  ...['--namespace', NAMESPACE, '--kubeconfig', cluster.kubeconfig],
  ...args,
];
const helm = (command: string, name: string, values: unknown = {}, ...args: readonly string[]): string =>
  outputOf('helm', about(command, name, ...args), stringify(values));

const run = async (...args: readonly string[]): Promise<string> => {
  const { stdout, stderr, code } = await kubectl(args, { kubeconfig: cluster.kubeconfig });
  expect(code, stderr).toBe(0);
  return stdout;
};

/** What comes by itself: from the definitions of kinds, and from the server. */
const BY_ITSELF = /^(APIService|Lease|Event|FlowSchema|PriorityLevelConfiguration) /;

/** Every object of the cluster, by kind, namespace and name. */
const everything = async (): Promise<readonly string[]> => {
  const kinds = (await run('api-resources', '--verbs=list', '-o', 'name')).trim().split('\n');
  const columns = 'KIND:.kind,NAMESPACE:.metadata.namespace,NAME:.metadata.name';
  const lines = (await run('get', kinds.join(','), '-A', '--no-headers', '-o', `custom-columns=${columns}`)).trim().split('\n');
  return [...new Set(lines.map((line) => line.trim().split(/\s+/).join(' ')))].filter((line) => !BY_ITSELF.test(line)).sort();
};

const answerOf = async (object: Shipped) => cluster.send(await pathOf(cluster, { ...object }, NAMESPACE));

/** Each object of `objects` that the server does not have. */
const absent = async (objects: ByName): Promise<readonly string[]> => {
  const statuses = await Promise.all(Object.entries(objects).map(async ([key, object]) => ({ key, ...(await answerOf(object)) })));
  return statuses.filter(({ status }) => status !== 200).map(({ key }) => key);
};

const versions = async (objects: ByName): Promise<Readonly<Record<string, string>>> => {
  const found = Object.entries(objects).map(async ([key, object]) => [key, (await answerOf(object)).body.metadata.resourceVersion]);
  return Object.fromEntries(await Promise.all(found));
};

const DEFINITIONS = ['clusterroutedipclasses.routedip.io', 'floatingippools.flipop.digitalocean.com', 'ipgroups.paas.org', 'ips.paas.org'];

const ownerOf = async (definition: string): Promise<string | undefined> => {
  const { body } = await cluster.send(`/apis/apiextensions.k8s.io/v1/customresourcedefinitions/${definition}`);
  return body.metadata.annotations?.['meta.helm.sh/release-name'];
};

const EVERYTHING = {
  admission: 'webhook',
  dashboard: { enabled: true },
  inspector: { enabled: true },
  journal: { enabled: true },
  metrics: { auth: 'token-review', serviceMonitor: { enabled: true } },
  virtualIPs: { enabled: true },
  vipLease: { enabled: true, namespace: NAMESPACE },
  replicas: 3,
};

beforeAll(async () => {
  cluster = await startCluster();
});
afterAll(() => cluster?.stop());

/** What Helm shows of the notes after a command. */
const notesIn = (output: string): string => output.split(/^NOTES:$/m)[1] ?? '';

/** The manifest that the notes give to kubectl. */
const manifestIn = (notes: string) => parse(/<<EOF\n(.*?)\n +EOF/s.exec(notes)?.[1] ?? '');

describe('the notes', () => {
  /** What is told after an installation by these values. */
  const notesOf = (values: unknown): string => notesIn(helm('install', 'notes', values, '--dry-run=server'));

  test('of an installation say what it takes, without anything that is off', () => {
    const said = notesOf({});
    expect(said).toContain(`is in the namespace ${NAMESPACE}: 2 replicas, with a Redis of its own (1Gi).`);
    for (const next of [
      'create secret generic routedip-operator ',
      `helm test notes --namespace ${NAMESPACE}`,
      'kind: FloatingIPPool',
      'set image.registry',
    ])
      expect(said).toContain(next);
    expect(said).not.toMatch(/dashboard|inspector|journal|clusterrolebinding|crds\.install/);
    expect(said).not.toMatch(/\n\n\n|^ +$/m);
  });

  test('say of what is on how to get there, and tell no secret', () => {
    const said = notesOf({
      ...EVERYTHING,
      image: { registry: 'r.example.com' },
      secretName: 'tokens',
      controllers: ['vip'],
      // The server has no ServiceMonitors yet.
      metrics: { auth: 'token-review' },
      redis: { mode: 'memory' },
    });
    expect(said).toContain('one replica, which keeps records and jobs in memory');
    for (const next of [
      'secret generic tokens ',
      'port-forward service/routedip-operator-dashboard',
      `--journal-service ${NAMESPACE}/routedip-operator-journal:journal`,
      'clusterrole=routedip-operator-metrics-reader',
    ])
      expect(said).toContain(next);
    expect(said).not.toMatch(/FloatingIPPool|set image\.registry|Set admission/);
    const other = notesOf({
      redis: { mode: 'external', url: 'redis://r:6379', username: 'operator-user' },
      crds: { install: false },
      replicas: 1,
    });
    expect(other).toContain('one replica, with your Redis.');
    expect(other).toContain('crds.install is false');
    expect(other).not.toContain('operator-user');
  });
});

describe('a release', () => {
  let before: readonly string[];
  beforeAll(async () => {
    await applyFile(cluster, MONITORS);
    await waitFor('ServiceMonitors are served', async () => {
      const { status } = await cluster.send('/apis/monitoring.coreos.com/v1/servicemonitors');
      return status === 200;
    });
    before = await everything();
  });

  test('is installed, every object of it', async () => {
    const said = helm('install', 'rip', {}, '--create-namespace');
    expect(said).toContain('STATUS: deployed');
    const objects = rendered({}, NAMESPACE);
    expect(Object.keys(objects).length).toBeGreaterThan(20);
    expect(await absent(objects)).toEqual([]);
    for (const definition of DEFINITIONS) expect([definition, await ownerOf(definition)]).toEqual([definition, 'rip']);
    const pool = manifestIn(notesIn(said));
    const path = `${join(await pathOf(cluster, pool), '..')}?dryRun=All&fieldValidation=Strict`;
    expect((await cluster.send(path, { method: 'POST', body: pool })).status).toBe(201);
  });

  test('is upgraded: what is switched on comes, what is switched off goes, and what is the same is left alone', async () => {
    const said = helm('upgrade', 'rip', EVERYTHING);
    expect(said).toContain('STATUS: deployed');
    expect(notesIn(said)).toContain('helm test rip');
    expect(notesIn(said)).not.toMatch(/create secret|kind: FloatingIPPool/);
    const [plain, more] = [rendered({}, NAMESPACE), rendered(EVERYTHING, NAMESPACE)];
    const added = Object.fromEntries(Object.entries(more).filter(([key]) => !(key in plain)));
    expect(Object.keys(added).length).toBeGreaterThan(12);
    expect(await absent(more)).toEqual([]);
    const operator = more['Deployment routedip-operator'];
    if (!operator) throw new Error('there is no operator');
    const { body } = await answerOf(operator);
    expect([body.spec.replicas, body.spec.template.spec.containers[0].args]).toEqual([3, operator.spec.template.spec.containers[0].args]);

    const unchanged = await versions(more);
    helm('upgrade', 'rip', EVERYTHING);
    expect(await versions(more)).toEqual(unchanged);

    helm('upgrade', 'rip', {}, '--reset-values');
    expect(await absent(plain)).toEqual([]);
    expect([...(await absent(added))].sort()).toEqual(Object.keys(added).sort());
  });

  test('is uninstalled: the definitions stay, with what is of their kinds, and nothing else', async () => {
    const path = await pathOf(cluster, POOL);
    expect((await cluster.send(join(path, '..'), { method: 'POST', body: POOL })).status).toBe(201);
    expect(helm('uninstall', 'rip')).toContain('release "rip" uninstalled');
    const after = await everything();
    const definitions = Object.keys(rendered())
      .filter((key) => key.startsWith('CustomResourceDefinition '))
      .map((key) => key.replace(' ', ' <none> '));
    expect(definitions).toHaveLength(7);
    expect(after.filter((line) => !before.includes(line))).toEqual(
      [...definitions, 'FloatingIPPool default kept', `Namespace <none> ${NAMESPACE}`].sort(),
    );
    expect(before.filter((line) => !after.includes(line))).toEqual([]);
  });
});

describe('a new installation, as docs/install.md has it,', () => {
  const page = readFileSync(join(ROOT, 'docs/install.md'), 'utf8').split('## Uninstalling')[1] ?? '';
  const TAKES_OVER = '--take-ownership';
  const WITHOUT = 'crds.install=false';

  beforeEach(async () => {
    // What an earlier release has left.
    helm('install', 'earlier', {}, '--create-namespace', TAKES_OVER);
    helm('uninstall', 'earlier');
    expect(await ownerOf('ips.paas.org')).toBe('earlier');
  });

  test('of the same name needs no more', async () => {
    expect(helm('install', 'earlier')).toContain('STATUS: deployed');
    helm('uninstall', 'earlier');
  });

  test('under another name takes the definitions over when told to, and is refused otherwise', async () => {
    const { code, output } = runTool('helm', about('install', 'again'), '{}');
    expect([code, output]).toEqual([1, expect.stringContaining('invalid ownership metadata')]);
    expect(page).toContain(TAKES_OVER);
    expect(helm('install', 'again', {}, TAKES_OVER)).toContain('STATUS: deployed');
    expect(await ownerOf('ips.paas.org')).toBe('again');
    expect((await cluster.send(await pathOf(cluster, POOL))).status).toBe(200);
    helm('upgrade', 'again', { replicas: 3 });
    helm('uninstall', 'again');
  });

  test('by a Helm that cannot take over leaves the definitions as they are', async () => {
    expect(page).toContain(WITHOUT);
    expect(helm('install', 'again', {}, '--set', WITHOUT)).toContain('STATUS: deployed');
    expect(await ownerOf('ips.paas.org')).toBe('earlier');
    helm('uninstall', 'again');
    expect((await cluster.send(await pathOf(cluster, POOL))).status).toBe(200);
  });

  test('by Helm takes the place of one by kubectl', async () => {
    const folder = join(ROOT, 'deploy');
    await run('apply', '-k', folder);
    await run('delete', '-n', 'routedip-operator', 'deployment,statefulset,service,poddisruptionbudget,networkpolicy', '--all');
    const args = ['install', 'rip', CHART, '--namespace', 'routedip-operator', '--kubeconfig', cluster.kubeconfig];
    expect(runTool('helm', args).output).toContain('invalid ownership metadata');
    expect(outputOf('helm', [...args, TAKES_OVER])).toContain('STATUS: deployed');
    expect(await absent(rendered())).toEqual([]);
    outputOf('helm', ['uninstall', 'rip', '--namespace', 'routedip-operator', '--kubeconfig', cluster.kubeconfig]);
    expect((await cluster.send(await pathOf(cluster, POOL))).status).toBe(200);
  });
});

describe('by Helm in the place of FLIPOP, as docs/migrating-from-flipop.md has it,', () => {
  const FLIPOPS = ['floatingippools', 'nodednsrecordsets'].map((name) => `${name}.flipop.digitalocean.com`);
  /** The command of the page, with what it needs to be run here. */
  const [, command = ''] = /`(helm install [^`]*)`/.exec(readFileSync(join(ROOT, 'docs/migrating-from-flipop.md'), 'utf8')) ?? [];
  const install = (...without: readonly string[]) => {
    const words = command.split(' ').slice(1);
    const args = words.filter((word) => !without.includes(word)).map((word) => (word === 'deploy/chart' ? CHART : word));
    return runTool('helm', [...args, '--kubeconfig', cluster.kubeconfig]);
  };

  beforeAll(async () => {
    await run('delete', 'customresourcedefinitions', ...DEFINITIONS, ...FLIPOPS, '--ignore-not-found');
    await run('create', 'namespace', 'flipop');
    for (const name of FLIPOPS) await applyFile(cluster, join(ROOT, 'crds', `${name.split('.')[0]}.yaml`));
    await run('wait', '--for=condition=Established', ...FLIPOPS.map((name) => `customresourcedefinition/${name}`));
    const client = kubeClient(connectionOf(readFileSync(cluster.kubeconfig, 'utf8')));
    await installFlipopsDefinitions(client);
    client.close();
    expect((await apply(cluster, POOL)).status).toBe(201);
  });

  test('takes the definitions over when told to, with the pools that are there, and is refused otherwise', async () => {
    expect(install('--take-ownership')).toMatchObject({ code: 1, output: expect.stringContaining('invalid ownership metadata') });
    expect(install()).toMatchObject({ code: 0, output: expect.stringContaining('STATUS: deployed') });
    for (const name of FLIPOPS) expect([name, await ownerOf(name)]).toEqual([name, 'routedip-operator']);
    // The columns are ours.
    expect(await run('get', 'floatingippools')).toMatch(/^NAME +PROVIDER +DESIRED.*\nkept /);
    const { containers } = JSON.parse(await run('-n', 'flipop', 'get', 'deployment/routedip-operator', '-o', 'json')).spec.template.spec;
    expect(containers[0].args).toContain('--tokens-secret=flipop');
    outputOf('helm', ['uninstall', 'routedip-operator', '--namespace', 'flipop', '--kubeconfig', cluster.kubeconfig]);
  });
});

describe('kubectl', () => {
  const folder = join(ROOT, 'deploy');
  /** kubectl sends its selector again each time, whatever the server has: it is one that a patch replaces as a whole. */
  const ALWAYS_SENT = 'poddisruptionbudget.policy/routedip-operator';

  const applied = async (...args: readonly string[]): Promise<Readonly<Record<string, string>>> =>
    Object.fromEntries(
      (await run('apply', ...args))
        .trim()
        .split('\n')
        .map((line) => line.split(' ')),
    );

  const changedIn = (result: Readonly<Record<string, string>>): readonly string[] =>
    Object.entries(result).flatMap(([name, word]) => (word === 'unchanged' ? [] : [name]));

  test('finds nothing to change in what it has applied', async () => {
    await applied('-k', folder);
    const budget = '/apis/policy/v1/namespaces/routedip-operator/poddisruptionbudgets/routedip-operator';
    const { body } = await cluster.send(budget);
    const again = await applied('-k', folder);
    expect(Object.keys(again).length).toBeGreaterThan(20);
    expect(changedIn(again)).toEqual([ALWAYS_SENT]);
    expect((await cluster.send(budget)).body.metadata.resourceVersion).toBe(body.metadata.resourceVersion);
    expect(await run('diff', '-k', folder)).toBe('');
  });

  test.each(['metrics-auth', 'dashboard', 'inspector', 'journal', 'vip-admission-policies', 'vip-admission-webhook', 'virtual-ips'])(
    'finds nothing to change in deploy/%s.yaml',
    async (name) => {
      const path = join(folder, `${name}.yaml`);
      await applied('-f', path);
      expect(await run('diff', '-f', path)).toBe('');
    },
  );
});
