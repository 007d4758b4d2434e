import { describe, expect, test } from 'vitest';
import { GROUP_CLASS, runJobs } from '../e2e/group-jobs.ts';
import { routedStageOnce } from '../e2e/routed.ts';
import { Vips } from '../e2e/vip-objects.ts';

/** RoutedIPs and Services that share one IPGroup of three addresses. They go on where the one before has ended. */
describe('an IPGroup that RoutedIPs and Services share', () => {
  const routed = routedStageOnce();
  const vips = (): Vips => new Vips(routed().stage);
  const actions = new Set<string>();

  /** Until then, Jobs go on. */
  const until = (what: string, holds: () => Promise<boolean>): Promise<void> =>
    routed().stage.until(what, async () => {
      for (const action of await runJobs(routed().stage)) actions.add(action);
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
    await put(GROUP_CLASS);
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
