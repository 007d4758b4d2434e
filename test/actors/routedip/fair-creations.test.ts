import { describe, expect } from 'vitest';
import type { ObjectRef } from '../../../machines/model/types.ts';
import { node } from '../../support/world.ts';
import { test } from './routedip-test.ts';
import { CLASS_NAME, MINUTE, type RoutedWorld, SECOND, service } from './world.ts';

const NODES = Array.from({ length: 16 }, (_, index) => node(`n${index}`));
const NAMES = NODES.map(({ name }) => name);

function routedIP(world: RoutedWorld, namespace: string, name: string): ObjectRef {
  world.cluster.setService(namespace, name, service(NAMES));
  const spec = { className: CLASS_NAME, serviceRef: { serviceName: name } };
  return world.cluster.setPool({ kind: 'RoutedIP', namespace, name, spec });
}

const made = (world: RoutedWorld): number => world.changes().filter((verb) => verb === 'createRoutedIP').length;

describe('a namespace that wants many addresses at once', () => {
  test('gets them in turn with others, however many it asks for and however early', async ({ open }) => {
    const world = open({ provider: { callMs: SECOND } });
    world.setClass({ routedIPFirewallName: '' });
    world.setNode(...NODES);
    for (let index = 0; index < 12; index += 1) routedIP(world, 'greedy', `a${index}`);
    await world.leader();
    await world.clock.runUntil(() => made(world) === 3, MINUTE);
    const own = [routedIP(world, 'modest', 'one'), routedIP(world, 'modest', 'two'), routedIP(world, 'quiet', 'one')];
    const hasAddress = (ref: ObjectRef): boolean => world.statusOf(ref).routedIP !== undefined;
    await world.clock.runUntil(() => own.every(hasAddress), 5 * MINUTE);
    // Those under way when they came, theirs, and as many of the others in between.
    expect(made(world)).toBeLessThanOrEqual(10);
  });
});
