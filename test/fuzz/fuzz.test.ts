import { expect, onTestFinished, test } from 'vitest';
import { attack } from './attack.ts';
import { fuzz, harmOf, shrunk } from './fuzz.ts';
import { type Attempt, attemptOf, LISTENERS } from './garbage.ts';
import { GARBAGE } from './named.ts';
import { openAttacked } from './world.ts';

test.each([7, 8])(
  'garbage to everything that listens does the operator no harm, and its probes are answered meanwhile: seed %i',
  async (seed) => {
    const attacked = await openAttacked({ program: null, hasToken: seed % 2 === 0 });
    onTestFinished(() => attacked.close());
    const { requests, harm, probes, answers, memory } = await fuzz(attacked, { seed, requests: 2_000, minutes: 1 });
    expect([harm, requests, probes.some(({ probe }) => probe === null)]).toEqual([null, 2_000, false]);
    for (const name of ['dashboard', 'inspector', 'journal', 'telemetry', 'webhook'])
      expect(answers.get(`${name} 400`), name).toBeGreaterThan(0);
    expect(memory.after - memory.before).toBeLessThan(100 * 2 ** 20);
  },
);

test.each([true, false])('no request that is none ends the operator, with tokens asked for: %s', async (hasToken) => {
  const attacked = await openAttacked({ program: null, hasToken });
  onTestFinished(() => attacked.close());
  for (const to of LISTENERS) {
    const attempts = Object.values(GARBAGE).map(
      (text, number): Attempt => ({ number, to, pieces: [text], isHalf: false, pauseMs: 0, end: 'read' }),
    );
    const [first] = await Promise.all(attempts.map((attempt) => attack(attacked.urls[to], attempt)));
    expect([to, first]).toEqual([to, '400']);
  }
  expect(harmOf(attacked)).toBeNull();
  expect((await attacked.operator.metrics('/healthz')).status).toBe(200);
});

test('one seed is one sequence of attempts, and what harms is made small', async () => {
  expect(attemptOf(7, 5)).toEqual(attemptOf(7, 5));
  expect(attemptOf(7, 5)).not.toEqual(attemptOf(8, 5));
  const harmful: Attempt = {
    number: 3,
    to: 'journal',
    pieces: ['GET // HTTP/1.1\r\nHost: a\r\nX: y\r\n\r\n'],
    isHalf: false,
    pauseMs: 0,
    end: 'read',
  };
  const all = [attemptOf(7, 1), attemptOf(7, 2), harmful, attemptOf(7, 4)].map((attempt) => ({
    ...attempt,
    isHarmful: attempt === harmful,
  }));
  const least = await shrunk(all, async (attempts) =>
    attempts.some(({ pieces, ...rest }) => 'isHarmful' in rest && rest.isHarmful && pieces.join('').includes('GET //')),
  );
  expect(least).toMatchObject([{ pieces: ['GET // HTTP/1.1'] }]);
});
