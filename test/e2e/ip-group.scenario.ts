import { describe, expect, test } from 'vitest';
import { KubeClientError } from '../../simulator/kubernetes/client.ts';
import type { JsonObject } from '../../simulator/kubernetes/objects.ts';
import { GROUP, type Routed, routedStageOnce } from './routed.ts';
import { Vips } from './vip-objects.ts';

const JOBS = 'routedip-operator';

const TEMPLATE: JsonObject = {
  template: { spec: { restartPolicy: 'Never', containers: [{ name: 'platform', image: 'registry.example/shell:1' }] } },
};

const CLASS: JsonObject = {
  apiVersion: GROUP,
  kind: 'ClusterRoutedIPClass',
  metadata: { name: 'http' },
  spec: {
    className: 'example.com/http',
    region: 'nyc3',
    nodePortRange: '31000-32767',
    perNodeIPLimit: 10,
    routedIPReclaimPolicy: 'Delete',
    ipGroup: 'edge',
    updateRoutedIP: TEMPLATE,
  },
};

interface JobObject {
  readonly metadata: { readonly name: string; readonly labels?: Readonly<Record<string, string>> };
  readonly status?: { readonly conditions?: readonly unknown[] };
}

/** Has each Job of the class end well, since nothing runs here; answers their actions. A Job ends by this alone, so none is missed. */
async function runJobs({ stage: { target } }: Routed): Promise<readonly string[]> {
  const jobs = (await target.client.list('batch/v1', 'Job', { namespace: JOBS })) as unknown as readonly JobObject[];
  for (const { metadata, status } of jobs.filter((job) => !job.status?.conditions?.length)) {
    // As the Job controller writes it, which the server insists on.
    const conditions = ['SuccessCriteriaMet', 'Complete'].map((type) => ({ type, status: 'True' }));
    const at = `${new Date().toISOString().slice(0, 19)}Z`;
    const ended = { ...status, startTime: at, completionTime: at, succeeded: 1, conditions };
    const ref = { apiVersion: 'batch/v1', kind: 'Job', namespace: JOBS, name: metadata.name };
    await target.client
      .patch(ref, { status: ended } as unknown as JsonObject, { subresource: 'status' })
      // It may have been cleared meanwhile.
      .catch((error: unknown) => {
        if (!(error instanceof KubeClientError && error.code === 404)) throw error;
      });
  }
  return jobs.map(({ metadata }) => metadata.labels?.['routedip.io/action'] ?? '');
}

/** RoutedIPs and Services that share one IPGroup of three addresses. They go on where the one before has ended. */
export const ipGroupScenarios = () =>
  describe('an IPGroup that RoutedIPs and Services share', () => {
    const routed = routedStageOnce();
    const vips = (): Vips => new Vips(routed().stage);
    const actions = new Set<string>();

    /** Until then, Jobs go on. */
    const until = (what: string, holds: () => Promise<boolean>): Promise<void> =>
      routed().stage.until(what, async () => {
        for (const action of await runJobs(routed())) actions.add(action);
        return holds();
      });
    const has = (name: string, address: string) =>
      until(`RoutedIP ${name} has ${address}`, async () => {
        const status = await routed().status(name);
        return status?.state === 'Stable' && status.routedIP === address;
      });
    const says = (name: string, reason: string) =>
      until(`RoutedIP ${name} says ${reason}`, async () => (await routed().condition(name, 'Ready'))?.reason === reason);
    const shown = (available: number) =>
      until(`the group shows ${available} addresses left`, async () => (await vips().groupStatus('edge'))?.available === available);

    test('is waited for while it is not there; then a RoutedIP gets its lowest address, and a Service the next', async () => {
      const { stage, put, service, routedIP } = routed();
      await stage.nodes('a', 'b');
      await put(CLASS);
      await service('web', ['a', 'b']);
      await routedIP('web', { className: 'example.com/http' });
      await stage.start({ flags: ['--controllers=routedip,vip'] });
      await says('web', 'IPGroupNotFound');
      expect(await vips().reserved()).toEqual({});
      await vips().group('edge', '10.9.0.0/29', ['10.9.0.0', '10.9.0.4-10.9.0.7']);
      await has('web', '10.9.0.1');
      expect((await routed().status('web'))?.addressOrigin).toBe('IPGroup');
      await vips().service('lb');
      await vips().listing('lb', '10.9.0.2');
      expect(await vips().reserved()).toEqual({ '10.9.0.1': 'RoutedIP/default/web', '10.9.0.2': 'default/lb' });
      await shown(1);
      expect(actions.has('create'), 'no Job makes an address').toBe(false);
    });

    test('serves nobody more when it is full, says so, and serves who waits as soon as a Service gives its address back', async () => {
      const { service, routedIP } = routed();
      for (const name of ['named', 'waits']) await service(name, ['a', 'b'], [{ name: 'http', port: 80, targetPort: 80 }]);
      await routedIP('named', { className: 'example.com/http', routedIP: '10.9.0.3' });
      await has('named', '10.9.0.3');
      await routedIP('waits', { className: 'example.com/http' });
      await says('waits', 'IPGroupExhausted');
      await until('an Event says so', async () =>
        (await routed().notes('waits')).includes('IPGroupExhausted: IPGroup edge has no free address'),
      );
      await shown(0);
      await vips().remove('lb');
      await has('waits', '10.9.0.2');
      expect(Object.values(await vips().reserved()).sort()).toEqual(['named', 'waits', 'web'].map((name) => `RoutedIP/default/${name}`));
    });

    test('has an address free again when the Jobs have undone what they did for a RoutedIP that is deleted', async () => {
      actions.clear();
      await routed().deleteRoutedIP('web');
      await until('it is gone', async () => (await routed().status('web')) === null);
      expect(actions.has('delete')).toBe(true);
      await until('its address is free', async () => !('10.9.0.1' in (await vips().reserved())));
      await vips().service('next');
      await vips().listing('next', '10.9.0.1');
      expect(routed().changes(), 'no call of the cloud').toEqual([]);
      for (const name of ['named', 'waits']) await routed().deleteRoutedIP(name);
      await until('they are gone', async () => (await routed().status('named')) === null && (await routed().status('waits')) === null);
      await vips().remove('next');
      await until('nothing is reserved', async () => Object.keys(await vips().reserved()).length === 0);
    });
  });
