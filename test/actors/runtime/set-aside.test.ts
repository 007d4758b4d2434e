import { describe, expect, test } from 'vitest';
import type { Charts } from '../../../actors/runtime/charts.ts';
import type { JobName } from '../../../machines/jobs.ts';
import type { Address, ObjectRef } from '../../../machines/model/types.ts';
import { node, PROVIDER, World } from '../../support/world.ts';
import { RoutedWorld } from '../routedip/world.ts';
import { VipWorld } from '../vip/world.ts';

const A = '203.0.113.207';
const B = '203.0.113.208';

/** Handling throws when an address asks for this job for the n-th time. */
function throwsAt(nth: number, job: JobName): (charts: Charts) => Charts {
  let asked = 0;
  return (charts) => {
    const { ip } = charts;
    if (!ip) throw new Error('there is no chart of an address');
    const spoilt: typeof ip = {
      ...ip,
      job: (name, input) => {
        if (name === job) asked += 1;
        if (name === job && asked === nth) throw new Error('a defect');
        return ip.job(name, input);
      },
    };
    return { ...charts, ip: spoilt };
  };
}

/** Handling of events of this type throws while `isSpoilt` says so. */
function throwsOn(name: string, type: string, isSpoilt: () => boolean): (charts: Charts) => Charts {
  return (charts) => {
    const chart = charts[name];
    if (!chart) throw new Error(`there is no chart named ${name}`);
    const transition: typeof chart.machine.transition = (snapshot, event, scope) => {
      if (event.type === type && isSpoilt()) throw new Error('a defect');
      return chart.machine.transition(snapshot, event, scope);
    };
    return { ...charts, [name]: { ...chart, machine: Object.create(chart.machine, { transition: { value: transition } }) } };
  };
}

const SECOND = 1000;

const conditionOf = (world: World, ref: ObjectRef, type: string) =>
  world.cluster.conditions(ref).find((condition) => condition.type === type);

const setAside = (world: World) =>
  world.log.flatMap(({ message, fields }) => (message.startsWith('an event was set aside') ? [fields] : []));

describe('an event whose handling throws', () => {
  test('holds up neither the address nor the rest of its pool: what it said is told again', async () => {
    const world = new World({ spoil: throwsAt(1, 'assign') });
    world.nodes(node('a'), node('b'));
    world.address(A);
    world.address(B);
    const ref = world.pool('ingress', { ips: [A, B] });
    await world.start();
    await world.untilStates(ref, { [A]: 'active', [B]: 'active' }, 300_000);
    expect(setAside(world)).toEqual([expect.objectContaining({ event: 'CLUSTER_OBSERVED', error: 'Error: a defect' })]);
    expect(world.invariants.violations).toEqual([]);
    expect(world.assigns()).toHaveLength(2);
  });

  test('is missed when it was an outcome: its job is issued again', async () => {
    const world = new World({ spoil: throwsAt(2, 'assign') });
    world.nodes(node('a'), node('b'));
    world.address(A);
    const ref = world.pool('ingress', { ips: [A] });
    await world.start();
    await world.untilStates(ref, { [A]: 'active' });
    const holder = world.holderOf(A);
    world.provider.cloud.moveByHand(A as Address, null);
    await world.clock.runUntil(() => setAside(world).length === 1, 20 * 60_000);
    expect(await world.untilOn(A, holder, 30 * SECOND)).toBeLessThan(5 * SECOND);
    await world.untilStates(ref, { [A]: 'active' });
    expect(setAside(world)).toEqual([expect.objectContaining({ event: 'xstate.done.actor.find', error: 'Error: a defect' })]);
    expect(world.invariants.violations).toEqual([]);
    expect(world.assigns()).toHaveLength(2);
  });
});

describe('what was set aside', () => {
  test('is asked for again at a slow pace when its outcome is set aside again and again, and is told of as long as that lasts', async () => {
    let isSpoilt = false;
    const world = new World({ spoil: throwsOn('ip', 'xstate.done.actor.find', () => isSpoilt) });
    world.nodes(node('a'), node('b'));
    world.address(A);
    const ref = world.pool('ingress', { ips: [A] });
    await world.start();
    await world.untilStates(ref, { [A]: 'active' });
    isSpoilt = true;
    world.provider.cloud.moveByHand(A as Address, null);
    await world.clock.runUntil(() => setAside(world).length === 1, 20 * 60_000);
    await world.clock.advance(2 * SECOND);
    const message = expect.stringContaining('xstate.done.actor.find could not be handled by pool/default/ingress/ip/203.0.113.207');
    expect(conditionOf(world, ref, 'Degraded')).toEqual({ type: 'Degraded', status: 'True', reason: 'EventSetAside', message });
    await world.clock.advance(60 * 60 * SECOND);
    expect(setAside(world).length).toBeGreaterThan(6);
    expect(setAside(world).length).toBeLessThan(20);
    isSpoilt = false;
    await world.untilOn(A, 'a', 6 * 60 * SECOND);
    await world.untilStates(ref, { [A]: 'active' });
    await world.clock.advance(2 * SECOND);
    expect(conditionOf(world, ref, 'Degraded')?.status).toBe('False');
  });

  test('is told in the condition of a RoutedIP, also when it was its firewall that could not handle it', async () => {
    let isSpoilt = false;
    const world = new RoutedWorld({ spoil: throwsOn('firewall', 'CLAIM', () => isSpoilt) });
    world.setNode(node('a'), node('b'));
    world.setClass();
    world.setWeb('www', ['a', 'b']);
    const ref = world.setRoutedIP('www');
    isSpoilt = true;
    await world.start();
    await world.clock.runUntil(() => conditionOf(world, ref, 'Degraded')?.reason === 'EventSetAside', 60 * SECOND);
    expect(world.messageOf(ref, 'Degraded')).toContain('CLAIM could not be handled by firewall/');
    isSpoilt = false;
    await world.clock.runUntil(() => world.reasonOf(ref) === 'Assigned', 10 * 60 * SECOND);
    await world.clock.advance(2 * SECOND);
    expect(world.reasonOf(ref, 'Degraded')).toBe('AsExpected');
  });

  test('is told in the condition of a NodeDNSRecordSet, whose cell is begun anew where it was the beginning', async () => {
    let isSpoilt = true;
    const world = new World({ spoil: beginsNot('dns-record-set', () => isSpoilt) });
    world.nodes(node('a'));
    const spec = { match: { nodeLabel: 'pool=work' }, dnsRecordSet: { zone: 'example.com', recordName: 'web', provider: PROVIDER } };
    const ref = world.cluster.setPool({ kind: 'NodeDNSRecordSet', name: 'web', spec });
    await world.start();
    await world.clock.advance(15 * SECOND);
    expect(conditionOf(world, ref, 'Ready')).toMatchObject({ status: 'Unknown', reason: 'EventSetAside' });
    isSpoilt = false;
    await world.clock.advance(40 * SECOND);
    expect(conditionOf(world, ref, 'Ready')?.status).not.toBe('Unknown');
    expect(world.status(ref)).toMatchObject({ observedGeneration: 1 });
  });

  test('is told in an Event of a Service', async () => {
    const services = new VipWorld({ vips: { callMs: 10 }, spoil: throwsOn('vip-service', 'SERVICE_OBSERVED', () => true) });
    services.k8s.setGroup('g', { segment: '1.1.1.0/29', excludedIPs: [] });
    services.k8s.setService({ name: 'web' });
    await services.start();
    await services.clock.advance(5 * SECOND);
    expect(eventsOf(services)).toEqual(['Service web EventSetAside']);
  });
});

/** Its first event is set aside while `isSpoilt` says so. */
function beginsNot(name: string, isSpoilt: () => boolean): (charts: Charts) => Charts {
  return (charts) => {
    const chart = charts[name];
    if (!chart) throw new Error(`there is no chart named ${name}`);
    const getInitialSnapshot: typeof chart.machine.getInitialSnapshot = (...args) => {
      if (isSpoilt()) throw new Error('a defect');
      return chart.machine.getInitialSnapshot(...args);
    };
    return {
      ...charts,
      [name]: { ...chart, machine: Object.create(chart.machine, { getInitialSnapshot: { value: getInitialSnapshot } }) },
    };
  };
}

const eventsOf = (world: World): readonly string[] =>
  world.cluster.announced
    .filter(({ event }) => event.reason === 'EventSetAside')
    .map(({ about, event }) => `${about.kind} ${about.name} ${event.reason}`);

describe('a pool whose turns cannot be saved', () => {
  test('is tried again by itself, under the same term, while the others are served', async () => {
    const world = new World();
    world.nodes(node('a'), node('b'), node('c'));
    world.address(A);
    world.address(B);
    const [bad, good] = [world.pool('bad', { ips: [A] }), world.pool('good', { ips: [B] })];
    let failing = false;
    let tried = 0;
    const { connect } = world.store;
    world.store.connect = () => {
      const store = connect();
      const save: typeof store.save = async (write) => {
        if (!failing || write.cell !== 'pool/default/bad') return store.save(write);
        tried += 1;
        throw new Error('a reply that only a defect explains');
      };
      return { ...store, save };
    };
    const { supervisor } = await world.start();
    await world.untilStates(bad, { [A]: 'active' });
    await world.untilStates(good, { [B]: 'active' });
    const term = supervisor.term;
    failing = true;
    const [failed, moved] = [world.holderOf(A) ?? '', world.holderOf(B) ?? ''];
    world.cluster.setNode(node(failed, { ready: false }), node(moved, { ready: false }));
    await world.clock.runUntil(() => ![failed, moved].includes(world.holderOf(B) ?? moved), 10_000);
    await world.clock.advance(10 * 60_000);
    const refused = 'what is decided cannot be saved, and is tried again every 30 s: Error: a reply that only a defect explains';
    expect(conditionOf(world, bad, 'Degraded')).toMatchObject({ status: 'True', reason: 'TurnFailed', message: refused });
    expect(conditionOf(world, good, 'Degraded')?.reason).toBe('AsExpected');
    expect(supervisor.failing()).toEqual({ save: 1, turn: 0 });
    expect(linesAbout(world)).toEqual(['a turn failed', 'a cell whose turns fail is tried at a slow pace from now on']);
    expect(supervisor.term).toBe(term);
    expect(world.states(good)).toEqual({ [B]: 'active' });
    expect(tried).toBeGreaterThan(3);
    expect(tried).toBeLessThan(60);

    failing = false;
    world.cluster.setNode(node(failed), node(moved));
    await world.untilStates(bad, { [A]: 'active' }, 60_000);
    await world.clock.runUntil(() => ![null, moved].includes(world.holderOf(A)), 60_000);
    await world.clock.advance(31 * SECOND);
    expect([conditionOf(world, bad, 'Degraded')?.status, supervisor.failing()]).toEqual(['False', { save: 0, turn: 0 }]);
    expect(linesAbout(world).slice(2)).toEqual(['a cell whose turns failed goes on']);
    expect(supervisor.term).toBe(term);
    expect(world.invariants.violations).toEqual([]);
  });
});

/** What is said of cells whose turns fail. */
const linesAbout = (world: World): readonly string[] =>
  world.log.map(({ message }) => message).filter((message) => /^a (turn failed|cell whose)/.test(message));
