import { describe, expect, test } from 'vitest';
import { refusal, ServerUnreachable } from '../../adapters/kubernetes/client/api-error.ts';
import type { Fault } from '../../adapters/memory/faults.ts';
import { SECOND, VipWorld } from '../actors/vip/world.ts';
import { writing } from '../adapters/kubernetes/writer/writer-support.ts';
import { waitFor } from '../support/wait-for.ts';

const PATH = '/apis/flipop.digitalocean.com/v1alpha1/namespaces/default/floatingippools/pool/status';

describe('a status that cannot be written', () => {
  test('is told by an Event when the server answers with errors, although it was away before', async () => {
    const world = await writing();
    let tries = 0;
    const { writer } = world.meddled((request) => {
      if (request.path !== PATH || request.method !== 'PATCH') return;
      tries += 1;
      if (tries <= 3) throw new ServerUnreachable('patch floatingippools/status: connection refused');
      throw refusal({ verb: 'patch', path: PATH }, 500, 'failed calling webhook "x.example.com": connection refused');
    });
    writer.project(world.projection());
    await waitFor('many tries', () => tries >= 20);
    const told = () => world.simulator.store.list('events.k8s.io/v1', 'Event').filter(({ reason }) => reason === 'APIServerError');
    await waitFor('the Event', () => told().length === 1);
  });
});

describe('a Service that is deleted and has an address to give back', () => {
  test('is watched although there is no IPGroup any more', async () => {
    const w = new VipWorld({ vips: { callMs: 10 } });
    w.k8s.setGroup('g', { segment: '1.1.1.0/30', excludedIPs: ['1.1.1.0'] });
    const process = await w.start();
    const ref = w.k8s.setService({ name: 'web' });
    await w.untilListed({ web: '1.1.1.1' });
    const fails: Fault = { kind: 'refuse', error: 'Unavailable', message: 'failed calling webhook' };
    w.k8s.faults.always('unguard', fails);
    w.k8s.removeGroup('g');
    w.k8s.deleteService(ref);
    await w.clock.advance(30 * SECOND);
    expect(process.supervisor.unserved().map(({ kind, reason }) => `${kind} ${reason}`)).toEqual(['Service APIServerError']);
  });
});
