import { describe, expect, test } from 'vitest';
import type { JobScript } from '../../simulator/kubernetes/job-scripts.ts';
import type { JsonObject } from '../../simulator/kubernetes/objects.ts';
import { MORTAL_FLAGS } from '../support/operator.ts';
import { routedStage } from './routed.ts';

const JOBS = 'routedip-operator';
const ADDRESS = '192.0.2.10';

const template: JsonObject = {
  template: { spec: { restartPolicy: 'Never', containers: [{ name: 'platform', image: 'registry.example/shell:1' }] } },
};

/** What a platform's script answers when all goes well; every Job takes 200 ms. */
const WELL: readonly JobScript[] = [
  { outcome: 'exit', ms: 200, selector: 'routedip.io/action=create', message: `{"address":"${ADDRESS}"}` },
  { outcome: 'exit', ms: 200, selector: 'routedip.io/action=find', message: '{"address":"$(ROUTEDIP_ADDRESS)"}' },
  {
    outcome: 'exit',
    ms: 200,
    selector: 'routedip.io/purpose',
    message: '{"address":"$(ROUTEDIP_ADDRESS)","providerID":"$(ROUTEDIP_NODE_PROVIDER_ID)"}',
  },
];

describe('a RoutedIP of a class driven by Jobs', () => {
  const { routed } = routedStage();

  const begin = async (scripts: readonly JobScript[] = []) => {
    const { stage, setClass, service, routedIP } = routed();
    const { simulator } = stage.target;
    if (!simulator) throw new Error('Jobs go by script in the simulator only');
    simulator.jobs.clear();
    for (const script of [...scripts, ...WELL]) simulator.jobs.add(script);
    await stage.nodes('a', 'b');
    await setClass('http', { className: 'example.com/http', updateRoutedIP: template, updateFirewall: template });
    await service('web', ['a', 'b']);
    await routedIP('web', { className: 'example.com/http' });
    const before = simulator.requests.length;
    const created = () =>
      simulator.requests.slice(before).filter(({ method, path, code }) => method === 'POST' && path.endsWith('/jobs') && code === 201)
        .length;
    return { simulator, created, left: () => simulator.store.list('batch/v1', 'Job', { namespace: JOBS }) };
  };

  test('is led to a node, and to another one when that is lost, by Jobs alone', { timeout: 120_000 }, async () => {
    const { created, left } = await begin();
    const { stage, stable, status } = routed();
    await stage.start();
    expect(await stable('web')).toBe(ADDRESS);
    const first = (await status('web'))?.assignedNode ?? '';
    expect(['a', 'b']).toContain(first);
    expect(created()).toBeGreaterThanOrEqual(3);
    await stage.notReady(first);
    await stable('web', first === 'a' ? 'b' : 'a');
    await stage.until('no Job is left', () => left().length === 0);
    expect(stage.cloud.calls.select({ writes: true })).toEqual([]);
  });

  test('tells of a Job that failed, and goes on with the next one', { timeout: 120_000 }, async () => {
    const failing: JobScript = {
      outcome: 'exit',
      exitCode: 75,
      ms: 200,
      count: 1,
      selector: 'routedip.io/action=assign',
      message: '{"message":"no answer"}',
    };
    // What failed is shown until it has worked.
    const slow: JobScript = { ...WELL[2], outcome: 'exit', ms: 1_000, count: 1, selector: 'routedip.io/action=assign' };
    await begin([failing, slow]);
    const { stage, stable, status } = routed();
    await stage.start();
    await stage.until('the failure is shown', async () => JSON.stringify(await status('web')).includes('exit code 75: no answer'));
    expect(await stable('web')).toBe(ADDRESS);
  });

  test('says why a Job has no Pod, and no more once it has one', { timeout: 120_000 }, async () => {
    const refused: JobScript = {
      outcome: 'refused',
      ms: 12_000,
      count: 1,
      selector: 'routedip.io/action=assign',
      message: 'exceeded quota: pods',
    };
    await begin([refused, { ...WELL[2], outcome: 'exit', ms: 3_000, count: 1, selector: 'routedip.io/action=assign' }]);
    const { stage, stable, condition, events } = routed();
    await stage.start();
    const degraded = () => condition('web', 'Degraded');
    await stage.until('it is told', async () => (await degraded())?.reason === 'FailedCreate');
    expect(await degraded()).toMatchObject({ status: 'True', message: expect.stringMatching(/Job \S+ waits: .* exceeded quota: pods/) });
    await stage.until('it is told no more', async () => (await degraded())?.reason === 'AsExpected');
    expect(await stable('web')).toBe(ADDRESS);
    for (const name of ['web', 'http']) expect(await events(name)).toContain('FailedCreate');
  });

  test('is heard of by the next leader when its process is killed in the middle', { timeout: 120_000 }, async () => {
    const slow: JobScript = {
      outcome: 'exit',
      ms: 3_000,
      count: 1,
      selector: 'routedip.io/action=create',
      message: `{"address":"${ADDRESS}"}`,
    };
    const { simulator, left } = await begin([slow]);
    const { stage, stable } = routed();
    const first = await stage.start({ flags: MORTAL_FLAGS });
    await stage.until('the Job that creates runs', () => left().length === 1);
    first.kill('SIGKILL');
    await stage.start({ flags: MORTAL_FLAGS });
    expect(await stable('web')).toBe(ADDRESS);
    const made = simulator.requests.filter(({ method, path, code }) => method === 'POST' && path.endsWith('/jobs') && code === 201);
    expect(made.length).toBeGreaterThanOrEqual(3);
    expect(stage.cloud.calls.select({ writes: true })).toEqual([]);
  });

  test('has the Job that assigns followed on by the next leader, though its template cannot find', { timeout: 120_000 }, async () => {
    const by = (action: string): Pick<JobScript, 'outcome' | 'selector'> => ({ outcome: 'exit', selector: `routedip.io/action=${action}` });
    const message = '{"providerID":"$(ROUTEDIP_NODE_PROVIDER_ID)"}';
    const { created, left } = await begin([
      { ...by('assign'), ms: 8_000, message },
      { ...by('find'), exitCode: 65 },
    ]);
    const { stage, stable } = routed();
    const first = await stage.start({ flags: MORTAL_FLAGS });
    const isAssigning = () => left().some(({ metadata }) => metadata.labels?.['routedip.io/action'] === 'assign');
    await stage.until('the Job that assigns runs', isAssigning);
    first.kill('SIGKILL');
    await stage.start({ flags: MORTAL_FLAGS });
    expect(await stable('web')).toBe(ADDRESS);
    await stage.until('no Job is left', () => left().length === 0);
    expect(created(), 'one that creates, one that opens, one that assigns').toBe(3);
  });
});
