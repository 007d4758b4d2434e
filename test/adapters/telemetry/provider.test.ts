import { describe, expect, test } from 'vitest';
import { Fenced, ProviderError } from '../../../actors/ports/errors.ts';
import type { Call, CallOwner, Provider } from '../../../actors/ports/provider.ts';
import type { Address } from '../../../machines/model/types.ts';
import { metrics } from '../../support/metrics.ts';

describe('a provider', () => {
  const owner: CallOwner = { kind: 'FloatingIPPool', namespace: 'default', name: 'ingress' };
  const provider = (assign: Provider['assignRoutedIP']): Provider =>
    ({
      name: 'digitalocean',
      assignRoutedIP: assign,
      findRoutedIP: async () => Promise.reject(new Error('unused')),
    }) as unknown as Provider;
  const assign = (p: Provider, call: Call = { purpose: 'failover' }) =>
    p.assignRoutedIP('203.0.113.1' as Address, 'digitalocean://1' as never, call);
  const OWNED = 'provider="digitalocean",call="AssignIP",kind="FloatingIPPool",namespace="default",name="ingress"';
  const NOBODY = 'provider="digitalocean",call="AssignIP",kind="",namespace="",name=""';

  test('answers through the decorator, and its calls are counted under the names that FLIPOP gave them and the object they are for', async () => {
    const { instrument, of } = metrics();
    const counted = instrument(provider(async () => 'action-1'));
    expect(await assign(counted, { purpose: 'failover', owner })).toBe('action-1');
    expect(await of('flipop_providers_calls_total')).toEqual([`flipop_providers_calls_total{${OWNED},outcome="success"} 1`]);
    expect(await of('flipop_providers_call_duration_seconds_count')).toEqual([`flipop_providers_call_duration_seconds_count{${OWNED}} 1`]);
  });

  test('counts calls for many objects under none', async () => {
    const { instrument, of } = metrics();
    await assign(instrument(provider(async () => null)));
    expect(await of('flipop_providers_calls_total')).toEqual([`flipop_providers_calls_total{${NOBODY},outcome="success"} 1`]);
  });

  test('forgets the calls for an object that is gone; a late one is nobody’s, and one of the same name begins at 1', async () => {
    const { instrument, objects, of } = metrics();
    const counted = instrument(provider(async () => null));
    const failing = instrument(provider(() => Promise.reject(new ProviderError('Unavailable', '503'))));
    const other = { ...owner, name: 'other' };
    for (const each of [owner, owner, other]) await assign(counted, { purpose: 'failover', owner: each });
    await expect(assign(failing, { purpose: 'failover', owner })).rejects.toThrow('503');
    expect(await of('flipop_providers_calls_total')).toHaveLength(3);

    objects.gone(owner);
    const OTHER = OWNED.replace('ingress', 'other');
    expect(await of('flipop_providers_calls_total')).toEqual([`flipop_providers_calls_total{${OTHER},outcome="success"} 1`]);
    expect(await of('flipop_providers_call_duration_seconds_count')).toEqual([`flipop_providers_call_duration_seconds_count{${OTHER}} 1`]);

    await assign(counted, { purpose: 'failover', owner });
    expect(await of('flipop_providers_calls_total')).toContain(`flipop_providers_calls_total{${NOBODY},outcome="success"} 1`);
    objects.seen(owner);
    await assign(counted, { purpose: 'failover', owner });
    expect(await of('flipop_providers_calls_total')).toContain(`flipop_providers_calls_total{${OWNED},outcome="success"} 1`);
  });

  test('that is asked for a thousand RoutedIPs has no more series than for one, and they stay when one goes', async () => {
    const { instrument, objects, of, text } = metrics();
    const counted = instrument(provider(async () => null));
    const ask = (number: number) =>
      assign(counted, { purpose: 'failover', owner: { kind: 'RoutedIP', namespace: `tenant-${number}`, name: `web-${number}` } });
    await ask(0);
    const lines = (body: string): number => body.split('\n').length;
    const before = lines(await text());
    for (let number = 1; number < 1_000; number += 1) await ask(number);
    const body = await text();
    expect(lines(body)).toBe(before);
    expect(body).not.toMatch(/tenant-|web-/);
    objects.gone({ kind: 'RoutedIP', namespace: 'tenant-0', name: 'web-0' });
    const shared = 'provider="digitalocean",call="AssignIP",kind="RoutedIP",namespace="",name=""';
    expect(await of('flipop_providers_calls_total')).toEqual([`flipop_providers_calls_total{${shared},outcome="success"} 1000`]);
  });

  test('has buckets for a call that waits for its budget and then takes as long as one may', async () => {
    const { instrument, of } = metrics();
    await assign(instrument(provider(async () => null)), { purpose: 'failover', owner });
    const buckets = (await of('flipop_providers_call_duration_seconds_bucket')).map((line) => /le="([^"]*)"/.exec(line)?.[1]);
    expect(buckets.slice(-4)).toEqual(['30', '60', '120', '+Inf']);
  });

  const outcomes: Record<string, { error: Error; outcome: string | null }> = {
    'that failed as an error': { error: new ProviderError('Unavailable', 'assign: 503'), outcome: 'error' },
    'that is under way as a success': { error: new ProviderError('InProgress', 'assign: pending event'), outcome: 'success' },
    'that was fenced not at all': { error: new Fenced('command is not waited for'), outcome: null },
  };
  for (const [title, { error, outcome }] of Object.entries(outcomes)) {
    test(`counts a call ${title}`, async () => {
      const { instrument, of } = metrics();
      const counted = instrument(provider(() => Promise.reject(error)));
      await expect(assign(counted)).rejects.toBe(error);
      const lines = await of('flipop_providers_calls_total');
      expect(lines).toHaveLength(outcome === null ? 0 : 1);
      if (outcome) expect(lines[0]).toContain(`outcome="${outcome}"`);
    });
  }

  test('keeps `this` for methods that need it', async () => {
    class Counting {
      readonly name = 'digitalocean';
      readonly ref = 'action-2';
      assignRoutedIP(): Promise<string> {
        return Promise.resolve(this.ref);
      }
    }
    const counted = metrics().instrument(new Counting() as unknown as Provider);
    expect(await assign(counted)).toBe('action-2');
  });
});
