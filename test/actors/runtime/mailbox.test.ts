import { describe, expect } from 'vitest';
import type { Address } from '../../../machines/model/types.ts';
import { test } from '../../support/sound.ts';
import { node } from '../../support/world.ts';

const SECOND = 1000;
const addressNumber = (index: number): Address => `198.51.100.${index}` as Address;

describe('a pool', () => {
  test('hears of its nodes while a provider call hangs', async ({ open }) => {
    const world = open();
    world.nodes(node('a'), node('b'));
    const [one, two] = [addressNumber(1), addressNumber(2)];
    world.address(one);
    world.address(two, 'b');
    const ref = world.pool('ingress', { ips: [one, two] });
    world.provider.faults.next('assignRoutedIP', { kind: 'hang' });
    await world.start();
    await world.untilStates(ref, { [one]: 'in-progress', [two]: 'active' });
    world.cluster.setNode(node('b', { ready: false }));
    expect(await world.untilStates(ref, { [one]: 'in-progress', [two]: 'no-match' })).toBeLessThan(100);
    world.nodes(node('c'));
    expect(await world.untilOn(two, 'c')).toBeLessThan(SECOND);
    expect(world.assigns()[0]?.result).toBe('sent');
  });

  test('fails one address over at once while the calls of fifty others hang', async ({ open }) => {
    const world = open({ provider: { quota: 200 } });
    const many = Array.from({ length: 50 }, (_, index) => addressNumber(index + 1));
    const last = addressNumber(51);
    world.nodes(...many.map((_, index) => node(`n${index + 1}`)), node('last'));
    for (const address of many) world.address(address);
    world.address(last, 'last');
    const ref = world.pool('ingress', { ips: [...many, last] });
    world.provider.faults.next('assignRoutedIP', { kind: 'hang' }, 50);
    await world.start();
    await world.clock.runUntil(() => world.assigns().length === 50, 5 * SECOND);
    await world.clock.runUntil(() => world.states(ref)[last] === 'active', SECOND);
    world.nodes(node('spare'));
    world.cluster.setNode(node('last', { ready: false }));
    expect(await world.untilOn(last, 'spare')).toBeLessThan(SECOND);
    expect(world.assigns().filter(({ result }) => result === 'sent')).toHaveLength(50);
    await world.clock.runUntil(() => world.status(ref).activeIPs === 51, 120 * SECOND);
  });

  test('takes one turn, one write and one job from a lost node to the provider call', async ({ open }) => {
    const world = open();
    const saves: string[] = [];
    world.nodes(node('a'), node('b'));
    world.address(addressNumber(1), 'a');
    const ref = world.pool('ingress', { ips: [addressNumber(1)] });
    await world.start((point, about) => {
      if (point === 'beforeWrite' && about.startsWith('pool/')) saves.push(about);
      return false;
    });
    await world.untilStates(ref, { [addressNumber(1)]: 'active' });
    await world.clock.advance(30 * SECOND);
    saves.length = 0;
    const reads = world.provider.calls.length;
    world.cluster.setNode(node('a', { ready: false }));
    expect(await world.clock.runUntil(() => world.assigns().length === 1, SECOND)).toBe(0);
    expect(saves).toEqual(['pool/default/ingress']);
    expect(world.provider.calls.slice(reads).map(({ verb }) => verb)).toEqual(['assignRoutedIP']);
  });

  test('serves 300 addresses, more than one write takes', async ({ open }) => {
    const world = open({ provider: { quota: 1000 } });
    const many = Array.from({ length: 300 }, (_, index) => `10.0.${index >> 8}.${index & 255}` as Address);
    world.nodes(...many.map((_, index) => node(`n${String(index).padStart(3, '0')}`)));
    for (const address of many) world.address(address);
    const ref = world.pool('ingress', { ips: many });
    await world.start();
    await world.clock.runUntil(() => world.status(ref).activeIPs === 300, 60 * SECOND);
    expect(world.assigns()).toHaveLength(300);
  });
});
