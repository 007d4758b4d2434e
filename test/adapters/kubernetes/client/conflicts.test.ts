import { describe, expect, test } from 'vitest';
import { ApiError, ServerUnreachable } from '../../../../adapters/kubernetes/client/api-error.ts';
import { despiteConflicts, inVain } from '../../../../adapters/kubernetes/client/conflicts.ts';

/** An attempt that fails with these errors, one after another, and answers how often it was made. */
const failing = (errors: readonly Error[]) => {
  let made = 0;
  return {
    made: () => made,
    attempt: async () => {
      const error = errors[made];
      made += 1;
      if (error !== undefined) throw error;
      return made;
    },
  };
};

const conflict = (nth = 1) => new ApiError('Conflict', 409, `put nodes: 409 the object has been modified (${nth})`);
const conflicts = (count: number) => Array.from({ length: count }, (_, at) => conflict(at + 1));

describe('a write that meets somebody else’s', () => {
  test('is made again, up to five times, until it is through', async () => {
    for (const met of [0, 1, 5]) {
      const { attempt, made } = failing(conflicts(met));
      expect(await despiteConflicts(attempt)).toBe(met + 1);
      expect(made()).toBe(met + 1);
    }
  });

  test('is given up at the sixth, with what it met last', async () => {
    const { attempt, made } = failing(conflicts(7));
    await expect(despiteConflicts(attempt)).rejects.toMatchObject({ kind: 'Conflict', message: expect.stringContaining('(6)') });
    expect(made()).toBe(6);
  });

  test('is not made again for any other error', async () => {
    for (const error of [new ApiError('NotFound', 404, 'gone'), new ServerUnreachable('away'), new Error('bad')]) {
      const { attempt, made } = failing([conflict(), error]);
      await expect(despiteConflicts(attempt)).rejects.toBe(error);
      expect(made()).toBe(2);
    }
  });

  test('is made again for what its writer takes for a conflict, and for that alone', async () => {
    const failed = new ApiError('Invalid', 422, 'the test of the patch failed');
    const isFailed = (error: unknown): boolean => error === failed;
    expect(await despiteConflicts(failing([failed, failed]).attempt, isFailed)).toBe(3);
    await expect(despiteConflicts(failing([failed, conflict()]).attempt, isFailed)).rejects.toMatchObject({ kind: 'Conflict' });
    await expect(despiteConflicts(failing([failed]).attempt)).rejects.toBe(failed);
  });

  test('can be told, when it is given up, as what may succeed later', () => {
    const cause = conflict();
    const error = inVain('taint node a', cause);
    expect(error).toBeInstanceOf(ServerUnreachable);
    expect(error).toMatchObject({ cause, message: 'taint node a: tried in vain, last: put nodes: 409 the object has been modified (1)' });
  });
});
