import { describe, expect, test } from 'vitest';
import { DemoFailure } from '../../demo/failure.ts';
import { orderOf } from '../../demo/order.ts';
import { waiting } from '../../demo/wait.ts';

const began = (said: string[] = []) => {
  const until = waiting({ deadlineMs: 50, signal: AbortSignal.any([]), hindrance: () => null, standing: async () => 'it stands' });
  return orderOf({ until, screen: { step: (text) => void said.push(text) } }, { what: 'cordoned', at: 100 });
};

describe('the order of what follows', () => {
  test('is told with the time of each since the first, and kept by time', async () => {
    const said: string[] = [];
    const order = began(said);
    expect(await order.next('opened', () => 150)).toBe(150);
    await order.next('pruned', () => 400);
    await order.also('stable', () => 390);
    expect(said).toEqual(['opened after 50 ms', 'pruned after 300 ms', 'stable after 290 ms']);
    expect(order.moments().map(({ what }) => what)).toEqual(['cordoned', 'opened', 'stable', 'pruned']);
  });

  test('is wrong when something came before what it has to follow', async () => {
    const order = began();
    await order.next('opened', () => 150);
    const early = order.next('assigned', () => 120);
    await expect(early).rejects.toThrow(DemoFailure);
    await expect(early).rejects.toThrow('"assigned" came 30 ms before "opened"');
  });

  test('is not complete while something is missing', async () => {
    await expect(began().next('opened', () => null)).rejects.toThrow('opened: not within');
  });
});
