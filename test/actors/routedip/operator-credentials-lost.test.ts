import { describe, expect } from 'vitest';
import type { Provider } from '../../../actors/ports/provider.ts';
import { node, type OperatorProcess, PROVIDER } from '../../support/world.ts';
import { test } from './routedip-test.ts';
import { MINUTE, type RoutedWorld, SECOND } from './world.ts';

const NOT_ALLOWED = 'OperatorCredentialsNotAllowed';
const KEY = `${PROVIDER}@web.token`;
const FREE = '203.0.113.70';
const BY_ISSUER = { className: null, issuerRef: { name: 'own' } };
const OWN = { fromSecretsRef: [{ name: 'token' }] };
const HANGS = { kind: 'hang', effectAfterMs: 12 * SECOND } as const;

const setIssuer = (world: RoutedWorld, change = {}) =>
  world.cluster.setPolicy({
    kind: 'RoutedIPIssuer',
    namespace: 'web',
    name: 'own',
    spec: { issuerClass: PROVIDER, region: 'nyc3', ...change },
  });

/** A tenant's issuer with a Secret; `own`: what its account does otherwise than the operator's. */
function prepare(world: RoutedWorld, own: Partial<Provider> = {}): void {
  world.setNode(node('a'), node('b'));
  world.setWeb('shop', ['a', 'b']);
  world.namespaces.set('web', {});
  world.setClass({ routedIPFirewallName: '' });
  world.begins = ({ providers }) => {
    const standing = providers.all[PROVIDER];
    if (standing?.provider) providers.set(KEY, { ...standing, provider: { ...standing.provider, ...own } });
  };
  setIssuer(world, OWN);
}

/** An account in which nothing is, and of which no creation ever answers; `asked` once one was sent. */
function silent(): { readonly own: Partial<Provider>; readonly asked: () => boolean } {
  let isAsked = false;
  const createRoutedIP = (): Promise<never> => {
    isAsked = true;
    return new Promise(() => undefined);
  };
  return { own: { listRoutedIPs: async () => [], createRoutedIP }, asked: () => isAsked };
}

type Loss = 'the store restarted' | 'all records lost';

async function begunAgain(world: RoutedWorld, process: OperatorProcess, loss: Loss): Promise<void> {
  process.kill();
  world.invariants.forget();
  if (loss === 'the store restarted') world.store.restart();
  else {
    world.store.wipe();
    world.queues.wipe();
  }
  await world.start();
}

const change = (world: RoutedWorld, ref: { readonly uid: string }, status: object): void => {
  const object = [...world.rules.objects()].map((each) => world.cluster.pool(each)).find((each) => each?.ref.uid === ref.uid);
  Object.assign(object?.status as object, status);
};

describe('a RoutedIP that names an issuer that it may not use, when the operator begins anew', () => {
  for (const by of ['class', 'issuer'] as const)
    test(`does not come to the operator's credentials with what other ones were making: ${by}`, async ({ open }) => {
      const world = open();
      prepare(world);
      world.provider.faults.next('createRoutedIP', HANGS);
      const process = await world.leader();
      const ref = world.setRoutedIP('shop', by === 'class' ? {} : BY_ISSUER);
      await world.clock.runUntil(() => world.changes().includes('createRoutedIP'), MINUTE);
      await world.clock.advance(500);
      setIssuer(world);
      world.setRoutedIP('shop', BY_ISSUER);
      await world.clock.advance(500);
      await begunAgain(world, process, 'all records lost');
      await world.clock.advance(10 * MINUTE);
      expect([world.reasonOf(ref), world.changes()]).toEqual([NOT_ALLOWED, ['createRoutedIP']]);
    });

  test('takes nothing of another account for what was being made in its own, and deletes nothing there', async ({ open }) => {
    const world = open();
    const { own, asked } = silent();
    prepare(world, own);
    setIssuer(world, { ...OWN, routedIPReclaimPolicy: 'Delete' });
    world.address(FREE);
    const process = await world.leader();
    const ref = world.setRoutedIP('shop', BY_ISSUER);
    await world.clock.runUntil(asked, MINUTE);
    await world.clock.advance(500);
    setIssuer(world, { routedIPReclaimPolicy: 'Delete' });
    await world.clock.advance(500);
    await begunAgain(world, process, 'all records lost');
    await world.clock.advance(10 * MINUTE);
    world.cluster.markDeleting(ref);
    await world.clock.advance(10 * MINUTE);
    expect(world.changes()).toEqual([]);
  });

  for (const loss of ['the store restarted', 'all records lost'] as const)
    test(`is let go by the class that it was served by: ${loss}`, async ({ open }) => {
      const world = open();
      prepare(world);
      const process = await world.leader();
      const ref = world.setRoutedIP('shop');
      await world.stable(ref);
      setIssuer(world);
      world.setRoutedIP('shop', BY_ISSUER);
      await world.untilReason(ref, NOT_ALLOWED);
      await begunAgain(world, process, loss);
      await world.clock.advance(MINUTE);
      world.cluster.markDeleting(ref);
      await world.clock.runUntil(() => world.cluster.pool(ref) === null, 5 * MINUTE);
    });

  test('is let go although what became of its creation is unclear', async ({ open }) => {
    const world = open();
    const { own, asked } = silent();
    prepare(world, own);
    const process = await world.leader();
    const ref = world.setRoutedIP('shop', BY_ISSUER);
    await world.clock.runUntil(asked, MINUTE);
    await world.clock.advance(500);
    setIssuer(world);
    await world.clock.advance(500);
    await begunAgain(world, process, 'all records lost');
    await world.clock.advance(10 * MINUTE);
    world.cluster.markDeleting(ref);
    await world.clock.runUntil(() => world.cluster.pool(ref) === null, 60 * MINUTE);
  });

  for (const provider of [undefined, PROVIDER])
    test(`goes by the records, where there are any, and not by its status: provider ${provider}`, async ({ open }) => {
      const world = open();
      prepare(world);
      const process = await world.leader();
      const ref = world.setRoutedIP('shop', BY_ISSUER);
      await world.stable(ref);
      setIssuer(world);
      await world.untilReason(ref, NOT_ALLOWED);
      process.kill();
      change(world, ref, { class: { kind: 'RoutedIPIssuer', name: 'own', ...(provider && { provider }) } });
      await begunAgain(world, process, 'the store restarted');
      await world.clock.advance(MINUTE);
      const sent = world.changes().length;
      world.cluster.setNode({ ...node(String(world.statusOf(ref).assignedNode)), ready: false });
      await world.clock.advance(5 * MINUTE);
      expect([world.reasonOf(ref), world.changes().slice(sent)]).toEqual([NOT_ALLOWED, []]);
    });
});

test('a status that names an address of which there are no records opens the credentials of the operator to nobody', async ({ open }) => {
  const world = open();
  prepare(world);
  setIssuer(world);
  world.address(FREE);
  await world.leader();
  const ref = world.setRoutedIP('shop', BY_ISSUER);
  await world.untilReason(ref, NOT_ALLOWED);
  change(world, ref, { routedIP: FREE });
  world.cluster.annotate(ref, { 'routedip.io/example': 'changed' });
  await world.clock.advance(5 * MINUTE);
  expect([world.reasonOf(ref), world.changes()]).toEqual([NOT_ALLOWED, []]);
});
