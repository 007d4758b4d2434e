import { expect, test } from 'vitest';
import type { Budget } from '../../actors/ports/budget.ts';
import type { Prepaid } from '../../actors/ports/provider.ts';
import { pay } from '../../adapters/http/verbs.ts';
import { recordingBudget } from './digitalocean/support.ts';

test('a job pays at once for what it could call before it was cut short, and for one call more', async () => {
  const payments: (readonly unknown[])[] = [];
  const payFor: Budget['pay'] = async (...payment) => {
    payments.push(payment);
    return 0;
  };
  const prepaid: Prepaid = { atOnce: 3, left: 0, made: 0 };
  const call = { purpose: 'dns', namespaces: ['web', 'shop'], prepaid } as const;
  const budget = { ...recordingBudget(), pay: payFor };
  for (let calls = 0; calls < 4; calls += 1) await pay(budget, { what: 'list', call, deadlineAt: 0 });
  await pay(budget, { what: 'list', call: { purpose: 'verify' }, deadlineAt: 0 }, 5);
  expect(payments).toEqual([
    ['dns', 3, ['web', 'shop']],
    ['dns', 1, ['web', 'shop']],
    ['verify', 5, undefined],
  ]);
  expect(prepaid).toEqual({ atOnce: 3, left: 0, made: 4 });
});

test('what is refused is not made, and takes nothing', async () => {
  const prepaid: Prepaid = { atOnce: 2, left: 0, made: 0 };
  const budget = recordingBudget(() => Promise.resolve(1_234));
  const paid = pay(budget, { what: 'list', call: { purpose: 'dns', prepaid }, deadlineAt: 0 });
  await expect(paid).rejects.toMatchObject({ kind: 'RateLimited', retryAfterMs: 1_234 });
  expect(prepaid).toEqual({ atOnce: 2, left: 0, made: 0 });
});
