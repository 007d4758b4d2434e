import { describe, expect, test } from 'vitest';
import { eventsOf, type Message, Model, nameOf, reasonIn, statusOf, treeOf } from '../../dashboard/inspector-model.js';

const POOL = 'pool/default/ingress';
const ADDRESS = `${POOL}/ip/203.0.113.10`;
const definition = '{"id":"ip"}';

const actor = (sessionId: string, value: unknown, more: Partial<Message> = {}): Message => ({
  type: '@xstate.actor',
  sessionId,
  definition,
  snapshot: { status: 'active', value, context: {} },
  ...more,
});
const sent = (sourceId: string, sessionId: string, type: string): Message => ({
  type: '@xstate.event',
  sourceId,
  sessionId,
  event: { type },
  createdAt: '5',
});
const snapshot = (sessionId: string, value: unknown, type: string, status = 'active'): Message => ({
  type: '@xstate.snapshot',
  sessionId,
  snapshot: { status, value, context: {} },
  event: { type },
});

function heard(...messages: readonly Message[]): Model {
  const model = new Model();
  for (const message of messages) model.hear(message);
  return model;
}

describe('the actors', () => {
  test('stand below what they are a part of, pools first, addresses by number; what has no chart is not listed', () => {
    const model = heard(
      actor('verify/digitalocean', 'Waiting'),
      actor('firewall/digitalocean/edge', 'Idle'),
      actor('rip/default/shop', 'Serving'),
      actor(POOL, 'Serving'),
      actor(ADDRESS, 'Stable', { parentId: POOL }),
      actor(`${POOL}/ip/203.0.113.9`, 'Stable', { parentId: POOL }),
      { type: '@xstate.actor', sessionId: 'operator' },
    );
    expect(treeOf(model.actors.values()).map(({ actor: { id }, depth }) => `${depth} ${id}`)).toEqual([
      `0 ${POOL}`,
      `1 ${POOL}/ip/203.0.113.9`,
      `1 ${ADDRESS}`,
      '0 rip/default/shop',
      '0 firewall/digitalocean/edge',
      '0 verify/digitalocean',
    ]);
  });

  test('are listed although the one that they are a part of is not shown', () => {
    const model = heard(actor(ADDRESS, 'Stable', { parentId: POOL }));
    expect(treeOf(model.actors.values())).toMatchObject([{ actor: { id: ADDRESS }, depth: 0 }]);
  });

  test('are introduced to a viewer that comes late as they are now, without those that are gone', () => {
    const model = heard(
      actor(POOL, 'Serving'),
      actor(ADDRESS, 'Electing', { parentId: POOL }),
      sent(POOL, ADDRESS, 'NODE_GRANTED'),
      snapshot(ADDRESS, 'Assigning', 'NODE_GRANTED'),
      actor('zone/digitalocean/example.com', 'Idle'),
      snapshot('zone/digitalocean/example.com', 'Ended', 'DELETED', 'done'),
    );
    expect(model.introductions()).toMatchObject([
      { sessionId: POOL, snapshot: { value: 'Serving' } },
      { type: '@xstate.actor', sessionId: ADDRESS, parentId: POOL, definition, snapshot: { status: 'active', value: 'Assigning' } },
    ]);
    expect(treeOf(model.actors.values()).map(({ actor: { id } }) => id)).toEqual([POOL, ADDRESS]);
  });
});

describe('the events', () => {
  test('bear what they led to, and those before them in the same turn nothing', () => {
    const model = heard(
      actor(ADDRESS, 'Electing'),
      sent('operator', ADDRESS, 'NOTED'),
      sent(POOL, ADDRESS, 'NODE_GRANTED'),
      snapshot(ADDRESS, 'Assigning', 'NODE_GRANTED'),
      sent('operator', ADDRESS, 'NOTED'),
      snapshot(ADDRESS, 'Assigning', 'NOTED'),
    );
    expect(model.events.map(({ move }) => move)).toEqual([null, { event: 'NODE_GRANTED', from: 'Electing', to: 'Assigning' }, null]);
    expect(model.actors.get(ADDRESS)?.last).toEqual({ event: 'NODE_GRANTED', from: 'Electing', to: 'Assigning' });
  });

  test('are kept over a new connection, up to five hundred', () => {
    const model = heard(actor(ADDRESS, 'Electing'));
    for (let index = 0; index < 600; index += 1) model.hear(sent('operator', ADDRESS, `E${index}`));
    model.restart();
    expect([model.actors.size, model.events.length, model.events.at(-1)?.event.type]).toEqual([0, 500, 'E599']);
  });

  test('of an actor are those that it, or what is a part of it, sent or heard', () => {
    const { events } = heard(sent(ADDRESS, 'firewall/x/y', 'CLAIM'), sent('operator', POOL, 'A'), sent('operator', `${POOL}-2`, 'B'));
    expect(eventsOf(events, POOL).map(({ event }) => event.type)).toEqual(['CLAIM', 'A']);
    expect(eventsOf(events, 'firewall/x/y').map(({ event }) => event.type)).toEqual(['CLAIM']);
  });
});

test.each([
  [POOL, 'pool default/ingress'],
  [ADDRESS, '203.0.113.10'],
  ['rip/default/shop/ip/2001:db8::1', '2001:db8::1'],
  ['rip/default/shop', 'RoutedIP default/shop'],
  [`${POOL}/dns`, 'DNS records of default/ingress'],
  ['dns/default/work', 'DNS records default/work'],
  ['vip/edge/web', 'Service edge/web'],
  ['vvip/edge/web', 'VirtualIP edge/web'],
  [`${ADDRESS}/job/assign`, 'job assign'],
  ['operator', 'operator'],
])('%s is called %s', (id, name) => expect(nameOf(id)).toBe(name));

test('the reason of a failure is its kind', () => {
  expect([reasonIn({ failure: { kind: 'RateLimited' } }), reasonIn({ failure: null }), reasonIn(null)]).toEqual(['RateLimited', '', '']);
});

describe('what is said of the connection', () => {
  const host = 'viewer.example';
  const said = (facts: Partial<Parameters<typeof statusOf>[0]>) =>
    statusOf({ isConnected: true, isLeading: true, viewer: 'there', isShown: true, host, ...facts });

  test('is never that the viewer draws while it does not', () => {
    for (const viewer of ['off', 'waiting', 'silent'] as const)
      expect(said({ viewer, isShown: false }).text).not.toContain(`Drawn by ${host}`);
    expect(said({}).text).toContain(`Drawn by ${host}`);
    expect(said({ viewer: 'silent', isShown: false })).toMatchObject({ tone: 'trouble' });
  });

  test('is first of all that there is none', () => {
    for (const viewer of ['off', 'waiting', 'silent', 'there'] as const)
      expect(said({ isConnected: false, viewer })).toEqual({ text: 'No connection to the operator. Trying again…', tone: 'trouble' });
  });

  test('is then that this replica does not lead', () => {
    expect(said({ isLeading: false, viewer: 'off', isShown: false }).text).toBe('Connected to a replica that does not lead.');
  });
});
