import { expect, test } from 'vitest';
import type { Condition } from '../../../../machines/model/types.ts';
import { PATIENCE_MS } from '../../../support/wait-for.ts';
import { writing } from './writer-support.ts';

const degraded = (status: Condition['status'], reason: string, message = ''): readonly Condition[] => [
  { type: 'Degraded', status, reason, message },
];

const WELL = degraded('False', 'AsExpected');

test('an object that becomes degraded is told in the log, once for each reason, and when that is over', async () => {
  const { writer, projection, log } = await writing();
  const said = () => log.lines.filter((line) => line.includes('degraded'));
  writer.project(projection({ conditions: WELL }));
  expect(said()).toEqual([]);
  for (const message of ['a and b are gone', 'a, b and c are gone'])
    writer.project(projection({ conditions: degraded('True', 'SafeHold', message) }));
  const object = '"object":"FloatingIPPool default/pool"';
  const [first, ...more] = said();
  expect(first).toBe(`warn an object is degraded {${object},"reason":"SafeHold","message":"a and b are gone"}`);
  expect(more).toEqual([]);
  writer.project(projection({ conditions: degraded('True', 'InvalidSpec', 'no such region') }));
  writer.project(projection({ conditions: WELL }));
  writer.project(projection({ conditions: WELL }));
  expect(said().slice(1)).toEqual([
    `warn an object is degraded {${object},"reason":"InvalidSpec","message":"no such region"}`,
    `info an object is degraded no more {${object},"reason":"InvalidSpec"}`,
  ]);
});

test('what no step of an address reports is an Event besides', async () => {
  const { writer, projection, simulator } = await writing();
  const stored = () => simulator.store.list('events.k8s.io/v1', 'Event', { namespace: 'default' });
  // Whoever writes Events may have a Job say any word.
  for (const reason of ['SafeHold', 'constructor', 'NoEligibleNode', 'NoEligibleNode', 'Paused', 'Unverified'])
    writer.project(projection({ conditions: degraded('True', reason, `it is ${reason}`) }));
  await writer.flush(PATIENCE_MS);
  const told = stored().map((event) => `${String(event.type)} ${String(event.reason)}: ${String(event.note)}`);
  expect(told.sort()).toEqual([
    'Warning NoEligibleNode: it is NoEligibleNode',
    'Warning Paused: it is Paused',
    'Warning Unverified: it is Unverified',
  ]);
});

test('of a kind without that condition Ready tells it, unless nothing is known', async () => {
  const { writer, projection, log } = await writing();
  const ready = (status: Condition['status'], reason: string): readonly Condition[] => [{ type: 'Ready', status, reason, message: '' }];
  for (const conditions of [ready('Unknown', 'ProviderUnread'), ready('False', 'SecretNotFound'), ready('True', 'AsExpected')])
    writer.project(projection({ conditions }));
  const said = log.lines.filter((line) => line.includes('degraded'));
  expect(said.map((line) => line.match(/^\w+|"reason":"\w+"/g))).toEqual([
    ['warn', '"reason":"SecretNotFound"'],
    ['info', '"reason":"SecretNotFound"'],
  ]);
});
